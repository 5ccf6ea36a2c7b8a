// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/hash.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon {

/// Replaces r by a sample of its rounding errors: eps r_i with signs that vary irregularly.
template <class T>
struct SampleRounding {
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    r[i] = r[i] * static_cast<Real<T>>((bits & 1U) != 0 ? machine_epsilon<T> : -machine_epsilon<T>);
  }
};

}  // namespace echelon

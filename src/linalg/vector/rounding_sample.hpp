// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/machine_epsilon.hpp"

#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon {

/// Replaces r by a sample of its rounding errors: eps r_i with signs that vary irregularly.
template <class T>
void sample_rounding(std::int64_t n, T* r) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    r[i] *= static_cast<Real<T>>((state >> 31U) != 0 ? machine_epsilon<T> : -machine_epsilon<T>);
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::banded {

/// Sets target[i] = i step.
struct Multiples {
  std::int64_t step;
  std::int64_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = i * step; }
};

}  // namespace echelon::banded

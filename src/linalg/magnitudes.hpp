// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/scalar.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon {

/// Sums the magnitudes of values [begin, end) in four partial sums, which wait for each other's additions
/// four times less.
template <class T>
ECHELON_ANYWHERE double sum_magnitudes(const T* values, std::int64_t begin, std::int64_t end) {
  constexpr int parts = 4;
  double sums[parts] = {};
  std::int64_t k = begin;
  for (; k + parts <= end; k += parts) {
    for (int p = 0; p < parts; ++p) sums[p] += magnitude(values[k + p]);
  }
  for (; k < end; ++k) sums[0] += magnitude(values[k]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace echelon

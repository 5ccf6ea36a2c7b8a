// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>

namespace echelon {

/// Sum of the magnitudes of some values, and whether one of them is positive.
struct Magnitudes {
  double sum = 0;
  bool has_positive = false;
};

/// Sums the magnitudes of values [begin, end) in four partial sums, which wait for each other's additions
/// four times less.
template <class T>
ECHELON_ANYWHERE Magnitudes sum_magnitudes(const T* values, std::int64_t begin, std::int64_t end) {
  constexpr int parts = 4;
  double sums[parts] = {};
  bool positive = false;
  std::int64_t k = begin;
  for (; k + parts <= end; k += parts) {
    for (int p = 0; p < parts; ++p) {
      const auto value = static_cast<double>(values[k + p]);
      sums[p] += std::fabs(value);
      positive |= value > 0;
    }
  }
  for (; k < end; ++k) {
    const auto value = static_cast<double>(values[k]);
    sums[0] += std::fabs(value);
    positive |= value > 0;
  }
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]), positive};
}

}  // namespace echelon

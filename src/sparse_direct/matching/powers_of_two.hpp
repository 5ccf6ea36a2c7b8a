// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace echelon::sparse_direct {

/// Scale factors in the working precision as the nearest powers of two, so that scaling is exact.
template <class T>
std::vector<T> powers_of_two(const std::vector<double>& factors) {
  std::vector<T> result(factors.size());
  std::transform(factors.begin(), factors.end(), result.begin(), [](double factor) {
    const int exponent =
        std::clamp(static_cast<int>(std::lround(std::log2(factor))), std::numeric_limits<T>::min_exponent,
                   std::numeric_limits<T>::max_exponent - 1);
    return static_cast<T>(std::ldexp(1.0, exponent));
  });
  return result;
}

}  // namespace echelon::sparse_direct

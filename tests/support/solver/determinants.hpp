// SPDX-License-Identifier: BSD-3-Clause
/// Oracles for determinants.
#pragma once

#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::test {

using IntegerRows = std::vector<std::vector<std::int64_t>>;

/// Determinant of a matrix of integers by fraction-free elimination, exact as long as products of two of its
/// minors fit into 63 bits.
inline std::int64_t exact_determinant(IntegerRows a) {
  const std::size_t n = a.size();
  std::int64_t divisor = 1;
  int sign = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    while (pivot < n && a[pivot][k] == 0) ++pivot;
    if (pivot == n) return 0;
    if (pivot != k) std::swap(a[pivot], a[k]), sign = -sign;
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) a[i][j] = (a[i][j] * a[k][k] - a[i][k] * a[k][j]) / divisor;
    }
    divisor = a[k][k];
  }
  return sign * divisor;
}

/// Sign and natural logarithm of a determinant.
struct SignAndLog {
  int sign = 1;
  long double log = 0;
};

/// By elimination with partial pivoting in extended precision.
template <class T>
SignAndLog eliminated_determinant(const Dense<T>& matrix) {
  const std::int64_t n = matrix.rows();
  const auto order = static_cast<std::size_t>(n);
  std::vector<std::vector<long double>> a(order, std::vector<long double>(order));
  for (std::size_t i = 0; i < order; ++i) {
    for (std::size_t j = 0; j < order; ++j)
      a[i][j] = matrix(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  }
  SignAndLog result;
  for (std::size_t k = 0; k < order; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < order; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    if (pivot != k) std::swap(a[pivot], a[k]), result.sign = -result.sign;
    if (a[k][k] == 0) return {0, -HUGE_VALL};
    if (a[k][k] < 0) result.sign = -result.sign;
    result.log += std::log(std::abs(a[k][k]));
    for (std::size_t i = k + 1; i < order; ++i) {
      const long double multiplier = a[i][k] / a[k][k];
      for (std::size_t j = k; j < order; ++j) a[i][j] -= multiplier * a[k][j];
    }
  }
  return result;
}

}  // namespace echelon::test

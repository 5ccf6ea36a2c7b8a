// SPDX-License-Identifier: BSD-3-Clause
/// Dense symmetric matrices and their scaling.
#pragma once

#include "support/gallery.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::test {

/// A random symmetric matrix, usually indefinite.
template <class T>
Dense<T> random_symmetric(std::int64_t n, unsigned seed) {
  Dense<T> a = random_dense<T>(n, n, seed);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = a(j, i);
  }
  return a;
}

/// A random symmetric matrix with its spectrum around 3 sqrt(n).
template <class T>
Dense<T> positive_definite(std::int64_t n, unsigned seed) {
  Dense<T> a = random_symmetric<T>(n, seed);
  for (std::int64_t j = 0; j < n; ++j) a(j, j) += static_cast<T>(3 * std::sqrt(static_cast<double>(n)));
  return a;
}

/// S A S for S that ranges over many powers of two.
template <class T>
Dense<T> scaled_symmetrically(Dense<T> a) {
  const auto scale = [](std::int64_t i) { return std::ldexp(T{1}, static_cast<int>(i % 31) - 15); };
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) a(i, j) *= scale(i) * scale(j);
  }
  return a;
}

}  // namespace echelon::test

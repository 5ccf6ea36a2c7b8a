// SPDX-License-Identifier: BSD-3-Clause
/// Dense matrices that are hard to solve with, and errors computed in extended precision.
#pragma once

#include "support/problems.hpp"

namespace echelon::test {

/// a_ij = 1 / (i + j + 1): positive definite, and singular to working precision from n = 12 on (double).
template <class T>
Dense<T> hilbert(std::int64_t n) {
  Dense<T> a(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = static_cast<T>(1.0 / static_cast<double>(i + j + 1));
  }
  return a;
}

/// Random, with rows and columns scaled over many orders of magnitude: well-conditioned once equilibrated.
template <class T>
Dense<T> graded(std::int64_t n, unsigned seed) {
  Dense<T> a = random_dense<T>(n, n, seed);
  const double decades = std::is_same_v<T, double> ? 20 : 4;
  const double steps = static_cast<double>(n > 1 ? n - 1 : 1);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double exponent = decades * (static_cast<double>(i - j) / steps);
      a(i, j) *= static_cast<T>(std::pow(10.0, exponent));
    }
  }
  return a;
}

/// Unit lower triangular with -1 below, and a last column of ones: partial pivoting's growth is 2^(n-1).
template <class T>
Dense<T> growing(std::int64_t n) {
  Dense<T> a(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      a(i, j) = j == n - 1 || i == j ? T{1} : (i > j ? T{-1} : T{0});
    }
  }
  return a;
}

template <class T>
Dense<T> identity(std::int64_t n) {
  Dense<T> a(Device(), n, n);
  std::fill_n(a.data(), n * n, T{0});
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = 1;
  return a;
}

template <class T>
Dense<T> scaled(Dense<T> a, T factor) {
  for (std::int64_t k = 0; k < a.rows() * a.columns(); ++k) a[k] *= factor;
  return a;
}

/// The worst column's ||b - A x||_inf / ((||A||_inf ||x||_inf + ||b||_inf) n eps), in extended precision.
/// NaN when x is not finite.
template <class T>
double scaled_residual(const Dense<T>& a, DenseView<const T> x, DenseView<const T> b) {
  const std::int64_t n = a.rows();
  std::vector<long double> r(static_cast<std::size_t>(n));
  std::vector<long double> row_sums(static_cast<std::size_t>(n), 0.0L);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) row_sums[static_cast<std::size_t>(i)] += std::abs(a(i, j));
  }
  const long double norm = n > 0 ? *std::max_element(row_sums.begin(), row_sums.end()) : 0;
  long double worst = 0;
  for (std::int64_t c = 0; c < x.columns(); ++c) {
    long double x_max = 0;
    long double b_max = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      r[static_cast<std::size_t>(i)] = b(i, c);
      b_max = std::max(b_max, std::abs(static_cast<long double>(b(i, c))));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const long double element = x(j, c);
      if (!std::isfinite(element)) return std::numeric_limits<double>::quiet_NaN();
      x_max = std::max(x_max, std::abs(element));
      for (std::int64_t i = 0; i < n; ++i) r[static_cast<std::size_t>(i)] -= element * a(i, j);
    }
    const long double scale = (norm * x_max + b_max) * static_cast<long double>(n) *
                              static_cast<long double>(std::numeric_limits<T>::epsilon());
    for (const long double element : r) {
      if (scale > 0) worst = std::max(worst, std::abs(element) / scale);
    }
  }
  return static_cast<double>(worst);
}

}  // namespace echelon::test

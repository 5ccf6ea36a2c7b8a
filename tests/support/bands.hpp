// SPDX-License-Identifier: BSD-3-Clause
/// Band matrices for tests, in LAPACK's layout and as sparse matrices, and their solution by LAPACK's gbsv.
#pragma once

#include <echelon/banded.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {

/// Owns a matrix in LAPACK's band layout with leading dimension lower + upper + 1 + padding.
template <class T>
struct BandMatrix {
  std::int64_t n = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t leading = 1;
  std::vector<T> values = {};

  BandMatrix(std::int64_t n_, std::int64_t lower_, std::int64_t upper_, std::int64_t padding = 0)
      : n(n_),
        lower(lower_),
        upper(upper_),
        leading(lower + upper + 1 + padding),
        values(static_cast<std::size_t>(leading * n), std::numeric_limits<T>::quiet_NaN()) {
    for_each([](std::int64_t, std::int64_t, T& value) { value = 0; });
  }

  /// f(i, j, element) for the places of the band, column by column. All others are NaN.
  template <class F>
  void for_each(F f) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = std::max<std::int64_t>(0, j - upper); i <= std::min(n - 1, j + lower); ++i) {
        f(i, j, at(i, j));
      }
    }
  }
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(upper + i - j + j * leading)];
  }
  [[nodiscard]] BandBatch<const T> view() const {
    return {values.data(), n, lower, upper, leading, Device::serial()};
  }
  [[nodiscard]] Csr<T> csr() {
    std::vector<Triplet<T>> elements;
    for_each([&](std::int64_t i, std::int64_t j, T value) {
      if (value != 0) elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
    });
    return Csr<T>::from_triplets(n, n, elements);
  }
};

template <class T>
BandMatrix<T> random_band(std::int64_t n, std::int64_t lower, std::int64_t upper, unsigned seed,
                          std::int64_t padding = 0) {
  BandMatrix<T> A(n, lower, upper, padding);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  A.for_each([&](std::int64_t, std::int64_t, T& element) { element = static_cast<T>(value(random)); });
  return A;
}

/// Zeros on the diagonal, random elsewhere.
template <class T>
BandMatrix<T> zero_diagonal_band(std::int64_t n, std::int64_t lower, std::int64_t upper, unsigned seed) {
  BandMatrix<T> A = random_band<T>(n, lower, upper, seed);
  for (std::int64_t i = 0; i < n; ++i) A.at(i, i) = 0;
  return A;
}

/// Blocks [0 1; 1 0] along the diagonal, and 1 in the last place of an odd one. lower, upper >= 1.
template <class T>
BandMatrix<T> exchange_pairs(std::int64_t n, std::int64_t lower, std::int64_t upper) {
  BandMatrix<T> A(n, lower, upper);
  for (std::int64_t i = 0; i + 1 < n; i += 2) A.at(i, i + 1) = A.at(i + 1, i) = 1;
  if (n % 2 == 1) A.at(n - 1, n - 1) = 1;
  return A;
}

/// Blocks of lower + 1 rows with Wilkinson's matrix for growth in partial pivoting: 1 on the diagonal and in
/// the last column, nearly -1 below the diagonal. upper = lower.
template <class T>
BandMatrix<T> growing_band(std::int64_t n, std::int64_t lower) {
  BandMatrix<T> A(n, lower, lower);
  A.for_each([&](std::int64_t i, std::int64_t j, T& element) {
    if (i / (lower + 1) != j / (lower + 1)) return;
    if (i == j || j % (lower + 1) == lower) element = 1;
    if (i > j) element = static_cast<T>(-0.99);  // less than the pivot, however ties are broken
  });
  return A;
}

/// Solution of A X = B by LAPACK, and its info: the number, from 1, of the first zero pivot.
template <class T>
int solve_with_lapack(BandMatrix<T>& A, Dense<T>& X) {
  const std::int64_t leading = 2 * A.lower + A.upper + 1;
  std::vector<T> ab(static_cast<std::size_t>(leading * A.n), T{0});
  A.for_each([&](std::int64_t i, std::int64_t j, T value) {
    ab[static_cast<std::size_t>(A.lower + A.upper + i - j + j * leading)] = value;
  });
  std::vector<int> pivots(static_cast<std::size_t>(A.n) + 1);
  const int n = static_cast<int>(A.n);
  const int kl = static_cast<int>(A.lower);
  const int ku = static_cast<int>(A.upper);
  const int columns = static_cast<int>(X.columns());
  const int ldab = static_cast<int>(leading);
  const int ldx = static_cast<int>(X.leading());
  if constexpr (std::is_same_v<T, double>) {
    return LAPACKE_dgbsv(LAPACK_COL_MAJOR, n, kl, ku, columns, ab.data(), ldab, pivots.data(), X.data(), ldx);
  } else {
    return LAPACKE_sgbsv(LAPACK_COL_MAJOR, n, kl, ku, columns, ab.data(), ldab, pivots.data(), X.data(), ldx);
  }
}

/// The largest normwise backward error of the columns of X, in extended precision; NaN if X has one.
template <class T>
double backward_error(BandMatrix<T>& A, const Dense<T>& X, const Dense<T>& B) {
  double worst = 0;
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    std::vector<long double> residual(static_cast<std::size_t>(A.n));
    std::vector<long double> sums(static_cast<std::size_t>(A.n), 0);
    long double x_norm = 0;
    long double b_norm = 0;
    for (std::int64_t i = 0; i < A.n; ++i) {
      residual[static_cast<std::size_t>(i)] = B(i, c);
      b_norm = std::max<long double>(b_norm, std::abs(B(i, c)));
      if (!(std::abs(X(i, c)) <= x_norm)) x_norm = std::abs(X(i, c));
    }
    A.for_each([&](std::int64_t i, std::int64_t j, T value) {
      residual[static_cast<std::size_t>(i)] -= static_cast<long double>(value) * X(j, c);
      sums[static_cast<std::size_t>(i)] += std::abs(static_cast<long double>(value));
    });
    long double r_norm = 0;
    for (const long double r : residual) {
      if (!(std::abs(r) <= r_norm)) r_norm = std::abs(r);
    }
    const long double a_norm = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
    const long double scale = a_norm * x_norm + b_norm;
    const double error = scale > 0 ? static_cast<double>(r_norm / scale) : static_cast<double>(r_norm);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

}  // namespace echelon::test

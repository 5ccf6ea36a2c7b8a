// SPDX-License-Identifier: BSD-3-Clause
/// Tests of LU factors of matrices of any shape, for every device.
#pragma once

#include "support/dense/gauss_jordan_cases.hpp"

#include <echelon/methods/dense/lu_factors.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::test {

inline int lapack_getrf(int m, int n, double* a, int* pivots) {
  return LAPACKE_dgetrf(LAPACK_COL_MAJOR, m, n, a, std::max(m, 1), pivots);
}
inline int lapack_getrf(int m, int n, float* a, int* pivots) {
  return LAPACKE_sgetrf(LAPACK_COL_MAJOR, m, n, a, std::max(m, 1), pivots);
}

/// Expects P A = L U up to rounding, |l_ij| <= 1, and triangles that are those of the factors.
template <class T>
void expect_factors(const Dense<T>& a, const LuFactors<T>& factors) {
  const std::int64_t count = std::min(a.rows(), a.columns());
  const Dense<T> L = factors.lower().to(Device());
  const Dense<T> U = factors.upper().to(Device());
  const Dense<T> stored = factors.factors.to(Device());
  ASSERT_EQ(L.rows(), a.rows());
  ASSERT_EQ(L.columns(), count);
  ASSERT_EQ(U.rows(), count);
  ASSERT_EQ(U.columns(), a.columns());
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      ASSERT_EQ(L(i, j), i < j ? T{0} : i == j ? T{1} : stored(i, j));
      ASSERT_LE(std::abs(L(i, j)), T{1});
    }
  }
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(U(i, j), i <= j ? stored(i, j) : T{0});
  }
  const std::vector<std::int64_t> origins = factors.row_permutation();
  Dense<T> difference = product(L, U);
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i)
      difference(i, j) -= a(origins[static_cast<std::size_t>(i)], j);
  }
  const double size = static_cast<double>(std::max(a.rows(), a.columns())) * largest_magnitude(a);
  EXPECT_LE(largest_magnitude(difference), 10 * unit<T> * size);
}

/// Tall, wide, square and empty matrices: the factors, and the row exchanges of LAPACK's getrf.
template <class T>
void check_lu_factors(const Device& device) {
  for (const Shape& s : {Shape{1, 1, 1},
                         {7, 3, 3},
                         {3, 7, 3},
                         {65, 64, 64},
                         {64, 130, 64},
                         {300, 40, 40},
                         {40, 300, 40},
                         {700, 600, 600},
                         {600, 700, 600},
                         {1500, 33, 33}}) {
    SCOPED_TRACE(std::to_string(s.m) + " by " + std::to_string(s.n));
    const Dense<T> a = random_dense<T>(s.m, s.n, 3);
    const LuFactors<T> factors = lu_factor(a.to(device), device);
    expect_factors(a, factors);
    EXPECT_FALSE(factors.zero_pivot);
    EXPECT_GE(factors.growth, 0.5);
    EXPECT_LT(factors.growth, 100);
    Dense<T> expected = a;
    std::vector<int> pivots(static_cast<std::size_t>(std::min(s.m, s.n)));
    ASSERT_EQ(lapack_getrf(static_cast<int>(s.m), static_cast<int>(s.n), expected.data(), pivots.data()), 0);
    for (std::size_t k = 0; k < pivots.size(); ++k) ASSERT_EQ(factors.row_exchanges[k], pivots[k] - 1) << k;
  }
  for (const Shape& s : {Shape{0, 0, 0}, {0, 5, 0}, {5, 0, 0}}) {
    const LuFactors<T> factors = lu_factor(Dense<T>(device, s.m, s.n), device);
    EXPECT_EQ(factors.row_exchanges.size(), 0U);
    EXPECT_EQ(factors.lower().rows(), s.m);
    EXPECT_EQ(factors.upper().columns(), s.n);
    EXPECT_EQ(factors.row_permutation().size(), static_cast<std::size_t>(s.m));
  }
}

/// Zero columns are passed over, and the first is named; NaN shows in the growth.
template <class T>
void check_lu_factors_of_special_matrices(const Device& device) {
  Dense<T> a = random_dense<T>(90, 60, 3);
  std::fill_n(a.data() + 20 * 90, 90, T{0});
  std::fill_n(a.data() + 41 * 90, 90, T{0});
  const LuFactors<T> factors = lu_factor(a.to(device), device);
  EXPECT_EQ(factors.zero_pivot, 20);
  expect_factors(a, factors);
  EXPECT_EQ(lu_factor(zeros<T>(5, 4).to(device), device).zero_pivot, 0);
  EXPECT_EQ(lu_factor(zeros<T>(5, 4).to(device), device).growth, 0);
  a(88, 3) = std::numeric_limits<T>::quiet_NaN();
  EXPECT_TRUE(std::isnan(lu_factor(a.to(device), device).growth));
}

}  // namespace echelon::test

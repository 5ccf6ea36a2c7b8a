// SPDX-License-Identifier: BSD-3-Clause
#include "support/gauss_jordan.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

constexpr double passing = 30;  // LAPACK's threshold

template <class T>
class GaussJordanInverseOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanInverseOf, Reals);

TYPED_TEST(GaussJordanInverseOf, HasASmallResidualOnBothSides) {
  using T = TypeParam;
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129, 260}) {
      for (const int type : {1, 2, 3, 4, 8, 9, 10, 11}) {
        SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
        const Dense<T> a = lapack_type<T>(type, n, 3);
        Dense<T> x = a;
        const Report report = GaussJordan<T>(device, {.tolerance = 0}).invert(x);
        ASSERT_TRUE(report.solved() || (type == 9 && !report.column)) << report.message;
        EXPECT_LT(inverse_ratio(x, a), passing);
        // The other side can be worse by the condition number, and the report is about the worse side.
        const double right = inverse_ratio(a, x);
        if (type < 8 || type > 9) {
          EXPECT_LT(right, passing);
        }
        if (report.solved() && n > 0) {
          EXPECT_LT(right * unit<T>, 10 * (std::is_same_v<T, double> ? 1e-10 : 1e-4));
        }
        if (n > 0 && type < 10) {
          EXPECT_NEAR(*report.reciprocal_condition * norm_inf<T>(a.view()) * norm_inf<T>(x.view()), 1, 1e-3);
        }
      }
    }
  }
}

/// A x and x A on a few vectors, in extended precision.
TYPED_TEST(GaussJordanInverseOf, InvertsLargeMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {1000, 1023, 1025}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    Dense<T> x = a;
    const Report report = GaussJordan<T>().invert(x);
    ASSERT_EQ(report.status, Status::direct);
    EXPECT_LT(report.backward_error, 1000 * unit<T>);
    const Dense<T> v = random_dense<T>(n, 2, 4);
    const double condition = 1 / *report.reciprocal_condition;
    const double bound = passing * unit<T> * condition;
    EXPECT_LT(largest_difference(product(x, product(a, v)), v), bound);
    EXPECT_LT(largest_difference(product(a, product(x, v)), v), bound);
  }
}

TYPED_TEST(GaussJordanInverseOf, InvertsWhatIsHardForElimination) {
  using T = TypeParam;
  for (const Dense<T>& a :
       {hilbert<T>(6), lotkin<T>(6), frank<T>(8), vandermonde<T>(7), kahan<T>(40, 1.2), growing<T>(12)}) {
    Dense<T> x = a;
    ASSERT_NE(GaussJordan<T>({}, {.tolerance = 0}).invert(x).status, Status::breakdown);
    EXPECT_LT(inverse_ratio(a, x), passing);
    EXPECT_LT(inverse_ratio(x, a), passing);
  }
}

/// Never silently wrong: where growth took the digits, the report says so.
TYPED_TEST(GaussJordanInverseOf, InvertsWhereElementsGrowOrSaysThatItCannot) {
  using T = TypeParam;
  int inverted = 0;
  for (const Dense<T>& a : growth_matrices<T>()) {
    Dense<T> x = a;
    const Report report = GaussJordan<T>({}, {.tolerance = 0}).invert(x);
    if (!report.solved()) continue;
    ++inverted;
    const double worst = std::max(inverse_ratio(a, x), inverse_ratio(x, a));
    EXPECT_LT(worst * unit<T>, sizeof(T) == 8 ? 1e-9 : 1e-3);
  }
  EXPECT_GE(inverted, 5);
}

TYPED_TEST(GaussJordanInverseOf, WorksInEveryLayoutAndInAWindow) {
  using T = TypeParam;
  const std::int64_t n = 37;
  const std::int64_t leading = 50;
  const Dense<T> a = random_dense<T>(n, n, 3);
  Dense<T> expected = a;
  GaussJordan<T>().invert(expected);
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    std::vector<T> storage(static_cast<std::size_t>(leading * n), T{-77});
    const DenseView<T> window(storage.data(), n, n, leading, Device(), layout);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) window(i, j) = a(i, j);
    }
    EXPECT_EQ(GaussJordan<T>().invert(window).status, Status::direct);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(window(i, j), expected(i, j), 1e3 * unit<T> * largest_magnitude(expected));
      }
      for (std::int64_t i = n; i < leading; ++i)
        EXPECT_EQ(storage[static_cast<std::size_t>(j * leading + i)], T{-77});
    }
  }
}

TYPED_TEST(GaussJordanInverseOf, NamesTheFirstDependentColumn) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 5, 33, 129}) {
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      Dense<T> a = random_dense<T>(n, n, 3);
      for (std::int64_t i = 0; i < n; ++i) a(i, column) = column > 0 ? 2 * a(i, column - 1) : T{0};
      const Report report = GaussJordan<T>().invert(a);
      EXPECT_EQ(report.status, Status::singular);
      EXPECT_EQ(report.column, column);
    }
  }
}

TYPED_TEST(GaussJordanInverseOf, SaysWhereANonNumberIs) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(40, 40, 3);
  a(7, 30) = std::numeric_limits<T>::quiet_NaN();
  Report report = GaussJordan<T>().invert(a);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 7);
  EXPECT_EQ(report.column, 30);
  report = GaussJordan<T>().invert(DenseView<T>(a.data(), 40, 40, 40, Device(), Layout::row_major));
  EXPECT_EQ(report.row, 30);
  EXPECT_EQ(report.column, 7);
  Dense<T> tiny = scaled(identity<T>(3), std::numeric_limits<T>::denorm_min());
  EXPECT_EQ(GaussJordan<T>().invert(tiny).status, Status::not_a_number);  // the inverse overflows
}

TYPED_TEST(GaussJordanInverseOf, GivesTheSameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  for (const std::int64_t n : {257, 700}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    Dense<T> serial = a;
    GaussJordan<T>(Device::serial()).invert(serial);
    for (const int threads : {1, 2, 3, 2}) {
      Dense<T> x = a;
      GaussJordan<T>(Device::openmp(threads)).invert(x);
      EXPECT_EQ(x.to_vector(), serial.to_vector());
    }
  }
}

TEST(GaussJordanInverse, RefusesARectangularMatrix) {
  Dense<double> a(Device(), 3, 4);
  EXPECT_THROW(GaussJordan<double>().invert(a), DimensionMismatch);
}

TEST(GaussJordanInverse, TakesLittleMoreThanTheMatrix) {
  Dense<double> a = random_dense<double>(512, 512, 1);
  const Report report = GaussJordan<double>({}, {.block = 32}).invert(a);
  EXPECT_LT(report.bytes, a.bytes() / 4);
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
#include "support/gauss_jordan_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GaussJordanInverseOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanInverseOf, Reals);

TYPED_TEST(GaussJordanInverseOf, HasASmallResidualOnBothSides) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129, 260}) {
      check_inverses_of_types<TypeParam>(device, n, {1, 2, 3, 4, 8, 9, 10, 11});
    }
  }
}

TYPED_TEST(GaussJordanInverseOf, InvertsLargeMatrices) {
  for (const std::int64_t n : {1000, 1023, 1025}) check_large_inverse<TypeParam>(Device(), n, 0);
}

TYPED_TEST(GaussJordanInverseOf, InvertsWhatIsHardForElimination) {
  check_inverses_that_are_hard<TypeParam>(Device());
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
  check_inverse_in_a_window<TypeParam>(Device());
}

TYPED_TEST(GaussJordanInverseOf, NamesTheFirstDependentColumn) {
  check_dependent_columns<TypeParam>(Device(), {1, 5, 33, 129});
}

TYPED_TEST(GaussJordanInverseOf, SaysWhenTheInverseOverflows) {
  check_inverse_that_overflows<TypeParam>(Device());
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

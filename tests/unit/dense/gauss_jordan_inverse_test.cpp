// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/gauss_jordan_cases.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class GaussJordanInverseOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanInverseOf, Reals);

TYPED_TEST(GaussJordanInverseOf, LapackTypes_ResidualsAreSmall) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129, 260}) {
      check_inverses_of_types<TypeParam>(device, n, {1, 2, 3, 4, 8, 9, 10, 11});
    }
  }
}

TYPED_TEST(GaussJordanInverseOf, LargeMatrices_AreInverted) {
  for (const std::int64_t n : {1000, 1023, 1025}) check_large_inverse<TypeParam>(Device(), n, 0);
}

TYPED_TEST(GaussJordanInverseOf, IllConditionedFamilies_AreInverted) {
  check_inverses_that_are_hard<TypeParam>(Device());
}

/// Growth that destroys all digits must be reported.
TYPED_TEST(GaussJordanInverseOf, ElementGrowth_IsInvertedOrReported) {
  using T = TypeParam;
  int inverted = 0;
  for (const Dense<T>& a : growth_matrices<T>()) {
    Dense<T> x = a;
    const Report report = RowReduction<T>({}, {.tolerance = 0}).invert(x);
    if (!report.solved()) continue;
    ++inverted;
    const double worst = std::max(inverse_ratio(a, x), inverse_ratio(x, a));
    EXPECT_LT(worst * unit<T>, sizeof(T) == 8 ? 1e-9 : 1e-3);
  }
  EXPECT_GE(inverted, 5);
}

/// max of |A X - I| and |X A - I| by rows, over ||A||_inf ||X||_inf; the smaller comes first.
std::pair<double, double> inverse_residuals(const Dense<double>& a, const Dense<double>& x) {
  const auto residual = [](const Dense<double>& p) {
    Dense<double> difference = p;
    for (std::int64_t i = 0; i < p.rows(); ++i) difference(i, i) -= 1;
    return norm_inf<double>(DenseView<const double>(difference));
  };
  const double scale =
      norm_inf<double>(DenseView<const double>(a)) * norm_inf<double>(DenseView<const double>(x));
  const double right = residual(product(a, x)) / scale;
  const double left = residual(product(x, a)) / scale;
  return std::minmax(left, right);
}

/// LAPACK's getrf and getri are the oracle: one side has a residual of eps, the other one of up to eps times
/// the condition number.
void expect_inverse_as_good_as_lapacks(const Dense<double>& a) {
  const auto n = static_cast<lapack_int>(a.rows());
  Dense<double> lapack = a;
  std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
  ASSERT_EQ(LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, lapack.data(), n, pivots.data()), 0);
  ASSERT_EQ(LAPACKE_dgetri(LAPACK_COL_MAJOR, n, lapack.data(), n, pivots.data()), 0);
  Dense<double> x = a;
  const Report report = RowReduction<double>({}, {.tolerance = 0}).invert(x);
  EXPECT_EQ(report.status, Status::direct) << report.message;
  const double rounding = unit<double> * static_cast<double>(n);
  EXPECT_LT(report.backward_error, rounding);
  const auto [better, worse] = inverse_residuals(a, x);
  const auto [lapack_better, lapack_worse] = inverse_residuals(a, lapack);
  EXPECT_LT(better, std::max(10 * lapack_better, rounding));
  // 3 n roundings bound the residual of an inverse a priori; LAPACK's own depends on the kernels of the BLAS.
  EXPECT_LT(worse, std::max(30 * lapack_worse, 3 * rounding));
}

TEST(GaussJordanInverse, IllConditioned_IsAsGoodAsLapacks) {
  for (const double condition : {1e6, 1e10, 1e12, 1e13}) {
    SCOPED_TRACE(condition);
    expect_inverse_as_good_as_lapacks(with_condition<double>(90, condition, 3));
  }
}

TEST_F(RealMatrices, Plat362_InverseIsAsGoodAsLapacks) {
  const Matrix<double> matrix = read_matrix<double>((real_matrices() / "banded" / "plat362.mtx.gz").string());
  expect_inverse_as_good_as_lapacks(to_dense(MatrixRef<double>(matrix)));
}

TYPED_TEST(GaussJordanInverseOf, LayoutsAndViews_AreInverted) {
  check_inverse_in_a_window<TypeParam>(Device());
}

TYPED_TEST(GaussJordanInverseOf, DependentColumn_IsReported) {
  check_dependent_columns<TypeParam>(Device(), {1, 5, 33, 129});
}

TYPED_TEST(GaussJordanInverseOf, OverflowingInverse_IsReported) {
  check_inverse_that_overflows<TypeParam>(Device());
}

TYPED_TEST(GaussJordanInverseOf, NotFinite_PositionIsReported) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(40, 40, 3);
  a(7, 30) = std::numeric_limits<T>::quiet_NaN();
  Report report = RowReduction<T>().invert(a);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 7);
  EXPECT_EQ(report.column, 30);
  report = RowReduction<T>().invert(DenseView<T>(a.data(), 40, 40, 40, Device(), Layout::row_major));
  EXPECT_EQ(report.row, 30);
  EXPECT_EQ(report.column, 7);
}

TYPED_TEST(GaussJordanInverseOf, AnyNumberOfThreads_GivesTheSameBits) {
  using T = TypeParam;
  for (const std::int64_t n : {257, 700}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    Dense<T> serial = a;
    RowReduction<T>(Device::serial()).invert(serial);
    for (const int threads : {1, 2, 3, 2}) {
      Dense<T> x = a;
      RowReduction<T>(Device::openmp(threads)).invert(x);
      EXPECT_EQ(x.to_vector(), serial.to_vector());
    }
  }
}

TEST(GaussJordanInverse, RectangularMatrix_Throws) {
  Dense<double> a(Device(), 3, 4);
  EXPECT_THROW(RowReduction<double>().invert(a), DimensionMismatch);
}

TEST(GaussJordanInverse, Memory_IsLittleMoreThanTheMatrix) {
  Dense<double> a = random_dense<double>(512, 512, 1);
  const Report report = RowReduction<double>({}, {.block = 32}).invert(a);
  EXPECT_LT(report.bytes, a.bytes() / 4);
}

}  // namespace
}  // namespace echelon::test

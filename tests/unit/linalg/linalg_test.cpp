// SPDX-License-Identifier: BSD-3-Clause
/// The public operations on vectors and matrices, against extended precision and Eigen.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#ifdef ECHELON_TEST_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

#include "support/problems.hpp"

namespace echelon::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Random elements; every fifth row is empty, and one row and one column are full when asked for.
template <class T>
Csr<T> awkward(std::int64_t rows, std::int64_t columns, bool full_lines) {
  std::mt19937 random(static_cast<unsigned>(rows * 31 + columns));
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t j = 0; j < columns; ++j) {
      const bool full = full_lines && (i == rows / 2 || j == columns / 2);
      const bool kept = random() % 17 == 0 && i % 5 != 0;
      if (full || kept) elements.push_back({i, j, static_cast<T>(value(random))});
    }
  }
  return Csr<T>::from_triplets(rows, columns, elements);
}

template <class T>
class Linalg : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Linalg, Precisions);

const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
    {0, 0}, {1, 1}, {31, 33}, {33, 31}, {1, 40}, {40, 1}, {0, 5}, {5, 0}, {64, 64}, {1025, 7}, {7, 1025}};

/// |y - (alpha A x + beta y0)| within the rounding of a sum of that many terms.
template <class T>
void expect_product(const Csr<T>& A, const Dense<T>& X, const Dense<T>& Y0, const Dense<T>& Y, T alpha,
                    T beta) {
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      long double sum = beta == 0 ? 0.0L : static_cast<long double>(beta) * Y0(i, j);
      long double magnitude = std::abs(sum);
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const long double term =
            static_cast<long double>(alpha) * A.values()[k] * X(A.column_indices()[k], j);
        sum += term;
        magnitude += std::abs(term);
      }
      const auto terms = static_cast<long double>(A.row_offsets()[i + 1] - A.row_offsets()[i] + 3);
      ASSERT_LE(std::abs(sum - static_cast<long double>(Y(i, j))),
                magnitude * terms * std::numeric_limits<T>::epsilon())
          << A.rows() << " by " << A.columns() << ", element " << i << ", " << j;
    }
  }
}

TYPED_TEST(Linalg, Products_AllShapesFormsAndDevices) {
  using T = TypeParam;
  for (const auto& [rows, columns] : shapes) {
    for (const bool full_lines : {false, true}) {
      const Csr<T> sparse = awkward<T>(rows, columns, full_lines);
      const Dense<T> X = random_dense<T>(columns, 2, 1);
      const Dense<T> Y0 = random_dense<T>(rows, 2, 2);
      for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(3)}) {
        const Csr<T> A = sparse.to(device);
        const Dense<T> dense = to_dense<T>(A);
        for (const auto& [alpha, beta] : {std::pair<T, T>{1, 0}, {-2, 1}, {T(0.5), T(-1.5)}, {0, 2}}) {
          Dense<T> from_sparse = Y0;
          multiply<T>(alpha, A, X, beta, from_sparse);
          expect_product(sparse, X, Y0, from_sparse, alpha, beta);
          Dense<T> from_dense = Y0;
          multiply<T>(alpha, dense, X, beta, from_dense);
          expect_product(sparse, X, Y0, from_dense, alpha, beta);
        }
      }
    }
  }
}

TYPED_TEST(Linalg, BetaZero_DoesNotReadResult) {
  using T = TypeParam;
  const Csr<T> A = awkward<T>(33, 31, true);
  const Dense<T> X = random_dense<T>(31, 1, 1);
  Dense<T> Y(Device(), 33, 1);
  for (std::int64_t i = 0; i < 33; ++i) Y[i] = static_cast<T>(nan);
  multiply<T>(1, A, X, 0, Y);
  for (std::int64_t i = 0; i < 33; ++i) EXPECT_TRUE(std::isfinite(Y[i])) << i;
}

TYPED_TEST(Linalg, AnyNumberOfThreads_SameBits) {
  using T = TypeParam;
  const Csr<T> A = convection_diffusion(150, 0.3).csr<T>();
  const Dense<T> X = random_dense<T>(A.rows(), 1, 1);
  Dense<T> expected(Device(), A.rows(), 1);
  multiply<T>(1, A.to(Device::serial()), X, 0, expected);
  for (const int threads : {1, 2, 7}) {
    Dense<T> Y(Device(), A.rows(), 1);
    multiply<T>(1, A.to(Device::openmp(threads)), X, 0, Y);
    EXPECT_EQ(Y.to_vector(), expected.to_vector());
    const Dense<T> x = X.to(Device::openmp(threads));
    EXPECT_EQ(dot<T>(x, x), dot<T>(X.to(Device::serial()), X));
  }
}

TYPED_TEST(Linalg, VectorOperations_AllSizes) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 31, 33, 1025, 4097, 70001}) {
    const Dense<T> x = random_dense<T>(n, 1, 1);
    Dense<T> y = random_dense<T>(n, 1, 2);
    long double product = 0;
    long double magnitude = 0;
    long double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double term = static_cast<long double>(x[i]) * static_cast<long double>(y[i]);
      product += term;
      magnitude += std::abs(term);
      largest = std::max(largest, std::abs(static_cast<long double>(x[i])));
    }
    EXPECT_NEAR(dot<T>(x, y), static_cast<double>(product), 1e-13 * static_cast<double>(magnitude));
    EXPECT_DOUBLE_EQ(norm2<T>(x), std::sqrt(dot<T>(x, x)));
    EXPECT_EQ(norm_inf<T>(x), static_cast<double>(largest));
    const Dense<T> before = y;
    axpy<T>(T(0.25), x, y);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], before[i] + T(0.25) * x[i]);
  }
}

TYPED_TEST(Linalg, RowMajorViews_SameResult) {
  using T = TypeParam;
  const Csr<T> A = awkward<T>(31, 33, false);
  const Dense<T> X = random_dense<T>(33, 3, 1);
  std::vector<T> rows(33 * 4);
  for (std::int64_t i = 0; i < 33; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) rows[static_cast<std::size_t>(4 * i + j)] = X(i, j);
  }
  Dense<T> expected(Device(), 31, 3);
  multiply<T>(1, A, X, 0, expected);
  std::vector<T> out(31 * 5, T{9});
  multiply<T>(1, A, {rows.data(), 33, 3, 4, {}, Layout::row_major}, 0,
              {out.data(), 31, 3, 5, {}, Layout::row_major});
  for (std::int64_t i = 0; i < 31; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(out[static_cast<std::size_t>(5 * i + j)], expected(i, j));
    EXPECT_EQ(out[static_cast<std::size_t>(5 * i + 3)], T{9}) << "the gap is not touched";
  }
}

TEST(LinalgDouble, Norms_DoNotOverflowOrUnderflow) {
  const std::vector<double> huge(50, 1e200);
  const std::vector<double> tiny(50, 1e-200);
  EXPECT_NEAR(norm2<double>(huge) / 1e200, std::sqrt(50.0), 1e-12);
  EXPECT_NEAR(norm2<double>(tiny) / 1e-200, std::sqrt(50.0), 1e-12);
}

TEST(LinalgDouble, NaN_Propagates) {
  std::vector<double> x(100, 1.0);
  x[63] = nan;
  EXPECT_TRUE(std::isnan(norm2<double>(x)));
  EXPECT_TRUE(std::isnan(norm_inf<double>(DenseView<const double>(x))));
  EXPECT_TRUE(std::isnan(dot<double>(x, x)));
}

TEST(LinalgDouble, Mismatch_ErrorNamesOperands) {
  const Csr<double> A = awkward<double>(3, 4, true);
  std::vector<double> x(3);
  std::vector<double> y(3);
  try {
    multiply<double>(1, A, x, 0, y);
    FAIL() << "accepted";
  } catch (const DimensionMismatch& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("3 by 4"), std::string::npos) << text;
    EXPECT_NE(text.find("3 by 1"), std::string::npos) << text;
  }
  std::vector<double> longer(4);
  EXPECT_THROW((void)dot<double>(x, longer), DimensionMismatch);
  EXPECT_THROW(axpy<double>(1, x, longer), DimensionMismatch);
}

#ifdef ECHELON_TEST_WITH_EIGEN
TEST(LinalgDouble, Products_AgreeWithEigen) {
  const Csr<double> A = convection_diffusion(40, 0.3).csr<double>();
  const Dense<double> x = random_dense<double>(A.rows(), 1, 1);
  std::vector<Eigen::Triplet<double>> elements;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      elements.emplace_back(i, A.column_indices()[k], A.values()[k]);
    }
  }
  Eigen::SparseMatrix<double, Eigen::RowMajor> peer(A.rows(), A.columns());
  peer.setFromTriplets(elements.begin(), elements.end());
  const Eigen::VectorXd expected = peer * Eigen::Map<const Eigen::VectorXd>(x.data(), A.columns());
  Dense<double> y(Device(), A.rows(), 1);
  multiply<double>(1, A, x, 0, y);
  for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-14);
}
#endif

}  // namespace
}  // namespace echelon::test

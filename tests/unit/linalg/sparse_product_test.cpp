// SPDX-License-Identifier: BSD-3-Clause
#include "backend/targets.hpp"
#include "linalg/spgemm/product.hpp"
#include "support/sparse_algebra.hpp"
#include "support/test_data.hpp"

#include <echelon/error.hpp>
#include <echelon/io/matrix_market.hpp>
#include <echelon/linalg/sparse_product.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#ifdef ECHELON_TEST_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

namespace echelon::test {
namespace {

const std::vector<Device> devices = {Device::serial(), Device::openmp(1), Device::openmp(3)};

template <class T>
class SparseProductTest : public testing::Test {};
using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseProductTest, Values);

/// Every way to A B gives what the plain loops give, bit for bit.
template <class T>
void check_product(const Csr<T>& A, const Csr<T>& B) {
  const Csr<T> expected = plain_product(A, B);
  const Csr<T> A2 = with_new_values(A, 77);
  const Csr<T> expected_of_A2 = plain_product(A2, B);
  for (const Device& device : devices) {
    SCOPED_TRACE(device.name());
    const Csr<T> a = A.to(device);
    const Csr<T> b = B.to(device);
    expect_identical(multiply(a, b), expected);
    SparseProduct<T> product(a, b);
    EXPECT_EQ(product.nonzeros(), expected.nonzeros());
    EXPECT_EQ(product.bytes(), SparseProduct<T>(a, b, {.store_positions = false}).bytes())
        << "the host stores no positions";
    Csr<T> C = product.compute(a, b);
    EXPECT_EQ(C.device(), device);
    expect_identical(C, expected);
    product.update(A2.to(device), b, C);
    expect_identical(C, expected_of_A2);
  }
}

TYPED_TEST(SparseProductTest, AgreesWithPlainLoops) {
  for (const auto& [name, A, B] : factor_pairs<TypeParam>()) {
    SCOPED_TRACE(name);
    check_product(A, B);
  }
}

TYPED_TEST(SparseProductTest, RightFactor_HasBitsOfSeparateProducts) {
  using T = TypeParam;
  for (const auto& [name, A, P] : factor_pairs<T>()) {
    SCOPED_TRACE(name);
    const Csr<T> R = random_matrix<T>(20 + A.rows() / 8, A.rows(), 3, 5);
    const Csr<T> expected = plain_product(R, plain_product(A, P));
    for (const Device& device : devices) {
      expect_identical(right_product_on<HostTarget, T>(R.to(device), A.to(device), P.to(device)), expected);
    }
  }
}

TYPED_TEST(SparseProductTest, Triple_AssociatesFromLeft) {
  using T = TypeParam;
  for (const auto& [name, A, P] : factor_pairs<T>()) {
    SCOPED_TRACE(name);
    const Csr<T> R = random_matrix<T>(20 + A.rows() / 8, A.rows(), 3, 5);
    const Csr<T> A2 = with_new_values(A, 78);
    const Csr<T> expected = plain_product(plain_product(R, A), P);
    const Csr<T> expected_of_A2 = plain_product(plain_product(R, A2), P);
    for (const Device& device : devices) {
      const Csr<T> r = R.to(device);
      const Csr<T> a = A.to(device);
      const Csr<T> p = P.to(device);
      expect_identical(multiply(r, a, p), expected);
      TripleProduct<T> product(r, a, p);
      Csr<T> C = product.compute(r, a, p);
      expect_identical(C, expected);
      product.update(r, A2.to(device), p, C);
      expect_identical(C, expected_of_A2);
    }
  }
}

TYPED_TEST(SparseProductTest, Product_TransposesAndAssociates) {
  using T = TypeParam;
  for (const auto& [name, A, B] : factor_pairs<T>()) {
    SCOPED_TRACE(name);
    expect_close(multiply(plain_transpose(B), plain_transpose(A)), plain_transpose(multiply(A, B)));
    const Csr<T> R = random_matrix<T>(41, A.rows(), 4, 6);
    expect_close(multiply(R, multiply(A, B)), multiply(R, A, B));
  }
}

TYPED_TEST(SparseProductTest, Zeros_AreKept_NaNPropagates) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const Csr<T> A(3, 2, {0, 2, 3, 4}, {0, 1, 0, 1}, {T{1}, T{-1}, T{0}, -T{0}});
  const Csr<T> B(2, 3, {0, 3, 5}, {0, 1, 2, 0, 1}, {T{1}, inf, nan, T{1}, T{2}});
  for (const Device& device : devices) {
    SparseProduct<T> product(A.to(device), B.to(device));
    const Csr<T> C = product.compute(A.to(device), B.to(device));
    EXPECT_EQ(C.column_indices().to_vector(), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1}));
    EXPECT_EQ(C.values()[0], 0) << "1 - 1 stays stored";
    EXPECT_EQ(C.values()[1], inf);
    EXPECT_TRUE(std::isnan(C.values()[2]));
    EXPECT_EQ(C.values()[3], 0);
    EXPECT_TRUE(std::isnan(C.values()[4])) << "0 * infinity";
    EXPECT_TRUE(std::isnan(C.values()[5]));
    EXPECT_TRUE(std::signbit(C.values()[6])) << "-0 * 1 is -0";
    expect_identical(multiply(A.to(device), B.to(device)), C);
  }
}

TYPED_TEST(SparseProductTest, InvalidOperands_Throw) {
  using T = TypeParam;
  const Csr<T> A = random_matrix<T>(20, 30, 4, 1);
  const Csr<T> B = random_matrix<T>(30, 10, 4, 2);
  EXPECT_THROW(static_cast<void>(multiply(A, A)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(multiply(A, B, B)), DimensionMismatch);
  SparseProduct<T> product(A, B);
  Csr<T> C = product.compute(A, B);
  EXPECT_THROW(product.update(random_matrix<T>(20, 30, 5, 1), B, C), DimensionMismatch);
  Csr<T> other = random_matrix<T>(20, 10, 1, 1);
  EXPECT_THROW(product.update(A, B, other), DimensionMismatch);
}

TYPED_TEST(SparseProductTest, OtherPattern_Throws) {
  using T = TypeParam;
  const Csr<T> A(2, 2, {0, 1, 3}, {0, 0, 1}, {T{1}, T{2}, T{3}});
  const Csr<T> moved(2, 2, {0, 1, 3}, {1, 0, 1}, {T{1}, T{2}, T{3}});
  for (const Device& device : devices) {
    const Csr<T> a = A.to(device);
    SparseProduct<T> product(a, a);
    Csr<T> C = product.compute(a, a);
    EXPECT_THROW(product.update(moved.to(device), a, C), InvalidMatrix);
    EXPECT_THROW(static_cast<void>(product.compute(a, moved.to(device))), InvalidMatrix);
    const Csr<T> B(3, 3, {0, 1, 2, 3}, {0, 1, 2}, {T{1}, T{1}, T{1}});
    const Csr<T> unequal(2, 3, {0, 3, 4}, {0, 1, 2, 0}, {T{1}, T{2}, T{3}, T{4}});
    const Csr<T> repeating(2, 3, {0, 2, 4}, {0, 1, 0, 1}, {T{1}, T{2}, T{3}, T{4}});
    SparseProduct<T> wide(unequal.to(device), B.to(device));
    EXPECT_THROW(static_cast<void>(wide.compute(repeating.to(device), B.to(device))), InvalidMatrix);
  }
}

TEST(SparseProductErrors, ProductTooLarge_OutOfMemory) {
  constexpr std::int64_t n = 2'000'000;
  std::vector<Triplet<double>> down;
  std::vector<Triplet<double>> across;
  for (std::int32_t i = 0; i < n; ++i) {
    down.push_back({i, 0, 1});
    across.push_back({0, i, 1});
  }
  const auto column = Csr<double>::from_triplets(n, 1, down);
  const auto row = Csr<double>::from_triplets(1, n, across);
  try {
    static_cast<void>(multiply(column, row));
    FAIL() << "48 TB were to be had";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), static_cast<std::size_t>(n * n * 4));
    EXPECT_LT(error.available(), error.asked());
  }
  EXPECT_THROW(SparseProduct<double>(column, row), OutOfMemory);
  EXPECT_EQ(multiply(row, column).values()[0], static_cast<double>(n));
}

#ifdef ECHELON_TEST_WITH_EIGEN
using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

EigenMatrix to_eigen(const Csr<double>& A) {
  const std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  return Eigen::Map<const EigenMatrix>(A.rows(), A.columns(), A.nonzeros(), offsets.data(),
                                       A.column_indices().data(), A.values().data());
}

/// A A^T, for real matrices of many kinds: power-law graphs, rectangular ones, stretched ranges of values.
TEST(SparseProductOracle, RealMatrices_AgreeWithEigen) {
  for (const char* name :
       {"bcsstk10.mtx.gz", "orsirr_1.mtx.gz", "west0479.mtx.gz", "bcsstm13.mtx.gz", "bcsstk02.mtx"}) {
    SCOPED_TRACE(name);
    const auto A = read_matrix_market<double>((data_directory() / name).string());
    const Csr<double> C = multiply(A, plain_transpose(A));
    const EigenMatrix a = to_eigen(A);
    const EigenMatrix expected = a * EigenMatrix(a.transpose());
    ASSERT_EQ(C.nonzeros(), expected.nonZeros());
    for (std::int64_t k = 0; k < C.nonzeros(); ++k) {
      ASSERT_EQ(C.column_indices()[k], expected.innerIndexPtr()[k]);
      ASSERT_EQ(C.values()[k], expected.valuePtr()[k]) << "Eigen adds in the same order";
    }
  }
}
#endif

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// The public operations on the host's devices, in every layout, with a context of one's own.
#include "support/linalg_checks.hpp"

#include <cblas.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<Device> devices = {Device::serial(), Device::openmp(1), Device::openmp(3)};

template <class T>
class Operations : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Operations, Precisions);

TYPED_TEST(Operations, DenseProducts) {
  for (const Device& device : devices) check_gemm<TypeParam>(device);
}

TYPED_TEST(Operations, DenseProduct_Vector) {
  for (const Device& device : devices) check_gemv<TypeParam>(device);
}

TYPED_TEST(Operations, SparseProduct_SeveralVectors) {
  for (const Device& device : devices) {
    check_several_columns(device, random_sparse<TypeParam>(1025, 33, 7, true, 1));
    check_several_columns(device, random_sparse<TypeParam>(31, 1025, 5, true, 2));
    check_several_columns(device, Csr<TypeParam>(5, 0, {0, 0, 0, 0, 0, 0}, {}, {}));
    check_several_columns(device, Csr<TypeParam>());
  }
}

TYPED_TEST(Operations, SparseProduct_Transposed) {
  for (const Device& device : devices) {
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{0, 0},
                                        {5, 0},
                                        {0, 5},
                                        {1, 1},
                                        {31, 33},
                                        {1025, 31},
                                        {33, 1025}}) {
      check_transposed(device, random_sparse<TypeParam>(rows, columns, 7, true, 3));
    }
    check_transposed(device,
                     random_sparse<TypeParam>(1500, 1100, 4, false, 4));  // enough for several threads
  }
}

TYPED_TEST(Operations, Sums) {
  for (const Device& device : devices) check_add<TypeParam>(device);
}

TYPED_TEST(Operations, Reductions) {
  for (const Device& device : devices) check_reductions<TypeParam>(device);
}

TEST(OperationsDouble, Norms_ExtremeNumbers) {
  for (const Device& device : devices) check_extreme_norms(device);
}

/// The bits of everything that adds, for a given number of threads.
template <class T>
std::vector<T> all_sums(const Device& device) {
  Context context(device);
  Stored<T> A(Device::serial(), 700, 9000, Layout::column_major, 0, 1);
  Stored<T> B(Device::serial(), 9000, 300, Layout::row_major, 0, 2);
  Stored<T> C(Device::serial(), 700, 300, Layout::column_major, 0, 3);
  Stored<T> x(Device::serial(), 9000, 1, Layout::column_major, 0, 4);
  Stored<T> y(Device::serial(), 700, 1, Layout::column_major, 0, 5);
  const Csr<T> sparse = random_sparse<T>(1500, 1100, 4, true, 6);
  Stored<T> z(Device::serial(), 1500, 1, Layout::column_major, 0, 7);
  Stored<T> w(Device::serial(), 1100, 1, Layout::column_major, 0, 8);
  gemm<T>(context, T(0.5), A.view(), B.view(), T(2), C.view());
  multiply<T>(context, T(0.5), A.view(), x.view(), T(2), y.view());
  multiply_transposed<T>(context, T(0.5), sparse, z.view(), T(2), w.view());
  std::vector<T> all;
  for (Stored<T>* result : {&C, &y, &w}) {
    result->fetch();
    all.insert(all.end(), result->image().begin(), result->image().end());
  }
  multiply_transposed<T>(context, T(0.5), A.view(), y.view(), T(2), x.view());
  x.fetch();
  all.insert(all.end(), x.image().begin(), x.image().end());
  all.push_back(static_cast<T>(norm2<T>(context, x.view())));
  return all;
}

TYPED_TEST(Operations, AnyNumberOfThreads_SameBits) {
  const std::vector<TypeParam> expected = all_sums<TypeParam>(Device::serial());
  for (const int threads : {1, 2, 5}) EXPECT_EQ(all_sums<TypeParam>(Device::openmp(threads)), expected);
}

TEST(OperationsDouble, NaN_Propagates) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> A = {1, 0, 0, nan, 0, 0, 0, infinity, 1};
  const DenseView<const double> dense(A.data(), 3, 3, 3);
  const Csr<double> sparse = to_csr<double>(dense);
  const std::vector<double> x = {1, 1, 0};
  std::vector<double> y(3);
  for (const MatrixRef<double>& matrix : {MatrixRef<double>(dense), MatrixRef<double>(sparse)}) {
    multiply<double>(1, matrix, x, 0, y);
    EXPECT_TRUE(std::isnan(y[0]));                   // 1 + nan
    EXPECT_TRUE(std::isnan(y[1])) << "inf times 0";  // 0 + inf * 0
    multiply_transposed<double>(1, matrix, x, 0, y);
    EXPECT_TRUE(std::isnan(y[1]));
  }
}

TEST(OperationsDouble, OverlappingOperands_Throw) {
  std::vector<double> memory(40, 1.0);
  const DenseView<double> A(memory.data(), 4, 4, 4);
  const DenseView<double> inside(memory.data() + 2, 4, 1, 4);
  const DenseView<double> apart(memory.data() + 20, 4, 1, 4);
  EXPECT_THROW(multiply<double>(1, A, inside, 0, inside), OverlappingOperands);
  EXPECT_THROW(multiply<double>(1, A, apart, 0, inside), OverlappingOperands);
  EXPECT_THROW(gemm<double>(1, A, A, 0, A), OverlappingOperands);
  EXPECT_THROW(add<double>(1, A, 1, A, transposed(A)), OverlappingOperands);
  const DenseView<double> shifted(memory.data() + 1, 4, 4, 4);
  EXPECT_THROW(add<double>(1, A, 1, A, shifted), OverlappingOperands);
  const Csr<double> sparse = to_csr<double>(MatrixRef<double>(A));
  EXPECT_THROW(multiply<double>(1, sparse, apart, 1, apart), OverlappingOperands);
  EXPECT_THROW(multiply_transposed<double>(1, sparse, apart, 1, apart), OverlappingOperands);
  try {
    multiply<double>(1, sparse, apart, 1, apart);
  } catch (const OverlappingOperands& error) {
    EXPECT_STREQ(error.what(), "X and Y share memory: write the result elsewhere");
  }
}

TEST(OperationsDouble, InterleavedViews_DoNotOverlap) {
  std::array<double, 8> memory = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::array<double, 4> unit = {1, 0, 0, 1};
  const DenseView<const double> I(unit.data(), 2, 2, 2);
  // Columns 0-1 and 2-3 of a row-major 2-by-4 matrix.
  const DenseView<double> left(memory.data(), 2, 2, 4, {}, Layout::row_major);
  const DenseView<double> right(memory.data() + 2, 2, 2, 4, {}, Layout::row_major);
  gemm<double>(1, I, left, 0, right);
  EXPECT_EQ(memory, (std::array<double, 8>{1, 2, 1, 2, 5, 6, 5, 6}));
}

TEST(OperationsDouble, Mismatch_ErrorNamesOperands) {
  std::vector<double> memory(64);
  const DenseView<double> A(memory.data(), 2, 3, 2);
  const DenseView<double> B(memory.data() + 8, 4, 5, 4);
  const DenseView<double> C(memory.data() + 40, 2, 5, 2);
  try {
    gemm<double>(1, A, B, 0, C);
    FAIL() << "accepted";
  } catch (const DimensionMismatch& error) {
    EXPECT_STREQ(error.what(), "A is 2 by 3, B is 4 by 5, C is 2 by 5: C = A B does not fit");
  }
  EXPECT_THROW(add<double>(1, A, 1, B, C), DimensionMismatch);
  EXPECT_THROW((void)norm1<double>(A), DimensionMismatch);
  const Csr<double> sparse = to_csr<double>(MatrixRef<double>(A));
  EXPECT_THROW(multiply_transposed<double>(1, sparse, C, 0, B), DimensionMismatch);
}

TEST(OperationsDouble, DenseProducts_AgreeWithBlas) {
  Stored<double> A(Device::serial(), 129, 300, Layout::column_major, 0, 1);
  Stored<double> B(Device::serial(), 300, 257, Layout::row_major, 0, 2);
  Dense<double> C(Device(), 129, 257);
  gemm<double>(1, A.view(), B.view(), 0, C);
  std::vector<double> difference(C.data(), C.data() + 129 * 257);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, 129, 257, 300, -1, A.view().data(), 129,
              B.view().data(), 257, 1, difference.data(), 129);
  for (const double value : difference) ASSERT_LE(std::abs(value), 1e-12);
}

}  // namespace
}  // namespace echelon::test

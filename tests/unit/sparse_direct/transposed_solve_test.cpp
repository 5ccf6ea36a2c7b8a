// SPDX-License-Identifier: BSD-3-Clause
/// Solves with the transpose of banded-lu and sparse-lu.
#include "support/transposed_cases.hpp"

namespace echelon::test {
namespace {

template <class T>
class TransposedSolveOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(TransposedSolveOf, Reals);

TYPED_TEST(TransposedSolveOf, SparseLu_LikeLapack) {
  using T = TypeParam;
  check_transposed_solves<SparseLu<T>, T>(Device::serial());
  check_transposed_solves<SparseLu<T>, T>(Device::openmp(2));
}

TYPED_TEST(TransposedSolveOf, BandedLu_LikeLapack) {
  using T = TypeParam;
  check_transposed_solves<BandedLu<T>, T>(Device::serial());
  check_transposed_solves<BandedLu<T>, T>(Device::openmp(5));
}

TYPED_TEST(TransposedSolveOf, Singular_ConsistentSystemIsSolved) {
  using T = TypeParam;
  check_transposed_singular<SparseLu<T>, T>(Device::serial());
  check_transposed_singular<BandedLu<T>, T>(Device::serial());
}

TYPED_TEST(TransposedSolveOf, Misuse_IsReported) {
  using T = TypeParam;
  SparseLu<T> lu;
  Dense<T> x(Device(), 3, 1);
  EXPECT_THROW(std::ignore = lu.solve_transposed(x, x), Error);
  Csr<T> A = Csr<T>::from_triplets(3, 3, {{0, 1, T{2}}, {1, 0, T{3}}, {2, 2, T{4}}});
  lu.factor(A);
  Dense<T> b(Device(), 2, 1);
  EXPECT_THROW(std::ignore = lu.solve_transposed(b, x), DimensionMismatch);
  A.values()[0] = std::numeric_limits<T>::quiet_NaN();
  lu.factor(A);
  EXPECT_EQ(lu.solve_transposed(random_dense<T>(3, 1, 1), x).status, Status::not_a_number);
}

TYPED_TEST(TransposedSolveOf, DenseMatrix_OfBothMethods) {
  using T = TypeParam;
  const Dense<T> A = random_dense<T>(40, 40, 2);
  const Dense<T> b = random_dense<T>(40, 1, 1);
  const Csr<T> transposed = transpose(to_csr(MatrixRef<T>(A)));
  Dense<T> x(Device(), 40, 1);
  SparseLu<T> sparse;
  sparse.factor(A);
  EXPECT_EQ(sparse.solve_transposed(b, x).status, Status::direct);
  EXPECT_LT(assess(transposed, x, b, 0).scaled_residual, 30);
  BandedLu<T> banded;
  banded.factor(A);
  EXPECT_EQ(banded.solve_transposed(b, x).status, Status::direct);
  EXPECT_LT(assess(transposed, x, b, 0).scaled_residual, 30);
}

}  // namespace
}  // namespace echelon::test

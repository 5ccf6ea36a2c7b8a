// SPDX-License-Identifier: BSD-3-Clause
/// Substitution for one right-hand side by several threads: factors that are large enough to be divided.
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// A solution on each number of threads, judged by its residual, with the bits of one core.
template <class Solve, class T>
void expect_same_bits(const Csr<T>& A, const Dense<T>& b, const Solve& solve) {
  Dense<T> expected;
  for (const Device& device : {Device::serial(), Device::openmp(2), Device::openmp(5)}) {
    SCOPED_TRACE(device.name());
    Dense<T> x(Device(), A.rows(), 1);
    const Report report = solve(device, x);
    EXPECT_FALSE(report.columns.empty()) << report.message;
    EXPECT_LT(assess(A, x, b, 0).scaled_residual, 30);
    if (device == Device::serial()) {
      expected = x;
      continue;
    }
    EXPECT_EQ(std::memcmp(x.data(), expected.data(), x.bytes()), 0);
  }
}

template <class T>
class SubstitutionOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(SubstitutionOf, Reals);

/// Without refinement, which would hide errors.
TYPED_TEST(SubstitutionOf, SymmetricFactors_SameBitsOnAnyNumberOfThreads) {
  using T = TypeParam;
  for (const Csr<T>& A : {generate::poisson_2d<T>(130, 130), generate::poisson_3d<T>(17, 17, 17)}) {
    const Dense<T> b = random_dense<T>(A.rows(), 1, 3);
    expect_same_bits(A, b, [&](const Device& device, Dense<T>& x) {
      SparseCholesky<T> solver(device, {.refine = 0, .condition = false});
      solver.factor(A);
      return solver.solve(b, x);
    });
    expect_same_bits(A, b, [&](const Device& device, Dense<T>& x) {
      SparseLdlt<T> solver(device, {.refine = 0, .condition = false});
      solver.factor(A);
      return solver.solve(b, x);
    });
  }
}

/// Zero diagonals delay pivots to parents.
TYPED_TEST(SubstitutionOf, UnsymmetricFactors_SameBitsOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Csr<T> convection = convection_diffusion(110, 0.4).csr<T>();
  Csr<T> delayed = convection;
  for (std::int64_t i = 0; i < delayed.rows(); ++i) {
    for (std::int64_t k = delayed.row_offsets()[i]; k < delayed.row_offsets()[i + 1]; ++k) {
      const bool diagonal = delayed.column_indices()[k] == i;
      if (diagonal) delayed.values()[k] *= static_cast<T>(i % 7 == 0 ? 0.25 : 1);
    }
  }
  for (const Csr<T>& A : {convection, delayed}) {
    const Csr<T> transposed = transpose(A);
    const Dense<T> b = random_dense<T>(A.rows(), 1, 3);
    const SparseLuOptions options = {
        .factorization = LuFactorization::multifrontal, .refine = 0, .condition = false};
    expect_same_bits(A, b, [&](const Device& device, Dense<T>& x) {
      SparseLu<T> solver(device, options);
      solver.factor(A);
      return solver.solve(b, x);
    });
    expect_same_bits(transposed, b, [&](const Device& device, Dense<T>& x) {
      SparseLu<T> solver(device, options);
      solver.factor(A);
      return solver.solve_transposed(b, x);
    });
  }
}

/// B with columns that have one nonzero or none: most fronts and rows are not reached by them.
template <class T>
Dense<T> unit_columns(std::int64_t n, std::initializer_list<std::int64_t> rows) {
  Dense<T> B(Device(), n, static_cast<std::int64_t>(rows.size()));
  std::fill_n(B.data(), n * B.columns(), T{0});
  std::int64_t c = 0;
  for (const std::int64_t row : rows) {
    if (row >= 0) B(row, c) = T{-3};
    ++c;
  }
  return B;
}

/// [C D; 0 C] with a diagonal D: a block triangular form of two blocks.
template <class T>
Csr<T> two_blocks() {
  const Csr<T> C = convection_diffusion(12, 0.4).csr<T>();
  const std::int64_t n = C.rows();
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = C.row_offsets()[i]; k < C.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = C.column_indices()[k];
      for (const std::int64_t begin : {std::int64_t{0}, n})
        triplets.push_back(
            {static_cast<std::int32_t>(begin + i), static_cast<std::int32_t>(begin + j), C.values()[k]});
    }
    triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(n + i), T{0.5}});
  }
  return Csr<T>::from_triplets(2 * n, 2 * n, triplets);
}

/// Solves without refinement, which would hide errors, and checks the residual of each column.
template <class Solver, class T>
void expect_sparse_solutions(Solver& solver, const Csr<T>& A, bool transposed) {
  const std::int64_t n = A.rows();
  const Csr<T> matrix = transposed ? transpose(A) : A;
  ASSERT_TRUE(solver.factor(A).ready());
  for (const Dense<T>& B : {unit_columns<T>(n, {0}), unit_columns<T>(n, {n / 2}), unit_columns<T>(n, {n - 1}),
                            unit_columns<T>(n, {-1}), unit_columns<T>(n, {n / 3, -1, n - 1})}) {
    Dense<T> X(Device(), n, B.columns());
    const Report report =
        solver.solve(B, X, {.operation = transposed ? Operation::transpose : Operation::none});
    EXPECT_TRUE(report.solved()) << report.message;
    for (std::int64_t c = 0; c < B.columns(); ++c)
      EXPECT_LT(assess(matrix, X, B, c).scaled_residual, 30) << "column " << c;
  }
}

TYPED_TEST(SubstitutionOf, FewNonzeros_ReachPartOfTheFactors) {
  using T = TypeParam;
  const Csr<T> poisson = generate::poisson_2d<T>(23, 31);
  SparseCholesky<T> cholesky(Device::serial(), {.refine = 0, .condition = false});
  expect_sparse_solutions(cholesky, poisson, false);
  SparseLdlt<T> ldlt(Device::serial(), {.refine = 0, .condition = false});
  expect_sparse_solutions(ldlt, poisson, false);
  for (const Csr<T>& A : {convection_diffusion(24, 0.4).csr<T>(), two_blocks<T>()}) {
    for (const LuFactorization of : {LuFactorization::multifrontal, LuFactorization::left_looking}) {
      SparseLu<T> lu(Device::serial(), {.factorization = of, .refine = 0, .condition = false});
      expect_sparse_solutions(lu, A, false);
      expect_sparse_solutions(lu, A, true);
    }
  }
}

}  // namespace
}  // namespace echelon::test

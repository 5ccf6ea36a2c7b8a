// SPDX-License-Identifier: BSD-3-Clause
/// Substitution for one right-hand side by several threads: factors that are large enough to be divided.
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

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

}  // namespace
}  // namespace echelon::test

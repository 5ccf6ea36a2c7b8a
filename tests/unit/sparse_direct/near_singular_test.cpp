// SPDX-License-Identifier: BSD-3-Clause
// Direct methods on a nearly singular grid whose condition is known.
#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace echelon::test {
namespace {

constexpr std::int32_t side = 15;
constexpr double angle = std::numbers::pi / (side + 1);

/// -Laplace on a grid, shifted so that its smallest eigenvalue is `smallest`. The vector that belongs to it
/// is sin(i angle) sin(j angle).
Csr<double> nearly_singular_grid(double smallest) {
  const SparseSystem system = grid_system(side, side, 1, smallest - (4 - 4 * std::cos(angle)));
  return csr_of<double>(system.n, system.elements);
}

/// ||A||_1 ||A^-1||_1 but for the other eigenvalues of A^-1, which are smaller by a factor of `smallest`: the
/// inverse is v v^T / (smallest v^T v), with max v = 1, v^T v = ((side + 1) / 2)^2 and sum v as below.
double condition(double smallest) {
  const double sum = std::pow(1 / std::tan(angle / 2), 2);
  const double squares = std::pow((side + 1) / 2.0, 2);
  return (4 * std::cos(angle) + smallest + 4) * sum / (smallest * squares);
}

/// The estimate within a factor of two, since rows are scaled before, and an error of x that the condition
/// explains.
template <class Method>
void expect_known_condition(Method&& solver) {
  for (const double smallest : {1e-4, 1e-8, 1e-11}) {
    SCOPED_TRACE(smallest);
    const Csr<double> A = nearly_singular_grid(smallest);
    const Report factored = solver.factor(A);
    ASSERT_TRUE(factored.ready()) << factored.message;
    ASSERT_TRUE(factored.reciprocal_condition);
    EXPECT_GT(*factored.reciprocal_condition * condition(smallest), 0.5);
    EXPECT_LT(*factored.reciprocal_condition * condition(smallest), 2);
    const std::vector<double> expected = random_vector<double>(A.rows(), 3);
    const std::vector<double> b = product(A, expected);
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
    double error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, std::abs(x[i] - expected[i]));
    EXPECT_LT(error, 30 * condition(smallest) * std::numeric_limits<double>::epsilon());
  }
}

TEST(NearlySingularGrid, EveryDirectMethod_KnowsItsCondition) {
  expect_known_condition(
      SparseLu<double>(Device::serial(), {.factorization = LuFactorization::multifrontal}));
  expect_known_condition(
      SparseLu<double>(Device::serial(), {.factorization = LuFactorization::left_looking}));
  expect_known_condition(SparseLdlt<double>(Device::serial()));
  expect_known_condition(SparseCholesky<double>(Device::serial()));
  expect_known_condition(BandedLu<double>(Device::serial()));
}

TEST(NearlySingularGrid, BelowZero_IsIndefiniteByOneEigenvalue) {
  const Csr<double> A = nearly_singular_grid(-1e-8);
  SparseLdlt<double> ldlt;
  const Report factored = ldlt.factor(A);
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), 1) << factored.message;
  EXPECT_EQ(statistic(factored, "zero_eigenvalues"), 0);
  SparseCholesky<double> cholesky;
  EXPECT_EQ(cholesky.factor(A).status, Status::not_spd);
}

}  // namespace
}  // namespace echelon::test

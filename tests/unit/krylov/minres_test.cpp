// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace echelon::test {
namespace {

/// The Laplacian of a grid less shift times I: indefinite where the shift lies inside the spectrum (0, 8).
Csr<double> helmholtz(std::int32_t side, double shift) {
  Problem p = convection_diffusion(side, 0);
  for (auto& e : p.elements) {
    if (e.row == e.column) e.value -= shift;
  }
  return p.csr<double>();
}

TEST(Minres, Indefinite_AgreesWithLapack) {
  const Csr<double> A = helmholtz(20, 1.3);
  const Dense<double> b = random_dense<double>(400, 1, 5);
  LapackLu<double> lu;
  lu.factor(A);
  Dense<double> expected(Device(), 400, 1);
  ASSERT_TRUE(lu.solve(b, expected).solved());
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    Minres<double> minres(device, {.stop = {.rtol = 1e-11}});
    minres.setup(A);
    Dense<double> x(Device(), 400, 1);
    const Report report = minres.solve(b, x);
    ASSERT_EQ(report.status, Status::converged) << report.message;
    EXPECT_LE(assess(A, x, b).relative_residual, 2e-11);
    for (std::int64_t i = 0; i < 400; ++i) EXPECT_NEAR(x[i], expected[i], 1e-6);
  }
}

TEST(Minres, Residuals_NeverGrow) {
  const Csr<double> A = helmholtz(20, 1.3);
  Minres<double> minres;
  minres.setup(A);
  Dense<double> x(Device(), 400, 1);
  const Report report = minres.solve(random_dense<double>(400, 1, 5), x);
  ASSERT_TRUE(report.solved());
  for (std::size_t k = 1; k < report.history.size(); ++k) {
    EXPECT_LE(report.history[k], report.history[k - 1] * (1 + 1e-10));
  }
  EXPECT_NEAR(report.history.back(), report.relative_residual, 0.01 * report.relative_residual);
}

TEST(Minres, PreconditionedDefinite_TakesAboutAsLongAsCg) {
  const Csr<double> A = convection_diffusion(30, 0).csr<double>();
  const Dense<double> b = random_dense<double>(900, 1, 5);
  const Options options = {{"preconditioner", "ilu0"}};
  Solver<double> cg = make_solver<double>("cg", Device(), options);
  Solver<double> minres = make_solver<double>("minres", Device(), options);
  Dense<double> x(Device(), 900, 1);
  cg.setup(A);
  minres.setup(A);
  const std::int64_t iterations = cg.solve(b, x).iterations;
  const Report report = minres.solve(b, x);
  ASSERT_TRUE(report.solved());
  EXPECT_LE(report.iterations, iterations + 5);
  EXPECT_LE(assess(A, x, b).relative_residual, 1.1e-8);
}

TEST(Minres, SingularConsistent_FindsASolution) {
  // The Laplacian of a cycle: constants are its null space, and b is orthogonal to them.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t n = 50;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 2});
    elements.push_back({i, (i + 1) % n, -1});
    elements.push_back({(i + 1) % n, i, -1});
  }
  const auto A = Csr<double>::from_triplets(n, n, elements);
  Dense<double> b(Device(), n, 1);
  for (std::int32_t i = 0; i < n; ++i) b[i] = i == 3 ? 1 : i == 20 ? -1 : 0;
  Minres<double> minres;
  minres.setup(A);
  Dense<double> x(Device(), n, 1);
  const Report report = minres.solve(b, x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LE(assess(A, x, b).relative_residual, 1e-7);
}

TEST(Minres, SingularInconsistent_IsNotSolved) {
  const auto A = Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}});
  Minres<double> minres;
  minres.setup(A);
  const std::vector<double> b = {1, 1, 1};
  std::vector<double> x(3);
  const Report report = minres.solve(b, x);
  EXPECT_FALSE(report.solved());
  EXPECT_GE(report.relative_residual, 0.5);
}

TEST(Minres, IndefinitePreconditioner_IsNotSpd) {
  const Csr<double> A = helmholtz(10, 5);  // a negative diagonal
  Minres<double> minres(Device(), {.preconditioner = "jacobi"});
  minres.setup(A);
  Dense<double> x(Device(), 100, 1);
  EXPECT_EQ(minres.solve(random_dense<double>(100, 1, 5), x).status, Status::not_spd);
}

}  // namespace
}  // namespace echelon::test

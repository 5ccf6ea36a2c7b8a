// SPDX-License-Identifier: BSD-3-Clause
/// Krylov methods on singular, indefinite and badly scaled systems, and what each promises of its residuals.
#include "support/gallery.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

TEST(Cg, Indefinite_IsNotSpd) {
  Csr<double> A = diagonal(20).csr<double>();
  A.values()[7] = -1;
  const Dense<double> b = random_dense<double>(20, 1, 1);
  Dense<double> x(Device(), 20, 1);
  Cg<double> solver;
  solver.setup(A);
  EXPECT_EQ(solver.solve(b, x).status, Status::not_spd);
}

TEST(Cg, SingularConsistent_Converges) {
  // The path graph's Laplacian: singular, its null space the constants.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t n = 50;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    elements.push_back({i, i, 1});
    elements.push_back({i + 1, i + 1, 1});
    elements.push_back({i, i + 1, -1});
    elements.push_back({i + 1, i, -1});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, elements);
  Dense<double> b(Device(), n, 1);
  multiply<double>(1, A, random_dense<double>(n, 1, 4), 0, b);
  Dense<double> x(Device(), n, 1);
  Cg<double> solver;
  solver.setup(A);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST(Gmres, SingularPreconditioner_WarnsOnly) {
  const Dense<double> A = hilbert<double>(14);
  std::vector<double> b(14, 0.0);
  for (std::int64_t i = 0; i < 14; ++i) {
    for (std::int64_t j = 0; j < 14; ++j) b[static_cast<std::size_t>(i)] += A(i, j);
  }
  std::vector<double> x(14);
  for (const std::int64_t limit : {0, 100}) {
    SCOPED_TRACE(limit);
    GmresOptions options;
    options.stop.max_iterations = limit;
    options.preconditioner = "lapack-lu";
    Gmres<double> gmres(Device(), options);
    gmres.setup(A);
    const Report report = gmres.solve(b, x);
    EXPECT_EQ(report.status, limit == 0 ? Status::max_iterations : Status::converged);
    EXPECT_EQ(report.solved(), report.residual_norm <= report.tolerance);
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_NE(report.warnings.front().find("singular"), std::string::npos) << report.warnings.front();
  }
}

// The right-hand side and the first guess of the last two cases have parts that the preconditioner cannot
// reach.
TEST(Gmres, SingularPreconditioner_TakesTheBestOfItsRange) {
  const auto A = Csr<double>::from_triplets(3, 3, {{0, 0, 2}, {1, 1, 3}, {2, 2, 4}});
  const std::vector<double> M = {1, 1, 0};
  for (const bool from_guess : {false, true}) {
    for (const double unreachable : {0.0, 1.0}) {
      SCOPED_TRACE(testing::Message() << from_guess << ' ' << unreachable);
      const std::vector<double> b = {0, 1, unreachable};
      std::vector<double> x = {1, 0, 0};
      Gmres<double> gmres;
      gmres.set_preconditioner(Preconditioner<double>([&](const double* r, double* z) {
        for (std::size_t i = 0; i < 3; ++i) z[i] = M[i] * r[i];
      }));
      gmres.setup(A);
      Control control;
      control.use_initial_guess = from_guess;
      EXPECT_EQ(gmres.solve(b, x, control).solved(), unreachable == 0);
      EXPECT_NEAR(x[0], 0, 1e-14);
      EXPECT_NEAR(x[1], 1.0 / 3, 1e-14);
      EXPECT_EQ(x[2], 0);
    }
  }
}

TEST(Gmres, Overflow_DivergesWithFiniteX) {
  const auto A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {1, 1, 1e-320}});
  const std::vector<double> b = {1, 1};
  std::vector<double> x(2);
  Solver<double> gmres = make_solver<double>("gmres", Device(), {{"preconditioner", "jacobi"}});
  gmres.setup(A);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_EQ(x, std::vector<double>(2, 0.0));
  EXPECT_EQ(report.relative_residual, 1);
}

TEST(Gmres, FullCycle_IsExact) {
  for (const bool flexible : {false, true}) {
    const Csr<double> A = shifted_cycle(33).csr<double>();
    const Dense<double> b = random_dense<double>(33, 1, 2);
    Dense<double> x(Device(), 33, 1);
    Gmres<double> solver(Device(), {.restart = 33, .flexible = flexible});
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_TRUE(report.solved());
    EXPECT_LE(report.iterations, 33);
  }
}

TEST(Gmres, Residuals_NeverRise) {
  const Csr<double> A = convection_diffusion(20, 0.7).csr<double>();
  const Dense<double> b = random_dense<double>(400, 1, 2);
  Dense<double> x(Device(), 400, 1);
  Gmres<double> solver(Device(), {.restart = 10, .preconditioner = "ilu0"});
  solver.setup(A);
  const Report report = solver.solve(b, x);
  ASSERT_TRUE(report.solved());
  for (std::size_t k = 1; k < report.history.size(); ++k) {
    EXPECT_LE(report.history[k], report.history[k - 1] * (1 + 1e-10));
  }
}

TEST(Gmres, SingularInconsistent_IsNotSolved) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}});
  const std::vector<double> b = {1, 1, 1};
  std::vector<double> x(3);
  for (const char* method : {"gmres", "bicgstab", "cg"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_FALSE(report.solved()) << method;
    EXPECT_GE(report.relative_residual, 0.5) << method;
  }
}

TEST(Krylov, HugeAndTinySystems_Converge) {
  for (const double scale : {1e-120, 1e120}) {
    Csr<double> A = poisson(10);
    for (double& value : A.values().span()) value *= scale;
    const Dense<double> b = random_dense<double>(100, 1, 2);
    Dense<double> x(Device(), 100, 1);
    for (const char* method : {"cg", "gmres", "bicgstab", "lapack-lu"}) {
      Solver<double> solver = make_solver<double>(method, Device());
      solver.setup(A);
      const Report report = solver.solve(b, x);
      EXPECT_TRUE(report.solved()) << method << " at " << scale << ": " << to_string(report.status);
    }
  }
}

}  // namespace
}  // namespace echelon::test

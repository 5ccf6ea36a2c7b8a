// SPDX-License-Identifier: BSD-3-Clause
/// Multigrid for dense matrices.
#include "support/problems.hpp"

#include <echelon/methods.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

/// tridiag(-1, 2, -1).
Dense<double> line_laplacian(std::int64_t n) {
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0;
  }
  return A;
}

/// M^T M + n I for an M of random elements in (-1, 1).
Dense<double> random_spd(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> m(static_cast<std::size_t>(n * n));
  for (double& element : m) element = uniform(random);
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = i == j ? static_cast<double>(n) : 0;
      for (std::int64_t k = 0; k < n; ++k) sum += m[i * n + k] * m[j * n + k];
      A(i, j) = sum;
    }
  }
  return A;
}

std::int64_t cycles(const Dense<double>& A, const MultigridDenseOptions& options, const Device& device = {}) {
  const std::int64_t n = A.rows();
  std::vector<double> b(static_cast<std::size_t>(n));
  std::mt19937 random(7);
  for (double& element : b) element = std::normal_distribution<double>()(random);
  std::vector<double> x(b.size());
  MultigridDense<double> solver(device, options);
  EXPECT_EQ(solver.setup(A).status, Status::ready);
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::converged) << "n = " << n << ": " << report.message;
  return report.iterations;
}

/// The coarse points of 2^k - 1 points are again equidistant; in other numbers the last one comes ever closer
/// to the boundary, which the sweeps notice.
TEST(MultigridDense, LineLaplacian_CyclesDoNotGrowWithN) {
  const MultigridDenseOptions options{.coarse_size = 4};
  for (const std::int64_t n : {63, 127, 255, 1023}) EXPECT_LE(cycles(line_laplacian(n), options), 9) << n;
  for (const std::int64_t n : {64, 128, 500, 1025}) EXPECT_LE(cycles(line_laplacian(n), options), 15) << n;
}

TEST(MultigridDense, AwkwardSizes_Converge) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 31, 32, 33}) {
    cycles(line_laplacian(n), {.coarse_size = 1});
    cycles(line_laplacian(n), {.coarse_size = 1}, Device::serial());
  }
}

TEST(MultigridDense, Empty_Solves) {
  const Dense<double> A(Device(), 0, 0);
  MultigridDense<double> solver;
  EXPECT_EQ(solver.setup(A).status, Status::ready);
  std::vector<double> none;
  EXPECT_TRUE(solver.solve(none, none).solved());
}

TEST(MultigridDense, OneLevel_IsElimination) {
  const Dense<double> A = random_spd(50, 1);
  EXPECT_EQ(cycles(A, {.max_levels = 1}), 1);
}

/// For a linear x, which interpolation reproduces, P (P^T A P)^-1 P^T A x = x whatever A: the coarse matrices
/// are Galerkin's.
TEST(MultigridDense, CoarseCorrection_IsAnAOrthogonalProjection) {
  const std::int64_t n = 31;
  const Dense<double> A = random_spd(n, 2);
  std::vector<double> x(static_cast<std::size_t>(n));
  // Hat functions of the coarse unknowns are linear between them and 0 at both ends.
  for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<double>(std::min(i + 1, n - i));
  std::vector<double> b(x.size(), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) b[i] += A(i, j) * x[j];
  }
  // Two levels, and a weight so small that the sweeps do nothing: one cycle is the coarse correction alone.
  MultigridDense<double> solver(
      Device(),
      {.stop = {.rtol = 1e-9, .max_iterations = 1}, .weight = 1e-14, .coarse_size = 1, .max_levels = 2});
  solver.setup(A);
  std::vector<double> solution(x.size());
  const Report report = solver.solve(b, solution);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(solution[i], x[i], 1e-8);
}

TEST(MultigridDense, Cycle_IsSymmetricAndDefinite) {
  const std::int64_t n = 77;
  const Dense<double> A = random_spd(n, 3);
  MultigridDense<double> solver(Device(), {.stop = {.rtol = 0, .max_iterations = 1}, .coarse_size = 4});
  solver.setup(A);
  std::mt19937 random(5);
  std::vector<std::vector<double>> u(2, std::vector<double>(n)), m_u = u;
  for (int k = 0; k < 2; ++k) {
    for (double& element : u[k]) element = std::normal_distribution<double>()(random);
    static_cast<void>(solver.solve(u[k], m_u[k]));  // one cycle from x = 0
  }
  const auto dot = [&](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  EXPECT_NEAR(dot(u[0], m_u[1]), dot(u[1], m_u[0]), 1e-13 * std::sqrt(dot(u[0], u[0]) * dot(m_u[1], m_u[1])));
  EXPECT_GT(dot(u[0], m_u[0]), 0);
}

TEST(MultigridDense, PreconditionsCg) {
  const Dense<double> A = line_laplacian(300);
  const std::vector<double> b(300, 1.0);
  std::vector<double> x(300);
  Cg<double> cg(Device(),
                {.preconditioner = "multigrid-dense", .preconditioner_options = {{"coarse_size", 8}}});
  cg.setup(A);
  const Report report = cg.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LE(report.iterations, 8);
}

TEST(MultigridDense, SingularCoarsestMatrix_IsNamed) {
  Dense<double> A = line_laplacian(64);
  A(0, 0) = A(63, 63) = 1;
  MultigridDense<double> solver(Device(), {.max_levels = 1});
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("coarsest"), std::string::npos) << report.message;
}

TEST(MultigridDense, ZeroDiagonal_IsNamed) {
  Dense<double> A = line_laplacian(200);
  A(3, 3) = 0;
  MultigridDense<double> solver;
  EXPECT_EQ(solver.setup(A).status, Status::breakdown);
}

}  // namespace
}  // namespace echelon::test

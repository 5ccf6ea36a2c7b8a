// SPDX-License-Identifier: BSD-3-Clause
/// How the method amg ends on empty, singular, indefinite and other matrices that can break a set-up.
#include "support/multigrid/solves.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

void expect_empty_solved(const std::string& method, const Options& options, const Device& device) {
  SCOPED_TRACE(method + " " + device.name());
  const auto A = Csr<double>::from_triplets(0, 0, std::vector<Triplet<double>>{}).to(device);
  Solver<double> solver = make_solver<double>(method, device, options);
  EXPECT_EQ(solver.setup(A).status, Status::ready);
  std::vector<double> none;
  EXPECT_EQ(solver.solve(none, none).status, Status::converged);
  EXPECT_EQ(solver.update_values(A).status, Status::ready);
  EXPECT_EQ(solver.solve(none, none).status, Status::converged);
}

TEST(Amg, Empty_Solved) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const char* method : {"amg", "geometric-multigrid", "multigrid", "multigrid-dense", "lamg"}) {
      expect_empty_solved(method, {}, device);
      expect_empty_solved("cg", {{"preconditioner", method}}, device);
    }
    for (const char* smoother : {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "ilu0", "ic0"}) {
      expect_empty_solved("amg", {{"smoother", smoother}, {"cycle", "k"}}, device);
    }
    for (const char* coarsening : {"classical", "aggregation", "smoothed-aggregation"}) {
      expect_empty_solved("amg", {{"coarsening", coarsening}}, device);
    }
  }
}

/// Matrices that can break a set-up have to end with a status, without a crash or a wrong solution.
TEST(Amg, HardCases_SolvedOrNamed) {
  const Csr<double> grid = generate::poisson_2d<double>(30, 30);
  const auto expect_solved = [](const Csr<double>& A, const std::vector<double>& b, const char* what) {
    const SolvedSystem solved = solve_cg(A, b, {{"preconditioner.coarse_size", 20}});
    EXPECT_EQ(solved.report.status, Status::converged) << what << ": " << solved.report.message;
  };
  // Zero rows, with zeros in b.
  std::vector<Triplet<double>> triplets;
  for (std::int64_t i = 0; i < grid.rows(); ++i) {
    for (std::int64_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + 1]; ++k) {
      triplets.push_back({static_cast<std::int32_t>(2 * i), 2 * grid.column_indices()[k], grid.values()[k]});
    }
  }
  std::vector<double> b = MultigridCases::random_vector(2 * grid.rows(), 13);
  for (std::size_t i = 1; i < b.size(); i += 2) b[i] = 0;
  expect_solved(Csr<double>::from_triplets(2 * grid.rows(), 2 * grid.rows(), triplets), b, "zero rows");
  // Isolated unknowns and an identity block.
  for (std::int64_t i = 0; i < grid.rows(); ++i) {
    const auto odd = static_cast<std::int32_t>(2 * i + 1);
    triplets.push_back({odd, odd, i % 2 == 0 ? 1.0 : 1e6});
  }
  const Csr<double> isolated = Csr<double>::from_triplets(2 * grid.rows(), 2 * grid.rows(), triplets);
  expect_solved(isolated, MultigridCases::random_vector(isolated.rows(), 14), "isolated unknowns");
  expect_solved(MultigridCases::diagonal(std::vector<double>(1000, 3.0)),
                MultigridCases::random_vector(1000, 15), "diagonal");
  const Csr<double> parts = MultigridCases::repeated(generate::poisson_2d<double>(3, 2), 1500);
  expect_solved(parts, MultigridCases::random_vector(parts.rows(), 16), "many parts");
  expect_solved(MultigridCases::diagonal({5}), {2}, "one row");
  expect_solved(Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}}), {1, 2},
                "two");
}

TEST(Amg, SingularSystems_ConsistentOnesAreSolved) {
  for (const Csr<double>& A :
       {MultigridCases::neumann(40), MultigridCases::repeated(MultigridCases::neumann(4), 100),
        MultigridCases::repeated(MultigridCases::neumann(12), 7)}) {
    const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 17));
    const SolvedSystem solved = solve_cg(A, b, {{"preconditioner.coarse_size", 60}});
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    Amg<double> amg(Device(), {.coarse_size = 60});
    EXPECT_EQ(solve_with(amg, A, b).report.status, Status::converged);
  }
  const Csr<double> A = MultigridCases::neumann(40);
  for (const HierarchyPrecision precision : {HierarchyPrecision::single, HierarchyPrecision::working}) {
    Amg<double> amg(Device(), {.coarse_size = 60, .precision = precision});
    const Report report = amg.setup(A);
    ASSERT_NE(report.find_statistic("null_space"), nullptr);
    EXPECT_EQ(std::get<std::int64_t>(report.find_statistic("null_space")->value), 1);
  }
}

TEST(Amg, SingularSystems_InconsistentOnesAreNotCalledSolved) {
  const Csr<double> A = MultigridCases::neumann(40);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const SolvedSystem solved = solve_cg(A, ones, {{"max_iterations", 200}});
  EXPECT_FALSE(solved.report.solved()) << to_string(solved.report.status);
}

TEST(Amg, IndefiniteMatrices_AreNotCalledSolvedWithoutBeingSo) {
  Csr<double> A = generate::poisson_2d<double>(40, 40);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) A.values()[k] -= 3.3;
    }
  }
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 18);
  const SolvedSystem solved = solve_cg(A, b, {{"max_iterations", 300}});
  if (solved.report.solved()) {
    const std::vector<double> Ax = MultigridCases::product(A, solved.x);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(Ax[i], b[i], 1e-5);
  }
}

TEST(Amg, NaNInMatrix_IsNamed) {
  Csr<double> A = generate::poisson_2d<double>(40, 40);
  A.values()[77] = std::nan("");
  Amg<double> amg;
  EXPECT_EQ(amg.setup(A).status, Status::not_a_number);
}

TEST(Amg, Stalls_AreReported) {
  // Every unknown is connected with every other: one aggregate, and nothing is left to coarsen.
  const std::int64_t n = 40;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) triplets.push_back({i, j, i == j ? 41.0 : -1.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  Amg<double> amg(Device(), {.coarse_size = 1});
  EXPECT_EQ(solve_with(amg, A, MultigridCases::random_vector(n, 20)).report.status, Status::converged);
  const Csr<double> D = MultigridCases::diagonal(std::vector<double>(2000, 2.0));
  const Report report = amg.setup(D);
  EXPECT_TRUE(report.ready());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings[0].find("ends at 2000 rows"), std::string::npos);
}

}  // namespace
}  // namespace echelon::test

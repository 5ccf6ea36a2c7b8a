// SPDX-License-Identifier: BSD-3-Clause
/// How the method amg ends on empty and singular matrices, and on those that cannot be coarsened.
#include "support/multigrid/solves.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/methods/amg.hpp>

#include <gtest/gtest.h>

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

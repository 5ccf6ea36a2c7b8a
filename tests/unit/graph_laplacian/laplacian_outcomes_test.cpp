// SPDX-License-Identifier: BSD-3-Clause
#include "support/graph_laplacian/graph_outcomes.hpp"

#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace echelon {
namespace {

using test::TestedMethod;

const std::vector<TestedMethod>& laplacian_methods() {
  static const std::vector<TestedMethod> methods = {
      {"lamg", {}},
      {"lamg", {{"parallel", true}, {"jacobi_iterations", 0}}},
      {"approximate-cholesky", {}},
      {"approximate-cholesky", {{"jacobi_iterations", 5}}},
  };
  return methods;
}

TEST(LaplacianOutcomes, DoubleSystems_AsIntegersImply) {
  for (const TestedMethod& method : laplacian_methods()) test::expect_outcomes<double>(method, {1, -1});
}

TEST(LaplacianOutcomes, FloatSystems_AsIntegersImply) {
  for (const TestedMethod& method : laplacian_methods()) test::expect_outcomes<float>(method, {1, -1});
}

TEST(LaplacianOutcomes, WeakGround_SetsTheLevel) {
  const std::vector<test::GraphPart> path = {{test::integer_path(60), 0x1p-37, 30}};
  for (const TestedMethod& method : laplacian_methods()) {
    for (const double sign : {1.0, -1.0}) {
      const Csr<double> A = test::matrix_of_parts<double>(path, sign);
      const std::vector<double> b = test::rhs_of_parts<double>(path, {3}, 5);
      const auto [report, x] = test::solve_serially(method, A, b);
      EXPECT_NE(report.status, Status::inconsistent) << method.name << ": " << report.message;
      EXPECT_NEAR(x[30] * sign, 3 * 0x1p37, 3 * 0x1p37 * 1e-6) << method.name << ": " << report.message;
    }
  }
}

TEST(LaplacianOutcomes, ZeroMatrix_InconsistentWithZero) {
  const Csr<double> zero = Csr<double>::from_triplets(3, 3, {});
  for (const TestedMethod& method : laplacian_methods()) {
    const auto [report, x] = test::solve_serially(method, zero, {1, 1, 1});
    EXPECT_EQ(report.status, Status::inconsistent) << method.name << ": " << report.message;
    EXPECT_EQ(x, (std::vector<double>{0, 0, 0})) << method.name;
    EXPECT_EQ(test::solve_serially(method, zero, {0, 0, 0}).report.status, Status::converged) << method.name;
  }
}

TEST(LaplacianOutcomes, SignedGraph_HasItsSignedNullVector) {
  // The signs (1, -1, 1, -1, ...) make this the Laplacian of a path.
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 1; i < 40; ++i) {
    triplets.insert(triplets.end(), {{i, i - 1, 1}, {i - 1, i, 1}, {i, i, 1}, {i - 1, i - 1, 1}});
  }
  const Csr<double> A = Csr<double>::from_triplets(40, 40, triplets);
  std::vector<double> b(40, 0);
  b[3] = b[4] = 1;  // orthogonal to the null vector
  for (const TestedMethod& method : laplacian_methods()) {
    EXPECT_EQ(test::solve_serially(method, A, b).report.status, Status::converged) << method.name;
    b[4] = -1;
    EXPECT_EQ(test::solve_serially(method, A, b).report.status, Status::inconsistent) << method.name;
    b[4] = 1;
  }
}

/// Diagonal elements are rounded sums: some rows sum to a little less than zero, some to more.
TEST(LaplacianOutcomes, RoundedDiagonal_SingularToWorkingPrecision) {
  std::vector<Triplet<double>> triplets;
  std::vector<double> diagonal(100, 0);
  for (std::int32_t i = 0; i < 100; ++i) {
    for (const std::int32_t step : {1, 7}) {
      const std::int32_t j = (i + step) % 100;
      const double weight = 1.0 / (3 + i + step);
      triplets.insert(triplets.end(), {{i, j, -weight}, {j, i, -weight}});
      diagonal[static_cast<std::size_t>(i)] += weight;
      diagonal[static_cast<std::size_t>(j)] += weight;
    }
  }
  for (std::int32_t i = 0; i < 100; ++i) triplets.push_back({i, i, diagonal[static_cast<std::size_t>(i)]});
  const Csr<double> A = Csr<double>::from_triplets(100, 100, triplets);
  std::vector<double> b(100, 0);
  b[0] = 1;
  for (const TestedMethod& method : laplacian_methods()) {
    const auto [report, x] = test::solve_serially(method, A, b);
    EXPECT_EQ(report.status, Status::singular) << method.name << ": " << report.message;
    EXPECT_NE(report.message.find("working precision"), std::string::npos) << report.message;
    EXPECT_NEAR(report.residual_norm, 0.1, 1e-7) << method.name;
    std::vector<double> balanced = b;
    balanced[50] = -1;
    EXPECT_EQ(test::solve_serially(method, A, balanced).report.status, Status::converged) << method.name;
  }
}

TEST(LaplacianOutcomes, Columns_HaveTheirOwnStatus) {
  const std::vector<test::GraphPart> parts = {{test::integer_grid(9, 8), 0, 0}};
  const Csr<double> A = test::matrix_of_parts<double>(parts);
  for (const TestedMethod& method : laplacian_methods()) {
    Dense<double> B(Device(), 72, 3);
    for (std::int64_t j = 0; j < 3; ++j) {
      const std::vector<double> b = test::rhs_of_parts<double>(parts, {j == 1 ? 4 : 0}, 7);
      std::copy(b.begin(), b.end(), B.data() + 72 * j);
    }
    Dense<double> X(Device(), 72, 3);
    Solver<double> solver = make_solver<double>(method.name, Device(), method.options);
    ASSERT_TRUE(solver.setup(A).ready());
    const Report report = solver.solve(B, X);
    ASSERT_EQ(report.columns.size(), 3U);
    EXPECT_EQ(report.columns[0].status, Status::converged) << method.name;
    EXPECT_EQ(report.columns[1].status, Status::inconsistent) << method.name;
    EXPECT_EQ(report.columns[2].status, Status::converged) << method.name;
  }
}

}  // namespace
}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "support/graph_laplacian/graph_outcomes.hpp"

#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace echelon {
namespace {

using test::TestedMethod;

const std::vector<TestedMethod>& multigrid_methods() {
  static const std::vector<TestedMethod> methods = {
      {"amg", {{"coarse_size", 20}}},
      {"amg", {{"coarse_size", 20}, {"coarsening", "smoothed-aggregation"}}},
      {"cg", {{"preconditioner", "amg"}}},
      {"cg", {{"preconditioner", "amg"}, {"preconditioner.coarse_size", 20}}},
      {"minres", {{"preconditioner", "amg"}}},
  };
  return methods;
}

TEST(MultigridOutcomes, DoubleSystems_AsIntegersImply) {
  for (const TestedMethod& method : multigrid_methods()) test::expect_outcomes<double>(method, {1});
}

TEST(MultigridOutcomes, FloatSystems_AsIntegersImply) {
  for (const TestedMethod& method : multigrid_methods()) test::expect_outcomes<float>(method, {1});
}

TEST(MultigridOutcomes, NegativeSystems_AsIntegersImply) {
  test::expect_outcomes<double>({"amg", {}}, {-1});
}

struct WeakGroundCase {
  test::IntegerGraph graph;
  const char* grid;
  double ground;
  double error;  ///< relative, that rounding the residual allows
};

TEST(MultigridOutcomes, WeakGround_SetsTheLevel) {
  for (const WeakGroundCase& weak : {WeakGroundCase{test::integer_path(60), "60", 0x1p-40, 1e-6},
                                     WeakGroundCase{test::integer_grid(40, 40), "40x40", 0x1p-26, 1e-4},
                                     WeakGroundCase{test::integer_grid(40, 40), "40x40", 0x1p-40, 0.05}}) {
    const std::vector<test::GraphPart> parts = {{weak.graph, weak.ground, 30}};
    const Csr<double> A = test::matrix_of_parts<double>(parts);
    const std::vector<double> b = test::rhs_of_parts<double>(parts, {3}, 5);
    const double level = 3 / weak.ground;
    std::vector<TestedMethod> methods = multigrid_methods();
    methods.push_back({"geometric-multigrid", {{"grid", weak.grid}}});
    methods.push_back({"cg", {{"preconditioner", "geometric-multigrid"}}});
    for (const TestedMethod& method : methods) {
      const auto [report, x] = test::solve_serially(method, A, b);
      EXPECT_NE(report.status, Status::inconsistent) << method.name << ": " << report.message;
      EXPECT_NEAR(x[30], level, level * weak.error) << method.name << ": " << report.message;
    }
  }
}

}  // namespace
}  // namespace echelon

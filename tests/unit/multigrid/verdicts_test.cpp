// SPDX-License-Identifier: BSD-3-Clause
#include "support/graph_verdicts.hpp"

#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace echelon {
namespace {

using test::VerdictMethod;

const std::vector<VerdictMethod>& multigrid_methods() {
  static const std::vector<VerdictMethod> methods = {
      {"amg", {{"coarse_size", 20}}},
      {"amg", {{"coarse_size", 20}, {"coarsening", "smoothed-aggregation"}}},
      {"cg", {{"preconditioner", "amg"}}},
      {"cg", {{"preconditioner", "amg"}, {"preconditioner.coarse_size", 20}}},
      {"minres", {{"preconditioner", "amg"}}},
  };
  return methods;
}

TEST(MultigridVerdicts, DoubleSystems_AsIntegersImply) {
  for (const VerdictMethod& method : multigrid_methods()) test::expect_verdicts<double>(method, {1});
}

TEST(MultigridVerdicts, FloatSystems_AsIntegersImply) {
  for (const VerdictMethod& method : multigrid_methods()) test::expect_verdicts<float>(method, {1});
}

TEST(MultigridVerdicts, NegativeSystems_AsIntegersImply) {
  test::expect_verdicts<double>({"amg", {}}, {-1});
}

struct WeakGroundCase {
  test::VerdictGraph graph;
  const char* grid;
  double ground;
  double error;  ///< relative, that rounding the residual allows
};

TEST(MultigridVerdicts, WeakGround_SetsTheLevel) {
  for (const WeakGroundCase& weak : {WeakGroundCase{test::verdict_path(60), "60", 0x1p-40, 1e-6},
                                     WeakGroundCase{test::verdict_grid(40, 40), "40x40", 0x1p-26, 1e-4},
                                     WeakGroundCase{test::verdict_grid(40, 40), "40x40", 0x1p-40, 0.05}}) {
    const std::vector<test::VerdictPart> parts = {{weak.graph, weak.ground, 30}};
    const Csr<double> A = test::verdict_matrix<double>(parts);
    const std::vector<double> b = test::verdict_rhs<double>(parts, {3}, 5);
    const double level = 3 / weak.ground;
    std::vector<VerdictMethod> methods = multigrid_methods();
    methods.push_back({"geometric-multigrid", {{"grid", weak.grid}}});
    methods.push_back({"cg", {{"preconditioner", "geometric-multigrid"}}});
    for (const VerdictMethod& method : methods) {
      const auto [report, x] = test::verdict_solve(method, A, b);
      EXPECT_NE(report.status, Status::inconsistent) << method.name << ": " << report.message;
      EXPECT_NEAR(x[30], level, level * weak.error) << method.name << ": " << report.message;
    }
  }
}

}  // namespace
}  // namespace echelon

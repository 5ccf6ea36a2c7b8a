// SPDX-License-Identifier: BSD-3-Clause
// Resistances and potentials by solves on the GPU, for matrices on the host.
#include "gpu/gpu_fixture.hpp"

#include <echelon/generate.hpp>
#include <echelon/graph/analysis.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

class GpuGraphAnalysis : public GpuTest {
 protected:
  static Csr<double> make(const std::string& family, const Options& options) {
    return std::get<Csr<double>>(make_matrix<double>(family, options));
  }
};

TEST_F(GpuGraphAnalysis, Resistances_AsOnTheHost) {
  const Csr<double> L = make("chimera", {{"n", 3000}, {"seed", 2}, {"weights", "uniform"}});
  std::vector<graph::Pair> pairs;
  for (std::int32_t v = 0; v < 100; ++v) pairs.push_back({v, 2999 - 13 * v});
  const graph::Resistances expected = graph::resistances(L, pairs);
  const graph::Resistances found = graph::resistances(L, pairs, {.device = gpu});
  EXPECT_EQ(found.report.method, "lamg");
  EXPECT_TRUE(found.report.solved()) << found.report.message;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    EXPECT_NEAR(found.values[p] / expected.values[p], 1, 1e-6) << p;
  }
  const graph::EdgeResistances edges = graph::edge_resistances(L, {.solve = {.device = gpu}, .error = 0.3});
  EXPECT_TRUE(edges.report.solved()) << edges.report.message;
  EXPECT_NEAR(edges.foster_sum / static_cast<double>(edges.foster_rank), 1, 0.1);
}

TEST_F(GpuGraphAnalysis, Potentials_AsOnTheHost) {
  const Csr<double> L = make("grid-2d", {{"nx", 40}, {"ny", 30}});
  Dense<double> currents(Device(), L.rows(), 2);
  for (std::int64_t i = 0; i < 2 * L.rows(); ++i) currents.data()[i] = 0;
  currents(0, 0) = 1;
  currents(1199, 0) = -1;
  currents(17, 1) = 2;
  const graph::Potentials expected = graph::potentials(L, currents);
  const graph::Potentials found = graph::potentials(L, currents, {.device = gpu});
  EXPECT_TRUE(found.report.solved()) << found.report.message;
  EXPECT_FALSE(found.report.warnings.empty());
  for (std::int64_t j = 0; j < 2; ++j) {
    for (std::int64_t i = 0; i < L.rows(); ++i) EXPECT_NEAR(found.x(i, j), expected.x(i, j), 1e-7);
  }
  EXPECT_EQ(graph::potentials(L, currents, {.device = gpu}, true).report.status, Status::inconsistent);
}

}  // namespace
}  // namespace echelon::test

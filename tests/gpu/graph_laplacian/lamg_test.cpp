// SPDX-License-Identifier: BSD-3-Clause
// lamg on the GPU: families of graphs on which Laplacian solvers are known to fail, and the same bits twice.
#include "gpu/gpu_fixture.hpp"
#include "support/graph_families.hpp"
#include "support/several_columns.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods/lamg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

class GpuLamg : public GpuTest {
 protected:
  static Csr<double> make(const std::string& family, const Options& options) {
    return std::get<Csr<double>>(make_matrix<double>(family, options));
  }
  static double norm(const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  }
  static std::vector<double> right_hand_side(const Csr<double>& A) {
    std::mt19937_64 random(1);
    std::vector<double> x(static_cast<std::size_t>(A.rows()));
    for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
    return product(A, x);
  }
  /// Solves on the GPU and expects the tolerance to be met; returns x.
  std::vector<double> expect_solved(const Csr<double>& A, const std::string& what,
                                    std::int64_t most_iterations) const {
    const std::vector<double> b = right_hand_side(A);
    Lamg<double> solver(gpu, {.jacobi_iterations = 0});
    const Csr<double> matrix = A.to(gpu);
    const Report setup = solver.setup(matrix);
    EXPECT_TRUE(setup.ready()) << what << ": " << setup.message;
    Dense<double> right(Device(), A.rows(), 1);
    std::copy(b.begin(), b.end(), right.data());
    const Dense<double> right_on_gpu = right.to(gpu);
    Dense<double> left(gpu, A.rows(), 1);
    const Report report = solver.solve(right_on_gpu, left);
    EXPECT_EQ(report.status, Status::converged) << what << ": " << report.message;
    EXPECT_LE(report.iterations, most_iterations) << what;
    const std::vector<double> x = left.to_vector();
    std::vector<double> residual = product(A, x);
    for (std::size_t i = 0; i < b.size(); ++i) residual[i] -= b[i];
    EXPECT_LE(norm(residual), 1e-8 * norm(b)) << what;
    return x;
  }
};

TEST_F(GpuLamg, Families_FewIterations) {
  for (const auto& [family, options] : graph_families()) {
    expect_solved(make(family, options), family, 20);
  }
}

TEST_F(GpuLamg, Chimeras_AtMost30Iterations) {
  for (const std::string weights : {"unit", "chimera"}) {
    for (const std::string form : {"laplacian", "sddm"}) {
      for (int seed = 1; seed <= 3; ++seed) {
        const Options options = {{"n", 3000}, {"weights", weights}, {"form", form}, {"seed", seed}};
        expect_solved(make("chimera", options), weights + form + std::to_string(seed), 30);
      }
    }
  }
}

TEST_F(GpuLamg, HubAndLargeComponents_Solved) {
  for (const double excess : {0.0, 1e-3}) {
    for (const bool explicit_zeros : {false, true}) {
      expect_solved(hub_and_path(excess, explicit_zeros),
                    std::to_string(excess) + (explicit_zeros ? " with zeros" : ""), 20);
    }
  }
}

TEST_F(GpuLamg, ThousandsOfComponents_SolvedTogether) {
  expect_solved(many_cliques(), "cliques", 20);
}

TEST_F(GpuLamg, SmallestSystems) {
  expect_solved(Csr<double>::from_triplets(1, 1, {{0, 0, 0}}), "one isolated vertex", 1);
  expect_solved(Csr<double>::from_triplets(1, 1, {{0, 0, 2}}), "one vertex with excess", 2);
  expect_solved(Csr<double>::from_triplets(2, 2, {{0, 0, 3}, {0, 1, -3}, {1, 0, -3}, {1, 1, 3}}), "one edge",
                1);
}

TEST_F(GpuLamg, SecondRun_SameBits) {
  const Csr<double> A = make("chimera", {{"n", 20000}, {"seed", 2}, {"weights", "chimera"}});
  EXPECT_EQ(expect_solved(A, "first", 30), expect_solved(A, "second", 30));
}

TEST_F(GpuLamg, SeveralColumns_AsAlone) {
  const std::vector<std::pair<Csr<double>, Options>> systems = {
      {make("chimera", {{"n", 5000}, {"seed", 3}}), {{"jacobi_iterations", 0}}},
      {make("chimera", {{"n", 2000}, {"seed", 2}, {"weights", "log-uniform"}, {"decades", 12}}),
       {{"jacobi_iterations", 0}}},
      {make("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}}), {{"jacobi_iterations", 0}}},
      {make("grid-3d", {{"nx", 20}, {"ny", 20}, {"nz", 20}}), {{"jacobi_iterations", 0}}},
      {make("rmat", {{"scale", 12}, {"form", "sddm"}}), {}},
      {make("star", {{"n", 3000}}), {{"jacobi_iterations", 0}}},
  };
  for (const auto& [A, options] : systems) {
    SeveralColumns::expect_as_alone("lamg", gpu, options, A, SeveralColumns::right_hand_sides(A.rows()));
  }
}

// Small enough for compute-sanitizer, and with an aggregation and a level after it.
TEST_F(GpuLamg, SeveralColumnsOfSmallGraph_AsAlone) {
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}});
  SeveralColumns::expect_as_alone("lamg", gpu, {{"jacobi_iterations", 0}}, A,
                                  SeveralColumns::right_hand_sides(A.rows(), 2));
}

TEST_F(GpuLamg, MoreColumnsThanTogether_AsAlone) {
  for (const std::string family : {"chimera", "rmat"}) {
    const Csr<double> A =
        family == "rmat" ? make(family, {{"scale", 14}}) : make(family, {{"n", 90000}, {"seed", 3}});
    SeveralColumns::expect_as_alone("lamg", gpu, {}, A, SeveralColumns::right_hand_sides(A.rows(), 35));
  }
}

TEST_F(GpuLamg, PreconditionerOfSeveralColumns_AsAlone) {
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}});
  SeveralColumns::expect_as_alone("cg", gpu, {{"preconditioner", "lamg"}}, A,
                                  SeveralColumns::right_hand_sides(A.rows()));
}

TEST_F(GpuLamg, NewWeightsOnTheSameGraph_KeepLevels) {
  const Csr<double> first = make("grid-2d", {{"nx", 90}, {"ny", 80}}).to(gpu);
  const Csr<double> second = make("grid-2d", {{"nx", 90}, {"ny", 80}, {"weights", "uniform"}});
  const Csr<double> on_gpu = second.to(gpu);
  Lamg<double> solver(gpu, {.jacobi_iterations = 0});
  ASSERT_TRUE(solver.setup(first).ready());
  const HierarchyDescription before = describe_hierarchy<double>(solver);
  ASSERT_TRUE(solver.update_values(on_gpu).ready());
  const HierarchyDescription after = describe_hierarchy<double>(solver);
  ASSERT_EQ(after.levels.size(), before.levels.size());
  for (std::size_t l = 0; l < after.levels.size(); ++l) {
    EXPECT_EQ(after.levels[l].rows, before.levels[l].rows);
  }
  const std::vector<double> b = right_hand_side(second);
  Dense<double> right(Device(), second.rows(), 1);
  std::copy(b.begin(), b.end(), right.data());
  const Dense<double> right_on_gpu = right.to(gpu);
  Dense<double> left(gpu, second.rows(), 1);
  const Report report = solver.solve(right_on_gpu, left);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(report.iterations, 20);
}

TEST_F(GpuLamg, Levels_AgreeWithHost) {
  for (const std::string family : {"grid-3d", "chimera"}) {
    const Csr<double> A =
        family == "chimera" ? make(family, {{"n", 20000}, {"seed", 3}}) : make(family, {{"nx", 25}});
    Lamg<double> host(Device::serial(), {.parallel = true, .jacobi_iterations = 0});
    Lamg<double> cuda(gpu, {.jacobi_iterations = 0});
    const Csr<double> matrix = A.to(gpu);
    ASSERT_TRUE(host.setup(A).ready());
    ASSERT_TRUE(cuda.setup(matrix).ready());
    const HierarchyDescription expected = describe_hierarchy<double>(host);
    const HierarchyDescription found = describe_hierarchy<double>(cuda);
    ASSERT_GE(found.levels.size(), 3U);
    // Sums of long rows have another order on the GPU: a few choices may differ.
    for (std::size_t l = 0; l < 3; ++l) {
      const auto rows = static_cast<double>(expected.levels[l].rows);
      EXPECT_NEAR(static_cast<double>(found.levels[l].rows), rows, 0.01 * rows) << family << l;
      EXPECT_EQ(found.levels[l].method == "elimination", expected.levels[l].method == "elimination")
          << family << l;
    }
  }
}

TEST_F(GpuLamg, PreconditionerOfCg_FewIterations) {
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}}).to(gpu);
  Solver<double> solver = make_solver<double>("cg", gpu, {{"preconditioner", "lamg"}});
  ASSERT_TRUE(solver.setup(A).ready());
  const std::vector<double> b = right_hand_side(A.to(Device()));
  Dense<double> right(Device(), A.rows(), 1);
  std::copy(b.begin(), b.end(), right.data());
  const Dense<double> right_on_gpu = right.to(gpu);
  Dense<double> left(gpu, A.rows(), 1);
  const Report report = solver.solve(right_on_gpu, left);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(report.iterations, 30);
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// The parallel algorithm of lamg, run on the host, on families of graphs on which Laplacian solvers are
/// known to fail.
#include "graph_laplacian/affinity_multigrid/reduced_system.hpp"
#include "support/graph_families.hpp"
#include "support/graph_laplacian/lamg_graphs.hpp"
#include "support/several_columns.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/methods/lamg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {
namespace {

using test::make_graph;
using Triplets = std::vector<Triplet<double>>;

void add_edge(Triplets& triplets, std::int32_t i, std::int32_t j, double weight) {
  triplets.insert(triplets.end(), {{i, j, -weight}, {j, i, -weight}, {i, i, weight}, {j, j, weight}});
}

double norm(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

struct Solved {
  Report report;
  std::vector<double> x;
};

Solved solve(const Device& device, const Csr<double>& A, const std::vector<double>& b,
             std::int64_t jacobi_iterations = 0) {
  Lamg<double> solver(device, {.parallel = true, .jacobi_iterations = jacobi_iterations});
  const Report setup = solver.setup(A);
  EXPECT_TRUE(setup.ready()) << setup.message;
  Dense<double> right(Device(), A.rows(), 1);
  std::copy(b.begin(), b.end(), right.data());
  Dense<double> left(Device(), A.rows(), 1);
  Solved solved;
  solved.report = solver.solve(right, left);
  solved.x.assign(left.data(), left.data() + A.rows());
  return solved;
}

std::vector<double> right_hand_side(const Csr<double>& A) {
  std::mt19937_64 random(1);
  std::vector<double> x(static_cast<std::size_t>(A.rows()));
  for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return test::product(A, x);
}

void expect_solved(const Csr<double>& A, const std::string& what, std::int64_t most_iterations) {
  const std::vector<double> b = right_hand_side(A);
  const Solved solved = solve(Device::serial(), A, b);
  EXPECT_EQ(solved.report.status, Status::converged) << what << ": " << solved.report.message;
  EXPECT_LE(solved.report.iterations, most_iterations) << what;
  std::vector<double> residual = test::product(A, solved.x);
  for (std::size_t i = 0; i < b.size(); ++i) residual[i] -= b[i];
  EXPECT_LE(norm(residual), 1e-8 * norm(b)) << what;
}

TEST(LamgParallel, Families_FewIterations) {
  for (const auto& [family, options] : test::graph_families()) {
    expect_solved(make_graph(family, options), family, 20);
  }
}

TEST(LamgParallel, Chimeras_AtMost30Iterations) {
  for (const std::string weights : {"unit", "chimera"}) {
    for (const std::string form : {"laplacian", "sddm"}) {
      for (int seed = 1; seed <= 5; ++seed) {
        const Options options = {{"n", 3000}, {"weights", weights}, {"form", form}, {"seed", seed}};
        expect_solved(make_graph("chimera", options), weights + form + std::to_string(seed), 30);
      }
    }
  }
}

TEST(LamgParallel, HubAndLargeComponents_Solved) {
  for (const double excess : {0.0, 1e-3}) {
    for (const bool explicit_zeros : {false, true}) {
      expect_solved(test::hub_and_path(excess, explicit_zeros),
                    std::to_string(excess) + (explicit_zeros ? " with zeros" : ""), 20);
    }
  }
}

TEST(LamgParallel, ThousandsOfComponents_SolvedTogether) {
  expect_solved(test::many_cliques(), "cliques", 20);
}

TEST(LamgParallel, SmallestSystems) {
  expect_solved(Csr<double>::from_triplets(1, 1, {{0, 0, 0}}), "one isolated vertex", 1);
  expect_solved(Csr<double>::from_triplets(1, 1, {{0, 0, 2}}), "one vertex with excess", 2);
  Triplets edge;
  add_edge(edge, 0, 1, 3);
  expect_solved(Csr<double>::from_triplets(2, 2, edge), "one edge", 1);
  expect_solved(Csr<double>::from_triplets(0, 0, {}), "no vertex", 0);
}

TEST(LamgParallel, ChecksAfterSeveralCycles_SameAnswer) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 60}, {"ny", 50}});
  const auto solve = [&](std::int64_t check_every) {
    Lamg<double> solver(Device::serial(),
                        {.stop = {.check_every = check_every}, .parallel = true, .jacobi_iterations = 0});
    EXPECT_TRUE(solver.setup(A).ready());
    std::vector<double> x(static_cast<std::size_t>(A.rows()));
    std::vector<double> b = x;
    b.front() = 1;
    b.back() = -1;
    const Report report = solver.solve(std::span<const double>(b), std::span<double>(x));
    EXPECT_TRUE(report.solved()) << report.message;
    return std::tuple(x, report.iterations, report.history);
  };
  const auto expected = solve(1);
  for (const std::int64_t check_every : {2, 8, 64}) EXPECT_EQ(solve(check_every), expected) << check_every;
}

TEST(LamgParallel, LimitBetweenChecks_Kept) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 60}, {"ny", 50}});
  Lamg<double> solver(
      Device::serial(),
      {.stop = {.max_iterations = 3, .check_every = 8}, .parallel = true, .jacobi_iterations = 0});
  ASSERT_TRUE(solver.setup(A).ready());
  std::vector<double> x(static_cast<std::size_t>(A.rows()));
  std::vector<double> b = x;
  b.front() = 1;
  b.back() = -1;
  const Report report = solver.solve(std::span<const double>(b), std::span<double>(x));
  EXPECT_EQ(report.status, Status::max_iterations);
  EXPECT_EQ(report.iterations, 3);
}

/// Expects BadOption for the option, with a reason.
void expect_refused(const std::string& option, const OptionValue& value, bool parallel) {
  SCOPED_TRACE(option);
  try {
    static_cast<void>(
        make_solver<double>("lamg", Device::serial(), {{"parallel", parallel}, {option, value}}));
    ADD_FAILURE() << "accepted";
  } catch (const BadOption& error) {
    EXPECT_EQ(error.path(), option);
    EXPECT_NE(std::string(error.what()).find("has no effect"), std::string::npos) << error.what();
  }
}

TEST(LamgOptions, WithoutEffect_AreRefused) {
  expect_refused("cycle_index", 1.25, true);
  expect_refused("pre_sweeps", std::int64_t{2}, true);
  expect_refused("post_sweeps", std::int64_t{1}, true);
  expect_refused("combined_iterates", std::int64_t{0}, true);
  expect_refused("caliber", std::int64_t{1}, true);
  expect_refused("coarse_size", std::int64_t{50}, true);
  expect_refused("jacobi_iterations", std::int64_t{0}, false);
  EXPECT_NO_THROW(make_solver<double>("lamg", Device::serial(), {{"parallel", true}, {"coarse_size", 100}}));
}

TEST(LamgLevelMatrix, EveryLevel_IsALaplacianOrEliminated) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 40}, {"ny", 30}});
  for (const bool parallel : {false, true}) {
    Lamg<double> solver(Device::serial(), parallel ? LamgOptions{.parallel = true, .jacobi_iterations = 0}
                                                   : LamgOptions{.coarse_size = 10});
    ASSERT_TRUE(solver.setup(A).ready());
    const HierarchyDescription description = describe_hierarchy<double>(solver);
    ASSERT_GE(description.levels.size(), 3U);
    EXPECT_THROW(static_cast<void>(level_matrix<double>(solver, description.levels.size())), Error);
    for (std::size_t l = 0; l < description.levels.size(); ++l) {
      SCOPED_TRACE(l);
      if (description.levels[l].method == "elimination") {
        EXPECT_THROW(static_cast<void>(level_matrix<double>(solver, l)), Error);
        continue;
      }
      const Csr<double> L = level_matrix<double>(solver, l);
      EXPECT_EQ(L.rows(), description.levels[l].rows);
      EXPECT_EQ(L.nonzeros(), description.levels[l].nonzeros);
      const test::Rows rows = test::rows_of(L);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_NEAR(std::accumulate(rows[i].begin(), rows[i].end(), 0.0), 0, 1e-5 * rows[i][i]);
        EXPECT_GT(rows[i][i], 0);
      }
    }
  }
}

TEST(LamgParallel, PowerLawGraphs_NoLevels) {
  for (const std::string form : {"laplacian", "sddm"}) {
    const Csr<double> A = make_graph("rmat", {{"scale", 12}, {"form", form}});
    const Solved solved = solve(Device::serial(), A, right_hand_side(A), 100);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    EXPECT_GT(solved.report.iterations, 10);
    EXPECT_LT(solved.report.iterations, 60);
  }
}

TEST(LamgParallel, MeshesAndPathsOfCliques_Levels) {
  Triplets cliques;  // a path of cliques of 20 vertices: CG converges fast at first only
  for (std::int32_t c = 0; c < 200; ++c) {
    for (std::int32_t i = 0; i < 20; ++i) {
      for (std::int32_t j = 0; j < i; ++j) add_edge(cliques, 20 * c + i, 20 * c + j, 1);
    }
    if (c > 0) add_edge(cliques, 20 * c - 1, 20 * c, 1);
  }
  for (const Csr<double>& A :
       {make_graph("grid-2d", {{"nx", 100}, {"ny", 100}}), Csr<double>::from_triplets(4000, 4000, cliques)}) {
    const Solved solved = solve(Device::serial(), A, right_hand_side(A), 100);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    EXPECT_LE(solved.report.iterations, 15);
  }
}

TEST(LamgParallel, WeightsOf24Decades_Solved) {
  for (const int seed : {1, 2, 3}) {
    const Options options = {{"n", 3000}, {"weights", "log-uniform"}, {"decades", 24}, {"seed", seed}};
    expect_solved(make_graph("chimera", options), "weights from 1e-12 to 1e12", 30);
  }
}

TEST(LamgParallel, Components_EachSolved) {
  // 300 triangles, 50 isolated vertices and a grid.
  Triplets triplets;
  for (std::int32_t t = 0; t < 300; ++t) {
    for (std::int32_t e = 0; e < 3; ++e) add_edge(triplets, 3 * t + e, 3 * t + (e + 1) % 3, 1 + t);
  }
  constexpr std::int32_t first = 950;
  for (std::int32_t i = 0; i < 40; ++i) {
    for (std::int32_t j = 0; j < 40; ++j) {
      if (i < 39) add_edge(triplets, first + 40 * i + j, first + 40 * (i + 1) + j, 1);
      if (j < 39) add_edge(triplets, first + 40 * i + j, first + 40 * i + j + 1, 1);
    }
  }
  expect_solved(Csr<double>::from_triplets(first + 1600, first + 1600, triplets), "components", 20);
}

TEST(LamgParallel, StarWithEdgesBetweenLeaves_Solved) {
  Triplets triplets;
  for (std::int32_t i = 1; i < 5000; ++i) add_edge(triplets, 0, i, 1);
  for (std::int32_t i = 1; i + 1 < 5000; i += 3) add_edge(triplets, i, i + 1, 1);
  expect_solved(Csr<double>::from_triplets(5001, 5001, triplets), "star and an isolated vertex", 5);
}

void expect_same_bits_on_devices(const Csr<double>& A, const std::vector<std::string>& devices) {
  const std::vector<double> b = right_hand_side(A);
  const Solved expected = solve(Device::serial(), A, b);
  for (const std::string& device : devices) {
    const Solved found = solve(Device::parse(device), A, b);
    EXPECT_EQ(found.x, expected.x) << device;
    EXPECT_EQ(found.report.iterations, expected.report.iterations) << device;
  }
}

TEST(LamgParallel, Devices_SameBits) {
  expect_same_bits_on_devices(make_graph("chimera", {{"n", 4000}, {"seed", 2}, {"weights", "chimera"}}),
                              {"openmp:1", "openmp:2", "openmp:5"});
}

TEST(LamgParallel, ScatteredGraph_SameBits) {
  const Csr<double> A = make_graph("chimera", {{"n", cached_vertices}, {"seed", 1}});
  Host backend(Device::serial());
  ASSERT_TRUE(is_scattered(backend, A));
  expect_same_bits_on_devices(A, {"openmp:3"});
}

std::vector<std::int64_t> level_rows(const Solver<double>& solver) {
  std::vector<std::int64_t> rows;
  for (const LevelDescription& level : describe_hierarchy(solver).levels) rows.push_back(level.rows);
  return rows;
}

TEST(LamgParallel, NewWeightsOnTheSameGraph_KeepAggregates) {
  const Csr<double> first = make_graph("grid-2d", {{"nx", 90}, {"ny", 80}});
  const Csr<double> second = make_graph("grid-2d", {{"nx", 90}, {"ny", 80}, {"weights", "uniform"}});
  const LamgOptions options = {.parallel = true, .jacobi_iterations = 0};
  Lamg<double> solver(Device::serial(), options);
  ASSERT_TRUE(solver.setup(first).ready());
  const std::vector<std::int64_t> rows = level_rows(solver);
  ASSERT_TRUE(solver.update_values(second).ready());
  EXPECT_EQ(level_rows(solver), rows);
  Lamg<double> anew(Device::serial(), options);
  ASSERT_TRUE(anew.setup(second).ready());
  EXPECT_NE(level_rows(anew), rows);
  const std::vector<double> b = right_hand_side(second);
  Dense<double> right(Device(), second.rows(), 1);
  std::copy(b.begin(), b.end(), right.data());
  Dense<double> left(Device(), second.rows(), 1);
  const Report report = solver.solve(right, left);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(report.iterations, 20);
}

TEST(LamgParallel, SeveralColumns_AsAlone) {
  const std::vector<std::pair<Csr<double>, Options>> systems = {
      {make_graph("chimera", {{"n", 2000}, {"seed", 3}}), {{"jacobi_iterations", 0}}},
      {make_graph("chimera", {{"n", 2000}, {"seed", 2}, {"weights", "log-uniform"}, {"decades", 12}}),
       {{"jacobi_iterations", 0}}},
      {make_graph("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}}), {{"jacobi_iterations", 0}}},
      {make_graph("grid-2d", {{"nx", 60}, {"ny", 50}}), {{"jacobi_iterations", 0}, {"max_iterations", 3}}},
      {make_graph("rmat", {{"scale", 11}, {"form", "sddm"}}), {}},
      {make_graph("path", {{"n", 100}}), {}},
  };
  for (const auto& [A, chosen] : systems) {
    Options options = chosen;
    options.set("parallel", true);
    const std::vector<double> b = test::SeveralColumns::right_hand_sides(A.rows());
    for (const Device& device : {Device::serial(), Device::openmp(3)}) {
      test::SeveralColumns::expect_as_alone("lamg", device, options, A, b);
    }
  }
}

TEST(LamgParallel, PreconditionerOfSeveralColumns_AsAlone) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}});
  const std::vector<double> b = test::SeveralColumns::right_hand_sides(A.rows());
  for (const bool parallel : {false, true}) {
    const Options options = {{"preconditioner", "lamg"}, {"preconditioner.parallel", parallel}};
    test::SeveralColumns::expect_as_alone("cg", Device::serial(), options, A, b);
  }
}

TEST(LamgParallel, PositiveElementsAndExcess_Solved) {
  Triplets triplets;
  for (std::int32_t i = 0; i + 1 < 900; ++i) {
    const double weight = i % 3 == 0 ? 1 : -1;
    triplets.insert(triplets.end(), {{i, i + 1, weight}, {i + 1, i, weight}, {i, i, 1}, {i + 1, i + 1, 1}});
  }
  for (std::int32_t i = 0; i < 900; i += 7) triplets.push_back({i, i, 0.01});
  expect_solved(Csr<double>::from_triplets(900, 900, triplets), "both signs", 20);
}

}  // namespace
}  // namespace echelon::affinity_multigrid

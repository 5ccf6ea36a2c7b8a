// SPDX-License-Identifier: BSD-3-Clause
/// Parts of lamg's parallel algorithm, run on the host, against their definitions.
#include "graph_laplacian/affinity_multigrid/reduced_system.hpp"
#include "support/graph_laplacian/lamg_graphs.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/generate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::affinity_multigrid {
namespace {

using test::make_graph;
using test::Rows;
using test::rows_of;
using test::small_graphs;

/// Whether vertex i was eliminated. The row of an isolated vertex is empty.
bool is_eliminated(const EliminationStage<double>& stage, std::size_t vertex) {
  const auto i = static_cast<std::int64_t>(vertex);
  return stage.inverse[i] != 0 || stage.P.row_offsets()[i] == stage.P.row_offsets()[i + 1];
}

/// Eliminates from a dense matrix the vertices that were eliminated in `stage`.
Rows schur_complement(Rows A, const EliminationStage<double>& stage) {
  Rows rest;
  for (std::size_t f = 0; f < A.size(); ++f) {
    if (!is_eliminated(stage, f) || A[f][f] == 0) continue;
    for (std::size_t i = 0; i < A.size(); ++i) {
      if (i == f) continue;
      const double ratio = A[i][f] / A[f][f];
      for (std::size_t j = 0; j < A.size(); ++j) A[i][j] -= ratio * A[f][j];
    }
  }
  for (std::size_t i = 0; i < A.size(); ++i) {
    if (is_eliminated(stage, i)) continue;
    rest.emplace_back();
    for (std::size_t j = 0; j < A.size(); ++j) {
      if (!is_eliminated(stage, j)) rest.back().push_back(A[i][j]);
    }
  }
  return rest;
}

TEST(LamgParallelElimination, SmallGraphs_SchurComplement) {
  Host backend(Device::serial());
  for (const Csr<double>& A : small_graphs()) {
    EliminationStage<double> stage;
    Csr<double> coarse;
    ASSERT_TRUE(eliminate(backend, A, {}, stage, coarse));
    const Rows expected = schur_complement(rows_of(A), stage);
    const Rows found = rows_of(coarse);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_LT(found.size(), static_cast<std::size_t>(A.rows()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = 0; j < found.size(); ++j) {
        EXPECT_NEAR(found[i][j], expected[i][j], 1e-13 * (1 + expected[i][i]));
      }
    }
  }
}

TEST(LamgParallelElimination, Vertices_AreIndependentAndFewNeighboured) {
  Host backend(Device::serial());
  const Csr<double> A = make_graph("chimera", {{"n", 1025}, {"seed", 4}});
  EliminationStage<double> stage;
  Csr<double> coarse;
  ASSERT_TRUE(eliminate(backend, A, {}, stage, coarse));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    if (stage.inverse[i] == 0) continue;
    EXPECT_LE(A.row_offsets()[i + 1] - A.row_offsets()[i], lamg::max_eliminated_degree + 1);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      EXPECT_TRUE(j == i || stage.inverse[j] == 0);
    }
  }
}

TEST(LamgParallelElimination, SetTooSmall_NothingDone) {
  Host backend(Device::serial());
  EliminationStage<double> stage;
  Csr<double> coarse;
  EXPECT_FALSE(
      eliminate(backend, make_graph("grid-2d", {{"nx", 9}, {"ny", 9}}), {.least = 0.9}, stage, coarse));
  EXPECT_FALSE(eliminate(backend, make_graph("complete", {{"n", 9}}), {}, stage, coarse));
}

TEST(LamgParallelElimination, OrderGiven_NumbersTheRest) {
  Host backend(Device::openmp(3));
  std::mt19937 random(2);
  for (const Csr<double>& A : small_graphs()) {
    const std::int64_t n = A.rows();
    Array<std::int32_t> order(Device(), n);
    std::iota(order.data(), order.data() + n, 0);
    std::shuffle(order.data(), order.data() + n, random);
    EliminationStage<double> usual;
    EliminationStage<double> ordered;
    Csr<double> expected;
    Csr<double> found;
    ASSERT_TRUE(eliminate(backend, A, {}, usual, expected));
    ASSERT_TRUE(eliminate(backend, A, {}, ordered, found, order));
    keep_numbers(backend, usual);
    keep_numbers(backend, ordered);
    std::vector<std::size_t> old_number;
    for (std::int64_t p = 0; p < n; ++p) {
      const std::int32_t vertex = order[p];
      if (ordered.number[vertex] < 0) continue;
      EXPECT_EQ(ordered.number[vertex], static_cast<std::int32_t>(old_number.size()));
      old_number.push_back(static_cast<std::size_t>(usual.number[vertex]));
    }
    const Rows matrix = rows_of(found);
    const Rows old_matrix = rows_of(expected);
    ASSERT_EQ(old_number.size(), old_matrix.size());
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      for (std::size_t j = 0; j < matrix.size(); ++j) {
        EXPECT_NEAR(matrix[i][j], old_matrix[old_number[i]][old_number[j]], 1e-14 * matrix[i][i]);
      }
    }
  }
}

TEST(LamgLocalOrder, ScatteredGraph_NeighboursComeClose) {
  const Csr<double> A = make_graph("chimera", {{"n", 20000}, {"seed", 1}});
  const std::int64_t n = A.rows();
  Host one(Device::openmp(1));
  Host three(Device::openmp(3));
  const Array<std::int32_t> order = local_order(one, A);
  EXPECT_EQ(local_order(three, A).to_vector(), order.to_vector());
  std::vector<std::int64_t> place(static_cast<std::size_t>(n), -1);
  for (std::int64_t p = 0; p < n; ++p) place[static_cast<std::size_t>(order[p])] = p;
  EXPECT_EQ(std::count(place.begin(), place.end(), -1), 0) << "not a permutation";
  std::int64_t close = 0;
  std::int64_t close_before = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      if (j == i) continue;
      close_before += std::abs(j - i) < n / 100 ? 1 : 0;
      close += std::abs(place[static_cast<std::size_t>(i)] - place[static_cast<std::size_t>(j)]) < n / 100;
    }
  }
  EXPECT_GT(close, 5 * close_before);
}

TEST(LamgLocalOrder, SmallGraphsAndGrids_AreNotScattered) {
  Host backend(Device::serial());
  EXPECT_FALSE(is_scattered(backend, make_graph("chimera", {{"n", 20000}, {"seed", 1}})));
  EXPECT_FALSE(is_scattered(backend, make_graph("grid-2d", {{"nx", 400}, {"ny", 300}})));
  EXPECT_TRUE(is_scattered(backend, make_graph("chimera", {{"n", 120000}, {"seed", 1}})));
}

TEST(LamgParallelContraction, QuotientGraph_TripleProduct) {
  Host backend(Device::serial());
  std::mt19937 random(1);
  for (const Csr<double>& A : small_graphs()) {
    constexpr std::int32_t count = 13;
    Array<std::int32_t> aggregates(Device(), A.rows());
    for (std::int64_t i = 0; i < A.rows(); ++i) aggregates[i] = static_cast<std::int32_t>(random() % count);
    const Array<std::int32_t> rows = rows_of_elements(backend, A);
    const Rows found = rows_of(contract_by_sorting(backend, A, rows.data(), aggregates.data(), count));
    Rows expected(count, std::vector<double>(count));
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        expected[static_cast<std::size_t>(aggregates[i])]
                [static_cast<std::size_t>(aggregates[A.column_indices()[k]])] += A.values()[k];
      }
    }
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j)
        EXPECT_NEAR(found[i][j], expected[i][j], 1e-12 * (1 + expected[i][i]));
    }
  }
}

/// The host without its division of loops: Laplacians are made by sorting edges, as on a GPU.
class SortingBackend : public Host {
 public:
  using Host::Host;

 private:
  using Host::parallel;
};
static_assert(!HostBackend<SortingBackend>);

// Products, which divide their loops on the host, are those of Host.
template <class T, class X, class Use>
void for_several_row_products(SortingBackend& backend, const Csr<T>& A,
                              const FunctorArray<VectorProduct<X, Use>>& products) {
  for_several_row_products(static_cast<Host&>(backend), A, products);
}
template <class T, class Use>
void for_dense_row_products(SortingBackend& backend, std::int64_t n, const T* rows, const T* x, Use use) {
  for_dense_row_products(static_cast<Host&>(backend), n, rows, x, use);
}

void expect_same_bits(const Csr<double>& found, const Csr<double>& expected) {
  EXPECT_EQ(found.rows(), expected.rows());
  EXPECT_EQ(found.columns(), expected.columns());
  ASSERT_EQ(found.nonzeros(), expected.nonzeros());
  EXPECT_EQ(found.row_offsets().to_vector(), expected.row_offsets().to_vector());
  EXPECT_EQ(found.column_indices().to_vector(), expected.column_indices().to_vector());
  EXPECT_EQ(found.values().to_vector(), expected.values().to_vector());
}

std::vector<Csr<double>> graphs_with_long_rows() {
  std::vector<Csr<double>> graphs = small_graphs();
  graphs.push_back(make_graph("chimera", {{"n", 20000}, {"seed", 5}, {"weights", "chimera"}}));
  graphs.push_back(make_graph("barabasi-albert", {{"n", 5000}}));
  graphs.push_back(make_graph("star", {{"n", 100}}));
  return graphs;
}

TEST(LamgParallelElimination, RowByRow_BitsOfSortedEdges) {
  SortingBackend sorting(Device::serial());
  for (const Csr<double>& A : graphs_with_long_rows()) {
    EliminationStage<double> expected;
    Csr<double> coarse;
    ASSERT_TRUE(eliminate(sorting, A, {.with_transpose = true}, expected, coarse));
    for (const int threads : {1, 3}) {
      Host backend(Device::openmp(threads));
      EliminationStage<double> found;
      Csr<double> rest;
      ASSERT_TRUE(eliminate(backend, A, {.with_transpose = true}, found, rest));
      expect_same_bits(rest, coarse);
      expect_same_bits(found.P, expected.P);
      expect_same_bits(found.R, expected.R);
      EXPECT_EQ(found.inverse.to_vector(), expected.inverse.to_vector());
    }
  }
}

TEST(LamgParallelContraction, RowByRow_BitsOfSortedEdges) {
  Host serial(Device::serial());
  std::mt19937_64 random(5);
  for (const Csr<double>& A : graphs_with_long_rows()) {
    const std::int64_t count = A.rows() / 4;
    Array<std::int32_t> aggregates(Device(), A.rows());
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      aggregates[i] = static_cast<std::int32_t>(
          i < count ? i : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
    }
    const Array<std::int32_t> rows = rows_of_elements(serial, A);
    const Csr<double> P = piecewise_constant<Host, double>(serial, std::move(aggregates), count);
    const Csr<double> R = transpose(P);
    SortingBackend sorting(Device::serial());
    expect_same_bits(transposed_piecewise_constant(sorting, P), R);
    const std::int32_t* of = P.column_indices().data();
    const Csr<double> expected = contract_by_sorting(serial, A, rows.data(), of, count);
    for (const int threads : {1, 3}) {
      Host backend(Device::openmp(threads));
      expect_same_bits(contract(backend, A, rows.data(), of, R), expected);
    }
  }
}

TEST(LamgParallelHierarchy, EveryLevel_HasZeroRowSumsAndAscendingColumns) {
  Host backend(Device::serial());
  for (const Csr<double>& A : {make_graph("chimera", {{"n", 3000}, {"seed", 1}, {"weights", "chimera"}}),
                               make_graph("grid-2d", {{"nx", 50}, {"ny", 40}})}) {
    HierarchyOptions options;
    options.coarse_size = 20;
    const PreconditionerIn<Host, double, float> preconditioner(backend, A, options, {});
    const auto& levels = preconditioner.hierarchy().levels();
    EXPECT_GT(levels.size(), 3U);
    for (const auto& level : levels) {
      for (std::int64_t i = 0; i < level.own.rows(); ++i) {
        double sum = 0;
        double diagonal = 0;
        for (std::int64_t k = level.own.row_offsets()[i]; k < level.own.row_offsets()[i + 1]; ++k) {
          const double value = double{level.own.values()[k]};
          const std::int32_t column = level.own.column_indices()[k];
          sum += value;
          if (column == i) diagonal = value;
          EXPECT_TRUE(column == i || value < 0);
          EXPECT_TRUE(k == level.own.row_offsets()[i] || level.own.column_indices()[k - 1] < column);
        }
        EXPECT_GE(diagonal, 0);
        EXPECT_NEAR(sum, 0, 2e-6 * diagonal);
      }
    }
  }
}

/// Largest |M (u + v) - M u - M v| relative to the largest element of M u, for the cycle M.
double nonlinearity(const Csr<double>& A, const HierarchyOptions& options) {
  Host backend(Device::serial());
  const PreconditionerIn<Host, double, double> cycle(backend, A, options, {});
  EXPECT_GT(cycle.hierarchy().levels().size(), 3U);
  const auto n = static_cast<std::size_t>(A.rows());
  const std::unique_ptr<Workspace> workspace = cycle.make_workspace();
  const auto apply = [&](const std::vector<double>& r) {
    std::vector<double> z(n);
    cycle.apply(backend, *workspace, {r.data(), A.rows()}, {z.data(), A.rows()});
    return z;
  };
  std::vector<double> u(n);
  std::vector<double> v(n);
  std::vector<double> sum(n);
  for (std::size_t i = 0; i < n; ++i) {
    u[i] = (i == 3 ? 1.0 : 0.0) - (i == 5 ? 1.0 : 0.0);
    v[i] = (i == n / 2 ? 1.0 : 0.0) - (i == n - 1 ? 1.0 : 0.0);
    sum[i] = u[i] + v[i];
  }
  const std::vector<double> of_u = apply(u);
  const std::vector<double> of_v = apply(v);
  const std::vector<double> of_sum = apply(sum);
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    difference = std::max(difference, std::abs(of_sum[i] - of_u[i] - of_v[i]));
    largest = std::max(largest, std::abs(of_u[i]));
  }
  return difference / largest;
}

TEST(LamgParallelHierarchy, SmallLevels_WithoutKrylovSteps) {
  const Csr<double> A = make_graph("grid-2d", {{"nx", 50}, {"ny", 40}});
  HierarchyOptions options;
  options.coarse_size = 20;
  EXPECT_GT(nonlinearity(A, options), 1e-6);
  options.first_krylov_size = 2000;
  options.large_finest_size = 2000;
  EXPECT_GT(nonlinearity(A, options), 1e-6);  // the finest level has 2000 vertices
  options.large_finest_size = 2001;
  EXPECT_LT(nonlinearity(A, options), 1e-12);  // a V-cycle
}

/// Solution of L x = b by at most 40 steps to a residual of 1e-9.
template <class B>
std::vector<double> solution(B backend, const Csr<double>& L, const std::vector<double>& b) {
  using System = ReducedSystem<B, double>;
  HierarchyOptions options;
  options.coarse_size = 30;
  options.jacobi_iterations = 0;
  const System system(backend, L, options, {});
  const auto vectors = system.make_vectors(backend.device());
  IterationState state;
  state.tolerance = 1e-9;
  state.divergence = 1e300;
  state.max_iterations = 40;
  const typename System::GivenColumn given{vectors.get(), &state, b.data()};
  system.start(backend, {&given, 1});
  for (int step = 0; step < 40; ++step) system.step(backend, {&given, 1});
  std::vector<double> x(b.size());
  const typename System::SolvedColumn solved{vectors.get(), x.data()};
  system.finish(backend, {&solved, 1});
  return x;
}

TEST(LamgParallelSolver, SortedEdges_SolutionWithTheBitsOfRowByRow) {
  const std::vector<std::pair<std::string, Options>> graphs = {
      {"path", {{"n", 3000}}},
      {"chimera", {{"n", 3000}, {"seed", 1}, {"weights", "chimera"}}},
      {"chimera", {{"n", 3000}, {"seed", 2}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}}},
      {"star", {{"n", 300}}}};
  for (const auto& [family, options] : graphs) {
    const Csr<double> L = make_graph(family, options);
    std::vector<double> b(static_cast<std::size_t>(L.rows()));
    b.front() = 1;
    b[b.size() / 2] = -1;
    const std::vector<double> x = solution(SortingBackend(Device::serial()), L, b);
    const std::vector<double> residual = test::product(L, x);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(residual[i], b[i], 1e-8) << family << i;
    EXPECT_EQ(x, solution(Host(Device::serial()), L, b)) << family;
  }
}

TEST(LamgParallelAggregation, Members_AreNearTheirSeedInEnergy) {
  Host backend(Device::serial());
  const Csr<double> A = make_graph("grid-2d", {{"nx", 40}, {"ny", 40}, {"weight_y", 1e-4}});
  const Array<std::int32_t> rows = rows_of_elements(backend, A);
  Array<double> inverse(Device(), A.rows());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) inverse[i] = 1 / A.values()[k];
    }
  }
  const Array<TestValues> x = make_test_vectors(backend, A, inverse.data(), 6, 1);
  const ParallelAggregates aggregates = aggregate(backend, A, rows.data(), inverse.data(), x.data(), {});
  EXPECT_LT(aggregates.count, A.rows() / 2);
  EXPECT_GT(aggregates.count, A.rows() / 20);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    ASSERT_GE(aggregates.of[i], 0);
    ASSERT_LT(aggregates.of[i], aggregates.count);
  }
  // The coupling in y is weak: aggregates are parts of lines in x.
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      EXPECT_TRUE(aggregates.of[i] != aggregates.of[j] || i / 40 == j / 40);
    }
  }
}

}  // namespace
}  // namespace echelon::affinity_multigrid

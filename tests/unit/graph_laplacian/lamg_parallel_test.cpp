// SPDX-License-Identifier: BSD-3-Clause
/// The parallel algorithm of lamg, run on the host: its parts against their definitions, and the method on
/// families of graphs on which Laplacian solvers are known to fail.
#include "graph_laplacian/lamg/parallel/iteration.hpp"
#include "support/graph_families.hpp"
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
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::lamg::parallel {
namespace {

using Rows = std::vector<std::vector<double>>;
using Triplets = std::vector<Triplet<double>>;

Csr<double> make(const std::string& family, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(family, options));
}

Rows dense(const Csr<double>& A) {
  Rows rows(static_cast<std::size_t>(A.rows()), std::vector<double>(static_cast<std::size_t>(A.columns())));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(A.column_indices()[k])] += A.values()[k];
    }
  }
  return rows;
}

std::vector<Csr<double>> small_graphs() {
  std::vector<Csr<double>> graphs;
  for (const int seed : {1, 2, 3}) {
    graphs.push_back(make("chimera", {{"n", 70}, {"seed", seed}, {"weights", "chimera"}}));
    graphs.push_back(make("grown", {{"n", 60}, {"seed", seed}}));
    graphs.push_back(make("erdos-renyi", {{"n", 65}, {"degree", 3}, {"seed", seed}}));
  }
  graphs.push_back(make("grid-2d", {{"nx", 11}, {"ny", 9}}));
  return graphs;
}

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
  Serial backend(Device::serial());
  for (const Csr<double>& A : small_graphs()) {
    EliminationStage<double> stage;
    Csr<double> coarse;
    ASSERT_TRUE(eliminate(backend, A, {}, stage, coarse));
    const Rows expected = schur_complement(dense(A), stage);
    const Rows found = dense(coarse);
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
  Serial backend(Device::serial());
  const Csr<double> A = make("chimera", {{"n", 1025}, {"seed", 4}});
  EliminationStage<double> stage;
  Csr<double> coarse;
  ASSERT_TRUE(eliminate(backend, A, {}, stage, coarse));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    if (stage.inverse[i] == 0) continue;
    EXPECT_LE(A.row_offsets()[i + 1] - A.row_offsets()[i], max_eliminated_degree + 1);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      EXPECT_TRUE(j == i || stage.inverse[j] == 0);
    }
  }
}

TEST(LamgParallelElimination, SetTooSmall_NothingDone) {
  Serial backend(Device::serial());
  EliminationStage<double> stage;
  Csr<double> coarse;
  EXPECT_FALSE(eliminate(backend, make("grid-2d", {{"nx", 9}, {"ny", 9}}), {.least = 0.9}, stage, coarse));
  EXPECT_FALSE(eliminate(backend, make("complete", {{"n", 9}}), {}, stage, coarse));
}

TEST(LamgParallelElimination, OrderGiven_NumbersTheRest) {
  OpenMp backend(Device::openmp(3));
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
    const Rows matrix = dense(found);
    const Rows old_matrix = dense(expected);
    ASSERT_EQ(old_number.size(), old_matrix.size());
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      for (std::size_t j = 0; j < matrix.size(); ++j) {
        EXPECT_NEAR(matrix[i][j], old_matrix[old_number[i]][old_number[j]], 1e-14 * matrix[i][i]);
      }
    }
  }
}

TEST(LamgLocalOrder, ScatteredGraph_NeighboursComeClose) {
  const Csr<double> A = make("chimera", {{"n", 20000}, {"seed", 1}});
  const std::int64_t n = A.rows();
  OpenMp one(Device::openmp(1));
  OpenMp three(Device::openmp(3));
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
  Serial backend(Device::serial());
  EXPECT_FALSE(is_scattered(backend, make("chimera", {{"n", 20000}, {"seed", 1}})));
  EXPECT_FALSE(is_scattered(backend, make("grid-2d", {{"nx", 400}, {"ny", 300}})));
  EXPECT_TRUE(is_scattered(backend, make("chimera", {{"n", 120000}, {"seed", 1}})));
}

TEST(LamgParallelContraction, QuotientGraph_TripleProduct) {
  Serial backend(Device::serial());
  std::mt19937 random(1);
  for (const Csr<double>& A : small_graphs()) {
    constexpr std::int32_t count = 13;
    Array<std::int32_t> aggregates(Device(), A.rows());
    for (std::int64_t i = 0; i < A.rows(); ++i) aggregates[i] = static_cast<std::int32_t>(random() % count);
    const Array<std::int32_t> rows = rows_of_elements(backend, A);
    const Rows found = dense(contract_by_sorting(backend, A, rows.data(), aggregates.data(), count));
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

/// Serial without its division of loops: Laplacians are made by sorting edges, as on a GPU.
class SortingBackend : private Serial {
 public:
  using Serial::copy;
  using Serial::device;
  using Serial::exclusive_scan;
  using Serial::fill;
  using Serial::for_each;
  using Serial::read;
  using Serial::scan;
  using Serial::segmented_for_each;
  using Serial::segmented_reduce;
  using Serial::Serial;
  using Serial::sort_by_key;
};

void expect_same_bits(const Csr<double>& found, const Csr<double>& expected) {
  ASSERT_EQ(found.nonzeros(), expected.nonzeros());
  EXPECT_EQ(found.row_offsets().to_vector(), expected.row_offsets().to_vector());
  EXPECT_EQ(found.column_indices().to_vector(), expected.column_indices().to_vector());
  EXPECT_EQ(found.values().to_vector(), expected.values().to_vector());
}

std::vector<Csr<double>> graphs_with_long_rows() {
  std::vector<Csr<double>> graphs = small_graphs();
  graphs.push_back(make("chimera", {{"n", 20000}, {"seed", 5}, {"weights", "chimera"}}));
  graphs.push_back(make("barabasi-albert", {{"n", 5000}}));
  graphs.push_back(make("star", {{"n", 100}}));
  return graphs;
}

TEST(LamgParallelElimination, RowByRow_BitsOfSortedEdges) {
  SortingBackend sorting(Device::serial());
  for (const Csr<double>& A : graphs_with_long_rows()) {
    EliminationStage<double> expected;
    Csr<double> coarse;
    ASSERT_TRUE(eliminate(sorting, A, {.with_transpose = true}, expected, coarse));
    for (const int threads : {1, 3}) {
      OpenMp backend(Device::openmp(threads));
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
  Serial serial(Device::serial());
  std::mt19937_64 random(5);
  for (const Csr<double>& A : graphs_with_long_rows()) {
    const std::int64_t count = A.rows() / 4;
    Array<std::int32_t> aggregates(Device(), A.rows());
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      aggregates[i] = static_cast<std::int32_t>(
          i < count ? i : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count)));
    }
    const Array<std::int32_t> rows = rows_of_elements(serial, A);
    const Csr<double> P = piecewise_constant<Serial, double>(serial, std::move(aggregates), count);
    const Csr<double> R = transpose(P);
    SortingBackend sorting(Device::serial());
    expect_same_bits(transposed_piecewise_constant(sorting, P), R);
    const std::int32_t* of = P.column_indices().data();
    const Csr<double> expected = contract_by_sorting(serial, A, rows.data(), of, count);
    for (const int threads : {1, 3}) {
      OpenMp backend(Device::openmp(threads));
      expect_same_bits(contract(backend, A, rows.data(), of, R), expected);
    }
  }
}

TEST(LamgParallelHierarchy, EveryLevel_HasZeroRowSumsAndAscendingColumns) {
  Serial backend(Device::serial());
  for (const Csr<double>& A : {make("chimera", {{"n", 3000}, {"seed", 1}, {"weights", "chimera"}}),
                               make("grid-2d", {{"nx", 50}, {"ny", 40}})}) {
    HierarchyOptions options;
    options.coarse_size = 20;
    const PreconditionerIn<Serial, double, float> preconditioner(backend, A, options, {});
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
  Serial backend(Device::serial());
  const PreconditionerIn<Serial, double, double> cycle(backend, A, options, {});
  EXPECT_GT(cycle.hierarchy().levels().size(), 3U);
  const auto n = static_cast<std::size_t>(A.rows());
  const std::unique_ptr<Workspace> workspace = cycle.make_workspace();
  const auto apply = [&](const std::vector<double>& r) {
    std::vector<double> z(n);
    const AppliedColumn<double> column{workspace.get(), r.data(), z.data()};
    cycle.apply(backend, {&column, 1});
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

TEST(LamgParallelHierarchy, KrylovStepsOnLargeLevelsAlone) {
  const Csr<double> A = make("grid-2d", {{"nx", 50}, {"ny", 40}});
  HierarchyOptions options;
  options.coarse_size = 20;
  EXPECT_GT(nonlinearity(A, options), 1e-6);
  options.first_krylov_size = 2000;
  options.large_finest_size = 2000;
  EXPECT_GT(nonlinearity(A, options), 1e-6);  // the finest level has 2000 vertices
  options.large_finest_size = 2001;
  EXPECT_LT(nonlinearity(A, options), 1e-12);  // a V-cycle
}

TEST(LamgParallelInverse, PositiveDefiniteMatrices_TimesInverseIsUnit) {
  Serial backend(Device::serial());
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::int64_t n : {1, 2, 7, 8, 9, 31, 33, 100}) {
    const auto at = [n](const auto& matrix, std::int64_t i, std::int64_t j) {
      return matrix[static_cast<std::size_t>(i * n + j)];
    };
    std::vector<double> matrix(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const double element = i == j ? static_cast<double>(n) : uniform(random);
        matrix[static_cast<std::size_t>(i * n + j)] = matrix[static_cast<std::size_t>(j * n + i)] = element;
      }
    }
    Array<double> inverted(backend.device(), std::span<const double>(matrix));
    invert_in_place(backend, n, inverted);
    const std::vector<double> inverse = inverted.to_vector();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += at(matrix, i, k) * at(inverse, k, j);
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-13) << n;
      }
    }
  }
}

TEST(LamgParallelInverse, Graphs_AsLapack) {
  Serial backend(Device::serial());
  std::vector<Csr<double>> graphs = small_graphs();
  graphs.push_back(make("path", {{"n", 300}}));
  graphs.push_back(Csr<double>::from_triplets(
      5, 5, {{0, 0, 2}, {0, 1, -2}, {1, 0, -2}, {1, 1, 2}, {3, 3, 1}, {3, 4, -1}, {4, 3, -1}, {4, 4, 1}}));
  for (const Csr<double>& A : graphs) {
    const Dense<double> expected = regularised_inverse(A).transpose;
    const Dense<double> found = parallel_inverse(backend, A).transpose;
    ASSERT_EQ(found.rows(), A.rows());
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        EXPECT_NEAR(found(i, j), expected(i, j), 1e-9 * (1 + std::fabs(expected(j, j))));
        EXPECT_EQ(found(i, j), found(j, i));
      }
    }
  }
}

TEST(LamgParallelInverse, ComponentsAndIsolatedVertices_Shifts) {
  const ComponentShifts shifts = component_shifts(Csr<double>::from_triplets(
      5, 5, {{0, 0, 2}, {0, 1, -2}, {1, 0, -2}, {1, 1, 2}, {3, 3, 1}, {3, 4, -1}, {4, 3, -1}, {4, 4, 1}}));
  EXPECT_EQ(shifts.component, (std::vector<std::int32_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(shifts.shift, (std::vector<double>{1, 1, 0.5}));
}

TEST(LamgParallelAggregation, Members_AreNearTheirSeedInEnergy) {
  Serial backend(Device::serial());
  const Csr<double> A = make("grid-2d", {{"nx", 40}, {"ny", 40}, {"weight_y", 1e-4}});
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
    expect_solved(make(family, options), family, 20);
  }
}

TEST(LamgParallel, Chimeras_AtMost30Iterations) {
  for (const std::string weights : {"unit", "chimera"}) {
    for (const std::string form : {"laplacian", "sddm"}) {
      for (int seed = 1; seed <= 5; ++seed) {
        const Options options = {{"n", 3000}, {"weights", weights}, {"form", form}, {"seed", seed}};
        expect_solved(make("chimera", options), weights + form + std::to_string(seed), 30);
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
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}});
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
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}});
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

TEST(LamgLevelMatrix, EveryLevel_IsALaplacianOrEliminated) {
  const Csr<double> A = make("grid-2d", {{"nx", 40}, {"ny", 30}});
  for (const bool parallel : {false, true}) {
    Lamg<double> solver(Device::serial(), {.coarse_size = 10, .parallel = parallel, .jacobi_iterations = 0});
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
      const Rows rows = dense(L);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_NEAR(std::accumulate(rows[i].begin(), rows[i].end(), 0.0), 0, 1e-5 * rows[i][i]);
        EXPECT_GT(rows[i][i], 0);
      }
    }
  }
}

TEST(LamgParallel, PowerLawGraphs_NoLevels) {
  for (const std::string form : {"laplacian", "sddm"}) {
    const Csr<double> A = make("rmat", {{"scale", 12}, {"form", form}});
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
       {make("grid-2d", {{"nx", 100}, {"ny", 100}}), Csr<double>::from_triplets(4000, 4000, cliques)}) {
    const Solved solved = solve(Device::serial(), A, right_hand_side(A), 100);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    EXPECT_LE(solved.report.iterations, 15);
  }
}

TEST(LamgParallel, WeightsOf24Decades_Solved) {
  for (const int seed : {1, 2, 3}) {
    const Options options = {{"n", 3000}, {"weights", "log-uniform"}, {"decades", 24}, {"seed", seed}};
    expect_solved(make("chimera", options), "weights from 1e-12 to 1e12", 30);
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
  expect_same_bits_on_devices(make("chimera", {{"n", 4000}, {"seed", 2}, {"weights", "chimera"}}),
                              {"openmp:1", "openmp:2", "openmp:5"});
}
TEST(LamgParallel, ScatteredGraph_SameBits) {
  const Csr<double> A = make("chimera", {{"n", cached_vertices}, {"seed", 1}});
  Serial backend(Device::serial());
  ASSERT_TRUE(is_scattered(backend, A));
  expect_same_bits_on_devices(A, {"openmp:3"});
}

std::vector<std::int64_t> level_rows(const Solver<double>& solver) {
  std::vector<std::int64_t> rows;
  for (const LevelDescription& level : describe_hierarchy(solver).levels) rows.push_back(level.rows);
  return rows;
}

TEST(LamgParallel, NewWeightsOnTheSameGraph_KeepAggregates) {
  const Csr<double> first = make("grid-2d", {{"nx", 90}, {"ny", 80}});
  const Csr<double> second = make("grid-2d", {{"nx", 90}, {"ny", 80}, {"weights", "uniform"}});
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
      {make("chimera", {{"n", 2000}, {"seed", 3}}), {{"jacobi_iterations", 0}}},
      {make("chimera", {{"n", 2000}, {"seed", 2}, {"weights", "log-uniform"}, {"decades", 12}}),
       {{"jacobi_iterations", 0}}},
      {make("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}}), {{"jacobi_iterations", 0}}},
      {make("grid-2d", {{"nx", 60}, {"ny", 50}}), {{"jacobi_iterations", 0}, {"max_iterations", 3}}},
      {make("rmat", {{"scale", 11}, {"form", "sddm"}}), {}},
      {make("path", {{"n", 100}}), {{"strict", true}}},
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
  const Csr<double> A = make("grid-2d", {{"nx", 60}, {"ny", 50}, {"form", "sddm"}});
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
}  // namespace echelon::lamg::parallel

// SPDX-License-Identifier: BSD-3-Clause
#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace echelon {
namespace {

using test::csr_of;
using test::Elements;
using test::laplacian;
using test::random_vector;
using test::saddle_point;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;

/// Rows and columns in a random order.
SparseSystem shuffled(SparseSystem s, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(s.n));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<std::int32_t> columns = rows;
  std::shuffle(rows.begin(), rows.end(), random);
  std::shuffle(columns.begin(), columns.end(), random);
  for (auto& e : s.elements) e = {rows[e.row], columns[e.column], e.value};
  s.name += " shuffled";
  return s;
}

SparseSystem upper_triangle(std::int32_t n) {
  SparseSystem s{"triangle", n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    s.elements.push_back({i, i, 2.0 + i % 3});
    for (std::int32_t j = i + 1; j < n; j += 1 + i % 7) s.elements.push_back({i, j, 0.5 / (1 + j - i)});
  }
  return s;
}

/// Full diagonal blocks, coupled upwards.
SparseSystem block_triangle(std::int32_t blocks, std::int32_t size) {
  SparseSystem s{"blocks", std::int64_t{blocks} * size, {}};
  std::mt19937 random(9);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int32_t b = 0; b < blocks; ++b) {
    for (std::int32_t i = 0; i < size; ++i) {
      for (std::int32_t j = 0; j < size; ++j)
        s.elements.push_back({b * size + i, b * size + j, value(random)});
      if (b + 1 < blocks)
        s.elements.push_back({b * size + i, (b + 1) * size + (i * 5) % size, value(random)});
    }
  }
  return s;
}

/// A circuit: nodes with few neighbours, one node connected to all, and voltage sources without a diagonal.
SparseSystem circuit(std::int32_t n) {
  SparseSystem s{"circuit", n + 2, {}};
  std::mt19937 random(11);
  for (std::int32_t i = 0; i < n; ++i) {
    double sum = 1e-6;
    for (int k = 0; k < 2; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      const double g = std::pow(10.0, static_cast<double>(random() % 7) - 3);
      if (j == i) continue;
      s.elements.push_back({i, j, -g});
      s.elements.push_back({j, i, -g / 2});
      sum += g;
    }
    s.elements.push_back({i, i, sum});
    s.elements.push_back({i, 0, -0.01});
    s.elements.push_back({0, i, -0.02});
  }
  for (std::int32_t v = 0; v < 2; ++v) {
    s.elements.push_back({n + v, 5 + v, 1});
    s.elements.push_back({5 + v, n + v, 1});
  }
  return s;
}

/// Chain of exchanges [0 1; 1 0] with weak couplings.
SparseSystem exchange_chain(std::int32_t pairs) {
  SparseSystem s{"exchanges", 2 * pairs, {}};
  for (std::int32_t p = 0; p < pairs; ++p) {
    s.elements.push_back({2 * p, 2 * p + 1, 1});
    s.elements.push_back({2 * p + 1, 2 * p, 1});
    if (p == 0) continue;
    s.elements.push_back({2 * p, 2 * p - 1, 1e-16});
    s.elements.push_back({2 * p - 1, 2 * p, 0.5});
  }
  return s;
}

/// Partial pivoting makes elements of this matrix grow by 2^(n - 1): Wilkinson.
void add_growth_matrix(std::int32_t at, std::int32_t n, Elements& elements) {
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < i; ++j) elements.push_back({at + i, at + j, -1});
    elements.push_back({at + i, at + i, 1});
    if (i + 1 < n) elements.push_back({at + i, at + n - 1, 1});
  }
}

std::vector<SparseSystem> systems() {
  std::vector<SparseSystem> list = test::definite_systems();
  list.push_back(test::grid_system(30, 30, 1, 0, 0.7));
  list.push_back(test::grid_system(9, 10, 11, 0, 0.3));
  list.push_back(shuffled(test::grid_system(25, 25, 1, 0, 0.2), 3));
  for (const std::int32_t n : {2, 33, 300}) list.push_back(test::random_system(n, 4, false, 1.05, 5));
  list.push_back(shuffled(test::random_system(300, 5, false, 0, 6), 4));
  list.push_back(upper_triangle(150));
  list.push_back(shuffled(upper_triangle(150), 5));
  list.push_back(block_triangle(12, 9));
  list.push_back(shuffled(block_triangle(12, 9), 6));
  list.push_back(saddle_point(12, false));
  list.push_back(saddle_point(12, true));
  list.push_back(circuit(300));
  list.push_back(exchange_chain(40));
  list.push_back({"exchange", 2, {{0, 1, 1}, {1, 0, 1}}});
  return list;
}

template <class T, LuFactorization F>
struct Kind {
  using Type = T;
  static constexpr LuFactorization factorization = F;
};
template <class K>
class SparseLuTest : public testing::Test {};
using Kinds =
    testing::Types<Kind<float, LuFactorization::multifrontal>, Kind<double, LuFactorization::multifrontal>,
                   Kind<float, LuFactorization::left_looking>, Kind<double, LuFactorization::left_looking>>;
TYPED_TEST_SUITE(SparseLuTest, Kinds);

class SparseLuSuite : public testing::TestWithParam<LuFactorization> {};
INSTANTIATE_TEST_SUITE_P(Factorizations, SparseLuSuite,
                         testing::Values(LuFactorization::multifrontal, LuFactorization::left_looking),
                         [](const auto& kind) -> std::string {
                           return kind.param == LuFactorization::multifrontal ? "Multifrontal"
                                                                              : "LeftLooking";
                         });

TYPED_TEST(SparseLuTest, SolvesSystems_ByEveryOrdering) {
  using T = typename TypeParam::Type;
  constexpr LuFactorization factorization = TypeParam::factorization;
  for (const SparseSystem& system : systems()) {
    for (const Ordering ordering : {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::natural}) {
      SCOPED_TRACE(system.name + " " + std::to_string(system.n) + " " + std::string(to_string(ordering)));
      const Csr<T> A = csr_of<T>(system.n, system.elements);
      SparseLu<T> solver(Device::serial(), {.ordering = ordering, .factorization = factorization});
      ASSERT_TRUE(solver.factor(A).ready());
      const std::vector<T> b = random_vector<T>(system.n, 3);
      std::vector<T> x(b.size());
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.status, Status::direct) << report.message;
      EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
      EXPECT_EQ(report.rank, system.n);
    }
  }
}

TYPED_TEST(SparseLuTest, Threshold_BoundsTheResidualWithoutRefinement) {
  using T = typename TypeParam::Type;
  constexpr LuFactorization factorization = TypeParam::factorization;
  for (const SparseSystem& system : systems()) {
    SCOPED_TRACE(system.name + " " + std::to_string(system.n));
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    SparseLu<T> solver(Device::serial(), {.factorization = factorization, .threshold = 1, .refine = 0});
    ASSERT_TRUE(solver.factor(A).ready());
    const std::vector<T> b = random_vector<T>(system.n, 3);
    std::vector<T> x(b.size());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30 * std::sqrt(static_cast<double>(system.n)));
  }
}

TYPED_TEST(SparseLuTest, Threads_GiveTheSameBits) {
  using T = typename TypeParam::Type;
  constexpr LuFactorization factorization = TypeParam::factorization;
  for (const SparseSystem& system : {test::grid_system(20, 19, 18, 0, 0.4), saddle_point(90, true)}) {
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    const std::vector<T> b = random_vector<T>(system.n, 4);
    std::vector<T> expected(b.size());
    SparseLu<T> serial(Device::serial(), {.factorization = factorization, .refine = 0});
    ASSERT_TRUE(serial.factor(A).ready());
    ASSERT_TRUE(serial.solve(b, expected).solved());
    for (const int threads : {1, 2, 3, 5}) {
      for (int repetition = 0; repetition < 2; ++repetition) {
        SparseLu<T> solver(Device::openmp(threads), {.factorization = factorization, .refine = 0});
        ASSERT_TRUE(solver.factor(A).ready());
        std::vector<T> x(b.size());
        ASSERT_TRUE(solver.solve(b, x).solved());
        EXPECT_EQ(x, expected) << system.name << " " << threads;
      }
    }
  }
}

TEST_P(SparseLuSuite, ManyRightHandSides_SolvesEach) {
  const SparseSystem system = circuit(200);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  ASSERT_TRUE(solver.factor(A).ready());
  for (const std::int64_t columns : {2, 16, 17, 35}) {
    Dense<double> B(Device(), system.n, columns);
    for (std::int64_t k = 0; k < system.n * columns; ++k) B[k] = static_cast<double>(k % 17) - 8;
    Dense<double> X(Device(), system.n, columns);
    EXPECT_TRUE(solver.solve(B, X).solved());
    for (std::int64_t j = 0; j < columns; ++j) {
      EXPECT_LT(scaled_residual(A, X.view().column(j), B.view().column(j)), 30);
    }
  }
}

TEST_P(SparseLuSuite, AgreesWithLapack) {
  for (const SparseSystem& system : {test::grid_system(15, 14, 1, 0.5, 0.7), saddle_point(10, false),
                                     shuffled(test::random_system(200, 5, false, 0.4, 6), 4)}) {
    SCOPED_TRACE(system.name);
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const std::vector<double> b = random_vector<double>(system.n, 8);
    std::vector<double> x(b.size());
    SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
    const Report report = solver.factor(A);
    ASSERT_TRUE(solver.solve(b, x).solved());
    Dense<double> factors = to_dense<double>(A);
    std::vector<lapack_int> pivots(b.size());
    std::vector<double> expected = b;
    ASSERT_EQ(LAPACKE_dgesv(LAPACK_COL_MAJOR, system.n, 1, factors.data(), system.n, pivots.data(),
                            expected.data(), system.n),
              0);
    const double bound = 100 * std::numeric_limits<double>::epsilon() / *report.reciprocal_condition;
    double size = 0;
    for (const double value : expected) size = std::max(size, std::abs(value));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], bound * size);
  }
}

/// The 1-norm condition number of [[1, 1], [1, 1 + d]] is (2 + d)^2 / d.
TEST_P(SparseLuSuite, Condition_OfANearlySingularMatrix) {
  for (const double d : {1e-3, 1e-8, 1e-12}) {
    const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1 + d}});
    SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
    const Report report = solver.factor(A);
    ASSERT_TRUE(report.ready());
    EXPECT_NEAR(*report.reciprocal_condition * 4 / d, 1, 0.01);
  }
}

/// The estimate needs solves with the transpose, also where pivots were delayed.
TEST_P(SparseLuSuite, Condition_AgreesWithTheInverse) {
  for (const SparseSystem& system :
       {saddle_point(6, true), circuit(60), test::random_system(80, 4, false, 0.3, 2)}) {
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
    const Report report = solver.factor(A);
    ASSERT_TRUE(report.ready());
    Dense<double> identity(Device(), system.n, system.n);
    std::fill_n(identity.data(), system.n * system.n, 0.0);
    for (std::int64_t i = 0; i < system.n; ++i) identity(i, i) = 1;
    Dense<double> inverse(Device(), system.n, system.n);
    ASSERT_TRUE(solver.solve(identity, inverse).solved());
    // The estimate is of the scaled matrix: compare orders of magnitude.
    double norm_inverse = 0;
    for (std::int64_t j = 0; j < system.n; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < system.n; ++i) sum += std::abs(inverse(i, j));
      norm_inverse = std::max(norm_inverse, sum);
    }
    std::vector<double> sums(static_cast<std::size_t>(system.n), 0);
    for (std::int64_t i = 0; i < system.n; ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        sums[A.column_indices()[k]] += std::abs(A.values()[k]);
      }
    }
    const double condition = norm_inverse * *std::max_element(sums.begin(), sums.end());
    EXPECT_GT(1 / *report.reciprocal_condition, 1);
    EXPECT_LT(1 / *report.reciprocal_condition, 100 * condition);
  }
}

TEST_P(SparseLuSuite, GrowthMatrixInAGrid_IsRefined) {
  for (const double threshold : {0.01, 0.1, 1.0}) {
    SparseSystem system = test::grid_system(20, 20, 1);
    const auto grid = static_cast<std::int32_t>(system.n);
    constexpr std::int32_t order = 45;
    add_growth_matrix(grid, order, system.elements);
    system.n += order;
    for (std::int32_t k = 0; k < order; ++k) {
      system.elements.push_back({grid + k, 7 * k % grid, 0.01});
      system.elements.push_back({11 * k % grid, grid + k, 0.01});
    }
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLu<double> solver(Device::serial(), {.factorization = GetParam(), .threshold = threshold});
    const Report factored = solver.factor(A);
    ASSERT_TRUE(factored.ready());
    EXPECT_GE(statistic(factored, "pivot_growth"), 1);
    const std::vector<double> b = random_vector<double>(system.n, 3);
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_TRUE(report.solved());
    EXPECT_LE(report.backward_error, 1e-14);
  }
}

TEST_P(SparseLuSuite, BadlyScaledRowsAndColumns_AreSolved) {
  for (const int range : {30, 300, 600}) {
    SCOPED_TRACE(range);
    const SparseSystem system = test::grid_system(15, 15, 1, 0, 0.4);
    Csr<double> A = csr_of<double>(system.n, system.elements);
    std::mt19937 random(3);
    const auto factors = [&] {
      std::vector<double> list(static_cast<std::size_t>(system.n));
      for (double& f : list)
        f = std::ldexp(1.0, static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2);
      return list;
    };
    const std::vector<double> rows = factors();
    const std::vector<double> columns = factors();
    const std::vector<double> expected = random_vector<double>(system.n, 5);
    std::vector<double> b = test::product(A, expected);
    for (std::int64_t i = 0; i < system.n; ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        A.values()[k] *= rows[i] * columns[A.column_indices()[k]];
      }
      b[i] *= rows[i];
    }
    SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
    const Report report = solver.factor(A);
    ASSERT_TRUE(report.ready()) << report.message;
    std::vector<double> x(b.size());
    (void)solver.solve(b, x);
    for (std::int64_t i = 0; i < system.n; ++i) EXPECT_NEAR(x[i] * columns[i], expected[i], 1e-11);
  }
}

TYPED_TEST(SparseLuTest, SingularLaplacian_ConsistentAndNot) {
  using T = typename TypeParam::Type;
  constexpr LuFactorization factorization = TypeParam::factorization;
  for (const std::int32_t side : {3, 10, 60}) {
    SCOPED_TRACE(side);
    const SparseSystem system = laplacian(side);
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    SparseLu<T> solver(Device::serial(), {.factorization = factorization});
    const Report factored = solver.factor(A);
    EXPECT_EQ(factored.status, Status::singular);
    EXPECT_EQ(factored.rank, system.n - 1);
    std::vector<T> b = test::product(A, random_vector<T>(system.n, 5));
    std::vector<T> x(b.size());
    const Report consistent = solver.solve(b, x);
    EXPECT_EQ(consistent.status, Status::underdetermined) << consistent.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
    b[b.size() / 2] += 1;
    const Report inconsistent = solver.solve(b, x);
    EXPECT_EQ(inconsistent.status, Status::inconsistent);
    EXPECT_EQ(inconsistent.certainty, Certainty::proven);
  }
}

TEST_P(SparseLuSuite, EqualRows_AreNamed) {
  SparseSystem system = test::random_system(30, 4, false, 1.1, 4);
  Elements elements;
  for (const auto& e : system.elements) {
    if (e.row == 17) continue;
    elements.push_back(e);
    if (e.row == 4) elements.push_back({17, e.column, e.value});
  }
  const Csr<double> A = csr_of<double>(30, elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.status, Status::singular);
  EXPECT_EQ(factored.rank, 29);
  const bool names_one = factored.message.find("row 4 ") != std::string::npos ||
                         factored.message.find("row 17 ") != std::string::npos;
  EXPECT_TRUE(names_one) << factored.message;
  std::vector<double> b(30, 1), x(30);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  b[4] = 2;
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_TRUE(report.row == 4 || report.row == 17) << *report.row;
}

TEST_P(SparseLuSuite, StructurallySingular_NamesRowsAndColumns) {
  // Rows 1, 2 and 3 have entries in columns 0 and 4 only.
  const Csr<double> A = csr_of<double>(5, {{0, 0, 2},
                                           {0, 1, 1},
                                           {0, 2, 1},
                                           {1, 0, 1},
                                           {1, 4, 3},
                                           {2, 0, 4},
                                           {2, 4, 1},
                                           {3, 0, 5},
                                           {3, 4, 1},
                                           {4, 3, 1}});
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.status, Status::singular);
  EXPECT_EQ(factored.rank, 4);
  EXPECT_NE(factored.message.find("whatever its nonzeros"), std::string::npos) << factored.message;
  std::vector<double> expected = {1, 2, 3, 4, 5};
  std::vector<double> b = test::product(A, expected), x(5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  b[3] += 1;
  EXPECT_EQ(solver.solve(b, x).status, Status::inconsistent);
}

TEST_P(SparseLuSuite, StructurallyAndNumericallySingular_IsSolved) {
  // Columns 2 and 3 are empty, and rows 0 and 1 are equal.
  const Csr<double> A = csr_of<double>(
      5, {{0, 0, 1}, {0, 1, 2}, {1, 0, 1}, {1, 1, 2}, {2, 4, 1}, {3, 4, 2}, {4, 0, 1}, {4, 1, 2}, {4, 4, 1}});
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.status, Status::singular);
  EXPECT_EQ(factored.rank, 2);
  std::vector<double> b = test::product(A, std::vector<double>{1, 2, 3, 4, 5}), x(5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
}

TEST_P(SparseLuSuite, ZeroMatrix_HasRankZero) {
  const Csr<double> A = csr_of<double>(3, {});
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  EXPECT_EQ(solver.factor(A).rank, 0);
  std::vector<double> b(3, 0), x(3, 5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_EQ(x, b);
  b[1] = 1;
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_EQ(report.row, 1);
}

TEST_P(SparseLuSuite, SingularGraphs_RankAndSolution) {
  // Adjacency matrix of a binary tree: far from full rank, by structure and by values.
  SparseSystem system{"tree", 2047, {}};
  for (std::int32_t i = 1; i < 2047; ++i) {
    system.elements.push_back({i, (i - 1) / 2, 1});
    system.elements.push_back({(i - 1) / 2, i, 1});
  }
  // Its rank is twice the size of a maximum matching: every second level, from the leaves' parents up.
  std::int64_t matching = 0;
  for (std::int64_t level = 9; level >= 0; level -= 2) matching += std::int64_t{1} << level;
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  EXPECT_EQ(solver.factor(A).rank, 2 * matching);
  std::vector<double> b = test::product(A, random_vector<double>(system.n, 2)), x(b.size());
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
}

/// The Hilbert matrix of order 60 has about 19 singular values above rounding errors, and no gap between
/// pivots: the exact rank decides.
TEST_P(SparseLuSuite, HilbertMatrix_RankIsTheExactOne) {
  Elements elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    for (std::int32_t j = 0; j < 60; ++j) elements.push_back({i, j, 1.0 / (i + j + 1)});
  }
  const Csr<double> A = csr_of<double>(60, elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  const Report report = solver.factor(A);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, 60);
}

TEST_P(SparseLuSuite, NotANumber_IsFound) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 4}, {0, 1, std::nan("")}, {1, 0, 1}});
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  EXPECT_EQ(solver.factor(A).status, Status::not_a_number);
}

TEST_P(SparseLuSuite, EmptyMatrix_IsSolved) {
  const Csr<double> A = csr_of<double>(0, {});
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  EXPECT_TRUE(solver.factor(A).ready());
  std::vector<double> nothing;
  EXPECT_TRUE(solver.solve(nothing, nothing).solved());
}

TEST_P(SparseLuSuite, UpdateValues_SolvesTheNewSystem) {
  const SparseSystem system = test::random_system(300, 5, false, 1.1, 5);
  Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  ASSERT_TRUE(solver.factor(A).ready());
  std::mt19937 random(5);
  for (int round = 0; round < 5; ++round) {
    for (std::int64_t k = 0; k < A.nonzeros(); ++k) {
      A.values()[k] = std::uniform_real_distribution<double>(-1, 1)(random) * std::pow(10.0, round);
    }
    const Report report = solver.update_values(A);
    ASSERT_TRUE(report.ready()) << report.message;
    const std::vector<double> b = random_vector<double>(system.n, 3);
    std::vector<double> x(b.size());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
  }
}

/// Small pivots in most columns: their rows and columns are delayed, some to the root.
TEST(SparseLuByFronts, DelayedPivots_AreCountedAndSolved) {
  SparseSystem system = test::grid_system(40, 40, 1);
  for (auto& e : system.elements) {
    if (e.row == e.column) e.value = 1e-20;
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(
      Device::serial(),
      {.ordering = Ordering::natural, .factorization = LuFactorization::multifrontal, .threshold = 1});
  const Report factored = solver.factor(A);
  const std::vector<double> expected = random_vector<double>(system.n, 3);
  const std::vector<double> b = test::product(A, expected);
  std::vector<double> x(b.size());
  const Report report = solver.solve(b, x);
  EXPECT_LE(report.backward_error, 1e-14) << factored.message;
  EXPECT_GT(statistic(factored, "delayed_pivots"), 0);
}

TEST_P(SparseLuSuite, AnalyzeThenFactor_AndCancel) {
  const SparseSystem system = test::grid_system(15, 15, 1, 0, 0.2);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  ASSERT_TRUE(solver.analyze(A).ready());
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(solver.factor(A, {.cancel = source.get_token()}).status, Status::cancelled);
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b(static_cast<std::size_t>(system.n), 1), x(b.size());
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST_P(SparseLuSuite, PathAndStar_AreSolved) {
  for (const SparseSystem& system :
       {test::grid_system(1, 300'000, 1, -1.9, 0.3), test::arrow_system(100'000, 50)}) {
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLu<double> solver(
        Device::serial(),
        {.ordering = system.name == "grid" ? Ordering::natural : Ordering::amd, .factorization = GetParam()});
    ASSERT_TRUE(solver.factor(A).ready());
    std::vector<double> b = random_vector<double>(system.n, 6), x(b.size());
    ASSERT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
  }
}

TEST(SparseLuByFronts, TooLarge_SaysHowMuchBeforeItStarts) {
  const SparseSystem system = test::arrow_system(300'000, 0);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(),
                          {.ordering = Ordering::natural, .factorization = LuFactorization::multifrontal});
  EXPECT_EQ(solver.factor(A).status, Status::out_of_memory);
  const Csr<double> small = csr_of<double>(2, {{0, 1, 1}, {1, 0, 1}});
  EXPECT_TRUE(solver.factor(small).ready());
}

TEST_P(SparseLuSuite, SeveralThreadsSolve_WithOneFactor) {
  const SparseSystem system = circuit(2000);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = GetParam()});
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<std::vector<double>> solutions(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<double> b = random_vector<double>(system.n, t / 2);
      solutions[t].resize(b.size());
      (void)solver.solve(b, solutions[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(solutions[0], solutions[1]);
  EXPECT_EQ(solutions[2], solutions[3]);
}

}  // namespace
}  // namespace echelon

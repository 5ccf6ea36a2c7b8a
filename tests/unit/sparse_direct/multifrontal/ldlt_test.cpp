// SPDX-License-Identifier: BSD-3-Clause
#include "support/sparse_systems.hpp"
#include "support/spectra.hpp"
#include "support/test_data.hpp"

#include <echelon/io/matrix_market.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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
using test::RealMatrices;
using test::saddle_point;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;

void add_symmetric(Elements& elements, std::int32_t i, std::int32_t j, double value) {
  elements.push_back({i, j, value});
  if (i != j) elements.push_back({j, i, value});
}

/// Random symmetric matrix without elements on the diagonal; a path through all rows makes it regular in
/// structure for even n.
SparseSystem zero_diagonal(std::int32_t n, int per_row, unsigned seed) {
  SparseSystem s{"zero diagonal", n, {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int32_t i = 0; i + 1 < n; ++i) add_symmetric(s.elements, i, i + 1, value(random));
  for (std::int32_t i = 0; i < n; ++i) {
    for (int k = 0; k < per_row; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      if (j != i) add_symmetric(s.elements, i, j, value(random));
    }
  }
  return s;
}

/// Optimality system [[H, A^T], [A, 0]] of a random quadratic program with n variables and m < n constraints.
SparseSystem quadratic_program(std::int32_t n, std::int32_t m, unsigned seed) {
  SparseSystem s{"quadratic program", n + m, {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int32_t i = 0; i < n; ++i) s.elements.push_back({i, i, std::pow(10.0, 4 * value(random))});
  for (std::int32_t c = 0; c < m; ++c) {
    add_symmetric(s.elements, n + c, c, 1 + value(random) / 2);
    for (int k = 0; k < 4; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      add_symmetric(s.elements, n + c, j, value(random));
    }
  }
  return s;
}

/// [[0, 1], [1, 0]] on the diagonal, with weak and strong couplings.
SparseSystem exchange_chain(std::int32_t pairs) {
  SparseSystem s{"exchanges", 2 * pairs, {}};
  for (std::int32_t p = 0; p < pairs; ++p) {
    add_symmetric(s.elements, 2 * p, 2 * p + 1, 1);
    if (p > 0) add_symmetric(s.elements, 2 * p, 2 * p - 1, p % 2 == 0 ? 1e-16 : 0.5);
  }
  return s;
}

SparseSystem negated(SparseSystem s) {
  for (auto& e : s.elements) e.value = -e.value;
  s.name = "negated " + s.name;
  return s;
}

std::vector<SparseSystem> systems() {
  std::vector<SparseSystem> list = test::definite_systems();
  list.push_back(negated(test::grid_system(20, 20, 1)));
  for (const double shift : {-1.0, -3.7, -4.0 + 1e-9}) list.push_back(test::grid_system(19, 17, 1, shift));
  list.push_back(test::grid_system(8, 7, 9, -5.3));
  for (const std::int32_t n : {2, 3, 31, 32, 33, 300})
    list.push_back(test::random_system(n, 4, true, -0.3, 5));
  for (const std::int32_t n : {2, 4, 32, 34, 300}) list.push_back(zero_diagonal(n, 2, 6));
  list.push_back(zero_diagonal(120, 40, 7));
  list.push_back(quadratic_program(200, 90, 8));
  list.push_back(saddle_point(12, false));
  list.push_back(saddle_point(12, true));
  list.push_back(exchange_chain(40));
  return list;
}

template <class T>
class SparseLdltTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseLdltTest, Precisions);

TYPED_TEST(SparseLdltTest, SolvesSystems_ByEveryOrdering) {
  using T = TypeParam;
  for (const SparseSystem& system : systems()) {
    for (const Ordering ordering : {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::natural}) {
      SCOPED_TRACE(system.name + " " + std::to_string(system.n) + " " + std::string(to_string(ordering)));
      const Csr<T> A = csr_of<T>(system.n, system.elements);
      SparseLdlt<T> solver(Device::serial(), {.ordering = ordering});
      ASSERT_TRUE(solver.factor(A).ready());
      const std::vector<T> b = random_vector<T>(system.n, 3);
      std::vector<T> x(b.size());
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.status, Status::direct) << report.message;
      EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
      EXPECT_EQ(report.rank, system.n);
    }
  }
}

TYPED_TEST(SparseLdltTest, Threshold_BoundsTheResidualWithoutRefinement) {
  using T = TypeParam;
  for (const SparseSystem& system : systems()) {
    SCOPED_TRACE(system.name + " " + std::to_string(system.n));
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    SparseLdlt<T> solver(Device::serial(), {.threshold = 0.5, .refine = 0});
    ASSERT_TRUE(solver.factor(A).ready());
    const std::vector<T> b = random_vector<T>(system.n, 3);
    std::vector<T> x(b.size());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30 * std::sqrt(static_cast<double>(system.n)));
  }
}

TYPED_TEST(SparseLdltTest, Threads_GiveTheSameBits) {
  using T = TypeParam;
  for (const SparseSystem& system : {test::grid_system(20, 19, 18, -3), saddle_point(90, true)}) {
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    const std::vector<T> b = random_vector<T>(system.n, 4);
    std::vector<T> expected(b.size());
    SparseLdlt<T> serial(Device::serial(), {.refine = 0, .condition = false});
    ASSERT_TRUE(serial.factor(A).ready());
    (void)serial.solve(b, expected);
    for (const int threads : {1, 2, 3, 5}) {
      SparseLdlt<T> solver(Device::openmp(threads), {.refine = 0, .condition = false});
      ASSERT_TRUE(solver.factor(A).ready());
      std::vector<T> x(b.size());
      (void)solver.solve(b, x);
      EXPECT_EQ(x, expected) << system.name << " " << threads;
    }
  }
}

std::int64_t count_positive(const std::vector<double>& values) {
  return std::count_if(values.begin(), values.end(), [](double value) { return value > 0; });
}
std::int64_t count_negative(const std::vector<double>& values) {
  return std::count_if(values.begin(), values.end(), [](double value) { return value < 0; });
}

TEST(SparseLdlt, Inertia_IsThatOfTheEigenvalues) {
  for (const SparseSystem& system : systems()) {
    if (system.n > 600) continue;
    SCOPED_TRACE(system.name + " " + std::to_string(system.n));
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const std::vector<double> values = test::symmetric_eigenvalues(to_dense<double>(A));
    const double largest = std::max(-values.front(), values.back());
    for (const double value : values) ASSERT_GT(std::abs(value), 1e-12 * largest);
    for (const Ordering ordering : {Ordering::amd, Ordering::natural}) {
      SparseLdlt<double> solver(Device::serial(), {.ordering = ordering});
      const Report report = solver.factor(A);
      EXPECT_EQ(statistic(report, "positive_eigenvalues"), count_positive(values));
      EXPECT_EQ(statistic(report, "negative_eigenvalues"), count_negative(values));
      EXPECT_EQ(statistic(report, "zero_eigenvalues"), 0);
    }
  }
}

/// B D B^T, computed exactly, with random integers in B, n by the order of the diagonal matrix D: the signs
/// of its eigenvalues other than 0 are those of D.
Elements random_singular(std::int32_t n, const std::vector<double>& d) {
  std::mt19937 random(3);
  const auto rank = static_cast<std::int32_t>(d.size());
  Dense<double> B(Device(), n, rank);
  for (std::int64_t k = 0; k < std::int64_t{n} * rank; ++k) B[k] = static_cast<double>(random() % 19) - 9;
  Elements elements;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int32_t k = 0; k < rank; ++k) sum += B(i, k) * d[static_cast<std::size_t>(k)] * B(j, k);
      add_symmetric(elements, i, j, sum);
    }
  }
  return elements;
}

TEST(SparseLdlt, InertiaOfASingularMatrix_IsThatOfTheEigenvalues) {
  for (const std::int32_t n : {5, 40, 150}) {
    for (const std::int32_t rank : {1, n / 3, n - 2}) {
      SCOPED_TRACE(std::to_string(rank) + " of " + std::to_string(n));
      std::vector<double> d;
      for (std::int32_t k = 0; k < rank; ++k) d.push_back((k % 3 == 0 ? -1 : 1) * (1 + k % 7));
      const Csr<double> A = csr_of<double>(n, random_singular(n, d));
      SparseLdlt<double> solver(Device::serial());
      const Report report = solver.factor(A);
      EXPECT_EQ(report.status, Status::singular);
      EXPECT_EQ(report.rank, rank);
      EXPECT_EQ(statistic(report, "positive_eigenvalues"), count_positive(d));
      EXPECT_EQ(statistic(report, "negative_eigenvalues"), count_negative(d));
      EXPECT_EQ(statistic(report, "zero_eigenvalues"), n - rank);
    }
  }
}

TEST(SparseLdlt, AgreesWithSparseLu) {
  for (const SparseSystem& system : {test::grid_system(40, 30, 1, -3.7), zero_diagonal(400, 3, 5),
                                     quadratic_program(3000, 1000, 2), saddle_point(40, true)}) {
    SCOPED_TRACE(system.name);
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const std::vector<double> b = random_vector<double>(system.n, 8);
    std::vector<double> x(b.size()), expected(b.size());
    SparseLu<double> oracle(Device::serial());
    const Report reference = oracle.factor(A);
    ASSERT_TRUE(oracle.solve(b, expected).solved());
    SparseLdlt<double> solver(Device::serial());
    const Report report = solver.factor(A);
    ASSERT_TRUE(solver.solve(b, x).solved());
    const double condition = 1 / std::min(*report.reciprocal_condition, *reference.reciprocal_condition);
    const double bound = 100 * std::numeric_limits<double>::epsilon() * condition;
    double size = 0;
    for (const double value : expected) size = std::max(size, std::abs(value));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], bound * size);
  }
}

TEST(SparseLdlt, ManyRightHandSides_SolvesEach) {
  const SparseSystem system = saddle_point(15, true);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  for (const std::int64_t columns : {2, 16, 17, 35}) {
    Dense<double> B(Device(), system.n, columns);
    for (std::int64_t k = 0; k < system.n * columns; ++k) B[k] = static_cast<double>(k % 17) - 8;
    Dense<double> X(Device(), system.n, columns);
    EXPECT_TRUE(solver.solve(B, X).solved());
    for (std::int64_t j = 0; j < columns; ++j) {
      EXPECT_LT(scaled_residual(A, X.view().column(j), B.view().column(j)), 3);
    }
  }
}

/// The 1-norm condition number of [[1, 1], [1, 1 + d]] is (2 + d)^2 / d.
TEST(SparseLdlt, Condition_OfANearlySingularMatrix) {
  for (const double d : {1e-3, 1e-8, 1e-12}) {
    const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1 + d}});
    SparseLdlt<double> solver(Device::serial());
    const Report report = solver.factor(A);
    ASSERT_TRUE(report.ready());
    EXPECT_NEAR(*report.reciprocal_condition * 4 / d, 1, 0.01);
  }
}

TEST(SparseLdlt, BadlyScaled_IsSolved) {
  for (const int range : {30, 300, 600}) {
    SCOPED_TRACE(range);
    const SparseSystem system = test::grid_system(15, 15, 1, -1.7);
    Csr<double> A = csr_of<double>(system.n, system.elements);
    std::mt19937 random(3);
    std::vector<double> scale(static_cast<std::size_t>(system.n));
    for (double& s : scale)
      s = std::ldexp(1.0, static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2);
    const std::vector<double> expected = random_vector<double>(system.n, 5);
    std::vector<double> b = test::product(A, expected);
    for (std::int64_t i = 0; i < system.n; ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        A.values()[k] *= scale[i] * scale[A.column_indices()[k]];
      }
      b[i] *= scale[i];
    }
    SparseLdlt<double> solver(Device::serial());
    const Report report = solver.factor(A);
    ASSERT_TRUE(report.ready()) << report.message;
    std::vector<double> x(b.size());
    (void)solver.solve(b, x);
    for (std::int64_t i = 0; i < system.n; ++i) EXPECT_NEAR(x[i] * scale[i], expected[i], 1e-11);
  }
}

TYPED_TEST(SparseLdltTest, SingularLaplacian_ConsistentAndNot) {
  using T = TypeParam;
  for (const std::int32_t side : {3, 10, 60}) {
    SCOPED_TRACE(side);
    const SparseSystem system = laplacian(side);
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    SparseLdlt<T> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(factored.status, Status::singular);
    EXPECT_EQ(factored.rank, system.n - 1);
    EXPECT_EQ(statistic(factored, "positive_eigenvalues"), system.n - 1);
    EXPECT_EQ(statistic(factored, "zero_eigenvalues"), 1);
    std::vector<T> b = test::product(A, random_vector<T>(system.n, 5));
    std::vector<T> x(b.size());
    const Report consistent = solver.solve(b, x);
    EXPECT_EQ(consistent.status, Status::underdetermined) << consistent.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
    b[b.size() / 2] += 1;
    const Report inconsistent = solver.solve(b, x);
    EXPECT_EQ(inconsistent.status, Status::inconsistent);
    EXPECT_TRUE(inconsistent.row);
  }
}

TEST(SparseLdlt, StructurallySingular_NamesRows) {
  // Rows 1, 2 and 3 have entries in columns 0 and 4 only.
  Elements elements;
  for (const std::int32_t i : {1, 2, 3}) {
    add_symmetric(elements, i, 0, i);
    add_symmetric(elements, i, 4, 4 - i);
  }
  const Csr<double> A = csr_of<double>(5, elements);
  SparseLdlt<double> solver(Device::serial());
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.status, Status::singular);
  EXPECT_EQ(factored.rank, 4);
  EXPECT_EQ(statistic(factored, "positive_eigenvalues"), 2);
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), 2);
  EXPECT_NE(factored.message.find("whatever its nonzeros"), std::string::npos) << factored.message;
  std::vector<double> b = test::product(A, std::vector<double>{1, 2, 3, 4, 5}), x(5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  b[3] += 1;
  EXPECT_EQ(solver.solve(b, x).status, Status::inconsistent);
}

TEST(SparseLdlt, ZeroMatrix_HasRankZero) {
  const Csr<double> A = csr_of<double>(3, {});
  SparseLdlt<double> solver(Device::serial());
  EXPECT_EQ(solver.factor(A).rank, 0);
  std::vector<double> b(3, 0), x(3, 5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_EQ(x, b);
  b[1] = 1;
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_EQ(report.row, 1);
}

/// Adjacency matrix of a binary tree: bipartite, so that its spectrum is symmetric; its rank is twice the
/// size of a maximum matching, which covers every second level from the leaves' parents up.
TEST(SparseLdlt, SingularGraph_RankInertiaAndSolution) {
  SparseSystem system{"tree", 2047, {}};
  for (std::int32_t i = 1; i < 2047; ++i) add_symmetric(system.elements, i, (i - 1) / 2, 1);
  std::int64_t matching = 0;
  for (std::int64_t level = 9; level >= 0; level -= 2) matching += std::int64_t{1} << level;
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.rank, 2 * matching);
  EXPECT_EQ(statistic(factored, "positive_eigenvalues"), matching);
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), matching);
  std::vector<double> b = test::product(A, random_vector<double>(system.n, 2)), x(b.size());
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
}

/// The Hilbert matrix of order 60 has about 19 singular values above rounding errors.
TEST(SparseLdlt, HilbertMatrix_RankIsThatOfItsSingularValues) {
  Elements elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    for (std::int32_t j = 0; j < 60; ++j) elements.push_back({i, j, 1.0 / (i + j + 1)});
  }
  SparseLdlt<double> solver(Device::serial());
  const Csr<double> A = csr_of<double>(60, elements);
  const Report report = solver.factor(A);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_GE(*report.rank, 15);
  EXPECT_LE(*report.rank, 22);
}

TEST(SparseLdlt, OneByOne_IsDividedOrSingular) {
  for (const double a : {3.0, -3.0, 1e-300, -1e300}) {
    const Csr<double> A = csr_of<double>(1, {{0, 0, a}});
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    ASSERT_TRUE(factored.ready());
    EXPECT_EQ(statistic(factored, a > 0 ? "positive_eigenvalues" : "negative_eigenvalues"), 1);
    std::vector<double> b = {6 * a}, x(1);
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_DOUBLE_EQ(x[0], 6);
  }
  SparseLdlt<double> solver(Device::serial());
  const Csr<double> zero = csr_of<double>(1, {{0, 0, 0}});
  EXPECT_EQ(solver.factor(zero).rank, 0);
}

TEST(SparseLdlt, NotANumber_IsFound) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    SparseLdlt<double> solver(Device::serial());
    const Csr<double> A = csr_of<double>(2, {{0, 0, 4}, {0, 1, bad}, {1, 0, bad}});
    EXPECT_EQ(solver.factor(A).status, Status::not_a_number);
  }
}

TEST(SparseLdlt, EmptyMatrix_IsSolved) {
  const Csr<double> A = csr_of<double>(0, {});
  SparseLdlt<double> solver(Device::serial());
  EXPECT_TRUE(solver.factor(A).ready());
  std::vector<double> nothing;
  EXPECT_TRUE(solver.solve(nothing, nothing).solved());
}

TEST(SparseLdlt, NotSymmetric_IsRefused) {
  SparseSystem system = test::grid_system(6, 5, 1);
  for (auto& e : system.elements) {
    if (e.row == 7 && e.column == 8) e.value = -2;
  }
  SparseLdlt<double> solver(Device::serial());
  const Csr<double> unsymmetric = csr_of<double>(system.n, system.elements);
  const Report report = solver.factor(unsymmetric);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 8);
  EXPECT_NE(report.message.find("A is not symmetric"), std::string::npos) << report.message;
  system = test::grid_system(6, 5, 1, -2);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  EXPECT_TRUE(solver.update_values(A).ready());
  const Csr<double> triangle = csr_of<double>(2, {{0, 1, 1}});
  EXPECT_EQ(solver.factor(triangle).status, Status::breakdown);
}

TEST(SparseLdlt, UpdateValues_SolvesTheNewSystem) {
  const SparseSystem system = zero_diagonal(300, 5, 5);
  Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  for (int round = 0; round < 5; ++round) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const auto places = static_cast<double>(i + 1) * static_cast<double>(A.column_indices()[k] + 1);
        A.values()[k] = std::sin(places + round) * std::pow(10.0, round);
      }
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
TEST(SparseLdlt, DelayedPivots_AreCountedAndSolved) {
  const SparseSystem system = test::grid_system(30, 30, 1, -3.7);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial(), {.ordering = Ordering::natural, .threshold = 0.5});
  const Report factored = solver.factor(A);
  ASSERT_TRUE(factored.ready());
  const std::vector<double> b = test::product(A, random_vector<double>(system.n, 3));
  std::vector<double> x(b.size());
  EXPECT_LE(solver.solve(b, x).backward_error, 1e-15);
  EXPECT_GT(statistic(factored, "delayed_pivots"), 0);
  EXPECT_GT(statistic(factored, "two_by_two_pivots"), 0);
  // Eigenvalues of the grid: 0.3 - 2 cos(i pi / 31) - 2 cos(j pi / 31).
  std::int64_t negative = 0;
  for (int i = 1; i <= 30; ++i) {
    for (int j = 1; j <= 30; ++j)
      negative += 0.3 - 2 * std::cos(i * M_PI / 31) - 2 * std::cos(j * M_PI / 31) < 0 ? 1 : 0;
  }
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), negative);
}

TEST(SparseLdlt, DenseMatrix_IsConverted) {
  Dense<double> A(Device(), 3, 3);
  const double values[] = {0, 2, 1, 2, 0, 3, 1, 3, 0};
  std::copy(std::begin(values), std::end(values), A.data());
  SparseLdlt<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b = {7, 11, 7}, x(3);
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_NEAR(x[0], 1, 1e-15);
  EXPECT_NEAR(x[1], 2, 1e-15);
  EXPECT_NEAR(x[2], 3, 1e-15);
}

TEST(SparseLdlt, AnalyzeThenFactor_AndCancel) {
  const SparseSystem system = saddle_point(15, false);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  ASSERT_TRUE(solver.analyze(A).ready());
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(solver.factor(A, {.cancel = source.get_token()}).status, Status::cancelled);
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b(static_cast<std::size_t>(system.n), 1), x(b.size());
  EXPECT_TRUE(solver.solve(b, x).solved());
}

/// A path of hubs with leaves, of which all but one for each hub can have no pivot: most of the factor are
/// fronts that pass these on, and the prediction counts them.
TEST(SparseLdlt, StructurallySingular_MemoryIsPredictedWithDelays) {
  SparseSystem system{"hubs", 30 * 41, {}};
  for (std::int32_t h = 0; h < 30; ++h) {
    if (h > 0) system.elements.push_back({h, h - 1, 1}), system.elements.push_back({h - 1, h, 1});
    for (std::int32_t leaf = 30 + 40 * h; leaf < 70 + 40 * h; ++leaf)
      system.elements.push_back({h, leaf, 1}), system.elements.push_back({leaf, h, 1});
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  const Report report = solver.factor(A);
  EXPECT_EQ(report.rank, 60);
  EXPECT_GT(statistic(report, "delayed_pivots"), 0);
  EXPECT_NEAR(statistic(report, "predicted_bytes") / statistic(report, "factor_bytes"), 1, 0.1);
}

TEST(SparseLdlt, PathAndStar_AreSolved) {
  for (const SparseSystem& system :
       {test::grid_system(1, 300'000, 1, -3.9), test::arrow_system(100'000, 50)}) {
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLdlt<double> solver(Device::serial(),
                              {.ordering = system.name == "grid" ? Ordering::natural : Ordering::amd});
    ASSERT_TRUE(solver.factor(A).ready());
    std::vector<double> b = random_vector<double>(system.n, 6), x(b.size());
    ASSERT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
  }
}

TEST(SparseLdlt, TooLarge_SaysHowMuchBeforeItStarts) {
  const SparseSystem system = test::arrow_system(300'000, 0);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial(), {.ordering = Ordering::natural});
  EXPECT_EQ(solver.factor(A).status, Status::out_of_memory);
  const Csr<double> small = csr_of<double>(2, {{0, 1, 1}, {1, 0, 1}});
  EXPECT_TRUE(solver.factor(small).ready());
}

TEST(SparseLdlt, SeveralThreadsSolve_WithOneFactor) {
  const SparseSystem system = saddle_point(30, false);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
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

/// Optimality and saddle-point systems. The negative eigenvalues were counted by LAPACK's dsyevd for the
/// first four and are as many as there are constraints for the others, whose leading block is definite.
struct RealSystem {
  const char* file;
  std::int64_t negative;
};

TEST_F(RealMatrices, SparseLdlt_SolvesAndCountsEigenvalues) {
  for (const RealSystem& real :
       {RealSystem{"indefinite/hangGlider_2", 733}, RealSystem{"indefinite/Si2", 1},
        RealSystem{"indefinite/ACTIVSg200_AC_01", 1876}, RealSystem{"indefinite/ACTIVSg200_AC_02", 1876},
        RealSystem{"indefinite_kkt/kkt_CONT-300", 180895}, RealSystem{"indefinite_kkt/kkt_CVXQP3_L", 17500},
        RealSystem{"indefinite_kkt/kkt_LISWET1", 20002}, RealSystem{"indefinite_kkt/kkt_POWELL20", 20000},
        RealSystem{"indefinite_kkt/kkt_QSHIP12L", 6578}, RealSystem{"indefinite_kkt/kkt_YAO", 4002}}) {
    SCOPED_TRACE(real.file);
    const auto A =
        read_matrix_market<double>((test::real_matrices() / (std::string(real.file) + ".mtx.gz")).string());
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(statistic(factored, "negative_eigenvalues"), real.negative) << factored.message;
    EXPECT_EQ(statistic(factored, "positive_eigenvalues"), A.rows() - real.negative);
    const std::vector<double> b = test::product(A, random_vector<double>(A.rows(), 3));
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3) << report.message;
  }
}

TEST_F(RealMatrices, SparseLdlt_RankOfSingularMatrices) {
  struct Singular {
    const char* file;
    std::int64_t negative, zero;
  };
  for (const Singular& real :
       {Singular{"indefinite_kkt/saddle_DTOC3", 10000, 0}, Singular{"singular/bcsstm13", 0, 762},
        Singular{"singular/ligmg_986_lap", 0, 1}, Singular{"indefinite/zenios", 171, 2608}}) {
    SCOPED_TRACE(real.file);
    const auto A =
        read_matrix_market<double>((test::real_matrices() / (std::string(real.file) + ".mtx.gz")).string());
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(statistic(factored, "negative_eigenvalues"), real.negative) << factored.message;
    EXPECT_EQ(statistic(factored, "zero_eigenvalues"), real.zero);
    const std::vector<double> b = test::product(A, random_vector<double>(A.rows(), 3));
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_EQ(report.status, real.zero > 0 ? Status::underdetermined : Status::direct) << report.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  }
}

}  // namespace
}  // namespace echelon

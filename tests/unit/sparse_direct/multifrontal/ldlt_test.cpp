// SPDX-License-Identifier: BSD-3-Clause
/// Sparse L D L^T: solutions of regular systems, and what is refused.
#include "support/sparse_direct/indefinite_systems.hpp"
#include "support/sparse_systems.hpp"

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
using test::indefinite_systems;
using test::quadratic_program;
using test::random_vector;
using test::saddle_point;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;
using test::zero_diagonal;

template <class T>
class SparseLdltTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseLdltTest, Precisions);

TYPED_TEST(SparseLdltTest, SolvesSystems_ByEveryOrdering) {
  using T = TypeParam;
  for (const SparseSystem& system : indefinite_systems()) {
    for (const Ordering ordering : {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::natural}) {
      SCOPED_TRACE(system.name + " " + std::to_string(system.n) + " " + std::string(to_string(ordering)));
      const Csr<T> A = csr_of<T>(system.n, system.elements);
      SparseLdlt<T> solver(Device::serial(), {.ordering = ordering});
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

TYPED_TEST(SparseLdltTest, Threshold_BoundsTheResidualWithoutRefinement) {
  using T = TypeParam;
  for (const SparseSystem& system : indefinite_systems()) {
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
      EXPECT_LT(scaled_residual(A, X.view().column(j), B.view().column(j)), 30);
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

}  // namespace
}  // namespace echelon

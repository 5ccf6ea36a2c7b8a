// SPDX-License-Identifier: BSD-3-Clause
#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace echelon {
namespace {

using test::csr_of;
using test::random_vector;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;

template <class T>
class SparseCholeskyTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseCholeskyTest, Precisions);

TYPED_TEST(SparseCholeskyTest, SolvesDefiniteSystems_ByEveryOrdering) {
  using T = TypeParam;
  for (const SparseSystem& system : test::definite_systems()) {
    for (const Ordering ordering :
         {Ordering::automatic, Ordering::amd, Ordering::metis, Ordering::rcm, Ordering::natural}) {
      for (const std::int64_t refine : {0, 5}) {
        SCOPED_TRACE(system.name + " " + std::to_string(system.n) + " " + std::string(to_string(ordering)));
        const Csr<T> A = csr_of<T>(system.n, system.elements);
        SparseCholesky<T> solver(Device::serial(), {.ordering = ordering, .refine = refine});
        ASSERT_TRUE(solver.factor(A).ready());
        const std::vector<T> b = random_vector<T>(system.n, 3);
        std::vector<T> x(b.size());
        const Report report = solver.solve(b, x);
        EXPECT_EQ(report.status, Status::direct);
        EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
        EXPECT_LE(statistic(report, "componentwise_backward_error"),
                  refine > 0 ? 32 * std::numeric_limits<T>::epsilon() : 1);
      }
    }
  }
}

/// With many threads, the fronts of the two blocks, which have no children, are each more than a thread's
/// share.
TYPED_TEST(SparseCholeskyTest, LargeFrontsWithoutChildren_SameBitsOnManyThreads) {
  using T = TypeParam;
  constexpr std::int32_t block = 220;
  constexpr std::int32_t n = 5 * block + 10;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j <= i; ++j) {
      const bool coupled = i >= 5 * block || i / block == j / block;
      if (!coupled) continue;
      elements.push_back({i, j, i == j ? T{1200} : T{1} / static_cast<T>(1 + (i + 3 * j) % 7)});
      if (i != j) elements.push_back({j, i, elements.back().value});
    }
  }
  const Csr<T> A = Csr<T>::from_triplets(n, n, elements);
  const std::vector<T> b = random_vector<T>(n, 4);
  std::vector<T> expected(b.size());
  for (const Device& device : {Device::serial(), Device::openmp(5), Device::openmp(16)}) {
    SparseCholesky<T> solver(device, {.ordering = Ordering::amd});
    ASSERT_TRUE(solver.factor(A).ready());
    std::vector<T> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::direct);
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
    if (device == Device::serial()) expected = x;
    EXPECT_EQ(x, expected);
  }
}

TYPED_TEST(SparseCholeskyTest, ManyRightHandSides_SolvesEach) {
  using T = TypeParam;
  const SparseSystem system = test::grid_system(23, 19, 1);
  const Csr<T> A = csr_of<T>(system.n, system.elements);
  SparseCholesky<T> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  for (const std::int64_t columns : {1, 2, 15, 16, 17, 40}) {
    Dense<T> B(Device(), system.n, columns);
    for (std::int64_t k = 0; k < system.n * columns; ++k) B[k] = static_cast<T>(k % 17) - 8;
    Dense<T> X(Device(), system.n, columns);
    const Report report = solver.solve(B, X);
    EXPECT_EQ(report.status, Status::direct);
    for (std::int64_t j = 0; j < columns; ++j) {
      EXPECT_LT(scaled_residual(A, X.view().column(j), B.view().column(j)), 30);
    }
  }
}

TYPED_TEST(SparseCholeskyTest, Threads_GiveTheSameBits) {
  using T = TypeParam;
  const SparseSystem system = test::grid_system(22, 21, 20);
  const Csr<T> A = csr_of<T>(system.n, system.elements);
  const std::vector<T> b = random_vector<T>(system.n, 4);
  std::vector<T> expected(b.size());
  SparseCholesky<T> serial(Device::serial(), {.refine = 0});
  ASSERT_TRUE(serial.factor(A).ready());
  ASSERT_TRUE(serial.solve(b, expected).solved());
  for (const int threads : {1, 2, 3, 7}) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      SparseCholesky<T> solver(Device::openmp(threads), {.refine = 0});
      ASSERT_TRUE(solver.factor(A).ready());
      std::vector<T> x(b.size());
      ASSERT_TRUE(solver.solve(b, x).solved());
      EXPECT_EQ(x, expected) << threads;
    }
  }
}

TEST(SparseCholesky, Statistics_DescribeTheFactor) {
  const SparseSystem system = test::grid_system(30, 30, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial(), {.ordering = Ordering::amd});
  const Report report = solver.factor(A);
  EXPECT_EQ(std::get<std::string>(report.find_statistic("ordering")->value), "amd");
  EXPECT_GT(statistic(report, "factor_entries"), 900);
  EXPECT_GT(statistic(report, "factor_flops"), statistic(report, "factor_entries"));
  EXPECT_GE(statistic(report, "factor_bytes"), 8 * statistic(report, "factor_entries"));
  EXPECT_GE(statistic(report, "predicted_bytes"), statistic(report, "factor_bytes") / 2);
  EXPECT_GT(statistic(report, "supernodes"), 1);
  EXPECT_EQ(report.rank, 900);
  EXPECT_GT(report.bytes, 0U);
}

/// Eigenvalues of the 2D Laplacian are 4 - 2 cos - 2 cos: the condition number in the 2-norm is known.
TEST(SparseCholesky, Condition_OfTheLaplacian) {
  const SparseSystem system = test::grid_system(40, 40, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial());
  const Report report = solver.factor(A);
  const double angle = std::acos(-1.0) / 41;
  const double condition = (1 + std::cos(angle)) / (1 - std::cos(angle));
  ASSERT_TRUE(report.reciprocal_condition);
  EXPECT_GT(1 / *report.reciprocal_condition, condition / 2);
  EXPECT_LT(1 / *report.reciprocal_condition, 40 * condition);
  EXPECT_EQ(report.condition_kind, ConditionKind::factored);
  SparseCholesky<double> without(Device::serial(), {.condition = false});
  EXPECT_FALSE(without.factor(A).reciprocal_condition);
}

/// Scaling by powers of two changes neither the bits of the scaled solution nor the condition number.
TEST(SparseCholesky, BadlyScaled_IsSolvedAsTheScaledOne) {
  const SparseSystem system = test::grid_system(12, 12, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const std::vector<double> b = random_vector<double>(system.n, 5);
  std::vector<double> expected(b.size());
  SparseCholesky<double> plain(Device::serial(), {.refine = 0});
  const Report before = plain.factor(A);
  ASSERT_TRUE(plain.solve(b, expected).solved());
  const auto scale = [](std::int64_t i) { return std::ldexp(1.0, static_cast<int>(i * 7919 % 997) - 498); };
  Csr<double> scaled = A;
  for (std::int64_t i = 0; i < system.n; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      scaled.values()[k] *= scale(i) * scale(A.column_indices()[k]);
    }
  }
  std::vector<double> c = b;
  for (std::int64_t i = 0; i < system.n; ++i) c[i] *= scale(i);
  std::vector<double> x(b.size());
  SparseCholesky<double> solver(Device::serial(), {.refine = 0});
  const Report after = solver.factor(scaled);
  ASSERT_TRUE(after.ready()) << after.message;
  EXPECT_NEAR(*after.reciprocal_condition / *before.reciprocal_condition, 1, 0.1);
  (void)solver.solve(c, x);
  for (std::int64_t i = 0; i < system.n; ++i) EXPECT_EQ(x[i] * scale(i), expected[i]);
}

TEST(SparseCholesky, NotPositive_NamesColumnAndPivot) {
  test::Elements elements;
  for (std::int32_t i = 0; i < 6; ++i) elements.push_back({i, i, 4});
  elements.push_back({1, 4, 8});
  elements.push_back({4, 1, 8});
  const Csr<double> A = csr_of<double>(6, elements);
  SparseCholesky<double> solver(Device::serial(), {.ordering = Ordering::natural});
  const Report report = solver.factor(A);
  EXPECT_EQ(report.status, Status::not_spd);
  EXPECT_EQ(report.row, 4);
  EXPECT_NE(report.message.find("column 4"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("-12"), std::string::npos) << report.message;
  std::vector<double> b(6, 1), x(6, 7);
  EXPECT_EQ(solver.solve(b, x).status, Status::not_spd);
  EXPECT_EQ(x[0], 7);
}

/// Among several failures every number of threads reports the same.
TEST(SparseCholesky, NotPositive_TheSameForEveryNumberOfThreads) {
  const SparseSystem system = test::grid_system(20, 20, 20, -2);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> serial(Device::serial());
  const Report expected = serial.factor(A);
  EXPECT_EQ(expected.status, Status::not_spd);
  for (const int threads : {2, 5}) {
    SparseCholesky<double> solver(Device::openmp(threads));
    EXPECT_EQ(solver.factor(A).message, expected.message);
  }
}

TEST(SparseCholesky, ZeroAndMissingDiagonal_AreNotPositive) {
  for (const bool stored : {true, false}) {
    test::Elements elements = {{0, 0, 1}, {0, 1, 0.5}, {1, 0, 0.5}};
    if (stored) elements.push_back({1, 1, 0});
    SparseCholesky<double> solver(Device::serial(), {.ordering = Ordering::natural});
    const Csr<double> A = csr_of<double>(2, elements);
    const Report report = solver.factor(A);
    EXPECT_EQ(report.status, Status::not_spd);
    EXPECT_EQ(report.row, 1);
  }
}

TEST(SparseCholesky, NotSymmetric_NamesThePlace) {
  const Csr<double> values = csr_of<double>(3, {{0, 0, 4}, {1, 1, 4}, {2, 2, 4}, {0, 2, 1}, {2, 0, 1.5}});
  const Csr<double> pattern = csr_of<double>(3, {{0, 0, 4}, {1, 1, 4}, {2, 2, 4}, {2, 0, 1.5}});
  for (const Csr<double>* A : {&values, &pattern}) {
    SparseCholesky<double> solver(Device::serial());
    const Report report = solver.factor(*A);
    EXPECT_EQ(report.status, Status::not_spd);
    EXPECT_NE(report.message.find("row 2, column 0"), std::string::npos) << report.message;
  }
}

TEST(SparseCholesky, StoredZeroWithoutMirror_IsSymmetric) {
  const Csr<double> A = csr_of<double>(3, {{0, 0, 4}, {1, 1, 4}, {2, 2, 4}, {0, 1, 0}, {1, 2, 1}, {2, 1, 1}});
  SparseCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b = {4, 5, 5}, x(3);
  ASSERT_TRUE(solver.solve(b, x).solved());
  for (const double element : x) EXPECT_NEAR(element, 1, 1e-15);
}

TEST(SparseCholesky, AsymmetryOfRounding_IsAccepted) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 4}, {1, 1, 4}, {0, 1, 1}, {1, 0, 1 + 1e-14}});
  SparseCholesky<double> solver(Device::serial());
  EXPECT_TRUE(solver.factor(A).ready());
}

TEST(SparseCholesky, NotANumber_IsFound) {
  const Csr<double> A = csr_of<double>(2, {{0, 0, 4}, {1, 1, std::nan("")}});
  SparseCholesky<double> solver(Device::serial());
  EXPECT_EQ(solver.factor(A).status, Status::not_a_number);
}

TEST(SparseCholesky, NearlySingular_ReportsTheCondition) {
  const double small = 1e-14;
  const Csr<double> A = csr_of<double>(2, {{0, 0, 1}, {1, 1, 1}, {0, 1, 1 - small}, {1, 0, 1 - small}});
  SparseCholesky<double> solver(Device::serial());
  const Report report = solver.factor(A);
  EXPECT_TRUE(report.ready());
  EXPECT_NEAR(*report.reciprocal_condition, small / 4, small / 4);
  const double tiny = 1e-16;
  const Csr<double> singular =
      csr_of<double>(3, {{0, 0, 1}, {1, 1, 1 + tiny}, {2, 2, 2}, {0, 1, 1 - tiny}, {1, 0, 1 - tiny}});
  const Status status = solver.factor(singular).status;
  EXPECT_TRUE(status == Status::singular || status == Status::not_spd);
}

TEST(SparseCholesky, UpdateValues_SolvesTheNewSystem) {
  const SparseSystem system = test::grid_system(15, 15, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.analyze(A).ready());
  ASSERT_TRUE(solver.factor(A).ready());
  Csr<double> changed = A;
  for (std::int64_t k = 0; k < changed.nonzeros(); ++k) changed.values()[k] *= 3;
  ASSERT_TRUE(solver.update_values(changed).ready());
  std::vector<double> b(static_cast<std::size_t>(system.n), 3), x(b.size()), fresh(b.size());
  ASSERT_TRUE(solver.solve(b, x).solved());
  SparseCholesky<double> other(Device::serial());
  ASSERT_TRUE(other.factor(changed).ready());
  ASSERT_TRUE(other.solve(b, fresh).solved());
  EXPECT_EQ(x, fresh);
}

/// Another pattern with as many elements is noticed.
TEST(SparseCholesky, UpdateWithAnotherPattern_IsAnalysedAgain) {
  const Csr<double> A = csr_of<double>(4, {{0, 0, 4}, {1, 1, 4}, {2, 2, 4}, {3, 3, 4}, {0, 1, 1}, {1, 0, 1}});
  const Csr<double> other =
      csr_of<double>(4, {{0, 0, 4}, {1, 1, 4}, {2, 2, 4}, {3, 3, 4}, {2, 3, 1}, {3, 2, 1}});
  SparseCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  ASSERT_TRUE(solver.update_values(other).ready());
  std::vector<double> b = {4, 4, 5, 5}, x(4);
  ASSERT_TRUE(solver.solve(b, x).solved());
  for (const double element : x) EXPECT_NEAR(element, 1, 1e-15);
}

TEST(SparseCholesky, AfterAFailure_FactorsTheNextMatrix) {
  const Csr<double> bad = csr_of<double>(2, {{0, 0, 1}, {1, 1, -1}});
  const Csr<double> good = csr_of<double>(2, {{0, 0, 1}, {1, 1, 1}});
  SparseCholesky<double> solver(Device::serial());
  EXPECT_EQ(solver.factor(bad).status, Status::not_spd);
  EXPECT_TRUE(solver.factor(good).ready());
}

TEST(SparseCholesky, EmptyMatrix_IsSolved) {
  const Csr<double> A = csr_of<double>(0, {});
  SparseCholesky<double> solver(Device::serial());
  EXPECT_TRUE(solver.factor(A).ready());
  std::vector<double> nothing;
  EXPECT_TRUE(solver.solve(nothing, nothing).solved());
}

/// Depth of the elimination tree of a path in natural order: no recursion may follow it.
TEST(SparseCholesky, PathOfAMillion_IsSolved) {
  constexpr std::int32_t n = 1'000'000;
  const SparseSystem system = test::grid_system(1, n, 1, -1.5);
  const Csr<double> A = csr_of<double>(n, system.elements);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    SparseCholesky<double> solver(device, {.ordering = Ordering::natural});
    ASSERT_TRUE(solver.factor(A).ready());
    std::vector<double> b = random_vector<double>(n, 6), x(b.size());
    ASSERT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 2);
  }
}

TEST(SparseCholesky, Star_IsSolved) {
  const SparseSystem system = test::arrow_system(200'000, 100);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b = random_vector<double>(system.n, 6), x(b.size());
  ASSERT_TRUE(solver.solve(b, x).solved());
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 2);
}

TEST(SparseCholesky, TooLarge_SaysHowMuchBeforeItStarts) {
  const SparseSystem system = test::arrow_system(400'000, 0);  // without reordering L is full: 1.3 TB
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial(), {.ordering = Ordering::natural});
  const Report report = solver.factor(A);
  EXPECT_EQ(report.status, Status::out_of_memory);
  EXPECT_NE(report.message.find("available"), std::string::npos) << report.message;
  std::vector<double> b(static_cast<std::size_t>(system.n), 1), x(b.size());
  EXPECT_EQ(solver.solve(b, x).status, Status::out_of_memory);
  const Csr<double> small = csr_of<double>(2, {{0, 0, 1}, {1, 1, 1}});
  EXPECT_TRUE(solver.factor(small).ready());
}

TEST(SparseCholesky, Cancelled_BeforeItStarts) {
  const SparseSystem system = test::grid_system(15, 15, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  std::stop_source source;
  source.request_stop();
  SparseCholesky<double> solver(Device::serial());
  EXPECT_EQ(solver.factor(A, {.cancel = source.get_token()}).status, Status::cancelled);
  EXPECT_TRUE(solver.factor(A).ready());
}

TEST(SparseCholesky, SeveralThreadsSolve_WithOneFactor) {
  const SparseSystem system = test::grid_system(40, 40, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseCholesky<double> solver(Device::serial());
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
  EXPECT_NE(solutions[0], solutions[2]);
}

}  // namespace
}  // namespace echelon

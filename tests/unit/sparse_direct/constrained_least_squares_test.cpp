// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/problems/constrained_least_squares.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

/// A random dense matrix, column by column, with its sparse form.
struct RandomMatrix {
  std::int64_t rows, columns;
  std::vector<double> elements;
  Csr<double> sparse;

  RandomMatrix(std::int64_t m, std::int64_t n, double density, unsigned seed)
      : rows(m), columns(n), elements(static_cast<std::size_t>(m * n), 0) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> value(-1, 1);
    std::uniform_real_distribution<double> probability(0, 1);
    std::vector<Triplet<double>> triplets;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if (i % n != j && probability(random) > density) continue;
        const double a = value(random) + (i % n == j ? 2 : 0);
        elements[static_cast<std::size_t>(i + j * m)] = a;
        triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), a});
      }
    }
    sparse = Csr<double>::from_triplets(m, n, triplets);
  }
};

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& element : x) element = value(random);
  return x;
}

/// The minimum by LAPACK's generalised RQ factorisation (gglse), rows weighted.
std::vector<double> expected_solution(RandomMatrix A, std::vector<double> b, RandomMatrix C,
                                      std::vector<double> d, const std::vector<double>& weights) {
  for (std::int64_t i = 0; i < A.rows; ++i) {
    const double root = weights.empty() ? 1 : std::sqrt(weights[static_cast<std::size_t>(i)]);
    b[static_cast<std::size_t>(i)] *= root;
    for (std::int64_t j = 0; j < A.columns; ++j) A.elements[static_cast<std::size_t>(i + j * A.rows)] *= root;
  }
  std::vector<double> x(static_cast<std::size_t>(A.columns));
  const auto size = [](std::int64_t n) { return static_cast<lapack_int>(n); };
  EXPECT_EQ(LAPACKE_dgglse(LAPACK_COL_MAJOR, size(A.rows), size(A.columns), size(C.rows), A.elements.data(),
                           size(A.rows), C.elements.data(), size(std::max<std::int64_t>(C.rows, 1)), b.data(),
                           d.data(), x.data()),
            0);
  return x;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::fabs(x[i] - y[i]));
  return largest;
}

struct ProblemSizes {
  std::int64_t m, n, p;
};

TEST(ConstrainedLeastSquares, EqualityConstraints_AsByLapack) {
  for (const auto& [m, n, p] :
       {ProblemSizes{5, 3, 1}, {33, 31, 30}, {100, 40, 0}, {100, 40, 7}, {20, 30, 15}, {400, 60, 59}}) {
    SCOPED_TRACE(std::to_string(m) + ", " + std::to_string(n) + ", " + std::to_string(p));
    const RandomMatrix A(m, n, 0.2, 1);
    const RandomMatrix C(p, n, 0.3, 2);
    const std::vector<double> b = random_vector(m, 3);
    const std::vector<double> d = random_vector(p, 4);
    const ConstrainedSolution found = constrained_least_squares({A.sparse, b, C.sparse, d});
    ASSERT_TRUE(found.report.solved()) << found.report.message;
    EXPECT_LT(largest_difference(found.x, expected_solution(A, b, C, d, {})), 1e-10);
    EXPECT_LT(found.constraint_error, 1e-14);
    EXPECT_LT(found.gradient_error, 1e-12);
    EXPECT_EQ(std::ssize(found.multipliers), p);
  }
}

TEST(ConstrainedLeastSquares, WeightsOverManyDecades_AsByLapack) {
  const RandomMatrix A(80, 20, 0.4, 5);
  const RandomMatrix C(4, 20, 0.5, 6);
  const std::vector<double> b = random_vector(80, 7);
  const std::vector<double> d = random_vector(4, 8);
  std::vector<double> weights;
  for (int i = 0; i < 80; ++i) weights.push_back(i % 9 == 0 ? 0 : std::pow(10, i % 7 - 3));
  const ConstrainedSolution found =
      constrained_least_squares({.A = A.sparse, .b = b, .C = C.sparse, .d = d, .weights = weights});
  ASSERT_TRUE(found.report.solved()) << found.report.message;
  EXPECT_LT(largest_difference(found.x, expected_solution(A, b, C, d, weights)), 1e-9);
  const ConstrainedSolution alone = constrained_least_squares({.A = A.sparse, .b = b, .weights = weights});
  ASSERT_TRUE(alone.report.solved());
  EXPECT_LT(largest_difference(alone.x, expected_solution(A, b, RandomMatrix(0, 20, 0, 1), {}, weights)),
            1e-9);
  EXPECT_TRUE(alone.multipliers.empty());
}

/// The point of a plane that is nearest to the origin, by dense matrices; its multiplier is that of the sum.
TEST(ConstrainedLeastSquares, NearestPointOfAPlane) {
  Dense<double> A(Device(), 2, 2);
  A(0, 0) = A(1, 1) = 1;
  A(0, 1) = A(1, 0) = 0;
  Dense<double> C(Device(), 1, 2);
  C(0, 0) = C(0, 1) = 1;
  const std::vector<double> b = {0, 0};
  const std::vector<double> d = {2};
  const ConstrainedSolution found = constrained_least_squares({A, b, C, d});
  ASSERT_TRUE(found.report.solved());
  EXPECT_NEAR(found.x[0], 1, 1e-15);
  EXPECT_NEAR(found.x[1], 1, 1e-15);
  EXPECT_NEAR(found.multipliers[0], -1, 1e-14);
  EXPECT_NEAR(found.residual_norm, std::sqrt(2.0), 1e-15);
}

TEST(ConstrainedLeastSquares, ContradictoryConstraints_AreNotSolved) {
  const RandomMatrix A(10, 4, 0.5, 9);
  const std::vector<double> b = random_vector(10, 10);
  const Csr<double> C = Csr<double>::from_triplets(2, 4, {{0, 1, 1.0}, {1, 1, 2.0}});
  EXPECT_FALSE(constrained_least_squares({A.sparse, b, C, std::vector<double>{1, 1}}).report.solved());
}

TEST(ConstrainedLeastSquares, WrongSizesAndWeights_AreRefused) {
  const RandomMatrix A(3, 2, 1, 11);
  const RandomMatrix C(1, 3, 1, 12);
  const std::vector<double> b = {1, 2, 3};
  const std::vector<double> d = {1};
  const std::vector<double> negative = {1, -1, 1};
  EXPECT_THROW(static_cast<void>(constrained_least_squares({A.sparse, b, C.sparse, d})), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(constrained_least_squares({A.sparse, d})), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(constrained_least_squares({.A = A.sparse, .b = b, .weights = d})),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(constrained_least_squares({.A = A.sparse, .b = b, .weights = negative})),
               Error);
}

}  // namespace
}  // namespace echelon

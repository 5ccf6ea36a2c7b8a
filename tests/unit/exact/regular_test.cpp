// SPDX-License-Identifier: BSD-3-Clause
// Proofs by inspection that a matrix is nonsingular, compared with their definition in integers and with
// ranks modulo a prime.
#include "exact/inspection/regular.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// Elements as integers, in multiples of a power of two.
struct IntegerMatrix {
  explicit IntegerMatrix(std::int64_t order)
      : n(order), elements(static_cast<std::size_t>(order * order), 0) {}
  std::int64_t& at(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * n + j)]; }
  [[nodiscard]] std::int64_t at(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * n + j)];
  }

  template <class T>
  [[nodiscard]] Csr<T> csr(int exponent) const {
    std::vector<Triplet<T>> triplets;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        if (at(i, j) != 0) triplets.push_back({i, j, static_cast<T>(std::ldexp(at(i, j), exponent))});
      }
    }
    return Csr<T>::from_triplets(n, n, triplets);
  }
  /// |a_ii| less the other magnitudes of row i.
  [[nodiscard]] std::int64_t excess(std::int64_t i) const {
    std::int64_t sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += (j == i ? 1 : -1) * std::abs(at(i, j));
    return sum;
  }
  /// Weak chained diagonal dominance by its definition: rows are added until no more reach a strict one.
  [[nodiscard]] bool is_chained_dominant() const {
    std::vector<bool> reaches(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      if (excess(i) < 0) return false;
      reaches[static_cast<std::size_t>(i)] = excess(i) > 0;
    }
    for (std::int64_t round = 0; round < n; ++round) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          if (at(i, j) != 0 && reaches[static_cast<std::size_t>(j)])
            reaches[static_cast<std::size_t>(i)] = true;
        }
      }
    }
    return std::ranges::count(reaches, true) == n;
  }

  std::int64_t n;
  std::vector<std::int64_t> elements;
};

/// Few elements in each row, of any sign, and a diagonal that exceeds their magnitudes in few rows, or, for a
/// part of the matrices, falls short in one.
IntegerMatrix random_matrix(std::mt19937_64& random) {
  IntegerMatrix A(1 + static_cast<std::int64_t>(random() % 12));
  for (std::int64_t i = 0; i < A.n; ++i) {
    for (std::int64_t j = 0; j < A.n; ++j) {
      if (i != j && random() % static_cast<std::uint64_t>(A.n) < 2)
        A.at(i, j) = static_cast<std::int64_t>(random() % 2001) - 1000;
    }
    const std::int64_t above = random() % 4 == 0 ? 1 + static_cast<std::int64_t>(random() % 3) : 0;
    const std::int64_t below = random() % 40 == 0 ? 1 : 0;
    const std::int64_t diagonal = -A.excess(i) + above - below;
    A.at(i, i) = random() % 2 == 0 ? diagonal : -diagonal;
  }
  return A;
}

TEST(RegularByInspection, RandomIntegers_AsDefined) {
  std::mt19937_64 random(7);
  int proven = 0;
  int singular = 0;
  for (int k = 0; k < 4000; ++k) {
    const IntegerMatrix A = random_matrix(random);
    const int exponent = static_cast<int>(random() % 1800) - 900;
    const Csr<double> sparse = A.csr<double>(exponent);
    const bool expected = A.is_chained_dominant();
    EXPECT_EQ(is_chained_dominant(MatrixRef<double>(sparse)), expected) << k;
    const Dense<double> dense = to_dense(MatrixRef<double>(sparse));
    EXPECT_EQ(is_chained_dominant(MatrixRef<double>(dense)), expected) << k;
    const Csr<float> single = A.csr<float>(0);
    EXPECT_EQ(is_chained_dominant(MatrixRef<float>(single)), expected) << k;
    const bool full = rank_modulo(MatrixRef<double>(A.csr<double>(0)), 2147483647) == A.n;
    EXPECT_TRUE(full || !is_regular_by_inspection(MatrixRef<double>(sparse))) << k;
    proven += expected ? 1 : 0;
    singular += full ? 0 : 1;
  }
  EXPECT_GE(proven, 400);
  EXPECT_GE(singular, 200);
}

/// A cycle with the given weights, its first row with an excess.
Csr<double> cycle(const std::vector<double>& weights, double excess) {
  const auto n = static_cast<std::int32_t>(weights.size());
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t next = (i + 1) % n;
    const double weight = weights[static_cast<std::size_t>(i)];
    const double before = weights[static_cast<std::size_t>((i + n - 1) % n)];
    triplets.push_back({i, i, before + weight + (i == 0 ? excess : 0)});
    triplets.insert(triplets.end(), {{i, next, -weight}, {next, i, -weight}});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// The smallest excess that the diagonal can have proves as much as a large one, where all others are zero.
TEST(RegularByInspection, SmallestExcess_OfLargeComponent_Counts) {
  const std::vector<double> weights(200, 1.0);
  for (const double excess : {1.0, 1e-12, 4.5e-16}) {
    EXPECT_TRUE(is_regular_by_inspection(MatrixRef<double>(cycle(weights, excess)))) << excess;
    EXPECT_TRUE(is_definite_by_inspection(MatrixRef<double>(cycle(weights, excess)))) << excess;
  }
  EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(cycle(weights, 0))));
  EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(cycle(weights, -1e-12))));
}

/// Diagonals that are rounded sums leave an excess of either sign, or one that a small component does not
/// prove.
TEST(RegularByInspection, RoundedDiagonals_ProveNothing) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> weight(0.1, 1);
  for (const std::size_t n : {3, 4, 7, 20, 60, 300}) {
    for (int k = 0; k < 50; ++k) {
      std::vector<double> weights(n);
      for (double& w : weights) w = weight(random);
      EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(cycle(weights, 0)))) << n;
      EXPECT_TRUE(is_regular_by_inspection(MatrixRef<double>(cycle(weights, 1.0))) ||
                  is_chained_dominant(MatrixRef<double>(cycle(weights, 0))) == false)
          << n;
    }
  }
}

TEST(RegularByInspection, EachComponent_NeedsAnExcess) {
  for (const bool second : {false, true}) {
    std::vector<Triplet<double>> triplets;
    for (std::int32_t c = 0; c < 2; ++c) {
      const double ground = c == 0 || second ? 1e-13 : 0;
      triplets.insert(triplets.end(), {{2 * c, 2 * c, 3 + ground},
                                       {2 * c, 2 * c + 1, -3},
                                       {2 * c + 1, 2 * c, -3},
                                       {2 * c + 1, 2 * c + 1, 3}});
    }
    const auto A = Csr<double>::from_triplets(4, 4, triplets);
    EXPECT_EQ(is_regular_by_inspection(MatrixRef<double>(A)), second);
  }
}

TEST(RegularByInspection, DegenerateMatrices) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns,
                         const std::vector<Triplet<double>>& triplets) {
    return Csr<double>::from_triplets(rows, columns, triplets);
  };
  EXPECT_TRUE(is_regular_by_inspection(MatrixRef<double>(matrix(0, 0, {}))));
  EXPECT_TRUE(is_regular_by_inspection(MatrixRef<double>(matrix(1, 1, {{0, 0, -1e-300}}))));
  EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(matrix(1, 1, {{0, 0, 0}}))));
  EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(matrix(1, 1, {}))));
  EXPECT_FALSE(is_regular_by_inspection(MatrixRef<double>(matrix(1, 2, {{0, 0, 1}}))));
  constexpr double huge = std::numeric_limits<double>::max();
  EXPECT_FALSE(is_chained_dominant(
      MatrixRef<double>(matrix(3, 3, {{0, 0, huge}, {0, 1, huge}, {0, 2, huge}, {1, 1, 1}, {2, 2, 1}}))));
  // Unsymmetric: the chain follows the elements of the rows.
  EXPECT_TRUE(is_chained_dominant(MatrixRef<double>(matrix(2, 2, {{0, 0, 1}, {0, 1, -1}, {1, 1, 1}}))));
  EXPECT_FALSE(
      is_definite_by_inspection(MatrixRef<double>(matrix(2, 2, {{0, 0, 1}, {0, 1, -1}, {1, 1, 1}}))));
  EXPECT_FALSE(is_definite_by_inspection(MatrixRef<double>(matrix(2, 2, {{0, 0, 2}, {1, 1, -2}}))));
}

}  // namespace
}  // namespace echelon::test

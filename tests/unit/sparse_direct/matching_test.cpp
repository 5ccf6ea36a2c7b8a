// SPDX-License-Identifier: BSD-3-Clause
/// Matchings against all permutations of small matrices, and against their own certificates.
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "sparse_direct/matching/weighted_matching.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace echelon::sparse_direct {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

double element(const Csr<double>& a, std::int64_t i, std::int64_t j) {
  for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
    if (a.column_indices()[k] == j) return a.values()[k];
  }
  return 0;
}

/// About `per_row` elements a row, with magnitudes from 1e-8 to 1e8, some of them stored zeros.
Csr<double> random_matrix(std::int32_t n, double per_row, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      if (uniform(random) * n >= per_row) continue;
      const double value = std::pow(10, 16 * uniform(random) - 8) * (uniform(random) < 0.5 ? -1 : 1);
      triplets.push_back({i, j, uniform(random) < 0.1 ? 0 : value});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// A symmetric matrix with a zero diagonal in some rows.
Csr<double> random_symmetric(std::int32_t n, double per_row, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j <= i; ++j) {
      if (i == j ? uniform(random) < 0.6 : uniform(random) * n >= per_row) continue;
      const double value = std::pow(10, 8 * uniform(random) - 4);
      triplets.push_back({i, j, value});
      if (i != j) triplets.push_back({j, i, value});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// Rank and logarithm of the product of the best matching, from all permutations.
struct BestMatching {
  std::int64_t rank = 0;
  double log_product = 0;
};
BestMatching best_of_all_permutations(const Csr<double>& a) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(a.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  BestMatching best;
  do {
    std::int64_t rank = 0;
    double log_product = 0;
    for (std::int64_t j = 0; j < a.rows(); ++j) {
      const double value = element(a, rows[j], j);
      if (value == 0) continue;
      ++rank;
      log_product += std::log(std::abs(value));
    }
    if (rank > best.rank || (rank == best.rank && log_product > best.log_product)) best = {rank, log_product};
  } while (std::next_permutation(rows.begin(), rows.end()));
  return best;
}

void expect_is_matching(const Csr<double>& a, const std::vector<std::int32_t>& row_of_column,
                        std::int64_t rank) {
  std::vector<int> used(static_cast<std::size_t>(a.rows()), 0);
  std::int64_t matched = 0;
  for (std::int64_t j = 0; j < a.rows(); ++j) {
    if (row_of_column[j] < 0) continue;
    ++matched;
    EXPECT_EQ(++used[row_of_column[j]], 1);
    EXPECT_NE(element(a, row_of_column[j], j), 0);
  }
  EXPECT_EQ(matched, rank);
}

/// Scaled elements are at most 1; by the duality theorem a matching of scaled elements 1 has the largest
/// product.
void expect_certificate(const Csr<double>& a, const WeightedMatching& matching) {
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = a.column_indices()[k];
      if (a.values()[k] == 0) continue;
      const double scaled =
          std::log(std::abs(a.values()[k])) + matching.log_row_scale[i] + matching.log_column_scale[j];
      EXPECT_LE(scaled, 1e-11);
      if (matching.structural_rank == a.rows() && matching.row_of_column[j] == i) {
        EXPECT_NEAR(scaled, 0, 1e-11);
      }
    }
  }
}

TEST(WeightedMatching, SmallMatrices_LargestProduct) {
  std::mt19937 random(1);
  for (std::int32_t n = 0; n <= 7; ++n) {
    for (int k = 0; k < (n < 7 ? 60 : 15); ++k) {
      const auto a = random_matrix(n, 1 + k % 4, random);
      const WeightedMatching matching = maximum_product_matching(a, no_limit);
      const BestMatching best = best_of_all_permutations(a);
      ASSERT_EQ(matching.structural_rank, best.rank);
      expect_is_matching(a, matching.row_of_column, best.rank);
      expect_certificate(a, matching);
      if (best.rank < n) continue;
      double log_product = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        log_product += std::log(std::abs(element(a, matching.row_of_column[j], j)));
      }
      EXPECT_NEAR(log_product, best.log_product, 1e-9);
    }
  }
}

TEST(WeightedMatching, LargeMatrices_DualCertifies) {
  std::mt19937 random(2);
  for (const std::int32_t n : {33, 200, 700}) {
    for (const double per_row : {1.5, 3.0, 8.0}) {
      const auto a = random_matrix(n, per_row, random);
      const WeightedMatching matching = maximum_product_matching(a, no_limit);
      EXPECT_TRUE(matching.optimal);
      EXPECT_EQ(matching.structural_rank, structural_rank<double>(a));
      expect_is_matching(a, matching.row_of_column, matching.structural_rank);
      expect_certificate(a, matching);
    }
  }
}

TEST(WeightedMatching, WorkLimit_LeavesAMatchingOfFullSize) {
  std::mt19937 random(3);
  const auto a = random_matrix(500, 4, random);
  const WeightedMatching matching = maximum_product_matching(a, 0);
  EXPECT_FALSE(matching.optimal);
  EXPECT_EQ(matching.structural_rank, structural_rank<double>(a));
  expect_is_matching(a, matching.row_of_column, matching.structural_rank);
}

TEST(WeightedMatching, NotFinite_Ignored) {
  const Csr<double> a(2, 2, {0, 2, 3}, {0, 1, 0}, {std::nan(""), 1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(maximum_product_matching(a, no_limit).structural_rank, 1);
}

TEST(InfinityNormScaling, Rows_Columns_NormOne) {
  std::mt19937 random(4);
  const auto a = random_matrix(60, 6, random);
  const Scaling scaling = infinity_norm_scaling(a, 60);
  std::vector<double> row(60, 0);
  std::vector<double> column(60, 0);
  for (std::int64_t i = 0; i < 60; ++i) {
    for (std::int64_t j = 0; j < 60; ++j) {
      const double scaled = std::abs(scaling.rows[i] * element(a, i, j) * scaling.columns[j]);
      row[i] = std::max(row[i], scaled);
      column[j] = std::max(column[j], scaled);
    }
  }
  for (int i = 0; i < 60; ++i) {
    EXPECT_NEAR(row[i], row[i] == 0 ? 0 : 1, 0.02);
    EXPECT_NEAR(column[i], column[i] == 0 ? 0 : 1, 0.02);
  }
}

TEST(InfinityNormScaling, ExtremeMagnitudes) {
  const Csr<double> a(2, 2, {0, 1, 2}, {0, 1}, {1e300, 1e-300});
  const Scaling scaling = infinity_norm_scaling(a);
  EXPECT_NEAR(scaling.rows[0] * 1e300 * scaling.columns[0], 1, 0.02);
  EXPECT_NEAR(scaling.rows[1] * 1e-300 * scaling.columns[1], 1, 0.02);
}

/// Largest scaled magnitude, and the smallest on the diagonal of P R A C.
struct ScaledMagnitudes {
  double largest = 0;
  double smallest_diagonal = std::numeric_limits<double>::infinity();
};
ScaledMagnitudes scaled_magnitudes(const Csr<double>& a, const LargeDiagonal& large) {
  ScaledMagnitudes magnitudes;
  const auto& [rows, columns] = large.scaling;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.rows(); ++j) {
      magnitudes.largest = std::max(magnitudes.largest, std::abs(rows[i] * element(a, i, j) * columns[j]));
    }
    const std::int32_t row = large.row_permutation[i];
    magnitudes.smallest_diagonal =
        std::min(magnitudes.smallest_diagonal, std::abs(rows[row] * element(a, row, i) * columns[i]));
  }
  return magnitudes;
}

TEST(LargeDiagonal, ShuffledDominant_IsRecovered) {
  constexpr std::int32_t n = 80;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-100, 100);
  std::vector<std::int32_t> shuffled(n);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<double> row_factor(n);
  for (double& factor : row_factor) factor = std::pow(10, exponent(random));
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({shuffled[i], i, 5 * row_factor[i]});
    triplets.push_back({shuffled[i], (i + 1) % n, row_factor[i]});
    triplets.push_back({shuffled[i], (i + 7) % n, -row_factor[i]});
  }
  const auto a = Csr<double>::from_triplets(n, n, triplets);
  const LargeDiagonal large = large_diagonal(a);
  EXPECT_EQ(large.row_permutation, shuffled);
  EXPECT_TRUE(large.permuted);
  EXPECT_EQ(large.kind, ScalingKind::matching);
  EXPECT_EQ(large.structural_rank, n);
  const ScaledMagnitudes magnitudes = scaled_magnitudes(a, large);
  EXPECT_NEAR(magnitudes.largest, 1, 1e-10);
  EXPECT_NEAR(magnitudes.smallest_diagonal, 1, 1e-10);
}

TEST(LargeDiagonal, GoodDiagonal_IsKept) {
  const auto a = std::get<Csr<double>>(make_matrix<double>("poisson-2d", {{"nx", 10}, {"ny", 10}}));
  const LargeDiagonal large = large_diagonal(a);
  EXPECT_FALSE(large.permuted);
  EXPECT_EQ(large.kind, ScalingKind::infinity_norm);
  EXPECT_EQ(large.structural_rank, a.rows());
}

TEST(LargeDiagonal, Unmatched_AreNamed) {
  // Rows 0, 2 and 3 have elements in column 1 only, columns 0 and 3 share row 1.
  const Csr<double> a(4, 4, {0, 1, 4, 5, 6}, {1, 0, 2, 3, 1, 1}, {1, 2, 3, 4, 5, 6});
  const LargeDiagonal large = large_diagonal(a);
  EXPECT_EQ(large.structural_rank, 2);
  ASSERT_EQ(large.unmatched_rows.size(), 2);
  ASSERT_EQ(large.unmatched_columns.size(), 2);
  EXPECT_TRUE(is_permutation(large.row_permutation, 4));
  for (const std::int32_t row : large.unmatched_rows) EXPECT_NE(row, 1);
  for (const std::int32_t column : large.unmatched_columns) EXPECT_NE(column, 1);
}

/// Lower bidiagonal with a diagonal of 1e-4: the only matching is the diagonal, and its column factors grow
/// by 1e4 from each column to the next.
Csr<double> growing_chain(std::int32_t n) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 1e-4});
    if (i > 0) triplets.push_back({i, i - 1, 1});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

TEST(LargeDiagonal, SpreadBeyondPrecision_FallsBackToInfinityNorm) {
  const LargeDiagonal harmless = large_diagonal(growing_chain(4));
  EXPECT_EQ(harmless.kind, ScalingKind::matching);
  EXPECT_NEAR(scaled_magnitudes(growing_chain(4), harmless).smallest_diagonal, 1, 1e-10);

  const LargeDiagonal hopeless = large_diagonal(growing_chain(30));
  EXPECT_EQ(hopeless.structural_rank, 30);
  EXPECT_EQ(hopeless.kind, ScalingKind::infinity_norm);
  EXPECT_NEAR(scaled_magnitudes(growing_chain(30), hopeless).largest, 1, 0.02);
}

TEST(LargeDiagonal, AwkwardMatrices) {
  EXPECT_EQ(large_diagonal(Csr<double>()).structural_rank, 0);
  const Csr<double> zero(1, 1, {0, 0}, {}, {});
  EXPECT_EQ(large_diagonal(zero).structural_rank, 0);
  EXPECT_EQ(large_diagonal(zero).unmatched_rows, (std::vector<std::int32_t>{0}));
  const Csr<float> stored_zero(1, 1, {0, 1}, {0}, {0});
  EXPECT_EQ(large_diagonal(stored_zero).structural_rank, 0);
  const Csr<float> one(1, 1, {0, 1}, {0}, {-3});
  EXPECT_EQ(large_diagonal(one).structural_rank, 1);
}

TEST(SymmetricMatching, LargeElements_ScaledAndPaired) {
  std::mt19937 random(6);
  for (int k = 0; k < 40; ++k) {
    const std::int32_t n = 1 + 2 * k;
    const auto a = random_symmetric(n, 4, random);
    const SymmetricMatching matching = symmetric_matching(a, {.good_diagonal = 2});
    EXPECT_EQ(matching.structural_rank, structural_rank<double>(a));
    EXPECT_EQ(std::ssize(matching.unmatched_rows), n - matching.structural_rank);
    if (!matching.partner.empty()) {
      for (std::int32_t i = 0; i < n; ++i) {
        const std::int32_t j = matching.partner[i];
        EXPECT_EQ(matching.partner[j], i);
        EXPECT_TRUE(i == j || element(a, i, j) != 0);
      }
    }
    if (matching.kind != ScalingKind::matching) continue;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        const double scaled = std::abs(matching.scale[i] * element(a, i, j) * matching.scale[j]);
        EXPECT_LE(scaled, 1 + 1e-10);
        if (matching.structural_rank == n && !matching.partner.empty() && i != j &&
            matching.partner[i] == j) {
          EXPECT_NEAR(scaled, 1, 1e-10);
        }
      }
    }
  }
}

TEST(SymmetricMatching, ZeroDiagonals_ArePaired) {
  // Blocks [0 1; 1 0] along the diagonal.
  constexpr std::int32_t n = 10;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; i += 2) {
    triplets.push_back({i, i + 1, 1});
    triplets.push_back({i + 1, i, 1});
  }
  const SymmetricMatching matching = symmetric_matching(Csr<double>::from_triplets(n, n, triplets));
  ASSERT_EQ(std::ssize(matching.partner), n);
  for (std::int32_t i = 0; i < n; ++i) EXPECT_EQ(matching.partner[i], i ^ 1);
}

TEST(SymmetricMatching, OddCycle_KeepsTheLargestDiagonalSingle) {
  // A triangle with a diagonal element in row 1; the matching is a cycle of three rows.
  const Csr<double> a(3, 3, {0, 2, 5, 7}, {1, 2, 0, 1, 2, 0, 1}, {1, 1, 1, 0.01, 1, 1, 1});
  const SymmetricMatching matching = symmetric_matching(a);
  EXPECT_EQ(matching.partner, (std::vector<std::int32_t>{2, 1, 0}));
}

/// [I A; A^T 0] with a dense A of n by m; `missing` leading elements of the identity are left out.
Csr<double> with_dense_rows(std::int32_t n, std::int32_t m, std::int32_t missing) {
  std::mt19937 random(3);
  std::normal_distribution<double> value;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i >= missing) triplets.push_back({i, i, 1});
    for (std::int32_t j = 0; j < m; ++j) {
      const double v = value(random);
      triplets.push_back({i, n + j, v});
      triplets.push_back({n + j, i, v});
    }
  }
  return Csr<double>::from_triplets(n + m, n + m, triplets);
}

TEST(SymmetricMatching, DenseRowsOnlyLackADiagonal_NoPairs) {
  const SymmetricMatching matching = symmetric_matching(with_dense_rows(400, 20, 0));
  EXPECT_TRUE(matching.partner.empty());
  EXPECT_EQ(matching.kind, ScalingKind::infinity_norm);
  EXPECT_EQ(matching.structural_rank, 420);
}

TEST(LargeDiagonal, DenseRowsOnlyLackADiagonal_RowsStay) {
  const LargeDiagonal diagonal = large_diagonal(with_dense_rows(400, 20, 0));
  EXPECT_FALSE(diagonal.permuted);
  EXPECT_EQ(diagonal.structural_rank, 420);
  EXPECT_TRUE(large_diagonal(with_dense_rows(400, 20, 1)).permuted);
  const LargeDiagonal many = large_diagonal(with_dense_rows(400, 600, 0));
  EXPECT_EQ(many.structural_rank, 800);
}

TEST(LargeDiagonal, DenseRowsWithoutDenseColumns_AreMatched) {
  // Dense rows whose columns hold one element each: nothing fills their diagonals.
  constexpr std::int32_t n = 400;
  constexpr std::int32_t m = 3;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 1});
    for (std::int32_t j = 0; j < m; ++j) triplets.push_back({n + j, i, 0.5});
  }
  for (std::int32_t j = 0; j < m; ++j) triplets.push_back({j, n + j, 1});
  const Csr<double> a = Csr<double>::from_triplets(n + m, n + m, triplets);
  const LargeDiagonal diagonal = large_diagonal(a);
  EXPECT_TRUE(diagonal.permuted);
  EXPECT_EQ(diagonal.structural_rank, structural_rank<double>(a));
}

TEST(SymmetricMatching, OtherRowsLackADiagonal_Pairs) {
  const SymmetricMatching matching = symmetric_matching(with_dense_rows(400, 20, 1));
  ASSERT_EQ(matching.partner.size(), 420);
  EXPECT_GE(matching.partner[0], 400);
}

TEST(SymmetricMatching, MoreDenseRowsThanOthers_StructuralRank) {
  const Csr<double> a = with_dense_rows(400, 600, 0);
  const SymmetricMatching matching = symmetric_matching(a);
  EXPECT_EQ(matching.structural_rank, 800);
  EXPECT_EQ(matching.structural_rank, structural_rank<double>(a));
}

}  // namespace
}  // namespace echelon::sparse_direct

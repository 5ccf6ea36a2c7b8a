// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/sparse_direct.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <variant>
#include <vector>

namespace echelon {
namespace {

Csr<double> tridiagonal(std::int32_t n, double above) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 2});
    if (i > 0) triplets.push_back({i, i - 1, -1});
    if (i + 1 < n) triplets.push_back({i, i + 1, above});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

TEST(PredictFactor, Tridiagonal_EntriesOfFactors) {
  const FactorPrediction cholesky = predict_factor(tridiagonal(100, -1), Ordering::natural);
  EXPECT_TRUE(cholesky.symmetric);
  EXPECT_EQ(cholesky.entries, 199);
  EXPECT_EQ(cholesky.flops, 99 * 4 + 1);
  EXPECT_EQ(cholesky.ordering, "natural");
  EXPECT_EQ(cholesky.structural_rank, 100);
  EXPECT_GE(cholesky.bytes, 199 * sizeof(double));

  const FactorPrediction lu = predict_factor(tridiagonal(100, -2), Ordering::amd);
  EXPECT_FALSE(lu.symmetric);
  EXPECT_EQ(lu.entries, 298);
  EXPECT_EQ(lu.flops, 2 * (99 * 4 + 1));
  EXPECT_EQ(lu.ordering, "amd");
}

TEST(PredictFactor, ZeroDiagonal_RowsAreExchanged) {
  // A cyclic shift of a diagonal matrix has a diagonal factor.
  constexpr std::int32_t n = 20;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) triplets.push_back({i, (i + 5) % n, 3.0});
  const auto a = Csr<double>::from_triplets(n, n, triplets);
  const FactorPattern pattern = factor_pattern(a);
  EXPECT_EQ(pattern.prediction.entries, n);
  EXPECT_TRUE(pattern.rows.empty());
  for (std::int32_t k = 0; k < n; ++k) {
    EXPECT_EQ((pattern.row_permutation[k] + 5) % n, pattern.column_permutation[k]);
  }
}

TEST(PredictFactor, StructurallySingularMatrix) {
  const Csr<float> a(3, 3, {0, 1, 2, 3}, {0, 0, 2}, {1, 1, 1});
  EXPECT_EQ(predict_factor(a).structural_rank, 2);
  EXPECT_TRUE(sparse_direct::is_permutation(factor_pattern(a).row_permutation, 3));
}

TEST(PredictFactor, AwkwardMatrices) {
  EXPECT_EQ(predict_factor(Csr<double>()).entries, 0);
  const Csr<double> zero(1, 1, {0, 0}, {}, {});
  EXPECT_EQ(predict_factor(zero).entries, 0);
  EXPECT_EQ(predict_factor(zero).structural_rank, 0);
  const Csr<double> wide(1, 2, {0, 0}, {}, {});
  EXPECT_THROW((void)predict_factor(wide), DimensionMismatch);
  EXPECT_THROW((void)fill_reducing_ordering(wide), DimensionMismatch);
}

TEST(FillReducingOrdering, PermuteSymmetric_TakesIt) {
  const auto a = std::get<Csr<double>>(make_matrix<double>("poisson-2d", {{"nx", 40}, {"ny", 40}}));
  for (const auto& [ordering, word] : words_of(Ordering{})) {
    const Array<std::int32_t> order = fill_reducing_ordering(a, ordering);
    ASSERT_TRUE(sparse_direct::is_permutation(order.span(), a.rows())) << word;
    const Csr<double> permuted = permute_symmetric(a, order);
    // The factor of the permuted matrix, eliminated as it stands, is the predicted one.
    EXPECT_EQ(predict_factor(permuted, Ordering::natural).entries, predict_factor(a, ordering).entries)
        << word;
  }
}

}  // namespace
}  // namespace echelon

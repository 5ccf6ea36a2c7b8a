// SPDX-License-Identifier: BSD-3-Clause
#include "support/table.hpp"

#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace echelon::test {
namespace {

/// Kuhn's algorithm: one augmenting path after another, from every row.
class Kuhn {
 public:
  explicit Kuhn(const Table& a) : a_(a), row_of_(static_cast<std::size_t>(a.columns), -1) {}
  std::int64_t rank() {
    std::int64_t matched = 0;
    for (std::int64_t i = 0; i < a_.rows; ++i) {
      tried_.assign(row_of_.size(), false);
      if (augment(i)) ++matched;
    }
    return matched;
  }

 private:
  bool augment(std::int64_t i) {
    for (std::size_t j = 0; j < row_of_.size(); ++j) {
      if (a_(i, static_cast<std::int64_t>(j)) == 0 || tried_[j]) continue;
      tried_[j] = true;
      if (row_of_[j] < 0 || augment(row_of_[j])) {
        row_of_[j] = i;
        return true;
      }
    }
    return false;
  }
  const Table& a_;
  std::vector<std::int64_t> row_of_;
  std::vector<bool> tried_;
};

TEST(StructuralRank, RandomMatrices_AgreeWithKuhn) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 5000 && !HasFailure(); ++trial) {
    const Table table = random_table(random, trial % 5 == 0, trial % 7 == 0);
    SCOPED_TRACE(testing::Message() << "trial " << trial << ", " << table.rows << " by " << table.columns);
    const std::int64_t expected = Kuhn(table).rank();
    const auto csr = table.csr<double>();
    EXPECT_EQ(structural_rank<double>(csr), expected);
    EXPECT_EQ(structural_rank<float>(table.csr<float>()), expected);
    EXPECT_EQ(structural_rank<double>(to_dense<double>(csr)), expected);
    const DenseView<const double> by_row(table.values.data(), table.rows, table.columns, table.columns,
                                         Device(), Layout::row_major);
    EXPECT_EQ(structural_rank<double>(by_row), expected);
  }
}

/// Sparse enough for long augmenting paths: about two nonzeros a row.
TEST(StructuralRank, SparseMatrices_AgreeWithKuhn) {
  std::mt19937 random(2);
  for (const std::int64_t n : {31, 33, 120, 257}) {
    for (int trial = 0; trial < 20; ++trial) {
      Table table(n, n + trial - 10);
      for (std::int64_t e = 0; e < 2 * n; ++e) {
        table.set(static_cast<std::int64_t>(random()) % table.rows,
                  static_cast<std::int64_t>(random()) % table.columns, e % 9 == 0 ? 0.0 : 1.0);
      }
      EXPECT_EQ(structural_rank<double>(table.csr<double>()), Kuhn(table).rank()) << n << ", " << trial;
    }
  }
}

TEST(StructuralRank, HandCheckedMatrices) {
  EXPECT_EQ(structural_rank<double>(Csr<double>()), 0);
  EXPECT_EQ(structural_rank<double>(Table(3, 0).csr<double>()), 0);
  EXPECT_EQ(structural_rank<double>(Table(0, 3).csr<double>()), 0);
  EXPECT_EQ(structural_rank<double>(Table(2, 2, {0, 1, 1, 0}).csr<double>()), 2);
  EXPECT_EQ(structural_rank<double>(Table(2, 2, {1, 1, 0, 0}).csr<double>()), 1);
  // Numerically singular, structurally not.
  EXPECT_EQ(structural_rank<double>(Table(2, 2, {1, 1, 1, 1}).csr<double>()), 2);
  // Three rows share two columns.
  EXPECT_EQ(structural_rank<double>(Table(3, 4, {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0}).csr<double>()), 2);
  Table explicit_zero(2, 2, {1, 0, 0, 0});
  explicit_zero.set(1, 1, 0.0);
  EXPECT_EQ(structural_rank<double>(explicit_zero.csr<double>()), 1);
}

/// Row i has columns i and i + 1, except the last, which has the first only: the one augmenting path from it
/// runs through all rows, deeper than any call stack.
TEST(StructuralRank, LongestAugmentingPath_IsFound) {
  constexpr std::int32_t n = 1'000'000;
  std::vector<Triplet<float>> triplets;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    triplets.push_back({i, i, 1});
    triplets.push_back({i, i + 1, 1});
  }
  triplets.push_back({n - 1, 0, 1});
  EXPECT_EQ(structural_rank<float>(Csr<float>::from_triplets(n, n, triplets)), n);
}

}  // namespace
}  // namespace echelon::test

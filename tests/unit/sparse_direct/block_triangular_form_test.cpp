// SPDX-License-Identifier: BSD-3-Clause
/// Block triangular forms against the transitive closure of their graph.
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/sparse_direct.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace echelon {
namespace {

using sparse_direct::inverse_permutation;
using sparse_direct::is_permutation;

/// Entries of the permuted matrix.
std::vector<std::vector<bool>> permuted_entries(const Csr<double>& a, const BlockTriangularForm& form) {
  const auto n = static_cast<std::size_t>(a.rows());
  const auto column_place = inverse_permutation(form.column_permutation);
  std::vector<std::vector<bool>> entries(n, std::vector<bool>(n, false));
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t row = form.row_permutation[k];
    for (std::int64_t p = a.row_offsets()[row]; p < a.row_offsets()[row + 1]; ++p) {
      entries[k][column_place[a.column_indices()[p]]] = true;
    }
  }
  return entries;
}

void expect_block_triangular_form(const Csr<double>& a) {
  const BlockTriangularForm form = block_triangular_form(a);
  const std::int64_t n = a.rows();
  ASSERT_TRUE(is_permutation(form.row_permutation, n));
  ASSERT_TRUE(is_permutation(form.column_permutation, n));
  ASSERT_EQ(form.block_begin.front(), 0);
  ASSERT_EQ(form.block_begin.back(), n);
  std::vector<std::int64_t> block_of;
  for (std::int64_t b = 0; b < form.blocks(); ++b) {
    ASSERT_LT(form.block_begin[b], form.block_begin[b + 1]);
    block_of.insert(block_of.end(), static_cast<std::size_t>(form.block_begin[b + 1] - form.block_begin[b]),
                    b);
  }
  auto reaches = permuted_entries(a, form);
  std::int64_t diagonal = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    diagonal += reaches[i][i] ? 1 : 0;
    for (std::int64_t j = 0; j < n; ++j) EXPECT_TRUE(!reaches[i][j] || block_of[j] >= block_of[i]);
    reaches[i][i] = true;
  }
  EXPECT_EQ(diagonal, form.structural_rank);
  EXPECT_EQ(form.structural_rank, structural_rank<double>(a));
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n && reaches[i][k]; ++j) reaches[i][j] = reaches[i][j] || reaches[k][j];
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      EXPECT_EQ(block_of[i] == block_of[j], reaches[i][j] && reaches[j][i]) << "the blocks are not minimal";
    }
  }
}

TEST(BlockTriangularForm, Blocks_AreStrongComponents) {
  std::mt19937 random(9);
  for (int k = 0; k < 200; ++k) {
    const std::int32_t n = 1 + k / 5;
    std::uniform_int_distribution<std::int32_t> index(0, n - 1);
    std::vector<Triplet<double>> triplets;
    if (k % 2 == 0) {  // a hidden diagonal
      for (std::int32_t i = 0; i < n; ++i) triplets.push_back({i, (7 * i + 3) % n, 1});
    }
    for (int e = 0; e < n * (k % 5) / 2; ++e) triplets.push_back({index(random), index(random), 1});
    expect_block_triangular_form(Csr<double>::from_triplets(n, n, triplets));
  }
}

TEST(BlockTriangularForm, TriangularMatrix_HasBlocksOfOneRow) {
  // Lower triangular, with its rows reversed.
  constexpr std::int32_t n = 50;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({n - 1 - i, i, 2});
    if (i > 0) triplets.push_back({n - 1 - i, i / 2, 1});
  }
  const auto a = Csr<double>::from_triplets(n, n, triplets);
  expect_block_triangular_form(a);
  EXPECT_EQ(block_triangular_form(a).blocks(), n);
  EXPECT_EQ(block_triangular_form(a).largest_block(), 1);
}

TEST(BlockTriangularForm, CycleOfAMillionRows_IsOneBlock) {
  constexpr std::int32_t n = 1'000'000;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 1});
    triplets.push_back({i, (i + 1) % n, 1});
  }
  EXPECT_EQ(block_triangular_form(Csr<double>::from_triplets(n, n, triplets)).blocks(), 1);
  triplets.pop_back();
  EXPECT_EQ(block_triangular_form(Csr<double>::from_triplets(n, n, triplets)).blocks(), n);
}

TEST(BlockTriangularForm, SymmetricPattern_BlocksAreComponents) {
  std::mt19937 random(10);
  for (int k = 0; k < 100; ++k) {
    const std::int32_t n = 1 + k / 3;
    std::uniform_int_distribution<std::int32_t> index(0, n - 1);
    std::vector<Triplet<double>> triplets;
    for (std::int32_t i = 0; i < n; ++i) triplets.push_back({i, i, 4});
    for (int e = 0; e < n * (k % 4) / 3; ++e) {
      const std::int32_t i = index(random);
      const std::int32_t j = index(random);
      if (i == j) continue;
      triplets.push_back({i, j, 2});
      triplets.push_back({j, i, 3});
    }
    expect_block_triangular_form(Csr<double>::from_triplets(n, n, triplets));
    triplets.push_back({0, n - 1, 1});  // perhaps on one side only
    expect_block_triangular_form(Csr<double>::from_triplets(n, n, triplets));
  }
}

TEST(BlockTriangularForm, ManyPaths_AreBlocks) {
  constexpr std::int32_t paths = 1009;
  constexpr std::int32_t n = 300 * paths;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {  // path i % paths
    triplets.push_back({i, i, 1});
    if (i < paths) continue;
    triplets.push_back({i, i - paths, 1});
    triplets.push_back({i - paths, i, 1});
  }
  const BlockTriangularForm form = block_triangular_form(Csr<double>::from_triplets(n, n, triplets));
  EXPECT_EQ(form.blocks(), paths);
  EXPECT_EQ(form.largest_block(), 300);
  EXPECT_EQ(form.structural_rank, n);
  for (std::int64_t b = 0; b < form.blocks(); ++b) {
    for (std::int32_t k = form.block_begin[b]; k < form.block_begin[b + 1]; ++k) {
      ASSERT_EQ(form.column_permutation[k] % paths, form.column_permutation[form.block_begin[b]] % paths);
    }
  }
}

TEST(BlockTriangularForm, StoredZerosCount) {
  const Csr<double> a(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 0, 1});
  EXPECT_EQ(block_triangular_form(a).blocks(), 1);
  const Csr<double> zero_on_both_sides(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 0, 0, 1});
  EXPECT_EQ(block_triangular_form(zero_on_both_sides).blocks(), 1);
  const Csr<double> zero_diagonal(2, 2, {0, 1, 2}, {0, 1}, {0, 1});
  EXPECT_EQ(block_triangular_form(zero_diagonal).structural_rank, 2);
}

TEST(BlockTriangularForm, AwkwardMatrices) {
  EXPECT_EQ(block_triangular_form(Csr<double>()).blocks(), 0);
  EXPECT_EQ(block_triangular_form(Csr<double>()).largest_block(), 0);
  const Csr<float> no_entries(3, 3, {0, 0, 0, 0}, {}, {});
  EXPECT_EQ(block_triangular_form(no_entries).blocks(), 3);
  EXPECT_EQ(block_triangular_form(no_entries).structural_rank, 0);
  const Csr<float> rectangular(1, 2, {0, 0}, {}, {});
  EXPECT_THROW((void)block_triangular_form(rectangular), DimensionMismatch);
}

}  // namespace
}  // namespace echelon

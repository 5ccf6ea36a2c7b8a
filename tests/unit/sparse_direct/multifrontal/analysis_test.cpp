// SPDX-License-Identifier: BSD-3-Clause
// The symbolic factorisation of a matrix of any pattern is that of the pattern of A + A^T.
#include "sparse_direct/multifrontal/analysis.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {
namespace {

enum class Triangles { both, upper, mixed };

/// The 5-point matrix of a grid of `side` by `side` points, of which both, the upper, or alternately the
/// upper and the lower off-diagonal elements are stored.
Csr<double> grid(std::int32_t side, Triangles stored) {
  std::vector<Triplet<double>> elements;
  int edges = 0;
  const auto connect = [&](std::int32_t i, std::int32_t j) {
    const bool lower = stored == Triangles::mixed && ++edges % 2 == 0;
    if (!lower) elements.push_back({i, j, -1});
    if (lower || stored == Triangles::both) elements.push_back({j, i, -1});
  };
  for (std::int32_t y = 0; y < side; ++y) {
    for (std::int32_t x = 0; x < side; ++x) {
      const std::int32_t i = y * side + x;
      elements.push_back({i, i, 4});
      if (x + 1 < side) connect(i, i + 1);
      if (y + 1 < side) connect(i, i + side);
    }
  }
  return Csr<double>::from_triplets(std::int64_t{side} * side, std::int64_t{side} * side, elements);
}

void expect_equal(const SymbolicFactor& a, const SymbolicFactor& b) {
  EXPECT_EQ(a.permutation, b.permutation);
  EXPECT_EQ(a.supernode_begin, b.supernode_begin);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.factor_entries, b.factor_entries);
}

TEST(MatrixAnalysis, StoredTriangles_DoNotMatter) {
  const AnalysisOptions options{.ordering = {.ordering = Ordering::dissection}};
  for (const std::int32_t side : {1, 2, 9}) {
    const Csr<double> symmetric = grid(side, Triangles::both);
    const SymbolicFactor expected = analyze_symmetric(pattern_of(symmetric), options);
    for (const Triangles stored : {Triangles::both, Triangles::upper, Triangles::mixed})
      expect_equal(analyze_symmetric(grid(side, stored), options), expected);
  }
}

TEST(MatrixAnalysis, Border_ComesLast) {
  const std::vector<std::int32_t> border{80, 0, 40};
  const SymbolicFactor expected = analyze_bordered(pattern_of(grid(9, Triangles::both)), border);
  EXPECT_EQ(expected.border(), 3);
  for (const Triangles stored : {Triangles::both, Triangles::upper, Triangles::mixed})
    expect_equal(analyze_bordered(grid(9, stored), border, {}), expected);
}

}  // namespace
}  // namespace echelon::sparse_direct

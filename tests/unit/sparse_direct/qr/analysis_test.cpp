// SPDX-License-Identifier: BSD-3-Clause
// The analysis of a sparse QR factorisation: orders, rows of fronts and predicted sizes.
#include "sparse_direct/qr/analysis.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct {
namespace {

/// A row of two elements for each edge of a grid in three dimensions.
Csr<double> edges_of_grid(std::int32_t points) {
  std::vector<Triplet<double>> elements;
  std::int32_t rows = 0;
  const std::int32_t steps[] = {1, points, points * points};
  for (std::int32_t v = 0; v < points * points * points; ++v) {
    for (const std::int32_t step : steps) {
      if (v / step % points == points - 1) continue;
      elements.push_back({rows, v, 1.0});
      elements.push_back({rows++, v + step, -1.0});
    }
  }
  return Csr<double>::from_triplets(rows, std::int64_t{points} * points * points, elements);
}

TEST(QrAnalysis, EveryColumnAndRow_HasItsPlace) {
  const Csr<double> a = edges_of_grid(7);
  const QrAnalysis analysis = analyze_qr(rectangular_pattern_of(a), {}, {});
  ASSERT_EQ(std::ssize(analysis.order), a.columns());
  EXPECT_TRUE(is_permutation(analysis.order, a.columns()));
  EXPECT_TRUE(is_permutation(analysis.rows, a.rows()));
  const std::vector<std::int32_t> position = inverse_permutation(analysis.order);
  for (std::int64_t s = 0; s < analysis.fronts.supernodes(); ++s) {
    std::vector<std::int32_t> columns(static_cast<std::size_t>(analysis.fronts.pivots(s)));
    std::iota(columns.begin(), columns.end(), analysis.fronts.supernode_begin[s]);
    const auto below = analysis.fronts.rows_of(s);
    columns.insert(columns.end(), below.begin(), below.end());
    for (std::int32_t k = analysis.rows_begin[s]; k < analysis.rows_begin[s + 1]; ++k) {
      for (const std::int32_t j : rectangular_pattern_of(a).row(analysis.rows[k])) {
        EXPECT_TRUE(std::binary_search(columns.begin(), columns.end(), position[j]));
        EXPECT_GE(position[j], analysis.first_pivots[k]);
      }
    }
  }
}

TEST(QrAnalysis, ColumnsNamedLast_ComeLast) {
  const Csr<double> a = edges_of_grid(5);
  const std::vector<std::int32_t> last = {60, 3};
  const QrAnalysis analysis = analyze_qr(rectangular_pattern_of(a), {}, {.last = last});
  EXPECT_TRUE(is_permutation(analysis.order, a.columns()));
  std::vector<std::int32_t> end(analysis.order.end() - 2, analysis.order.end());
  std::sort(end.begin(), end.end());
  EXPECT_EQ(end, (std::vector<std::int32_t>{3, 60}));
}

/// Where many flops are predicted, orderings of A^T A are tried; not if columns have to come last.
TEST(QrAnalysis, LargeGrid_TakesFewerFlopsByAnOrderOfTheNormalMatrix) {
  const Csr<double> a = edges_of_grid(38);
  const std::vector<std::int32_t> last = {0};
  const QrAnalysis by_colamd = analyze_qr(rectangular_pattern_of(a), {}, {.last = last});
  const QrAnalysis best = analyze_qr(rectangular_pattern_of(a), {}, {});
  EXPECT_LT(best.flops, 0.8 * by_colamd.flops);
  EXPECT_TRUE(is_permutation(best.order, a.columns()));
}

}  // namespace
}  // namespace echelon::sparse_direct

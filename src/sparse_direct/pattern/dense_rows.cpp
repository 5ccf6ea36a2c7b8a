// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/pattern/dense_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

PatternStorage induced_pattern(const Pattern& a, std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(a.n), -1);
  for (std::size_t k = 0; k < rows.size(); ++k) number[rows[k]] = static_cast<std::int32_t>(k);
  PatternStorage result;
  result.row_begin.reserve(rows.size() + 1);
  result.row_begin.push_back(0);
  for (const std::int32_t row : rows) {
    for (const std::int32_t j : a.row(row)) {
      if (number[j] >= 0) result.columns.push_back(number[j]);
    }
    result.row_begin.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

double longest_sparse_row(std::int64_t n) {
  return std::max(16.0, 10 * std::sqrt(static_cast<double>(n)));
}

std::vector<std::int32_t> with_dense_rows_last(const Pattern& a, const OrderingFunction& order) {
  const double longest = longest_sparse_row(a.n);
  const auto length = [&](std::int64_t row) { return a.row_begin[row + 1] - a.row_begin[row]; };
  const auto is_dense = [&](std::int64_t row) { return static_cast<double>(length(row)) > longest; };
  std::int64_t first_dense = 0;
  while (first_dense < a.n && !is_dense(first_dense)) ++first_dense;
  if (first_dense == a.n) return order(a);
  std::vector<std::int32_t> sparse;
  std::vector<std::int32_t> dense;
  for (std::int32_t row = 0; row < a.n; ++row) (is_dense(row) ? dense : sparse).push_back(row);
  const PatternStorage induced = induced_pattern(a, sparse);
  std::vector<std::int32_t> permutation;
  permutation.reserve(static_cast<std::size_t>(a.n));
  for (const std::int32_t k : order(induced.view())) permutation.push_back(sparse[k]);
  std::stable_sort(dense.begin(), dense.end(),
                   [&](std::int32_t x, std::int32_t y) { return length(x) < length(y); });
  permutation.insert(permutation.end(), dense.begin(), dense.end());
  return permutation;
}

}  // namespace echelon::sparse_direct

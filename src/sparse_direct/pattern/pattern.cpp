// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/pattern/pattern.hpp"

#include "sparse_direct/pattern/chunks.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Rows of P A without the diagonal.
PatternStorage permuted_rows(std::int64_t n, std::span<const std::int64_t> row_begin,
                             std::span<const std::int32_t> columns,
                             std::span<const std::int32_t> row_permutation) {
  PatternStorage result;
  result.row_begin.reserve(static_cast<std::size_t>(n) + 1);
  result.row_begin.push_back(0);
  result.columns.reserve(columns.size());
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t row = row_permutation.empty() ? k : row_permutation[k];
    for (std::int64_t p = row_begin[row]; p < row_begin[row + 1]; ++p) {
      if (columns[p] != k) result.columns.push_back(columns[p]);
    }
    result.row_begin.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

PatternStorage transposed(const PatternStorage& a) {
  const Pattern view = a.view();
  PatternStorage result;
  result.row_begin.assign(static_cast<std::size_t>(view.n) + 1, 0);
  result.columns.resize(a.columns.size());
  for (const std::int32_t j : a.columns) ++result.row_begin[j + 1];
  std::partial_sum(result.row_begin.begin(), result.row_begin.end(), result.row_begin.begin());
  std::vector<std::int64_t> next(result.row_begin.begin(), result.row_begin.end());
  for (std::int64_t i = 0; i < view.n; ++i) {
    for (const std::int32_t j : view.row(i)) result.columns[next[j]++] = static_cast<std::int32_t>(i);
  }
  return result;
}

/// The union of two patterns whose columns ascend.
PatternStorage united(const PatternStorage& a, const PatternStorage& b) {
  const Pattern first = a.view();
  const Pattern second = b.view();
  PatternStorage result;
  result.row_begin.reserve(a.row_begin.size());
  result.row_begin.push_back(0);
  result.columns.resize(a.columns.size() + b.columns.size());
  auto end = result.columns.begin();
  for (std::int64_t i = 0; i < first.n; ++i) {
    const auto x = first.row(i);
    const auto y = second.row(i);
    end = std::set_union(x.begin(), x.end(), y.begin(), y.end(), end);
    result.row_begin.push_back(end - result.columns.begin());
  }
  result.columns.erase(end, result.columns.end());
  return result;
}

}  // namespace

template <class T>
PatternStorage symmetrized_pattern(const Csr<T>& a, std::span<const std::int32_t> row_permutation) {
  PatternStorage rows =
      permuted_rows(a.rows(), a.row_offsets().span(), a.column_indices().span(), row_permutation);
  PatternStorage columns = transposed(rows);
  if (rows.row_begin == columns.row_begin && rows.columns == columns.columns) return rows;
  return united(rows, columns);
}

#define ECHELON_INSTANTIATE(T) \
  template PatternStorage symmetrized_pattern(const Csr<T>&, std::span<const std::int32_t>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

PatternStorage permuted_pattern(const Pattern& a, std::span<const std::int32_t> permutation, int threads) {
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation, threads);
  PatternStorage result;
  result.row_begin.resize(static_cast<std::size_t>(a.n) + 1);
  result.row_begin[0] = 0;
  for_each_chunk(a.n, threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t k = first; k < end; ++k) {
      const auto row = a.row(permutation[k]);
      result.row_begin[k + 1] = std::ssize(row) - std::count(row.begin(), row.end(), permutation[k]);
    }
  });
  for (std::int64_t k = 0; k < a.n; ++k) result.row_begin[k + 1] += result.row_begin[k];
  result.columns.resize(static_cast<std::size_t>(result.row_begin[a.n]));
  for_each_chunk(a.n, threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    std::int64_t place = result.row_begin[first];
    for (std::int64_t k = first; k < end; ++k) {
      for (const std::int32_t j : a.row(permutation[k])) {
        if (j != permutation[k]) result.columns[place++] = inverse[j];
      }
    }
  });
  return result;
}

std::vector<std::int32_t> inverse_permutation(std::span<const std::int32_t> permutation, int threads) {
  std::vector<std::int32_t> inverse(permutation.size());
  for_each_chunk(std::ssize(permutation), threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t k = first; k < end; ++k) inverse[permutation[k]] = static_cast<std::int32_t>(k);
  });
  return inverse;
}

bool is_permutation(std::span<const std::int32_t> candidate, std::int64_t n) {
  if (static_cast<std::int64_t>(candidate.size()) != n) return false;
  std::vector<bool> seen(candidate.size(), false);
  for (const std::int32_t i : candidate) {
    if (i < 0 || i >= n || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

}  // namespace echelon::sparse_direct

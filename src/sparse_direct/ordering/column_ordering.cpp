// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/column_ordering.hpp"

#include "backend/device/memory_limits.hpp"

#include <echelon/error.hpp>

#include <colamd.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::sparse_direct {

namespace {

std::size_t workspace(int nonzeros, int rows, int columns) {
  return colamd_recommended(nonzeros, rows, columns);
}
std::size_t workspace(SuiteSparse_long nonzeros, SuiteSparse_long rows, SuiteSparse_long columns) {
  return colamd_l_recommended(nonzeros, rows, columns);
}

int order(int rows, int columns, std::vector<int>& indices, std::vector<int>& begin) {
  std::array<int, COLAMD_STATS> stats{};
  return colamd(rows, columns, static_cast<int>(indices.size()), indices.data(), begin.data(), nullptr,
                stats.data());
}
SuiteSparse_long order(SuiteSparse_long rows, SuiteSparse_long columns,
                       std::vector<SuiteSparse_long>& indices, std::vector<SuiteSparse_long>& begin) {
  std::array<SuiteSparse_long, COLAMD_STATS> stats{};
  return colamd_l(rows, columns, static_cast<SuiteSparse_long>(indices.size()), indices.data(), begin.data(),
                  nullptr, stats.data());
}

/// Row indices of A by columns, in an array that continues with COLAMD's workspace and receives
/// the permutation.
template <class Index>
std::vector<std::int32_t> order_columns(const RectangularPattern& a) {
  const std::size_t size = workspace(static_cast<Index>(a.indices.size()), static_cast<Index>(a.rows),
                                     static_cast<Index>(a.columns));
  if (size == 0) throw host_out_of_memory(0);
  std::vector<Index> indices(size);
  std::vector<Index> begin(static_cast<std::size_t>(a.columns) + 1, 0);
  for (const std::int32_t j : a.indices) ++begin[j + 1];
  for (std::int64_t j = 0; j < a.columns; ++j) begin[j + 1] += begin[j];
  std::vector<Index> next(begin.begin(), begin.end());
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (const std::int32_t j : a.row(i)) indices[next[j]++] = static_cast<Index>(i);
  }
  if (order(static_cast<Index>(a.rows), static_cast<Index>(a.columns), indices, begin) == 0) {
    throw Error("COLAMD refuses the pattern");
  }
  return {begin.begin(), begin.begin() + a.columns};
}

}  // namespace

std::vector<std::int32_t> column_minimum_degree_ordering(const RectangularPattern& a) {
  // COLAMD's workspace of about 2.2 nonzeros + 11 (m + n) integers has to be countable.
  const double size =
      2.2 * static_cast<double>(a.indices.size()) + 11.0 * static_cast<double>(a.rows + a.columns);
  return size < std::numeric_limits<std::int32_t>::max() ? order_columns<int>(a)
                                                         : order_columns<SuiteSparse_long>(a);
}

}  // namespace echelon::sparse_direct

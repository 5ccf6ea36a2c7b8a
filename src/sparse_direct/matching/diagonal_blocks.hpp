// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Columns of a square matrix in an order that makes it block upper triangular, if the rows that are matched
/// to them are put into the same order.
struct DiagonalBlocks {
  std::vector<std::int32_t> columns;      ///< block by block, ascending in each
  std::vector<std::int32_t> block_begin;  ///< blocks + 1 positions
};

/// The smallest diagonal blocks of a matrix in CSR form whose row row_of_column[j] is matched to column j:
/// strongly connected components of the graph with an edge from column j to each column in which that row has
/// an entry. O(n + nonzeros) time. R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput.
/// 1 (1972).
[[nodiscard]] DiagonalBlocks diagonal_blocks(std::span<const std::int64_t> row_begin,
                                             std::span<const std::int32_t> column_indices,
                                             std::span<const std::int32_t> row_of_column);

}  // namespace echelon::sparse_direct

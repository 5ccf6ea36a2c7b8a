// SPDX-License-Identifier: BSD-3-Clause
/// Analysis for the left-looking factorisation.
#pragma once

#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Permutations that make a square matrix block upper triangular, with little fill in each diagonal block.
struct BlockOrder {
  std::vector<std::int32_t> rows;     ///< row k of the permuted matrix is row rows[k] of A
  std::vector<std::int32_t> columns;  ///< likewise; row rows[k] is matched to column columns[k]
  /// Block b consists of rows and columns block_begin[b], ..., block_begin[b + 1] - 1 of the permuted matrix;
  /// entries of its rows lie in the columns from block_begin[b] on.
  std::vector<std::int32_t> block_begin;
  std::string ordering;  ///< word of the ordering of the blocks
  double entries = 0;    ///< of L and U and of the blocks right of them, if the diagonal provides the pivots
  double flops = 0;      ///< likewise

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::int64_t blocks() const { return std::ssize(block_begin) - 1; }
  [[nodiscard]] std::int64_t largest_block() const {
    std::int64_t largest = 0;
    for (std::int64_t b = 0; b < blocks(); ++b)
      largest = std::max<std::int64_t>(largest, block_begin[b + 1] - block_begin[b]);
    return largest;
  }
};

/// Block triangular form of a square A, on the host, whose row row_of_column[j] is matched to column j, and
/// an ordering of each block: AMD for `automatic`. `entries` and `flops` are exact for other orderings than
/// AMD, for which they are upper bounds. O(n + nonzeros) time, excluding the orderings. Throws OutOfMemory.
template <class T>
[[nodiscard]] BlockOrder block_order(const Csr<T>& a, std::span<const std::int32_t> row_of_column,
                                     const OrderingOptions& options);

/// False for large meshes, whose factors have many flops per entry, so that no order of blocks need be tried.
template <class T>
[[nodiscard]] bool may_have_few_flops(const Csr<T>& a) {
  return !is_large_mesh(pattern_of(a));
}

/// True where a left-looking factorisation takes less time than fronts, analysis and solution included.
[[nodiscard]] inline bool has_few_flops(const BlockOrder& order) {
  constexpr double most_per_entry = 20;
  return order.flops <= most_per_entry * order.entries;
}

}  // namespace echelon::sparse_direct

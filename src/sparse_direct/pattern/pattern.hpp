// SPDX-License-Identifier: BSD-3-Clause
/// Symmetric patterns: the adjacency structure that orderings and the symbolic factorisation work on.
#pragma once

#include "support/uninitialized_vector.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Positions of the nonzeros of an n-by-n matrix with a symmetric pattern, row by row: row i holds
/// columns[row_begin[i]], ..., columns[row_begin[i + 1] - 1], in any order and without duplicates. Both
/// triangles are present. Diagonal entries may be present or not, and are ignored. Owns nothing.
struct Pattern {
  std::int64_t n = 0;
  std::span<const std::int64_t> row_begin;  ///< n + 1; may be empty for n == 0
  std::span<const std::int32_t> columns;

  [[nodiscard]] std::span<const std::int32_t> row(std::int64_t i) const {
    return columns.subspan(static_cast<std::size_t>(row_begin[i]),
                           static_cast<std::size_t>(row_begin[i + 1] - row_begin[i]));
  }
  /// Stored entries.
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(columns.size()); }
};

/// A pattern that owns its arrays.
struct PatternStorage {
  UninitializedVector<std::int64_t> row_begin;
  UninitializedVector<std::int32_t> columns;

  [[nodiscard]] Pattern view() const {
    return {row_begin.empty() ? 0 : static_cast<std::int64_t>(row_begin.size()) - 1, row_begin, columns};
  }
};

/// The pattern of a square matrix on the host whose pattern is known to be symmetric, in place.
template <class T>
[[nodiscard]] Pattern pattern_of(const Csr<T>& a) {
  return {a.rows(), a.row_offsets().span(), a.column_indices().span()};
}

/// The pattern of P A + (P A)^T without its diagonal, columns ascending, for a square A on the host of any
/// pattern: row k of P A is row row_permutation[k] of A; an empty row_permutation is the identity. Stored
/// zeros count as entries. O(n + nonzeros) time.
template <class T>
[[nodiscard]] PatternStorage symmetrized_pattern(const Csr<T>& a,
                                                 std::span<const std::int32_t> row_permutation = {});

/// The pattern of P A P^T: its row k is row permutation[k] of A. Without the diagonal; the columns of a row
/// keep the order that they have in A.
[[nodiscard]] PatternStorage permuted_pattern(const Pattern& a, std::span<const std::int32_t> permutation,
                                              int threads = 1);

/// inverse[permutation[k]] = k.
[[nodiscard]] std::vector<std::int32_t> inverse_permutation(std::span<const std::int32_t> permutation,
                                                            int threads = 1);

/// True if each of 0, ..., n - 1 occurs exactly once.
[[nodiscard]] bool is_permutation(std::span<const std::int32_t> candidate, std::int64_t n);

}  // namespace echelon::sparse_direct

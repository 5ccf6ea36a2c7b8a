// SPDX-License-Identifier: BSD-3-Clause
/// Analysis of sparse matrices before a direct solution: orderings, block triangular form, and what a factor
/// will cost.
#pragma once

#include <echelon/csr.hpp>
#include <echelon/enum_words.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Row and column permutations that make a square matrix block upper triangular, with as many blocks as
/// possible: only the diagonal blocks have to be factored.
struct BlockTriangularForm {
  /// Row k of the permuted matrix is row row_permutation[k] of A.
  std::vector<std::int32_t> row_permutation;
  std::vector<std::int32_t> column_permutation;
  /// Block b consists of rows and columns block_begin[b], ..., block_begin[b + 1] - 1 of the permuted matrix;
  /// entries of its rows lie in the columns from block_begin[b] on.
  std::vector<std::int32_t> block_begin;
  /// Number of entries on the diagonal of the permuted matrix: the structural rank of A's stored entries. If
  /// it is less than n, A is singular for all values, and the blocks are those of one of several maximum
  /// matchings.
  std::int64_t structural_rank = 0;

  [[nodiscard]] std::int64_t blocks() const {
    return block_begin.empty() ? 0 : static_cast<std::int64_t>(block_begin.size()) - 1;
  }
  /// Rows of the largest block; 0 for an empty matrix.
  [[nodiscard]] std::int64_t largest_block() const;
};

/// Block triangular form of a square matrix, from a maximum matching and the strongly connected components of
/// its graph. Stored zeros count as entries: the form holds for all values. A on a GPU is copied to the host.
/// O(nonzeros sqrt(n)) time at worst, close to O(nonzeros) for most matrices; 60 bytes a row. Throws
/// DimensionMismatch unless A is square.
/// I. Duff, J. Reid, An implementation of Tarjan's algorithm for the block triangularization of a matrix, ACM
/// Trans. Math. Softw. 4 (1978).
template <class T>
[[nodiscard]] BlockTriangularForm block_triangular_form(const Csr<T>& A);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Analysis of sparse matrices for direct methods: orderings, block triangular form, and the predicted cost
/// of a factorisation.
#pragma once

#include <echelon/array.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/ordering.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Row and column permutations that make a square matrix block upper triangular, with as many blocks as
/// possible: only the diagonal blocks have to be factored.
struct ECHELON_API BlockTriangularForm {
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
/// its graph; of a symmetric pattern with a full diagonal, from its connected components, which OpenMP's
/// threads find. Stored zeros count as entries: the form holds for all values. A on a GPU is copied to the
/// host. O(nonzeros sqrt(n)) time at worst, close to O(nonzeros) for most matrices; 60 bytes a row. Throws
/// DimensionMismatch unless A is square.
/// I. Duff, J. Reid, An implementation of Tarjan's algorithm for the block triangularization of a matrix, ACM
/// Trans. Math. Softw. 4 (1978).
template <class T>
[[nodiscard]] ECHELON_API BlockTriangularForm block_triangular_form(const Csr<T>& A);

/// The rows and columns of a square matrix in the order of elimination, for permute_symmetric: an ordering of
/// the graph of A + A^T. A on a GPU is copied to the host; the result is on the host. Throws
/// DimensionMismatch unless A is square, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Array<std::int32_t> fill_reducing_ordering(const Csr<T>& A,
                                                                     Ordering ordering = Ordering::automatic);

/// Cost of a direct factorisation of a sparse matrix, as predicted from its pattern. Pivoting may add to it.
struct ECHELON_API FactorPrediction {
  /// True for L L^T or L D L^T of a matrix with symmetric values, false for L U of P A, where P brings large
  /// elements to the diagonal if they are not there.
  bool symmetric = false;
  std::string ordering;      ///< word of the ordering that was chosen
  std::int64_t entries = 0;  ///< nonzeros of L; for L U, of L and U, whose diagonal counts once
  double flops = 0;
  /// Memory of the factor: its values, zeros that are stored for the sake of dense blocks included, and
  /// indices.
  std::size_t bytes = 0;
  std::int64_t supernodes = 0;     ///< dense blocks of columns
  std::int64_t largest_front = 0;  ///< rows of the largest dense matrix to factor
  std::int64_t structural_rank = 0;
};

/// Positions of the nonzeros of a factor, by supernodes. For L U they are those of L, and U has the
/// transposed ones.
struct ECHELON_API FactorPattern {
  /// Row k of the factored matrix is row row_permutation[k] of A.
  std::vector<std::int32_t> row_permutation;
  std::vector<std::int32_t> column_permutation;  ///< the same if `prediction.symmetric`
  /// Supernode s consists of columns supernode_begin[s], ..., supernode_begin[s + 1] - 1 of L: a dense lower
  /// triangle, and dense rows below it.
  std::vector<std::int32_t> supernode_begin;
  /// The rows below the triangle of supernode s are rows[row_begin[s]], ..., rows[row_begin[s + 1] - 1].
  std::vector<std::int64_t> row_begin;
  std::vector<std::int32_t> rows;
  FactorPrediction prediction;
};

/// The pattern of the factor of a square matrix. O(n + nonzeros + rows listed) time after the ordering. A on
/// a GPU is copied to the host. Throws DimensionMismatch unless A is square, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API FactorPattern factor_pattern(const Csr<T>& A,
                                                       Ordering ordering = Ordering::automatic);

/// factor_pattern(A, ordering).prediction.
template <class T>
[[nodiscard]] ECHELON_API FactorPrediction predict_factor(const Csr<T>& A,
                                                          Ordering ordering = Ordering::automatic);

}  // namespace echelon

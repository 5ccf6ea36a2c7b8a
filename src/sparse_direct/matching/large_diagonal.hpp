// SPDX-License-Identifier: BSD-3-Clause
/// Row exchanges and scaling before a sparse factorisation, which leave less to its pivoting.
#pragma once

#include "sparse_direct/matching/scaling.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon::sparse_direct {

/// Source of the scaling factors.
enum class ScalingKind {
  infinity_norm,  ///< infinity_norm_scaling
  matching,       ///< the dual variables of maximum_product_matching
};
[[nodiscard]] std::string_view to_string(ScalingKind kind);

struct MatchingOptions {
  std::int64_t work_limit = -1;  ///< of maximum_product_matching; negative: default_work_limit
  /// No matching where every |a_ii| is at least this fraction of the largest magnitude in column i, in the
  /// matrix scaled to infinity norm 1: exchanging rows would destroy the symmetry of the pattern for nothing.
  double good_diagonal = 0.1;
};

/// Row exchanges P and scaling for the LU factorisation of a square A: P R A C has large diagonal elements.
struct LargeDiagonal {
  /// Row k of P A is row row_permutation[k] of A. Identity where no matching was needed. Columns without a
  /// matched row get the unmatched rows in ascending order.
  std::vector<std::int32_t> row_permutation;
  Scaling scaling;  ///< by rows and columns of A, before the permutation
  ScalingKind kind = ScalingKind::infinity_norm;
  bool permuted = false;                        ///< row_permutation is not the identity
  bool optimal = true;                          ///< false when the work limit ended the matching
  std::int64_t structural_rank = 0;             ///< of the elements that differ from zero
  std::vector<std::int32_t> unmatched_rows;     ///< n - structural_rank rows, ascending
  std::vector<std::int32_t> unmatched_columns;  ///< as many columns, ascending
};

/// Brings large elements to the diagonal by a maximum product matching, and scales with its dual variables:
/// scaled elements are at most 1 and the diagonal is 1. Factors that the matching spreads over more than
/// 1/eps beyond infinity_norm_scaling's are a sign of a nearly singular submatrix, and would hide all else in
/// it: the permutation is kept and infinity_norm_scaling taken. No matching, either, where all columns with
/// small diagonal elements are dense, and so are their rows: the elimination of the others fills their
/// diagonals.
template <class T>
[[nodiscard]] LargeDiagonal large_diagonal(const Csr<T>& a, const MatchingOptions& options = {});

/// Counterpart of large_diagonal for a factorisation that compares pivots with their rows and exchanges
/// columns: no matching where every |a_ii| is at least options.good_diagonal times the largest magnitude in
/// row i. With `equilibration` in place of infinity_norm_scaling, since analyses of the matrices for which
/// this is meant take little time.
template <class T>
[[nodiscard]] LargeDiagonal large_diagonal_of_rows(const Csr<T>& a, const MatchingOptions& options = {});

/// Scaling and pairs for the LDL^T factorisation of a symmetric A, both triangles of which are stored.
struct SymmetricMatching {
  std::vector<double> scale;  ///< of rows and columns
  ScalingKind kind = ScalingKind::infinity_norm;
  /// Row with which row i should form a 2-by-2 pivot, or i itself for a pivot of its own. Empty when all rows
  /// are pivots of their own.
  std::vector<std::int32_t> partner;
  bool optimal = true;
  std::int64_t structural_rank = 0;
  std::vector<std::int32_t> unmatched_rows;
};

/// Symmetric counterpart of large_diagonal: s_i = sqrt(r_i c_i); the cycles of the matching are split into
/// pairs whose off-diagonal element is large, and single rows. No matching where large_diagonal needs none.
/// I. Duff, S. Pralet, Strategies for scaling and pivoting for sparse symmetric indefinite problems, SIAM J.
/// Matrix Anal. Appl. 27 (2005).
template <class T>
[[nodiscard]] SymmetricMatching symmetric_matching(const Csr<T>& a, const MatchingOptions& options = {});

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// A matching of rows and columns with the largest product of |a_ij|, and the logarithms of row and column
/// factors that certify it: exp(log_row_scale[i] + log_column_scale[j]) |a_ij| is at most 1 up to rounding,
/// and 1 for every matched element of a structurally nonsingular matrix.
struct WeightedMatching {
  std::vector<std::int32_t> row_of_column;  ///< row matched to each column, or -1
  std::vector<double> log_row_scale;
  std::vector<double> log_column_scale;
  std::int64_t structural_rank = 0;  ///< number of matched columns, the largest possible
  /// False when the work limit ended the search. The matching is then of full size, but its product may not
  /// be the largest and nothing is known of the scaled elements.
  bool optimal = true;
};

/// Finds a matching with the largest product for a square matrix on the host. Elements that are zero or not
/// finite do not count. Shortest augmenting paths in the graph of the costs log max_k |a_ik| - log |a_ij|:
/// O(n nonzeros log n) time at worst, and close to linear for most matrices; 20 bytes a nonzero or less.
/// `work_limit` bounds the elements that are looked at; the matching is then completed without regard to
/// values. I. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix,
/// SIAM J. Matrix Anal. Appl. 22 (2001).
template <class T>
[[nodiscard]] WeightedMatching maximum_product_matching(const Csr<T>& a, std::int64_t work_limit);

/// Default of the work limit, max(2e8, 20 nonzeros): about a second on one core.
[[nodiscard]] std::int64_t default_work_limit(std::int64_t nonzeros);

}  // namespace echelon::sparse_direct

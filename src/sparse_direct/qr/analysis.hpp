// SPDX-License-Identifier: BSD-3-Clause
/// Analysis of A P = Q R for a sparse A of any shape: column singletons, the order of the other columns, and
/// the fronts.
#pragma once

#include "sparse_direct/pattern/rectangular_pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// A column with one element in the rows that the singletons before it leave: it has a row of R without
/// arithmetic.
struct ColumnSingleton {
  std::int32_t row = 0;
  std::int32_t column = 0;
  std::int64_t element = 0;  ///< index of its element by rows
};

/// Finds singletons, each in what the ones before it leave, in O(entries) time. `a` is given by rows and by
/// columns; `is_large(element)` tells whether an element, by rows, may be that of a singleton. Columns in
/// `excluded` are none.
template <class IsLarge>
[[nodiscard]] std::vector<ColumnSingleton> find_column_singletons(const RectangularPattern& rows,
                                                                  const RectangularPattern& columns,
                                                                  std::span<const std::int32_t> excluded,
                                                                  const IsLarge& is_large) {
  std::vector<std::int32_t> count(static_cast<std::size_t>(columns.rows));
  std::vector<bool> is_excluded(count.size(), false);
  std::vector<bool> is_taken(static_cast<std::size_t>(rows.rows), false);
  std::vector<std::int32_t> alone;
  const auto note = [&](std::int32_t j) {
    if (count[j] == 1 && !is_excluded[j]) alone.push_back(j);
  };
  for (const std::int32_t j : excluded) is_excluded[j] = true;
  for (std::int32_t j = 0; j < columns.rows; ++j) {
    count[j] = static_cast<std::int32_t>(columns.row(j).size());
    note(j);
  }
  std::vector<ColumnSingleton> found;
  while (!alone.empty()) {
    const std::int32_t j = alone.back();
    alone.pop_back();
    if (count[j] != 1) continue;
    const auto of_column = columns.row(j);
    const std::int32_t i =
        *std::find_if(of_column.begin(), of_column.end(), [&](std::int32_t row) { return !is_taken[row]; });
    const auto of_row = rows.row(i);
    const std::int64_t element =
        rows.row_begin[i] + (std::find(of_row.begin(), of_row.end(), j) - of_row.begin());
    if (!is_large(element)) continue;
    found.push_back({i, j, element});
    is_taken[i] = true;
    for (const std::int32_t k : of_row) {
      --count[k];
      note(k);
    }
  }
  return found;
}

/// The structure of R. Its columns are those of the singletons, and then the pivots of the fronts.
struct QrAnalysis {
  std::vector<ColumnSingleton> singletons;
  std::vector<std::int32_t> order;  ///< column of A for each column of R
  /// The tree of the fronts, which is that of a Cholesky factorisation of A^T A; pivots count from the first
  /// column after the singletons.
  SymbolicFactor fronts;
  std::vector<std::int32_t> rows_begin;  ///< offsets into `rows`, one more than there are fronts
  /// Rows of A that begin in a pivot of each front.
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> first_pivots;  ///< the pivot in which each of `rows` begins
  // Sizes and costs for columns of full rank:
  std::int64_t largest_front = 0;       ///< elements of a front
  std::int64_t most_rows = 0;           ///< rows of a front
  std::int64_t most_columns = 0;        ///< columns of a front
  std::int64_t front_rows = 0;          ///< sum of the rows of all fronts
  std::int64_t factor_entries = 0;      ///< of R in the fronts, with the zeros of amalgamation
  std::int64_t reflection_entries = 0;  ///< of the vectors of Q
  double flops = 0;

  /// First column of R that is no singleton.
  [[nodiscard]] std::int64_t core_begin() const { return std::ssize(singletons); }
};

struct QrAnalysisOptions {
  std::span<const std::int32_t> last = {};  ///< columns that are no singletons, and are ordered last
  CancellationToken cancel = {};
};

/// Analyses the rows and columns that the singletons leave. The columns are ordered by COLAMD, and where many
/// flops are predicted by the orderings of A^T A, of which that with the fewest flops is taken. O(entries)
/// time without the ordering. Throws OutOfMemory, AnalysisCancelled. J. Gilbert, X. Li, E. Ng, B. Peyton,
/// Computing row and column counts for sparse QR and LU factorization, BIT 41 (2001); T. Davis, Algorithm
/// 915, SuiteSparseQR, ACM Trans. Math. Softw. 38 (2011).
[[nodiscard]] QrAnalysis analyze_qr(const RectangularPattern& a, std::vector<ColumnSingleton> singletons,
                                    const QrAnalysisOptions& options);

}  // namespace echelon::sparse_direct

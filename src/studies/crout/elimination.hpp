// SPDX-License-Identifier: BSD-3-Clause
/// Crout's method with partial pivoting, column by column.
#pragma once

#include "studies/crout/formulas.hpp"
#include "studies/crout/pivoting.hpp"
#include "support/setup_control.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <span>

namespace echelon::crout {

/// Result of the factorisation of some columns.
struct EliminationResult {
  std::int64_t first_replaced = -1;  ///< the first column whose pivot was replaced; negative: none
  std::int64_t replaced = 0;         ///< number of such columns
  bool cancelled = false;

  /// Notes that the pivot of column j was replaced.
  void add_replaced(std::int64_t j) {
    if (replaced++ == 0) first_replaced = j;
  }
};

/// P A = L U in place of A, m by n, m >= n: column j of L, its largest element to the diagonal, row j of U.
/// `pivots[j]` is the row that was exchanged with row j. `zero_pivot` takes the place of a pivot that is
/// exactly zero. n^2 (m - n/3) flops. Forsythe, Algorithm 16: Crout with pivoting, Comm. ACM 3 (1960).
template <class B, class T>
EliminationResult eliminate(B& backend, DenseView<T> A, std::span<std::int64_t> pivots, T zero_pivot,
                            const SetupControl& control) {
  EliminationResult result;
  Array<LargestElement> largest(backend.device(), 1);
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    const double x = static_cast<double>(j) / static_cast<double>(A.columns());
    result.cancelled = control.stops_at(x * x * (3 - 2 * x));
    if (result.cancelled) return result;
    evaluate_formulas<B, T>(backend, {j, A.rows(), j, j + 1}, Factor::lower, A, A, A);
    find_largest<B, T>(backend, A, j, j, largest.data());
    const LargestElement pivot = backend.read(largest.data());
    pivots[static_cast<std::size_t>(j)] = pivot.row;
    if (pivot.magnitude == 0) {
      backend.write(zero_pivot, A.data() + j * (A.leading() + 1));
      result.add_replaced(j);
    }
    exchange_rows(backend, A, j, pivot.row);
    evaluate_formulas<B, T>(backend, {j, j + 1, j + 1, A.columns()}, Factor::upper, A, A, A);
  }
  return result;
}

}  // namespace echelon::crout

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
  std::int64_t zero_pivot = -1;  ///< the first column without a nonzero pivot; negative: none
  bool cancelled = false;
};

/// P A = L U in place of A, m by n, m >= n: column j of L, its largest element to the diagonal, row j of U.
/// `pivots[j]` is the row that was exchanged with row j. Stops at a column without a nonzero pivot.
/// n^2 (m - n/3) flops. Forsythe, Algorithm 16: Crout with pivoting, Comm. ACM 3 (1960).
template <class B, class T>
EliminationResult eliminate(B& backend, DenseView<T> A, std::span<std::int64_t> pivots,
                            const SetupControl& control) {
  Array<LargestElement> largest(backend.device(), 1);
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    const double x = static_cast<double>(j) / static_cast<double>(A.columns());
    if (control.stops_at(x * x * (3 - 2 * x))) return {-1, true};
    evaluate_formulas<B, T>(backend, {j, A.rows(), j, j + 1}, Factor::lower, A, A, A);
    find_largest<B, T>(backend, A, j, j, largest.data());
    const LargestElement pivot = backend.read(largest.data());
    pivots[static_cast<std::size_t>(j)] = pivot.row;
    if (pivot.magnitude == 0) return {j, false};
    exchange_rows(backend, A, j, pivot.row);
    evaluate_formulas<B, T>(backend, {j, j + 1, j + 1, A.columns()}, Factor::upper, A, A, A);
  }
  return {};
}

}  // namespace echelon::crout

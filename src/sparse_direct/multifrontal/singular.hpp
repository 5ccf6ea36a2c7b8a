// SPDX-License-Identifier: BSD-3-Clause
/// Singular systems: replacement of rows and columns that are dependent by structure, and the facts that a
/// report states.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/matching/null_pivot.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// A copy of A in which these columns, and the rows to which row_permutation maps them, are zero but for a 1
/// where they meet.
template <class T>
[[nodiscard]] Csr<T> with_identity_in(const Csr<T>& a, std::span<const std::int32_t> columns,
                                      std::span<const std::int32_t> row_permutation) {
  const std::int64_t n = a.rows();
  std::vector<std::int32_t> column_of_row(static_cast<std::size_t>(n), -1);
  std::vector<bool> is_replaced(static_cast<std::size_t>(n), false);
  for (const std::int32_t j : columns) {
    column_of_row[row_permutation[j]] = j;
    is_replaced[j] = true;
  }
  Array<std::int64_t> offsets(Device(), n + 1);
  std::vector<std::int32_t> indices;
  std::vector<T> values;
  offsets[0] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (column_of_row[i] >= 0) {
      indices.push_back(column_of_row[i]);
      values.push_back(T{1});
    }
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1] && column_of_row[i] < 0; ++k) {
      if (is_replaced[a.column_indices()[k]]) continue;
      indices.push_back(a.column_indices()[k]);
      values.push_back(a.values()[k]);
    }
    offsets[i + 1] = static_cast<std::int64_t>(indices.size());
  }
  return Csr<T>::unchecked(n, n, std::move(offsets), Array<std::int32_t>(Device(), indices),
                           Array<T>(Device(), std::span<const T>(values)));
}

/// Text for a report, such as "A has rank 8 of 9: row 3 depends on ...". Rows and columns without a pivot
/// count from 0.
[[nodiscard]] inline std::string describe_dependence(std::int64_t n, std::vector<std::int32_t> rows,
                                                     std::vector<std::int32_t> columns, bool structural) {
  std::sort(rows.begin(), rows.end());
  std::sort(columns.begin(), columns.end());
  const bool one = rows.size() == 1;
  return "A has rank " + std::to_string(n - std::ssize(rows)) + " of " + std::to_string(n) +
         (structural ? " whatever its nonzeros" : "") + ": " + (one ? "row " : "rows ") + list_of(rows) +
         (one ? " depends" : " depend") + " on the others, and " + (one ? "column " : "columns ") +
         list_of(columns) + (one ? " has" : " have") + " no pivot (from 0)";
}

/// The equation with the largest residual relative to ||a_i||_1 ||x||_inf + |b_i|; row -1: all are zero.
struct WorstEquation {
  double error = 0;
  std::int64_t row = -1;
};

/// The worst equation for the residual r = b - A x.
template <class T>
[[nodiscard]] WorstEquation worst_equation(const Csr<T>& a, const T* b, const T* x, const T* r) {
  const std::int64_t n = a.rows();
  double x_norm = 0;
  for (std::int64_t j = 0; j < n; ++j) x_norm = std::max(x_norm, magnitude(x[j]));
  WorstEquation worst;
  for (std::int64_t i = 0; i < n; ++i) {
    double row_sum = 0;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      row_sum += magnitude(a.values()[k]);
    }
    const double residual = magnitude(r[i]);
    if (residual == 0) continue;
    const double error = residual / (row_sum * x_norm + magnitude(b[i]));
    if (!(error <= worst.error)) worst = {error, i};
  }
  return worst;
}

/// Whether x satisfies every equation of A x = b up to rounding errors, for r = b - A x.
template <class T>
[[nodiscard]] bool satisfies(const Csr<T>& a, const T* b, const T* x, const T* r) {
  return worst_equation(a, b, x, r).error <= 10 * null_pivot_tolerance<T>(a.rows());
}

/// The outcome for a singular A, from the residual r = b - A x: inconsistent if the residual of a row exceeds
/// rounding errors, else underdetermined.
template <class T>
[[nodiscard]] Outcome assess_singular(const Csr<T>& a, const T* b, const T* x, const T* r, std::int64_t rank,
                                      const std::string& rank_description) {
  if (!satisfies(a, b, x, r)) {
    const WorstEquation worst = worst_equation(a, b, x, r);
    return {Status::inconsistent,
            "row " + std::to_string(worst.row) + " (from 0) contradicts the others: its residual is " +
                short_number(worst.error) + " of its size",
            worst.row};
  }
  return {Status::underdetermined,
          rank_description +
              ": x is a solution with zeros in the unknowns without a pivot, and the null "
              "space, which can be added, has dimension " +
              std::to_string(a.rows() - rank)};
}

}  // namespace echelon::sparse_direct

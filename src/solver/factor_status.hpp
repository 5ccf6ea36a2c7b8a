// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of factorisations, with the same messages on every backend.
#pragma once

#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace echelon {

/// Outcome for a zero pivot; `pivot` counts from 0.
inline Outcome zero_pivot(std::int64_t pivot) {
  return {Status::singular, "A is singular: pivot " + std::to_string(pivot) + " (from 0) is exactly zero",
          pivot};
}

/// Outcome for a zero row or column: `what` is "row" or "column"; `index` counts from 0.
inline Outcome zero_line(const char* what, std::int64_t index) {
  return {Status::singular,
          std::string("A is singular: ") + what + " " + std::to_string(index) + " (from 0) is zero", index};
}

/// Outcome for elements at (row, column) and (column, row), counted from 0, that differ. The status is
/// not_spd for methods that need a positive definite A, else breakdown.
inline Outcome not_symmetric(std::int64_t row, std::int64_t column, Status status) {
  return {status,
          "A is not symmetric: its elements at row " + std::to_string(row) + ", column " +
              std::to_string(column) + " (from 0), and at the mirrored place differ",
          row};
}

/// Outcome for a pivot that is not positive; `value` completes "the pivot of column ... is ...".
inline Outcome not_positive(std::int64_t column, const std::string& value) {
  return {
      Status::not_spd,
      "A is not positive definite: the pivot of column " + std::to_string(column) + " (from 0) is " + value,
      column};
}

/// Largest difference between a_ij and a_ji, as a fraction of the larger one, that counts as a rounding
/// error.
template <class T>
inline constexpr double symmetry_tolerance = std::is_same_v<Real<T>, double> ? 1e-10 : 1e-4;

/// Outcome with the reciprocal condition number; `singular` if that is below the machine epsilon of T.
template <class T>
Outcome assess_condition(double reciprocal_condition) {
  Outcome outcome;
  outcome.reciprocal_condition = reciprocal_condition;
  if (!(reciprocal_condition >= std::numeric_limits<Real<T>>::epsilon())) {
    outcome.status = Status::singular;
    outcome.message = "A is singular to working precision: its reciprocal condition number is about " +
                      short_number(reciprocal_condition);
  }
  return outcome;
}

/// Growth max |u_ij| / max |a_ij| of partial pivoting that refinement can repair: with growth g the factors
/// are those of a matrix that differs from A by about g times the unit roundoff, and refinement converges
/// while the condition number is below 1 / (g eps). Growth of n^(2/3) is common for random matrices.
template <class T>
double acceptable_growth(std::int64_t n) {
  const double root = std::sqrt(static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
  return std::max(1 / root, 10 * std::cbrt(static_cast<double>(n) * static_cast<double>(n)));
}

inline std::string growth_warning(double growth) {
  return "LU with partial pivoting was given up, as elements grew " + short_number(growth) +
         " times: factored by QR instead";
}

inline Outcome cancelled_factorization() {
  return {Status::cancelled, "stopped by the caller during the factorisation"};
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// What factorisations say about a matrix that they cannot factor, in the same words on every backend.
#pragma once

#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <limits>

namespace echelon {

/// `pivot` counts from 0.
inline Outcome zero_pivot(std::int64_t pivot) {
  return {Status::singular, "A is singular: pivot " + std::to_string(pivot) + " (from 0) is exactly zero",
          pivot};
}

/// `what` is "row" or "column"; `index` counts from 0.
inline Outcome zero_line(const char* what, std::int64_t index) {
  return {Status::singular,
          std::string("A is singular: ") + what + " " + std::to_string(index) + " (from 0) is zero", index};
}

/// Below the unit roundoff of T a matrix is singular as far as T can tell.
template <class T>
Outcome judge_condition(double reciprocal_condition) {
  Outcome outcome;
  outcome.reciprocal_condition = reciprocal_condition;
  if (!(reciprocal_condition >= std::numeric_limits<T>::epsilon())) {
    outcome.status = Status::singular;
    outcome.message = "A is singular to working precision: its reciprocal condition number is about " +
                      short_number(reciprocal_condition) +
                      "; x is computed, but need not have a correct digit";
  }
  return outcome;
}

inline Outcome ilu0_without_pattern() {
  return {Status::breakdown, "ilu0 needs a sparse matrix: a dense one has no pattern to keep to"};
}

/// `row` counts from 0; `what` completes "the diagonal element ...".
inline Outcome ilu0_pivot(std::int64_t row, const char* what) {
  return {
      Status::breakdown,
      "ilu0 needs nonzero pivots: the diagonal element of row " + std::to_string(row) + " (from 0) " + what,
      row};
}

}  // namespace echelon

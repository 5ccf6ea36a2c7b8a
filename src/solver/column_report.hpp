// SPDX-License-Identifier: BSD-3-Clause
/// Reports: the outcome of a factorisation, the measured figures of each answer, the checks that they must
/// pass, and the choice of the column that the report describes.
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/implementation.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace echelon {

/// A report with the facts of an outcome.
[[nodiscard]] Report outcome_report(const Outcome& outcome, std::string method, const Device& device);

/// Relative residual and normwise backward error of an answer x to b, where r = b - A x.
[[nodiscard]] ColumnReport measured_column(const VectorFacts& b, const VectorFacts& x, const VectorFacts& r,
                                           double matrix_norm_inf);

/// Makes the outcome `not_a_number` if it promises a solution x and x has a NaN or Inf.
void check_finite(const VectorFacts& x, Outcome& outcome);
/// Makes the outcome `breakdown` if it promises a solution and the backward error exceeds the limit.
void check_backward_error(double backward_error, double limit, Outcome& outcome);

/// Estimate of ||x - x*|| / ||x|| of a direct method: see Report::error_estimate.
template <class T>
[[nodiscard]] double direct_error_estimate(double backward_error, double reciprocal_condition) {
  constexpr double roundoff = std::numeric_limits<T>::epsilon() / 2;
  return std::max(backward_error, roundoff) / reciprocal_condition;
}

/// Appends a column with the outcome's status. A report describes the worst of its columns: in descending
/// order one with a NaN, one without a solution, one with several solutions; among columns of equal rank the
/// one with the largest backward error. Returns whether the report now describes this column.
bool add_column(ColumnReport column, double residual_norm, const Outcome& outcome, Report& report);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Reports: the outcome of a factorisation, the measured figures of each answer, and the choice of the column
/// that the report describes.
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/implementation.hpp"

#include <string>

namespace echelon {

/// A report with the facts of an outcome.
[[nodiscard]] Report outcome_report(const Outcome& outcome, std::string method, const Device& device);

/// Relative residual and normwise backward error of an answer x to b, where r = b - A x.
[[nodiscard]] ColumnReport measured_column(const VectorFacts& b, const VectorFacts& x, const VectorFacts& r,
                                           double matrix_norm_inf);

/// Appends a column with the outcome's status. A report describes the worst of its columns: in descending
/// order one with a NaN, one without a solution, one with several solutions; among columns of equal rank the
/// one with the largest backward error. Returns whether the report now describes this column.
bool add_column(ColumnReport column, double residual_norm, const Outcome& outcome, Report& report);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Comparison of a report's claims with exact facts.
#pragma once

#include "claims/oracle.hpp"

#include <echelon/report.hpp>
#include <echelon/solver.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::claims {

/// Bounds for an element type.
struct Tolerances {
  double residual;            ///< relative residual that a solution may have, or excess over the least one
  double backward_error;      ///< backward error that excuses a larger residual
  double stopping;            ///< default tolerance of iterative methods
  double normal_equations;    ///< ||A^T r|| / (||A|| ||r||) of a least-squares solution
  double rounding;            ///< its backward error that excuses a larger one with a warning
  double required_condition;  ///< condition below which direct methods must succeed
  double doubtful_condition;  ///< condition below which a matrix must not be called singular
  double largest_digits;      ///< decimal digits of the type
  double largest_number;
  double smallest_solution;  ///< largest element below which rounding to the type alone spoils a solution
};
[[nodiscard]] Tolerances tolerances(bool single);

enum class Falsehood {
  solved,    ///< a reported solution that does not solve the system
  singular,  ///< a nonsingular matrix called singular, or a consistent system inconsistent
  digits,    ///< an error estimate that is too small by more than a digit
  failure,   ///< an exception other than a refusal
};
[[nodiscard]] std::string_view to_string(Falsehood falsehood);

/// Answer of one method to one system.
struct Answer {
  std::string method;
  bool refused = false;  ///< by an exception of the library
  std::string failure;   ///< text of another exception
  Report report;
  std::vector<double> x;  ///< empty if there is none
  double seconds = 0;
};

/// Claims of one answer, compared with the facts.
struct Finding {
  std::vector<std::pair<Falsehood, std::string>> falsehoods;  ///< each with the rule that is broken
  Residuals residuals;
  bool measured = false;                 ///< `residuals` is filled in
  bool must_succeed = false;             ///< a direct method or auto, for a system that it is made for
  bool solved_nonsingular = false;       ///< counts among the promised digits
  std::optional<double> claimed_digits;  ///< by the error estimate
  std::optional<double> true_digits;
};
/// `method` is null for "auto".
[[nodiscard]] Finding check(const LinearSystem& system, const Facts& facts, const Answer& answer,
                            const Method* method);

}  // namespace echelon::claims

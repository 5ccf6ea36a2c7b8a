// SPDX-License-Identifier: BSD-3-Clause
/// The end of methods that solve for corrections until the true residual is small enough.
#pragma once

#include "solver/rounding_level.hpp"
#include "support/text.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace echelon {

/// True if no further correction of x is needed or possible; then sets the outcome. `tolerance`: on the norm;
/// that of the job, or a smaller one. `before`: ||b - A x||_2 at the last correction, infinite at the first.
/// `norm`: now. `norms()` returns AnswerNorms; it is called only for a small residual.
template <class T, class Norms>
[[nodiscard]] bool corrections_have_ended(Job& job, double tolerance, std::int64_t max_iterations,
                                          double before, double norm, const Norms& norms) {
  if (norm <= tolerance) return true;
  const std::string reached = "relative residual " + short_number(norm / job.right_hand_side_norm) +
                              " after " + std::to_string(job.iterations) + " iterations";
  if (job.control->cancel.stop_requested()) {
    job.outcome = {Status::cancelled, "stopped by the caller at " + reached};
  } else if (!std::isfinite(norm)) {
    job.outcome = {Status::diverged,
                   "x is not finite after " + std::to_string(job.iterations) + " iterations"};
  } else if (job.iterations >= max_iterations) {
    job.outcome = {Status::max_iterations, reached + ", the limit"};
  } else if (norm < 0.5 * before) {
    return false;
  } else if (error_at_rounding_level<T>(job, norm, norms)) {
    job.outcome = {Status::converged, "rounding limits the residual: " + reached};
    job.limited_by_rounding = true;
  } else {
    job.outcome = {Status::stagnated, "the residual no longer falls: " + reached};
  }
  return true;
}

}  // namespace echelon

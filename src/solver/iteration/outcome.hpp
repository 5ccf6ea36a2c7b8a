// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of the cycles of an iteration, and their messages.
#pragma once

#include "solver/implementation.hpp"
#include "solver/iteration/state.hpp"
#include "support/text.hpp"

#include <cmath>
#include <string>

namespace echelon {

/// Message about a limit of iterations.
inline std::string limit_text(double norm, const Job& job) {
  return "relative residual " + short_number(norm / job.right_hand_side_norm) + " at the limit of " +
         std::to_string(job.iterations) + " iterations";
}

/// Whether a residual norm is so much below an earlier one that an iteration continues from it.
inline bool is_progress(double before, double norm) {
  return norm < 0.5 * before;
}

/// Outcome of a cycle that ended without meeting the tolerance; ok means to restart from the true residual.
inline Outcome outcome_of_cycle(bool cancelled, Phase phase, double before, double norm, const Job& job) {
  const bool progress = is_progress(before, norm);
  const std::string reached = "relative residual " + short_number(norm / job.right_hand_side_norm) +
                              " after " + std::to_string(job.iterations) + " iterations";
  if (cancelled) return {Status::cancelled, "stopped by the caller at " + reached};
  if (!std::isfinite(norm)) {
    return {Status::diverged, "x is not finite after " + std::to_string(job.iterations) + " iterations"};
  }
  switch (phase) {
    case Phase::limit:
      return {Status::max_iterations, limit_text(norm, job)};
    case Phase::diverged:
      return {Status::diverged, reached};
    case Phase::not_spd:
      if (progress) break;  // the direction may have lost its curvature to rounding
      return {Status::not_spd,
              "A, or the preconditioner, is not positive definite: a direction of negative or zero "
              "curvature at " +
                  reached};
    case Phase::breakdown:
      if (progress) break;
      return {Status::breakdown, "division by zero in the recurrence at " + reached};
    case Phase::converged:
      if (progress) break;
      return {Status::stagnated, "rounding errors keep the true residual from falling: " + reached};
    case Phase::idle:
      if (progress) break;
      return {Status::stagnated, "the residual no longer falls: " + reached};
    case Phase::restart:
      if (norm < (1 - 1e-6) * before) break;
      return {Status::stagnated, "a restart cycle did not reduce the residual: " + reached};
    case Phase::stagnated:
      return {Status::stagnated, "rounding errors keep the residual from falling: " + reached};
    case Phase::running:
      break;
  }
  return {Status::converged};
}

}  // namespace echelon

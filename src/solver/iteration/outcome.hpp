// SPDX-License-Identifier: BSD-3-Clause
/// Rules by which the iteration of a column is scaled and ends, and the outcomes of its cycles.
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/implementation.hpp"
#include "solver/iteration/columns.hpp"
#include "solver/iteration/state.hpp"
#include "solver/rounding_level.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

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
    case Phase::stationary:
      return {Status::inconsistent, "the residual is orthogonal to the columns of A: " + reached};
    case Phase::running:
      break;
  }
  return {Status::converged};
}

/// Powers of two that scale a column: none unless norms are so large or small that their squares, or products
/// with an element, could leave the range of double (of float, for elements). A preconditioned operator has
/// been scaled by its preconditioner.
template <class T>
[[nodiscard]] IterationScale scale_of(const Job& job, bool preconditioned) {
  constexpr double large = std::is_same_v<Real<T>, double> ? 1e60 : 1e8;
  const auto moderate = [](double norm) { return norm < large && norm > 1 / large; };
  if (moderate(job.right_hand_side_norm) && moderate(job.matrix_norm)) return {};
  if (job.right_hand_side_norm == 0 || job.matrix_norm == 0) return {};
  const int matrix = std::ilogb(job.matrix_norm);
  const int rhs = -std::ilogb(job.right_hand_side_norm);
  return preconditioned ? IterationScale{.rhs = rhs, .preconditioned = matrix}
                        : IterationScale{.matrix = -matrix, .rhs = rhs};
}

/// Counts the last step of the history as one without progress, or begins to count anew.
template <class B, class T>
void count_idle_step(SolvedColumn<B, T>& column) {
  constexpr double progress = 0.99;
  const double norm = column.job->history.back();
  column.idle = norm < progress * column.least ? 0 : column.idle + 1;
  column.least = std::min(column.least, norm);
}

/// True if the least of the last 64 residuals is not below the least of the 64 before them, and at the level
/// of rounding. Reads x once if the residual has stopped falling, at most every 128 iterations.
template <class B, class T>
[[nodiscard]] bool stagnates(SolvedColumn<B, T>& column) {
  constexpr std::int64_t window = 64;
  const Job& job = *column.job;
  const IterationWorkspace<B, T>& workspace = *column.workspace;
  if (!workspace.host_state.running()) return false;
  if (static_cast<std::int64_t>(job.history.size()) < std::max(column.next_check, 2 * window)) return false;
  column.next_check = static_cast<std::int64_t>(job.history.size()) + 2 * window;
  const auto end = job.history.end();
  const double least = *std::min_element(end - window, end);
  if (least < *std::min_element(end - 2 * window, end - window)) return false;
  if (!(least <= std::sqrt(machine_epsilon<T>) * job.right_hand_side_norm)) return false;
  const double size = workspace.residual_check->vector(workspace.columns, column.x).norm_inf;
  const double level = rounding_level<T> * (job.matrix_norm * size + job.right_hand_side_norm_inf);
  return least <= std::sqrt(static_cast<double>(workspace.n)) * level;
}

/// Accepts an answer at the level of rounding although its residual exceeds the tolerance.
template <class B, class T>
[[nodiscard]] bool accept_at_rounding_level(const SolvedColumn<B, T>& column, const VectorFacts& residual) {
  const IterationWorkspace<B, T>& workspace = *column.workspace;
  Job& job = *column.job;
  const std::optional<double> error = error_at_rounding_level<T>(job, residual.norm2, [&] {
    return AnswerNorms{residual.norm_inf,
                       workspace.residual_check->vector(workspace.columns, column.x).norm_inf};
  });
  if (!error) return false;
  job.outcome = {Status::converged,
                 "rounding limits the residual: " + short_number(residual.norm2 / job.right_hand_side_norm) +
                     " relative to b is above the tolerance, but the backward error, " +
                     short_number(*error) + ", is that of rounding A and b"};
  job.limited_by_rounding = true;
  return true;
}

/// Replaces an iterate by zero if its residual is larger than that of x = 0, both without the part of b that
/// no x can remove.
template <class B, class T>
void return_zero_if_worse(const SolvedColumn<B, T>& column) {
  IterationWorkspace<B, T>& workspace = *column.workspace;
  const double norm_of_b = column.is_in_range()
                               ? workspace.residual_check->vector(workspace.n, column.b).norm2
                               : column.job->right_hand_side_norm;
  if (column.norm <= norm_of_b) return;
  workspace.backend.fill(workspace.columns, T{0}, column.x);
  column.job->outcome.message += "; x is returned as zero, which no iterate improved on";
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Answers of iterative methods whose residual is limited by rounding.
#pragma once

#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

namespace echelon {

struct AnswerNorms {
  double residual = 0;  ///< ||b - A x||_inf
  double solution = 0;  ///< ||x||_inf
};

/// Backward error of an answer that misses its tolerance, if it is at the level of rounding: no better answer
/// exists in this precision. Empty when the tolerance is below what any x can be expected to meet, or when
/// the residual is large: an inconsistent system has such answers, with ||x|| near infinity.
/// `residual_norm`: ||.||_2 of the part of b - A x that an x can remove. `norms()` returns AnswerNorms; it is
/// called only for a small residual.
template <class T, class Norms>
[[nodiscard]] std::optional<double> error_at_rounding_level(const Job& job, double residual_norm,
                                                            const Norms& norms) {
  const double roundoff = machine_epsilon<T>;
  if (job.tolerance < roundoff * job.right_hand_side_norm) return std::nullopt;
  if (!(residual_norm <= satisfying_residual<T> * job.right_hand_side_norm)) return std::nullopt;
  const AnswerNorms found = norms();
  const double scale = job.matrix_norm * found.solution + job.right_hand_side_norm_inf;
  if (!(found.residual <= rounding_level<T> * scale)) return std::nullopt;
  return scale > 0 ? found.residual / scale : 0;
}

/// Whether rounding errors of a residual that was computed in working precision, whose norm is within the
/// limit, could hide one that exceeds it. `product`: ||A||_inf ||x||_inf.
template <class T>
[[nodiscard]] bool may_hide_excess(double norm, double limit, std::int64_t rows, double product) {
  return norm <= limit && std::sqrt(static_cast<double>(rows)) * machine_epsilon<T> * product > limit / 2;
}

}  // namespace echelon

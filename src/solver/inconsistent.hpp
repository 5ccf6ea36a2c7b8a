// SPDX-License-Identifier: BSD-3-Clause
/// Right-hand sides with a part outside the range of a singular symmetric A: what is solved for, and the
/// outcome.
#pragma once

#include "solver/implementation.hpp"
#include "support/hypotenuse.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace echelon {

/// Norms ||.||_2 of the parts of b along null vectors of A.
struct OutsideRange {
  double proven = 0;   ///< along vectors that A maps to exactly zero
  double rounded = 0;  ///< along vectors that A maps to zero up to rounding

  [[nodiscard]] double norm() const { return hypotenuse(proven, rounded); }
};

/// Largest norm of a part outside the range with which b, of n elements, counts as consistent: the tolerance,
/// or rounding errors of the elements of b.
template <class T>
[[nodiscard]] double consistency_limit(std::int64_t n, const Job& job) {
  const double rounding = machine_epsilon<T> * std::sqrt(static_cast<double>(n));
  return std::max(job.tolerance, rounding * job.right_hand_side_norm);
}

/// Whether b is to be replaced by its part in the range of A, for the x of least residual.
template <class T>
[[nodiscard]] bool is_outside_range(const OutsideRange& outside, std::int64_t n, const Job& job) {
  return outside.norm() > consistency_limit<T>(n, job);
}

/// Tolerance for the residual of the part of b in the range of A, with which b - A x meets that of the job:
/// the part outside the range, if b is consistent, remains in the residual. Where an x of least residual is
/// asked for, that part is the residual to which the tolerance is relative, down to rounding errors of b.
template <class T>
[[nodiscard]] double tolerance_in_range(const OutsideRange& outside, std::int64_t n, const Job& job) {
  const double part = outside.norm();
  if (is_outside_range<T>(outside, n, job)) {
    const double rounding = machine_epsilon<T> * std::sqrt(static_cast<double>(n)) * job.right_hand_side_norm;
    const bool minimizes = job.control != nullptr && job.control->least_squares && job.tolerance > rounding;
    return minimizes ? std::max(job.tolerance * (part / job.right_hand_side_norm), rounding) : job.tolerance;
  }
  if (part >= job.tolerance) return job.tolerance;
  return std::sqrt((job.tolerance - part) * (job.tolerance + part));
}

/// Makes the outcome of the solve for the part of b in the range of A that of A x = b: `inconsistent` if b
/// has a part along exact null vectors, `singular` if the null vectors are known up to rounding only. Leaves
/// consistent and cancelled solves as they are.
template <class T>
void name_part_outside_range(const OutsideRange& outside, std::int64_t n, Job& job) {
  if (!is_outside_range<T>(outside, n, job) || job.outcome.status == Status::cancelled) return;
  const bool is_proven = outside.proven > consistency_limit<T>(n, job);
  const double part = (is_proven ? outside.proven : outside.norm()) / job.right_hand_side_norm;
  const std::string rest = job.outcome.ok() || job.outcome.status == Status::underdetermined
                               ? "this one satisfies them for the rest of b"
                               : "nor was one found for the rest of b: " + job.outcome.message;
  job.limited_by_rounding = false;
  job.outcome = {.status = is_proven ? Status::inconsistent : Status::singular,
                 .message = std::string("A is singular") + (is_proven ? "" : " to working precision") +
                            ", and a part of b, " + short_number(part) + " of its norm, is not in its range" +
                            (is_proven ? ": no x satisfies the equations; "
                                       : ": no x of moderate size satisfies the "
                                         "equations; ") +
                            rest,
                 .certainty = is_proven ? Certainty::proven : Certainty::working_precision};
}

}  // namespace echelon

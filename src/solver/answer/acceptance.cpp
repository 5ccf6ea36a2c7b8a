// SPDX-License-Identifier: BSD-3-Clause
#include "solver/answer/acceptance.hpp"

#include "support/text.hpp"

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// Makes the outcome `not_a_number` if x has a NaN or Inf. Returns whether x is finite.
bool check_finite(const VectorFacts& x, Outcome& outcome) {
  if (!x.nonfinite) return true;
  outcome.status = Status::not_a_number;
  outcome.message = fmt::format("x has a NaN or Inf, first at element {}: overflow", *x.nonfinite);
  outcome.row = x.nonfinite;
  return false;
}

/// Whether x was computed as an answer to all equations, whatever the method says of them.
bool is_answer(const Outcome& outcome) {
  return outcome.ok() || outcome.status == Status::underdetermined ||
         outcome.status == Status::inconsistent || (outcome.status == Status::singular && !outcome.row);
}

std::string relative(const VectorFacts& r, const VectorFacts& b) {
  return short_number(b.norm2 > 0 ? r.norm2 / b.norm2 : r.norm2);
}

/// Largest error with which an x that does not satisfy the equations is the answer: the correction of an x
/// with a part along a null vector has the same part, whatever rounding made of A.
constexpr double most_error = 0.5;

/// x satisfies the equations: it is the solution, or one of many.
template <class T>
void accept_satisfying(const Answer<T>& answer, std::int64_t columns, ExactRank<T>& exact, Outcome& outcome) {
  if (outcome.status == Status::underdetermined) {
    // Rounding errors of its elements can make a matrix of low numerical rank nonsingular.
    if (!exact.regular_by_inspection()) {
      if (answer.proves_rank && exact.rank() == outcome.rank) outcome.certainty = Certainty::proven;
      return;
    }
    outcome.message = "A is nonsingular, but singular to working precision";
  }
  const bool doubtful = !outcome.ok();
  const std::optional<std::int64_t> rank = doubtful ? exact.rank() : std::nullopt;
  if (rank) {
    outcome.rank = rank;
    outcome.certainty = Certainty::proven;
  }
  if (outcome.rank && *outcome.rank < columns) {
    outcome.status = Status::underdetermined;
    outcome.message = fmt::format("A has rank {} of {}: x satisfies the equations, and so do others",
                                  *outcome.rank, columns);
    return;
  }
  if (doubtful && !outcome.message.empty()) {
    const bool accurate = answer.error && *answer.error < most_error;
    outcome.warnings.push_back(std::exchange(outcome.message, {}) +
                               (accurate ? ". x is near the solution nevertheless, by its measured error"
                                         : ". x satisfies the equations, but need not have a correct digit"));
  }
  outcome.status = Status::direct;
  outcome.row.reset();
}

/// x does not satisfy the equations although its backward error is small or the method refused it.
template <class T>
void refuse(const Answer<T>& answer, const VectorFacts& r, std::int64_t columns, ExactRank<T>& exact,
            Outcome& outcome) {
  const std::string residual = "||b - A x|| / ||b|| = " + relative(r, answer.b);
  const std::optional<std::int64_t> rank = exact.rank();
  if (exact.contradicts(answer.host_rhs())) {
    const std::string named = outcome.status == Status::inconsistent ? outcome.message + "; " : "";
    const std::string proof =
        rank ? fmt::format("A has rank {} and [A b] rank {}, in exact arithmetic", *rank, *rank + 1)
             : "a row of A is zero where b is not";
    outcome.status = Status::inconsistent;
    outcome.message = fmt::format("{}{}: no x satisfies the equations; {}", named, proof, residual);
    if (rank) outcome.rank = rank;
    outcome.certainty = Certainty::proven;
    return;
  }
  const std::string reason = outcome.message.empty() ? "" : outcome.message + "; ";
  // Nothing is proven of complex equations: what an elimination says of them stands, to working precision.
  if (is_complex<T> && outcome.status == Status::inconsistent) {
    outcome.message = reason + residual;
    return;
  }
  const bool full = rank == columns;
  const bool regular = outcome.reciprocal_condition
                           ? (full || !rank) && *outcome.reciprocal_condition >= doubtful_condition<T>
                           : full && !outcome.rank;
  if (outcome.ok() && regular) {
    outcome.status = Status::breakdown;
    if (full) {
      outcome.rank = rank;
      outcome.certainty = Certainty::proven;
    }
    outcome.message = reason + "A is nonsingular, and rounding errors of the method spoilt x: " + residual;
    return;
  }
  outcome.status = Status::singular;
  outcome.row.reset();
  // Rounding errors of its elements can make a matrix of low numerical rank nonsingular.
  if (rank && (!outcome.rank || *rank < *outcome.rank || exact.regular_by_inspection())) outcome.rank = rank;
  outcome.certainty =
      rank && rank == outcome.rank && *rank < columns ? Certainty::proven : Certainty::working_precision;
  outcome.message = reason +
                    (full ? "A is nonsingular, but too close to a singular matrix for this x: "
                          : "A is singular to working precision, and x does not satisfy the "
                            "equations: ") +
                    residual;
}

}  // namespace

template <class T>
bool satisfies(const VectorFacts& b, const VectorFacts& r) {
  return r.norm2 <= satisfying_residual<T> * b.norm2;
}

template <class T>
void accept_direct(const Answer<T>& answer, std::int64_t columns, ExactRank<T>& exact, Outcome& outcome) {
  if (!is_answer(outcome) || !check_finite(answer.x, outcome)) return;
  VectorFacts r = answer.r;
  if (!satisfies<T>(answer.b, r)) r = answer.accurate_residual();
  const bool satisfied = satisfies<T>(answer.b, r);
  const bool stable = answer.backward_error <= acceptable_backward_error<T>;
  if (satisfied && stable) return accept_satisfying(answer, columns, exact, outcome);
  if (outcome.status == Status::inconsistent && outcome.certainty == Certainty::proven) return;
  if (!stable && (outcome.ok() || satisfied)) {
    outcome.status = Status::breakdown;
    outcome.message = fmt::format("the backward error of the answer is {:.1e}, too large to call it solved",
                                  answer.backward_error);
    return;
  }
  const bool accurate = answer.error && *answer.error < most_error;
  // Elimination that ended at a small pivot has left equations out. Rounding errors of its elements can make
  // a matrix nonsingular for which x has a large error.
  const bool complete = outcome.rank.value_or(columns) == columns;
  const bool ill_conditioned =
      outcome.reciprocal_condition && *outcome.reciprocal_condition < doubtful_condition<T>;
  const bool proven = outcome.ok() && !answer.error
                          ? exact.nonsingular()
                          : complete && ill_conditioned && exact.regular_by_inspection();
  if (stable && (accurate || proven)) {
    const bool full = exact.known() == columns;
    outcome = {.status = Status::direct,
               .reciprocal_condition = outcome.reciprocal_condition,
               .rank = full ? std::optional(columns) : std::nullopt,
               .certainty = full ? Certainty::proven : Certainty::working_precision,
               .warnings = std::move(outcome.warnings),
               .statistics = std::move(outcome.statistics)};
    outcome.warnings.push_back(fmt::format(
        "A is so close to a singular matrix that ||b - A x|| / ||b|| is {} for an x with the "
        "backward error {}{}",
        relative(r, answer.b), short_number(answer.backward_error),
        !accurate && (answer.error || ill_conditioned) ? "; x need not have a correct digit" : ""));
    return;
  }
  refuse(answer, r, columns, exact, outcome);
}

template <class T>
void correct_definiteness(const ExactRank<T>& exact, Outcome& outcome) {
  if (outcome.status != Status::not_spd || !exact.definite_by_inspection()) return;
  outcome.status = Status::breakdown;
  outcome.message =
      "A is positive definite, by its dominant diagonal; rounding errors, or a part of A that the method "
      "takes alone, made it end: " +
      outcome.message;
}

template <class T>
void accept_iterative(const Answer<T>& answer, ExactRank<T>& exact, Job& job) {
  Outcome& outcome = job.outcome;
  if (outcome.status == Status::inconsistent && outcome.certainty != Certainty::proven) {
    const bool proven = exact.contradicts(answer.host_rhs());
    outcome.rank = proven ? exact.rank() : std::nullopt;
    outcome.certainty = proven ? Certainty::proven : Certainty::working_precision;
    outcome.status = proven                ? Status::inconsistent
                     : exact.nonsingular() ? Status::stagnated
                                           : Status::singular;
  }
  if (!outcome.ok() || !check_finite(answer.x, outcome)) return;
  const bool met = std::isfinite(answer.r.norm2) && answer.r.norm2 <= job.tolerance;
  if (met || (job.limited_by_rounding && satisfies<T>(answer.b, answer.r))) return;
  outcome.status = Status::stagnated;
  outcome.message =
      fmt::format("the true residual is {:.3g}, above the tolerance {:.3g}", answer.r.norm2, job.tolerance);
}

bool is_ended(const Outcome& outcome) {
  return outcome.status == Status::stagnated || outcome.status == Status::max_iterations ||
         outcome.status == Status::diverged || outcome.status == Status::breakdown;
}

bool is_refused(const Outcome& outcome) {
  return outcome.status == Status::inconsistent || outcome.status == Status::singular;
}

namespace {

/// Says in the outcome that rounding errors of x may make its residual exceed the least one by more than the
/// relative tolerance of residuals: their part in the range of A adds up to the least residual in squares.
template <class T>
void warn_of_excess(double rounding, const VectorFacts& r, Outcome& outcome) {
  if (rounding <= std::sqrt(2 * satisfying_residual<T>) * r.norm2) return;
  outcome.warnings.push_back(
      fmt::format("rounding errors of x are large in comparison to the residual, which may exceed the least "
                  "one: ||A|| ||x|| eps / ||r|| is about {}",
                  short_number(rounding / rounding_level<T> * machine_epsilon<T> / r.norm2)));
}

}  // namespace

template <class T>
bool accept_least_squares(const Answer<T>& answer, Job& job, bool stable) {
  Outcome& outcome = job.outcome;
  const bool nothing_computed = outcome.status == Status::singular && outcome.row;
  if (nothing_computed || !check_finite(answer.x, outcome)) return false;
  const NormalResidual normal = answer.normal_residual();
  const double scale = normal.matrix_norm * answer.r.norm2;
  job.normal_residual = scale > 0 ? normal.norm2 / scale : normal.norm2;
  const double most = std::max(satisfying_residual<T>, job.relative_tolerance) * answer.r.norm2;
  const bool truncated = normal.norm2 <= answer.truncation * normal.matrix_norm * answer.r.norm2;
  const bool small = normal.largest <= most || truncated;
  // x = 0 has the residual b.
  const double rounding = rounding_level<T> * normal.matrix_norm * answer.x.norm2;
  const bool rounded = stable && normal.largest <= rounding && answer.r.norm2 <= answer.b.norm2;
  if (!small && !rounded) return false;
  outcome.status = Status::least_squares;
  outcome.warnings.push_back(std::exchange(outcome.message, {}));
  if (!small) warn_of_excess<T>(rounding, answer.r, outcome);
  // ||x - x*|| <= ||A^+||^2 ||A^T r|| where the columns of A are independent.
  if (job.inverse_norm > 0 && answer.x.norm2 > 0) {
    const double error = job.inverse_norm * (normal.norm2 / answer.x.norm2) * job.inverse_norm;
    job.error = std::max(error, machine_epsilon<T> / 2);
  }
  return true;
}

namespace {

std::string unknowns_text(const LeastSquaresProblem& problem, const Outcome& outcome) {
  std::string text = outcome.rank ? fmt::format("A has rank {}: ", *outcome.rank) : "";
  return text + fmt::format("{} equations in {} unknowns", problem.rows, problem.columns);
}

}  // namespace

template <class T>
void accept_minimizer(const Answer<T>& answer, const LeastSquaresProblem& problem, bool iterative, Job& job) {
  Outcome& outcome = job.outcome;
  const bool computed = is_answer(outcome) || (iterative && is_ended(outcome));
  if (!computed || !check_finite(answer.x, outcome)) return;
  const bool unique = problem.damping > 0 ||
                      outcome.rank.value_or(std::min(problem.rows, problem.columns)) == problem.columns;
  const auto meets = [&](const VectorFacts& r) {
    if (problem.damping > 0) return answer.b.norm2 == 0;
    if (!iterative || job.limited_by_rounding) return satisfies<T>(answer.b, r);
    return r.norm2 <= job.tolerance;
  };
  VectorFacts r = answer.r;
  if (!meets(r) && !iterative) r = answer.accurate_residual();
  if (meets(r)) {
    if (unique) {
      outcome.status = iterative ? Status::converged : Status::direct;
    } else {
      outcome.status = Status::underdetermined;
      outcome.message = fmt::format("{}: x satisfies them, and so do others; it is {}",
                                    unknowns_text(problem, outcome), problem.solution_kind);
    }
    return;
  }
  const Outcome before = outcome;
  if (accept_least_squares(answer, job, true)) {
    // The message of the method gives way to the one below.
    std::erase(outcome.warnings, before.message);
    outcome.message =
        problem.damping > 0
            ? fmt::format("x minimises ||b - A x||^2 + d^2 ||x||^2 for d = {}", short_number(problem.damping))
            : fmt::format("{}, which no x satisfies: x has the least residual{}",
                          unknowns_text(problem, outcome),
                          unique ? "" : fmt::format("; of all such x it is {}", problem.solution_kind));
    return;
  }
  if (iterative && !outcome.ok() && outcome.status != Status::inconsistent) return;
  outcome.status = iterative ? Status::stagnated : Status::breakdown;
  outcome.message = fmt::format("{}x does not have the least residual: ||A^T r|| / (||A|| ||r||) is {}",
                                outcome.message.empty() ? "" : outcome.message + "; ",
                                short_number(job.normal_residual.value_or(1)));
}

#define ECHELON_INSTANTIATE(T)                                                          \
  template bool satisfies<T>(const VectorFacts&, const VectorFacts&);                   \
  template void accept_direct(const Answer<T>&, std::int64_t, ExactRank<T>&, Outcome&); \
  template void correct_definiteness(const ExactRank<T>&, Outcome&);                    \
  template void accept_iterative(const Answer<T>&, ExactRank<T>&, Job&);                \
  template bool accept_least_squares(const Answer<T>&, Job&, bool);                     \
  template void accept_minimizer(const Answer<T>&, const LeastSquaresProblem&, bool, Job&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Reports of solvers about their answers.
#pragma once

#include <echelon/device.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace echelon {

enum class Status {
  converged,        ///< an iterative method met the tolerance, by the true residual
  direct,           ///< a direct method finished; `backward_error` says how well
  least_squares,    ///< x has the least residual of all; of a square A only where the caller asked for it
  ready,            ///< a set-up succeeded; only `analyze`, `setup`, `factor` and `update_values` report it
  max_iterations,   ///< the iteration limit came first
  stagnated,        ///< the true residual no longer decreases
  diverged,         ///< the residual grew beyond 1e10 times the initial one (of x = 0)
  breakdown,        ///< the method divided by zero: see `message`
  singular,         ///< A is singular to working precision, and no x that satisfies the equations was found
  inconsistent,     ///< no x satisfies the equations, which is proven
  underdetermined,  ///< x satisfies the equations, and others do, too
  not_a_number,     ///< NaN or Inf in A, in b or in the result: see `row`, `column`
  not_spd,          ///< the method needs a symmetric positive definite A, and A is not
  out_of_memory,    ///< memory did not suffice during the computation
  cancelled,        ///< the caller requested a stop; X holds the last iterate
};

/// Name of the enumerator: "converged", "max_iterations", ...
[[nodiscard]] ECHELON_API std::string_view to_string(Status status);
/// Whether X can be taken as the solution: `converged`, `direct`, `underdetermined` or `least_squares`.
[[nodiscard]] ECHELON_API bool solved(Status status);

/// Condition number whose inverse `reciprocal_condition` of a report estimates.
enum class ConditionKind {
  none,      ///< the method has no estimate
  factored,  ///< ||A||_1 ||A^-1||_1 of A as it was factored, after scaling; seldom 3 times larger
  krylov,    ///< ||A||_inf ||A^-1||_2 from below, by an iterative method's search directions
};
/// Name of the enumerator: "none", "factored", "krylov".
[[nodiscard]] ECHELON_API std::string_view to_string(ConditionKind kind);

/// Foundation of a statement about the rank of A or the consistency of a system.
enum class Certainty {
  working_precision,  ///< elimination or iteration in floating point
  proven,             ///< arithmetic without rounding errors, for the elements as they are stored
};
constexpr std::array<EnumWord<Certainty>, 2> words_of(Certainty) {
  return {{{Certainty::working_precision, "to working precision"}, {Certainty::proven, "proven"}}};
}

/// Figures of a Report for one right-hand side.
struct ECHELON_API ColumnReport {
  Status status = Status::direct;              ///< outcome for this right-hand side
  std::int64_t iterations = 0;                 ///< 0 for direct methods
  double relative_residual = 0;                ///< see Report::relative_residual
  double backward_error = 0;                   ///< see Report::backward_error
  std::optional<double> error_estimate = {};   ///< see Report::error_estimate
  std::optional<double> normal_residual = {};  ///< see Report::normal_residual
};

/// A fact that a method reports about its work. The name is in snake_case and ends in the unit, if there is
/// one: `_bytes`, `_seconds`; a number without a unit is a count or a ratio. The facts of a method that is
/// nested as a preconditioner have the prefix `preconditioner.`.
struct ECHELON_API Statistic {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>> value;
};
/// Name and value of a statistic: "levels 12", "ordering amd", "section_rows 40 40 8"; only the first eight
/// elements of a long list.
[[nodiscard]] ECHELON_API std::string to_string(const Statistic& statistic);

/// A method that `auto` tried before the reported one.
struct ECHELON_API Attempt {
  std::string method;
  Status status = Status::breakdown;
  std::string message;
  double seconds = 0;
};

/// Precisions of an elimination, in order of decreasing accuracy.
enum class Precision {
  working,  ///< that of A
  single,   ///< float
  tf32x3,   ///< products of floats as three products in TF32, on a GPU; about as accurate as float
  bf16x3,   ///< products of floats as three products in bfloat16, on a GPU: 16 bits
  tf32,     ///< products in TF32, on a GPU: 11 bits
};
constexpr std::array<EnumWord<Precision>, 5> words_of(Precision) {
  return {{{Precision::working, "working"},
           {Precision::single, "single"},
           {Precision::tf32x3, "tf32x3"},
           {Precision::bf16x3, "bf16x3"},
           {Precision::tf32, "tf32"}}};
}

/// The precision asked for, the one used, and the reason if they differ.
struct ECHELON_API FactorPrecision {
  Precision asked = Precision::working;
  Precision used = Precision::working;
  std::string why;
};

/// The property of A that a bound on the error was derived from.
enum class Proof {
  none,                 ///< there is no bound
  h_matrix,             ///< a vector v > 0 with <A> v > 0, where <A> is the comparison matrix of A
  positive_definite,    ///< a lower bound on the smallest eigenvalue
  approximate_inverse,  ///< a dense R with ||I - R A|| < 1
};

constexpr auto words_of(Proof /*of*/) {
  return std::to_array<EnumWord<Proof>>({{Proof::none, "none"},
                                         {Proof::h_matrix, "h-matrix"},
                                         {Proof::positive_definite, "positive-definite"},
                                         {Proof::approximate_inverse, "approximate-inverse"}});
}

/// A bound on the distance between x and the exact solution x* of A x* = b, for the elements of A, b and x as
/// they are stored. All rounding errors of the computation of the bound are accounted for.
struct ECHELON_API ErrorCertificate {
  Proof proof = Proof::none;  ///< kind of proof; none: there is no bound
  /// The property that was proven and how, or why there is no bound.
  std::string reason;
  /// max |x_i - x*_i| over all columns is at most this.
  double error_bound = std::numeric_limits<double>::infinity();
  /// max |x_i - x*_i| / max |x*_i| is at most this, for each column.
  double relative_error_bound = std::numeric_limits<double>::infinity();
  /// |x_ij - x*_ij| is at most element (i, j) of this n by k matrix, which is in host memory; empty without a
  /// proof.
  Dense<double> element_bounds;
  /// The smallest eigenvalue of A is at least this; given by Proof::positive_definite alone.
  std::optional<double> smallest_eigenvalue;

  [[nodiscard]] bool proven() const { return proof != Proof::none; }
};

/// Outcome of a set-up or a solve. Residuals are computed from b - A x with the A and b that were given, not
/// estimated, and describe the worst right-hand side.
struct ECHELON_API Report {
  Status status = Status::direct;      ///< outcome, the worst one of several right-hand sides
  std::string method;                  ///< name of the method, as make_solver() takes it
  Device device;                       ///< device on which the method ran
  std::string reason;                  ///< reason for the choice of the method and the device
  std::string message;                 ///< explanation of `status`, readable text; may be empty
  std::vector<std::string> warnings;   ///< sentences about doubts in an answer or a setting
  std::optional<std::int64_t> row;     ///< 0-based: the row, pivot or element that `status` refers to
  std::optional<std::int64_t> column;  ///< 0-based

  std::int64_t iterations = 0;  ///< 0 for direct methods
  /// Relative residual norms ||r|| / ||b|| after 0, 1, 2, ... iterations, as computed by the iteration.
  std::vector<double> history;
  /// Time of each entry of `history` in seconds from the start of the solve: that of the convergence check at
  /// which the host received it. Empty where the times are not known.
  std::vector<double> history_seconds;
  double residual_norm = 0;  ///< ||b - A x||_2; 0 where nothing was computed
  /// ||b - A x||_2 / ||b||_2; ||b - A x||_2 when b = 0. Where nothing was computed (`columns` is empty
  /// although there is a b), this and the backward error are 1, those of x = 0.
  double relative_residual = 0;
  double tolerance = 0;  ///< the bound on residual_norm, max(rtol ||b||, atol); 0 for direct methods
  /// Normwise: ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf). For a LinearOperator ||A||_inf is a lower
  /// bound, the largest of a few ||A v||_inf with ||v||_inf = 1, and this an upper bound of the backward
  /// error.
  double backward_error = 0;
  /// Estimated inverse of a condition number, if the method has an estimate; `condition_kind` says of which.
  std::optional<double> reciprocal_condition;
  ConditionKind condition_kind = ConditionKind::none;  ///< condition number of `reciprocal_condition`
  /// Lower estimate of the condition number of the preconditioned A: the ratio of the extreme Ritz values
  /// that a Lanczos process found. It explains the number of iterations, not the accuracy of x.
  std::optional<double> preconditioned_condition;
  /// Estimate of ||x - x*|| / ||x|| in the maximum norm for the exact solution x*, with
  /// Control::measure_error. Direct methods: ||d|| / ||x|| for the solution d of A d = b - A x, where the
  /// residual is computed in twice the precision. Iterative methods for a small A: the same by elimination.
  /// Iterative methods otherwise: the larger of ||A^-1||_2 ||b - A x||_2 / ||x||_2 and
  /// preconditioned_condition times relative_residual, which are not bounds, since the method knows only the
  /// part of the spectrum that it has resolved. At least half the machine epsilon. 1 or more: no digit is
  /// certain.
  std::optional<double> error_estimate;
  /// ||A^T r||_2 / (||A||_F ||r||_2) for r = b - A x, where x was accepted, or refused, as one of least
  /// residual: zero for the minimiser. With damping d, ||A^T r - d^2 x||_2 takes the place of ||A^T r||_2.
  std::optional<double> normal_residual;
  /// Rank of A, if it was determined. All solutions are x plus vectors of A's null space, whose dimension is
  /// A's columns less the rank.
  std::optional<std::int64_t> rank;
  /// Row of A, from 0, that each unknown is eliminated by, -1 for a free unknown: the map of
  /// `mapped-echelon`. Shared with the solver and its other reports; null for other methods.
  std::shared_ptr<const std::vector<std::int64_t>> row_of_unknown;
  /// Foundation of `rank` and of the statuses singular, inconsistent and underdetermined.
  Certainty certainty = Certainty::working_precision;
  std::optional<FactorPrecision> factor_precision;  ///< where a lower one was asked for
  /// Facts that the method reports about its work: those of the set-up, then those of the solve of the
  /// right-hand side that the residuals describe. Names are unique. The documentation page of the method
  /// lists them.
  std::vector<Statistic> statistics;

  double choosing_seconds = 0;  ///< of the choice of a method by "auto"
  double analysis_seconds = 0;  ///< of the pattern of A
  double setup_seconds = 0;     ///< of the set-up or the factorisation
  double solve_seconds = 0;     ///< of the solve, without the analysis, the set-up and the transfer
  double transfer_seconds = 0;  ///< between the host and the device
  std::size_t bytes = 0;        ///< held by the solver on its device, excluding A and B

  std::vector<ColumnReport> columns;  ///< one per right-hand side
  std::vector<Attempt> attempts;      ///< methods that `auto` tried before this one

  /// Proven bound on the error of X, or the reason why there is none; null unless `certify` of SolveOptions
  /// asked for it.
  std::shared_ptr<const ErrorCertificate> certificate;

  /// Whether X can be taken as the solution.
  [[nodiscard]] bool solved() const { return echelon::solved(status); }
  /// Estimated number of correct decimal digits in the largest elements of x, by `error_estimate`.
  [[nodiscard]] std::optional<int> expected_digits() const;
  /// Whether a bound on the error of X was asked for and proven.
  [[nodiscard]] bool certified() const { return certificate != nullptr && certificate->proven(); }
  /// Proven bound on max |x_i - x*_i| over all columns; empty if not certified.
  [[nodiscard]] std::optional<double> error_bound() const {
    return certified() ? std::optional(certificate->error_bound) : std::nullopt;
  }
  /// The statistic with the given name; null if the method does not report it. Valid until `statistics`
  /// changes.
  [[nodiscard]] const Statistic* find_statistic(std::string_view name) const;
  /// Whether a set-up succeeded.
  [[nodiscard]] bool ready() const { return status == Status::ready; }
};

/// Writes a few readable lines: status and message, method, device, reason, residuals, statistics, times and
/// warnings.
ECHELON_API std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace echelon

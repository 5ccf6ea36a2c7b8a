// SPDX-License-Identifier: BSD-3-Clause
/// The rules by which the answers of all methods are accepted or refused. Methods propose an outcome; what is
/// reported is decided here, from figures that were measured with the A and b that were given.
#pragma once

#include "exact/exact_rank.hpp"
#include "linalg/residual_check.hpp"
#include "solver/answer/least_squares.hpp"
#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

/// Reciprocal condition number below which A may be singular.
template <class T>
inline constexpr double doubtful_condition = 64 * machine_epsilon<T>;

/// Measured figures of an x, and the means to find out more where they leave a doubt.
template <class T>
struct Answer {
  VectorFacts b, x, r;        ///< r = b - A x
  double backward_error = 0;  ///< normwise
  std::optional<double> error =
      {};                   ///< ||x - x*|| / ||x|| as measured, 1 if unknown; empty: not to be measured
  bool proves_rank = true;  ///< whether the rank is proven even where the status does not depend on it
  /// Facts of b - A x with sums of twice the precision; called at most once, where `r` does not decide.
  std::function<VectorFacts()> accurate_residual = {};
  /// Elements of b in host memory.
  std::function<std::vector<T>()> host_rhs = {};
  /// A^T r; called only for an x of least residual.
  std::function<NormalResidual()> normal_residual = {};
  double truncation = 0;  ///< of the method, see SolverImplementation
};

/// Whether x satisfies the equations: the relative residual is at most `satisfying_residual`, and b = 0 is
/// satisfied exactly.
template <class T>
[[nodiscard]] bool satisfies(const VectorFacts& b, const VectorFacts& r);

/// Decides on the answer of a direct method. It is solved if its backward error is small and x satisfies the
/// equations, or else if the measured error of x is below a half, or A is proven nonsingular: in any way
/// where the error was not measured, else by inspection of an A whose condition number explains the error;
/// `underdetermined` if x satisfies the equations and the rank that the method found is not full, unless
/// inspection proves A nonsingular. Otherwise the system is `inconsistent` if that is proven, or if A is
/// complex, of which nothing is proven, and the method says so, a `breakdown` if A is far from singular by
/// the condition number that the method found, or proven nonsingular where it found none, and else A is
/// `singular` to working precision. `columns`: of A.
template <class T>
void accept_direct(const Answer<T>& answer, std::int64_t columns, ExactRank<T>& exact, Outcome& outcome);

/// Makes the `not_spd` of a set-up a `breakdown` where A is proven positive definite by inspection, which
/// rounding errors hide.
template <class T>
void correct_definiteness(const ExactRank<T>& exact, Outcome& outcome);

/// Decides on the answer of an iterative method, which is converged only if its true residual meets the
/// tolerance or is at the level of rounding. A system that the method calls inconsistent without a proof is
/// `inconsistent` if it is proven here, `stagnated` if A is proven nonsingular, and else A is `singular` to
/// working precision.
template <class T>
void accept_iterative(const Answer<T>& answer, ExactRank<T>& exact, Job& job);

/// Whether an iteration ended above the tolerance, which it also does where no x meets that.
[[nodiscard]] bool is_ended(const Outcome& outcome);
/// Whether A is `singular`, or the system `inconsistent`.
[[nodiscard]] bool is_refused(const Outcome& outcome);

/// Makes the x of a refused system, or of an iteration that ended, the answer with the status
/// `least_squares`, if its residual is orthogonal to the columns of A, and returns whether it is. The caller
/// asked for such an x. Orthogonal: |a^T r| is at most satisfying_residual ||a|| ||r||, or rtol ||a|| ||r||
/// for an iterative method with a larger rtol. `stable`: the method minimises the residual of an A that
/// differs by rounding errors, so that A^T r may be as large as those of x make it, however large x is, with
/// a warning where they may make the residual larger than the least one; not where x = 0 has a smaller
/// residual.
template <class T>
[[nodiscard]] bool accept_least_squares(const Answer<T>& answer, Job& job, bool stable = false);

/// The problem that a method solves which minimises ||b - A x||_2^2 + d^2 ||x||_2^2.
struct LeastSquaresProblem {
  std::int64_t rows = 0, columns = 0;
  double damping = 0;
  std::string_view solution_kind;  ///< which x of least residual it computes where there are several
};

/// Decides on the answer of a method that minimises the residual, for an A that is not square, or with
/// damping. Where x satisfies the equations (an iterative method: meets the tolerance), the system is solved,
/// and `underdetermined` if others do, too. Otherwise the status is `least_squares` if accept_least_squares()
/// takes x, else that of the method, or a `breakdown` of a direct one.
template <class T>
void accept_minimizer(const Answer<T>& answer, const LeastSquaresProblem& problem, bool iterative, Job& job);

}  // namespace echelon

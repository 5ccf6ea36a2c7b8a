// SPDX-License-Identifier: BSD-3-Clause
/// A solve of several right-hand sides in progress: it runs the method, measures its answers, and decides on
/// them.
#pragma once

#include "exact/exact_rank.hpp"
#include "solver/answer/acceptance.hpp"
#include "solver/answer/error_measurement.hpp"
#include "solver/answer/least_squares.hpp"
#include "solver/answer/rhs_scaling.hpp"
#include "solver/answer/solver_state.hpp"
#include "solver/column_report.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "solver/rounding_level.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

template <class T>
class ColumnsSolve {
 public:
  ColumnsSolve(const SolverImplementation<T>& implementation, const SolverState<T>& state,
               SolveWorkspace<T>& workspace, const Control& control, Report& report)
      : implementation_(implementation),
        state_(state),
        own_(workspace),
        check_(*workspace.residual_check),
        scaling_(state, workspace),
        control_(control),
        report_(report),
        stop_(implementation.stop()) {}

  /// Solves for column-major B and X, and fills in the report from the residual b - A x.
  void run(DenseView<const T> B, DenseView<T> X) {
    b_facts_ = inspect_columns(B);
    if (report_nonfinite()) return;
    DenseView<const T> scaled = scaling_.moderate(B, b_facts_);
    if (control_.use_initial_guess) {
      for (std::size_t j = 0; j < b_facts_.size(); ++j) scaling_.scale(X, j);
    }
    make_jobs();
    if (has_factor(state_.setup)) {
      compute(scaled, X);
      if (!is_iterative() && !has_null_space()) solve_in_range(scaled, X);
    } else {
      describe_zero(X);
    }
    decide(scaled, X);
    for (std::size_t j = 0; j < jobs_.size(); ++j) scaling_.unscale(X, j);
  }

 private:
  [[nodiscard]] bool is_iterative() const { return stop_ != nullptr; }
  static double epsilon() { return machine_epsilon<T>; }
  static std::int64_t column_number(std::size_t j) { return static_cast<std::int64_t>(j); }

  /// Computes and measures X by the method.
  void compute(DenseView<const T> scaled, DenseView<T> X) {
    const DenseView<const T> consistent = project_rhs(scaled);
    if (is_iterative()) {
      report_.status = Status::converged;
      // The preconditioner is doubtful.
      if (!state_.setup.ok()) report_.warnings.push_back(state_.setup.message);
    } else if (control_.use_initial_guess) {
      report_.warnings.emplace_back("a direct method ignores the first guess");
    }
    if (!is_iterative() && (control_.rtol || control_.atol || control_.max_iterations))
      report_.warnings.emplace_back("rtol, atol and max_iterations have no effect on a direct method");
    solve_and_measure(scaled, consistent, X);
    // A solve may have replaced factors in a lower precision.
    report_.factor_precision = implementation_.factor_precision();
  }

  /// Solves for right-hand sides without their parts along null vectors, and measures X with B.
  void solve_and_measure(DenseView<const T> B, DenseView<const T> consistent, DenseView<T> X) {
    implementation_.solve(*own_.method, consistent, X, jobs_);
    for (std::size_t j = 0; j < asked_tolerances_.size(); ++j) jobs_[j].tolerance = asked_tolerances_[j];
    project_answers(X);
    for (std::size_t j = 0; j < jobs_.size(); ++j) scaling_.round_to_unscaled(X, j);
    measure(B, X);
  }

  /// Solves once more where x, or A x, has left the range of T, for right-hand sides times powers of two.
  void solve_in_range(DenseView<const T>& B, DenseView<T> X) {
    const std::vector<int> exponents = scaling_.range_exponents(B, columns_, b_facts_);
    if (std::ranges::all_of(exponents, [](int exponent) { return exponent == 0; })) return;
    B = scaling_.bring_into_range(B, exponents, b_facts_);
    columns_.clear();
    jobs_.clear();
    make_jobs();
    solve_and_measure(B, B, X);
  }

  /// Makes X zero, for a method without factors.
  void describe_zero(DenseView<T> X) {
    const Array<T> zero(X.device(), std::vector<T>(static_cast<std::size_t>(X.rows()), T{0}));
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      check_.copy(X.rows(), zero.data(), X.column(j));
      columns_.push_back({.x = {}, .r = b_facts_[static_cast<std::size_t>(j)], .error = 1, .correction = 0});
    }
    check_.synchronize();
  }

  /// Norms and NaNs of each column.
  std::vector<VectorFacts> inspect_columns(DenseView<const T> X) {
    std::vector<const T*> columns;
    for (std::int64_t j = 0; j < X.columns(); ++j) columns.push_back(X.column(j));
    return check_.vectors(X.rows(), columns);
  }

  /// Reports the first NaN or Inf of the right-hand sides; false if there is none.
  bool report_nonfinite() {
    const auto found = std::find_if(b_facts_.begin(), b_facts_.end(),
                                    [](const VectorFacts& column) { return column.nonfinite.has_value(); });
    if (found == b_facts_.end()) return false;
    report_.status = Status::not_a_number;
    report_.row = found->nonfinite;
    report_.column = found - b_facts_.begin();
    report_.message = fmt::format("b has a NaN or Inf at row {}, column {}, counted from 0",
                                  *found->nonfinite, found - b_facts_.begin());
    return true;
  }

  /// The outcome of a set-up without its statistics, which the report has already.
  static Outcome facts_of(const Outcome& setup) {
    return {.status = setup.status,
            .message = setup.message,
            .row = setup.row,
            .reciprocal_condition = setup.reciprocal_condition,
            .rank = setup.rank,
            .certainty = setup.certainty,
            .warnings = setup.warnings};
  }

  /// Makes one job for each right-hand side, with the tolerance of an iterative method.
  void make_jobs() {
    for (std::size_t j = 0; j < b_facts_.size(); ++j) {
      const VectorFacts& b = b_facts_[j];
      Job& job = jobs_.emplace_back(Job{.number = column_number(j),
                                        .right_hand_side_norm = b.norm2,
                                        .right_hand_side_norm_inf = b.norm_inf,
                                        .matrix_norm = state_.norm_inf,
                                        .control = &control_,
                                        .unscaling = scaling_.unscaling(j),
                                        .stopwatch = stopwatch_});
      if (!is_iterative() || !has_factor(state_.setup)) {
        job.outcome = facts_of(state_.setup);
        continue;
      }
      const double rtol = control_.rtol.value_or(stop_->relative_tolerance(std::is_same_v<Real<T>, float>));
      job.relative_tolerance = rtol;
      job.tolerance =
          std::max(rtol * b.norm2, std::ldexp(control_.atol.value_or(stop_->atol), scaling_.exponent(j)));
      job.max_iterations = control_.max_iterations.value_or(stop_->max_iterations);
      job.outcome = {Status::converged};
    }
  }

  [[nodiscard]] bool has_null_space() const { return state_.null_space.dimension() > 0; }

  /// Removes the part of each column along null vectors, in a copy, and tightens the tolerances of the
  /// method by it. Returns B or the copy.
  DenseView<const T> project_rhs(DenseView<const T> B) {
    if (!has_null_space()) return B;
    if (!own_.projection) own_.projection = make_projection<T>(implementation_.device());
    SolveWorkspace<T>::fit(B.rows(), B.columns(), B.device(), own_.consistent);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      T* const b = own_.consistent.view().column(column_number(j));
      check_.copy(B.rows(), B.column(column_number(j)), b);
      check_.synchronize();
      outside_.push_back(own_.projection->remove(state_.null_space, b));
      asked_tolerances_.push_back(jobs_[j].tolerance);
      if (is_iterative()) jobs_[j].tolerance = tolerance_in_range<T>(outside_[j], B.rows(), jobs_[j]);
    }
    return own_.consistent;
  }

  /// Makes each x the one of least norm, and names what that means.
  void project_answers(DenseView<T> X) {
    if (!has_null_space()) return;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      own_.projection->project(state_.null_space, X.column(column_number(j)));
      Outcome& outcome = jobs_[j].outcome;
      const std::int64_t rank = outcome.rank.value_or(X.rows());
      if (!is_iterative()) name_solution_of_least_norm(outcome);
      if (is_iterative() || outside_[j].norm() > satisfying_residual<T> * b_facts_[j].norm2)
        name_part_outside_range<T>(outside_[j], X.rows(), jobs_[j]);
      outcome.rank = std::min(rank, X.rows() - state_.null_space.dimension());
    }
  }

  /// The outcome of a direct method for a right-hand side in the range of a singular A.
  void name_solution_of_least_norm(Outcome& outcome) const {
    const bool computed = outcome.ok() || outcome.status == Status::underdetermined ||
                          (outcome.status == Status::singular && !outcome.row);
    if (!computed) return;
    const std::int64_t dimension = state_.null_space.dimension();
    outcome.status = Status::underdetermined;
    outcome.message = fmt::format(
        "A maps {} to zero{}: x is orthogonal to {}, and x plus {} satisfies the equations as well as x does",
        dimension == 1 ? "a known vector" : fmt::format("{} known independent vectors", dimension),
        state_.null_space.proven == dimension ? "" : " up to rounding", dimension == 1 ? "it" : "them",
        dimension == 1 ? "any multiple of it" : "any combination of them");
  }

  /// Whether corrections by the factors are right to a few digits in the largest element of x, although it
  /// may be a small one of the unknowns of the scaled A: with a relative error of corrections of `error`,
  /// that of x after one is error^2 of the largest unknown, and at most a rounding error of the smallest.
  [[nodiscard]] bool tells_small_unknowns(double error) const {
    constexpr double moderate = 16;
    const double spread = state_.column_spread;
    return spread <= moderate || error * error * spread <= epsilon();
  }

  /// Whether the factors of a direct method are good enough to measure errors; sets `trusted` if corrections
  /// by them need no test. Factors of a matrix that is singular to working precision have a smallest singular
  /// value that rounding made, and hide errors, unless they contract every error or are those of an upper
  /// triangular matrix, which are exact.
  bool is_measurable(ErrorMeasurement<T>& measurement, bool& trusted) {
    const Outcome& setup = state_.setup;
    const std::int64_t n = state_.matrix.rows();
    if (is_iterative() || !control_.measure_error || n != state_.matrix.columns() || minimizes_residual() ||
        (setup.rank.value_or(n) != n && !has_null_space()))
      return false;
    for (const Job& job : jobs_) {
      if (job.exact || (job.outcome.status != setup.status && !has_null_space())) return false;
    }
    const std::optional<double>& known = setup.reciprocal_condition;
    if (setup.ok() && known && *known >= doubtful_condition<T> && !has_null_space()) {
      trusted = *known >= trusted_condition * epsilon() && tells_small_unknowns(epsilon() / *known);
      return true;
    }
    std::optional<Contraction>& found = own_.contraction;
    if (!found) found = measurement.contraction(implementation_.device(), n);
    trusted = ((setup.ok() && !known) || has_null_space()) && found->first * trusted_condition <= 1 &&
              tells_small_unknowns(found->first);
    if (!found->failed || (!setup.ok() && state_.exact->upper_triangle())) return true;
    // Corrections that shrink tell a nonsingular A from one with a null vector, but may miss a part of the
    // error.
    hides_errors_ = true;
    return setup.ok() && state_.exact->nonsingular();
  }

  /// Finds the facts of each x and its residual, and the errors where they can be measured.
  void measure(DenseView<const T> B, DenseView<T> X) {
    std::function<void(T*)> project;
    if (has_null_space()) project = [&](T* x) { own_.projection->project(state_.null_space, x); };
    ErrorMeasurement<T> measurement(implementation_, *own_.method, check_, own_.measurement, state_.matrix,
                                    state_.setup, state_.norm_inf, project);
    bool trusted = false;
    if (is_measurable(measurement, trusted)) {
      const bool refined =
          std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.refined; });
      columns_ = measurement.run(B, X, trusted, refined);
      measured_ = true;
      for (std::size_t j = 0; j < jobs_.size(); ++j) add_unscaling_error(B, X, j);
      return;
    }
    const std::vector<AnswerFacts> found = inspect_answers(B, X);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      columns_.push_back({.x = found[j].answer, .r = found[j].residual, .error = 1, .correction = 0});
      if (!jobs_[j].exact && is_residual_of_rounding(j))
        columns_[j].r = accurate_residual(B, X.column(column_number(j)), j);
    }
  }

  /// Whether rounding errors of the residual in working precision could hide one that is too large.
  [[nodiscard]] bool is_residual_of_rounding(std::size_t j) const {
    const bool to_tolerance = is_iterative() && !jobs_[j].limited_by_rounding;
    const double limit = to_tolerance ? jobs_[j].tolerance : satisfying_residual<T> * b_facts_[j].norm2;
    return may_hide_excess<T>(columns_[j].r.norm2, limit, state_.matrix.rows(),
                              state_.norm_inf * columns_[j].x.norm_inf);
  }
  VectorFacts accurate_residual(DenseView<const T> B, const T* x, std::size_t j) {
    own_.fit_residuals(B);
    return check_.accurate_residual(state_.matrix, B.column(column_number(j)), x, own_.residuals.data());
  }

  /// Adds the error of numbers that lose bits when they are unscaled, as subnormal ones do.
  void add_unscaling_error(DenseView<const T> B, DenseView<T> X, std::size_t j) {
    T* const x = X.column(column_number(j));
    if (scaling_.unscaling(j) == 0 || check_.scales_exactly(X.rows(), scaling_.unscaling(j), x)) return;
    scaling_.round_to_unscaled(X, j);
    columns_[j].x = check_.vector(X.rows(), x);
    columns_[j].r = accurate_residual(B, x, j);
    columns_[j].error += underflow_error(j);
  }
  /// Distance of the smallest numbers of T from each other, relative to x.
  [[nodiscard]] double underflow_error(std::size_t j) const {
    const double norm = columns_[j].x.norm_inf;
    const auto smallest = static_cast<double>(std::numeric_limits<Real<T>>::denorm_min());
    return norm > 0 ? std::ldexp(smallest, -scaling_.unscaling(j)) / norm : 0;
  }

  /// Facts of each x and of its residual, those of a zero one where the answer is exact.
  std::vector<AnswerFacts> inspect_answers(DenseView<const T> B, DenseView<const T> X) {
    std::vector<AnswerFacts> facts(jobs_.size());
    std::vector<std::size_t> numbers;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].exact) {
        facts[j].answer = check_.vector(X.rows(), X.column(column_number(j)));
      } else {
        numbers.push_back(j);
      }
    }
    own_.fit_residuals(B);
    const auto together = static_cast<std::size_t>(own_.residuals.columns());
    for (std::size_t first = 0; first < numbers.size(); first += together) {
      const std::size_t end = std::min(first + together, numbers.size());
      MultiVector<const T> b(B.rows());
      MultiVector<const T> x(X.rows());
      for (std::size_t k = first; k < end; ++k) {
        b.add(B.column(column_number(numbers[k])));
        x.add(X.column(column_number(numbers[k])));
      }
      const DenseView<T> memory = own_.residuals.view();
      const MultiVector<T> r(memory.data(), memory.rows(), memory.leading(), x.columns());
      const std::vector<AnswerFacts> found = check_.answers(state_.matrix, b, x, r);
      for (std::size_t k = first; k < end; ++k) facts[numbers[k]] = found[k - first];
    }
    return facts;
  }

  /// Estimate of the error of an x, if there is one.
  [[nodiscard]] std::optional<double> error_of(std::size_t j) const {
    const MeasuredColumn& column = columns_[j];
    const Outcome& outcome = jobs_[j].outcome;
    if (jobs_[j].error) return *jobs_[j].error + underflow_error(j);
    if (measured_ && std::isfinite(column.error)) return hides_errors_ ? 1.0 : column.error;
    if (is_iterative()) return iterative_error(jobs_[j], column.x, column.r);
    // A may be singular, so that nothing is known of the error.
    const std::int64_t n = state_.matrix.columns();
    const bool doubtful = outcome.reciprocal_condition || state_.setup.rank.value_or(n) < n;
    const bool unknown = control_.measure_error && doubtful && !jobs_[j].exact &&
                         (has_null_space() || outcome.rank.value_or(n) == n);
    return unknown ? std::optional(1.0) : std::nullopt;
  }
  /// Estimate of an iterative method, see Report::error_estimate; empty without a condition estimate.
  [[nodiscard]] std::optional<double> iterative_error(const Job& job, const VectorFacts& x,
                                                      const VectorFacts& r) const {
    if (!(job.inverse_norm > 0) || !(x.norm2 > 0)) return std::nullopt;
    // The first term is often a tenth of the error or less if the iteration has not resolved the smallest
    // singular values; the second term then compensates. Iterations of least squares have the condition of A.
    const double inverse_norm = std::max(job.inverse_norm, state_.inverse_norm);
    const double condition =
        implementation_.minimizes_residual() ? state_.norm_inf * inverse_norm : job.preconditioned_condition;
    return std::max(inverse_norm * (r.norm2 / x.norm2), condition * (r.norm2 / job.right_hand_side_norm));
  }

  /// Decides on each answer and describes the worst.
  void decide(DenseView<const T> B, DenseView<T> X) {
    std::vector<ColumnReport> columns;
    for (std::size_t j = 0; j < jobs_.size(); ++j) columns.push_back(accept(B, X, j));
    if (control_.least_squares) accept_least_residuals(B, X, columns);
    std::size_t worst = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      columns[j].normal_residual = jobs_[j].normal_residual;
      const double residual = std::ldexp(columns_[j].r.norm2, -scaling_.exponent(j));
      if (add_column(columns[j], residual, jobs_[j].outcome, report_)) worst = j;
    }
    if (!jobs_.empty()) describe(jobs_[worst], scaling_.exponent(worst));
  }

  /// The error for which an x that does not satisfy the equations may be accepted; that of an x of least norm
  /// says nothing of them. Where an error may be larger than measured, only a proof that A is nonsingular
  /// accepts x, as without a measurement.
  [[nodiscard]] std::optional<double> accepted_error(const MeasuredColumn& column) const {
    if (!control_.measure_error || hides_errors_) return std::nullopt;
    return has_null_space() ? 1.0 : column.error;
  }

  /// Figures of x, whose facts are in columns_[j].
  [[nodiscard]] ColumnReport figures_of(std::size_t j) const {
    ColumnReport column = measured_column(b_facts_[j], columns_[j].x, columns_[j].r, state_.norm_inf);
    column.iterations = jobs_[j].iterations;
    return column;
  }
  Answer<T> answer_of(DenseView<const T> B, const T* x, std::size_t j) {
    const MeasuredColumn& measured = columns_[j];
    const T* const b = B.column(column_number(j));
    return {.b = b_facts_[j],
            .x = measured.x,
            .r = measured.r,
            .backward_error = figures_of(j).backward_error,
            .error = accepted_error(measured),
            .proves_rank = implementation_.proves_rank(),
            .accurate_residual =
                [=, this] {
                  if (!measured_) columns_[j].r = accurate_residual(B, x, j);
                  return columns_[j].r;
                },
            .host_rhs = [=, this] { return to_host(B.rows(), b); },
            .normal_residual = [=, this] { return normal_residual_of(B, b, x); },
            .truncation = implementation_.truncation()};
  }

  ColumnReport accept(DenseView<const T> B, DenseView<const T> X, std::size_t j) {
    Job& job = jobs_[j];
    if (!job.outcome.rank) job.outcome.rank = state_.setup.rank;
    const Answer<T> answer = answer_of(B, X.column(column_number(j)), j);
    const bool minimizes = minimizes_residual();
    if (minimizes) {
      accept_minimizer(answer, problem(), is_iterative(), job);
    } else if (is_iterative()) {
      accept_iterative(answer, *state_.exact, job);
    } else if (!job.exact) {
      accept_direct(answer, state_.matrix.columns(), *state_.exact, job.outcome);
    }
    ColumnReport column = figures_of(j);
    const bool unique = job.outcome.status != Status::underdetermined || has_null_space() || minimizes;
    if (solved(job.outcome.status) && unique) column.error_estimate = error_of(j);
    return column;
  }

  /// Whether the method's x minimises the residual, and is judged by that.
  [[nodiscard]] bool minimizes_residual() const {
    const bool square = state_.matrix.rows() == state_.matrix.columns();
    return implementation_.minimizes_residual() && (!square || implementation_.damping() > 0);
  }
  [[nodiscard]] LeastSquaresProblem problem() const {
    return {state_.matrix.rows(), state_.matrix.columns(), implementation_.damping(),
            implementation_.solution_kind()};
  }

  /// Takes each refused x that has the least residual as the answer, and replaces the others by those of a
  /// decomposition where A is small. An x of elimination is replaced in any case, since another one of least
  /// residual has the least norm.
  void accept_least_residuals(DenseView<const T> B, DenseView<T> X, std::vector<ColumnReport>& columns) {
    const bool decomposed = is_decomposable(state_.matrix);
    const bool replaces_all = decomposed && !is_iterative() && !has_null_space();
    std::vector<std::size_t> others;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (!is_refused(jobs_[j].outcome) && !(is_iterative() && is_ended(jobs_[j].outcome))) continue;
      const T* const x = X.column(column_number(j));
      if (replaces_all || !accept_least_squares(answer_of(B, x, j), jobs_[j])) others.push_back(j);
    }
    if (others.empty()) return;
    if (!decomposed) {
      for (const std::size_t j : others) {
        jobs_[j].outcome.message += fmt::format(
            "; this x is not one of least residual, which is computed for any square A of order at most {}, "
            "and for a larger symmetric one whose null vectors are known",
            most_decomposed_rows);
      }
      return;
    }
    if constexpr (!is_complex<T>) replace_by_decomposition(B, X, others, columns);
  }

  /// Replaces the x of the columns `others` by those of least residual of a decomposition of A.
  void replace_by_decomposition(DenseView<const T> B, DenseView<T> X, const std::vector<std::size_t>& others,
                                std::vector<ColumnReport>& columns) {
    Dense<T> rhs(X.device(), B.rows(), column_number(others.size()));
    for (std::size_t k = 0; k < others.size(); ++k)
      check_.copy(B.rows(), B.column(column_number(others[k])), rhs.view().column(column_number(k)));
    check_.synchronize();
    const std::optional<LeastSquaresSolution<T>> found = solve_least_squares(state_.matrix, rhs);
    if (!found) return;
    const Dense<T> Y = found->X.to(X.device());
    for (std::size_t k = 0; k < others.size(); ++k)
      replace(B, X, others[k], Y.view().column(column_number(k)), *found, columns[others[k]]);
  }

  /// Replaces a refused x by the y of least residual; not that of an iteration, if y meets the tolerance that
  /// the iteration has not met.
  void replace(DenseView<const T> B, DenseView<T> X, std::size_t j, const T* y,
               const LeastSquaresSolution<T>& solution, ColumnReport& column) {
    Job& job = jobs_[j];
    Outcome& outcome = job.outcome;
    if (is_ended(outcome) && accurate_residual(B, y, j).norm2 <= job.tolerance) return;
    T* const x = X.column(column_number(j));
    check_.copy(X.rows(), y, x);
    scaling_.round_to_unscaled(X, j);
    columns_[j] = {
        .x = check_.vector(X.rows(), x), .r = accurate_residual(B, x, j), .error = 1, .correction = 0};
    column = figures_of(j);
    outcome.row.reset();
    if (outcome.certainty != Certainty::proven) outcome.rank = solution.rank;
    outcome.message +=
        fmt::format("; x is that of {} by a singular value decomposition, where A has rank {}",
                    solution.least_norm ? "least residual and least norm" : "least residual", solution.rank);
    if (satisfies<T>(b_facts_[j], columns_[j].r)) {
      outcome.status = solution.rank < X.rows() ? Status::underdetermined : Status::direct;
      accept_direct(answer_of(B, x, j), X.rows(), *state_.exact, outcome);
      if (outcome.status == Status::direct && control_.measure_error) column.error_estimate = 1;
    } else if (!accept_least_squares(answer_of(B, x, j), job)) {
      outcome.message += ". Rounding errors keep its residual above the least one";
    }
  }

  std::vector<T> to_host(std::int64_t n, const T* x) {
    Array<T> copy(implementation_.device(), n);
    check_.copy(n, x, copy.data());
    check_.synchronize();
    return copy.to_vector();
  }

  /// A^T (b - A x), less d^2 x.
  NormalResidual normal_residual_of(DenseView<const T> B, const T* b, const T* x) {
    Array<T> r(implementation_.device(), B.rows());
    check_.accurate_residual(state_.matrix, b, x, r.data());
    check_.synchronize();
    return normal_residual(state_.matrix, r, to_host(state_.matrix.columns(), x), implementation_.damping(),
                           state_.norm_inf);
  }

  /// Describes the right-hand side that the report is about.
  void describe(const Job& job, int exponent) {
    report_.tolerance = std::ldexp(job.tolerance, -exponent);
    report_.history = job.history;
    report_.history_seconds = job.history_seconds;
    if (job.right_hand_side_norm > 0) {
      for (double& norm : report_.history) norm /= job.right_hand_side_norm;
    }
    report_.statistics.insert(report_.statistics.end(), job.statistics.begin(), job.statistics.end());
    if (job.factor_precision) report_.factor_precision = job.factor_precision;
    for (const std::string& warning : job.outcome.warnings) {
      if (std::find(report_.warnings.begin(), report_.warnings.end(), warning) == report_.warnings.end())
        report_.warnings.push_back(warning);
    }
    if (job.limited_by_rounding && report_.solved() && !report_.message.empty()) {
      report_.warnings.push_back(std::exchange(report_.message, {}));
    }
    if (is_iterative() && job.inverse_norm > 0) add_krylov_condition(job);
    if (report_.solved() && report_.expected_digits() == 0) {
      report_.warnings.push_back(fmt::format(
          "A is ill-conditioned{}: the residual is small, but x need not have a correct digit{}",
          report_.reciprocal_condition ? fmt::format(" (about {:.1e})", 1 / *report_.reciprocal_condition)
                                       : "",
          is_iterative() ? "; a direct method, or a smaller rtol, may have more" : ""));
    }
  }

  /// Adds the condition estimates of an iterative method.
  void add_krylov_condition(const Job& job) {
    if (job.preconditioned_condition > 0) report_.preconditioned_condition = job.preconditioned_condition;
    const double condition = state_.norm_inf * std::max(job.inverse_norm, state_.inverse_norm);
    if (!(condition > 0)) return;
    report_.condition_kind = ConditionKind::krylov;
    report_.reciprocal_condition = 1 / condition;
  }

  /// Reciprocal condition number, as a multiple of the machine epsilon, from which factors are accurate
  /// enough to measure errors without a test.
  static constexpr double trusted_condition = 1e5;

  const SolverImplementation<T>& implementation_;
  const SolverState<T>& state_;
  SolveWorkspace<T>& own_;
  ResidualCheck<T>& check_;
  RhsScaling<T> scaling_;
  const Control& control_;
  Report& report_;
  const Stop* stop_;
  Stopwatch stopwatch_;
  std::vector<VectorFacts> b_facts_;      // of the scaled right-hand sides
  std::vector<OutsideRange> outside_;     // parts of the right-hand sides along null vectors
  std::vector<double> asked_tolerances_;  // where the method has others, because of these parts
  std::vector<Job> jobs_;
  std::vector<MeasuredColumn> columns_;
  bool measured_ = false;
  bool hides_errors_ = false;  // errors of x may be larger than those measured
};

}  // namespace echelon

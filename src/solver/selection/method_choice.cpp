// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/method_choice.hpp"

#include "matrix/view_checks.hpp"
#include "solver/nested_solver.hpp"
#include "solver/progress.hpp"
#include "solver/selection/trial.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace echelon {

namespace {

/// Longest time of a direct method that is tried after an iterative one whose x has no correct digit.
constexpr double digits_worth_seconds = 10;

/// Error of x that a trial goes on to where it has converged without a correct digit.
constexpr double wanted_error = 1e-3;

/// Whether no other method can change the outcome.
bool is_final(const Report& report) {
  return report.solved() || report.status == Status::cancelled || report.status == Status::inconsistent ||
         (report.status == Status::not_a_number && report.columns.empty());
}

double residual_of(const Report& report) {
  if (report.columns.empty() || !(report.relative_residual >= 0))
    return std::numeric_limits<double>::infinity();
  return report.relative_residual;
}

/// Report of a method that ran out of memory.
Report report_of(const Candidate& candidate, const OutOfMemory& error) {
  Report report;
  report.status = Status::out_of_memory;
  report.message = error.what();
  report.method = candidate.method;
  report.device = candidate.device;
  report.reason = candidate.reason;
  report.relative_residual = report.backward_error = 1;
  return report;
}

/// Adds the iterations before those of a report, which began with their x.
void prepend(const Report& before, Report& report) {
  report.iterations += before.iterations;
  for (ColumnReport& column : report.columns) column.iterations += before.iterations;
  report.solve_seconds += before.solve_seconds;
  if (!report.history.empty()) report.history.erase(report.history.begin());
  report.history.insert(report.history.begin(), before.history.begin(), before.history.end());
  if (!report.history_seconds.empty()) report.history_seconds.erase(report.history_seconds.begin());
  for (double& seconds : report.history_seconds) seconds += before.solve_seconds;
  report.history_seconds.insert(report.history_seconds.begin(), before.history_seconds.begin(),
                                before.history_seconds.end());
  const auto relative_tolerance = [](const Report& of) {
    return of.residual_norm > 0 ? of.tolerance / of.residual_norm * of.relative_residual : 0;
  };
  report.warnings.push_back(
      fmt::format("x converged at the relative tolerance {:.1e} without a correct digit by its estimated "
                  "error: the iteration went on to {:.1e}",
                  relative_tolerance(before), relative_tolerance(report)));
}

/// Control of a solve by one of several methods: a direct one ignores the settings of iterations.
Control control_of(const Control& control, bool direct) {
  Control own = control;
  if (!direct) return own;
  own.use_initial_guess = false;
  own.rtol = own.atol = std::nullopt;
  own.max_iterations.reset();
  return own;
}

}  // namespace

void Singularity::describe(Report& report) const {
  if (report.status == Status::cancelled) return;
  const bool unique = report.status == Status::direct || report.status == Status::converged;
  if (unique && certainty == Certainty::proven) {
    report.status = Status::underdetermined;
    report.message = message + ": x satisfies the equations, and so do others";
    report.certainty = Certainty::proven;
    if (!report.rank) report.rank = rank;
    report.error_estimate.reset();
  } else if (report.status == Status::underdetermined) {
    if (certainty == Certainty::proven) report.certainty = Certainty::proven;
    report.warnings.push_back(message);
  } else if (unique && report.certainty != Certainty::proven) {
    report.warnings.push_back(message + ": x satisfies the equations, but so may others");
  } else if (!report.solved() && report.status != Status::inconsistent) {
    report.status = Status::singular;
    report.message = message;
    report.row = row;
    report.certainty = certainty;
    if (rank) report.rank = rank;
  }
}

/// The attempts of one solve, of which the best answer is kept: a solution, or else the one with the smallest
/// residual.
template <class T>
class MethodChoice<T>::Attempts {
 public:
  Attempts(DenseView<const T> B, DenseView<T> X, const Control& control) : B_(B), X_(X), control_(control) {
    if (overlap<T>(B, X)) B_ = rhs_ = packed(B);
    if (control.use_initial_guess) guess_ = packed<T>(X);
  }

  /// Solves by a method. Returns what it says of a singular A.
  std::optional<Singularity> run(const SolverPointer& solver, bool singular) {
    if (best_ != nullptr && best_ == last_ && !best_report_.columns.empty()) best_x_ = packed<T>(X_);
    last_ = solver;
    const bool direct = solver->is_direct();
    if (control_.use_initial_guess && !direct) assign<T>(guess_, X_);
    const Stopwatch stopwatch;
    Report report = answer_of(*solver, control_of(control_, direct));
    const bool goes_on = control_.least_squares && report.status == Status::inconsistent;
    std::optional<Singularity> found;
    if (direct && (report.status == Status::singular || goes_on)) found = singularity_of(report);
    const bool without_digit = report.solved() && report.expected_digits() == 0;
    doubtful_ = without_digit && solver->candidate().trial_iterations == 0;
    finished_ = is_final(report) && !goes_on && (direct || singular || found || !without_digit);
    const double seconds = solver->setup_seconds() + stopwatch.seconds();
    tried_.push_back({{report.method, report.status, report.message, seconds}, solver});
    if (best_ == nullptr || is_better(report)) {
      best_ = solver;
      best_report_ = std::move(report);
    }
    return found;
  }

  [[nodiscard]] bool is_finished() const { return finished_; }
  [[nodiscard]] bool is_solved() const { return best_ != nullptr && best_report_.solved(); }
  [[nodiscard]] bool is_doubtful() const { return doubtful_; }
  [[nodiscard]] bool has_tried(const SolverPointer& solver) const {
    return std::ranges::find(tried_, solver, &TriedMethod::solver) != tried_.end();
  }

  /// The method of the best answer; null without an attempt.
  [[nodiscard]] const SolverPointer& best() const { return best_; }
  /// Writes the best answer to X, and returns its report.
  Report take() {
    if (best_ != last_ && !best_report_.columns.empty()) assign<T>(best_x_, X_);
    return std::move(best_report_);
  }
  /// The attempts without the one of the best answer.
  [[nodiscard]] std::vector<FailedMethod> failed() const {
    std::vector<FailedMethod> failed;
    for (const TriedMethod& tried : tried_) {
      if (tried.solver != best_) failed.push_back({tried.attempt, tried.solver});
    }
    return failed;
  }

 private:
  struct TriedMethod {
    Attempt attempt;
    SolverPointer solver;
  };

  Report answer_of(PlacedSolver<T>& solver, const Control& control) {
    const Candidate& candidate = solver.candidate();
    try {
      if (candidate.trial_iterations == 0) return solver.solve(B_, X_, control);
      const Trial trial(control, candidate.trial_iterations);
      Report report = solver.solve(B_, X_, trial.control());
      Trial::name_end(report, control);
      const bool without_digit = report.status == Status::converged && report.expected_digits() == 0;
      return without_digit && X_.columns() == 1 ? refined(solver, control, std::move(report)) : report;
    } catch (const OutOfMemory& error) {
      return report_of(candidate, error);
    }
  }
  /// Goes on with an x that has converged without a correct digit, to a tolerance at which its error is
  /// small. Keeps x and its report if that fails.
  Report refined(PlacedSolver<T>& solver, const Control& control, Report report) {
    const Dense<T> x = packed<T>(X_);
    Control smaller = control;
    smaller.use_initial_guess = true;
    smaller.rtol = wanted_error / *report.error_estimate * report.relative_residual;
    smaller.atol.reset();
    if (smaller.max_iterations)
      smaller.max_iterations = std::max<std::int64_t>(*smaller.max_iterations - report.iterations, 0);
    const Trial trial(smaller, solver.candidate().trial_iterations);
    Report finer = solver.solve(B_, X_, trial.control());
    if (!finer.solved() || finer.expected_digits() == 0) {
      assign<T>(x, X_);
      return report;
    }
    prepend(report, finer);
    return finer;
  }

  /// A rank is known only where it is proven.
  [[nodiscard]] Singularity singularity_of(const Report& report) const {
    const bool deficient = report.certainty == Certainty::proven && report.rank != X_.rows();
    return {.message =
                report.method + " called A singular" + (report.message.empty() ? "" : ": " + report.message),
            .certainty = deficient ? Certainty::proven : Certainty::working_precision,
            .rank = deficient ? report.rank : std::nullopt,
            .row = report.row};
  }

  [[nodiscard]] bool is_better(const Report& report) const {
    if (best_report_.solved())
      return report.solved() && report.error_estimate.value_or(1) < best_report_.error_estimate.value_or(1);
    return finished_ || report.solved() || residual_of(report) < residual_of(best_report_);
  }

  DenseView<const T> B_;
  DenseView<T> X_;
  const Control& control_;
  Dense<T> rhs_, guess_;  // copies of B and of the first guess, which X overwrites
  SolverPointer last_;    // whose answer is in X
  SolverPointer best_;
  Report best_report_;
  Dense<T> best_x_;  // unless it is in X
  std::vector<TriedMethod> tried_;
  bool finished_ = false;
  bool doubtful_ = false;  // the last x satisfies the equations, but may have no correct digit
};

template <class T>
std::shared_ptr<PlacedSolver<T>> MethodChoice<T>::chosen() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return chosen_;
}

template <class T>
void MethodChoice<T>::set_singular(const Singularity& singularity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  singularity_ = singularity;
}

template <class T>
bool MethodChoice<T>::is_singular() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return singularity_.has_value();
}

template <class T>
CandidateQueue<T>& MethodChoice<T>::queue(const Control& control) {
  if (queue_) return *queue_;
  const ReportedSetup reported(control, "auto");
  const MatrixRef<T>& A = matrix_->given();
  queue_.emplace(A, device_, limits_);
  reported.end(SolverPhase::analysis, true);
  if (const std::optional<std::int64_t> rank = queue_->deficient_rank()) {
    set_singular({.message = fmt::format("A is singular whatever its values: its structural rank is {} of {}",
                                         *rank, A.rows()),
                  .certainty = Certainty::proven,
                  .rank = rank});
  }
  return *queue_;
}

template <class T>
Report MethodChoice<T>::analyze(const MatrixRef<T>& A, const Control& control) {
  PlacedMatrix<T> matrix(A);
  CandidateQueue<T> candidates(A, device_, limits_);
  std::optional<Candidate> first = candidates.next([](const Candidate& /*any*/) { return true; });
  if (!first) first = candidates.next_for_singular();
  Report report;
  report.status = Status::ready;
  report.method = "auto";
  report.device = A.device();
  if (!first) return report;
  before_ = candidates.make(*first, nullptr);
  before_failed_ = false;
  report = before_->analyze(matrix, control);
  report.choosing_seconds = std::max(0.0, candidates.seconds() - before_->analysis_seconds());
  return report;
}

template <class T>
Report MethodChoice<T>::setup(const MatrixRef<T>& A, bool update, const Control& control) {
  const SolverPointer present = chosen();
  matrix_ = std::make_shared<PlacedMatrix<T>>(A);
  queue_.reset();
  singularity_.reset();
  ignored_asymmetry_.reset();
  chosen_.reset();
  failed_.clear();
  failure_ = {};
  choosing_seconds_ = 0;
  before_failed_ = update && present != nullptr;
  if (before_failed_) before_ = present;
  Report report;
  SolverPointer solver;
  if (before_failed_ && set_up(present, true, control, report)) {
    solver = chosen_ = present;
  } else {
    solver = set_up_next(false, control, report);
    if (solver == nullptr) report = failure_;
    if (solver == nullptr && singularity_) singularity_->describe(report);
  }
  if (!before_failed_) before_.reset();  // its analysis has been used
  describe_choice(solver, report);
  return report;
}

template <class T>
bool MethodChoice<T>::set_up(const SolverPointer& solver, bool update, const Control& control,
                             Report& report) {
  const Stopwatch stopwatch;
  try {
    pass_near_null_space(SolverAccess<T>::implementation(solver->solver()), near_null_space_);
    report = solver->setup(matrix_, update, control);
  } catch (const OutOfMemory& error) {
    report = report_of(solver->candidate(), error);
  }
  switch (report.status) {
    case Status::ready:
    case Status::singular:
    case Status::inconsistent:
    case Status::underdetermined:
    case Status::not_a_number:
    case Status::cancelled:
      return true;
    default:
      break;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  failed_.push_back({{report.method, report.status, report.message, stopwatch.seconds()}, solver});
  if (failed_.size() == 1) failure_ = report;
  return false;
}

template <class T>
std::shared_ptr<PlacedSolver<T>> MethodChoice<T>::set_up_next(bool doubtful, const Control& control,
                                                              Report& setup) {
  CandidateQueue<T>& candidates = queue(control);
  const auto accepts = [&](const Candidate& candidate) {
    if (before_failed_ && same_method(candidate, before_->candidate())) return false;
    return !doubtful || (find_method(candidate.method).kind == MethodKind::direct &&
                         candidate.seconds.value_or(0) <= digits_worth_seconds);
  };
  for (;;) {
    const std::optional<Candidate> candidate =
        is_singular() ? candidates.next_for_singular() : candidates.next(accepts);
    const SolverPointer solver =
        candidate ? candidates.make(*candidate, before_failed_ ? nullptr : before_) : nullptr;
    const bool usable = solver != nullptr && set_up(solver, false, control, setup);
    const std::lock_guard<std::mutex> lock(mutex_);
    choosing_seconds_ = candidates.seconds();
    ignored_asymmetry_ = candidates.ignored_asymmetry();
    if (usable) return chosen_ = solver;
    if (!candidate) return nullptr;
  }
}

template <class T>
std::shared_ptr<PlacedSolver<T>> MethodChoice<T>::next(const Attempts& attempts, const Control& control) {
  const std::lock_guard<std::mutex> lock(advancing_);
  SolverPointer present = chosen();
  if (!attempts.has_tried(present)) return present;  // which another thread has found
  Report setup;
  return set_up_next(attempts.is_doubtful(), control, setup);
}

template <class T>
Report MethodChoice<T>::solve(DenseView<const T> B, DenseView<T> X, const Control& control) {
  Attempts attempts(B, X, control);
  for (SolverPointer solver = chosen(); solver != nullptr; solver = next(attempts, control)) {
    const std::optional<Singularity> found = attempts.run(solver, is_singular());
    if (found) set_singular(*found);
    if (attempts.is_finished() || (attempts.is_solved() && is_singular())) break;
  }
  const SolverPointer best = attempts.best();
  Report report = attempts.take();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (best == nullptr) report = failure_;
    if (best != nullptr) chosen_ = best;
    for (FailedMethod& failed : attempts.failed()) failed_.push_back(std::move(failed));
    if (singularity_) singularity_->describe(report);
  }
  describe_choice(best, report);
  return report;
}

template <class T>
void MethodChoice<T>::describe_choice(const SolverPointer& solver, Report& report) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (report.method.empty()) report.method = "auto";
  // Without a solver the report is that of the first method.
  for (std::size_t k = solver == nullptr ? 1 : 0; k < failed_.size(); ++k) {
    if (solver == nullptr || failed_[k].solver.lock() != solver)
      report.attempts.push_back(failed_[k].attempt);
  }
  // The analysis by which a factorisation was chosen is a part of its own.
  report.choosing_seconds = std::max(0.0, choosing_seconds_ - (solver ? solver->analysis_seconds() : 0));
  if (ignored_asymmetry_) {
    report.warnings.push_back(fmt::format(
        "A was taken as symmetric: it differs from its transpose by {:.1e} of its largest element",
        *ignored_asymmetry_));
  }
}

#define ECHELON_INSTANTIATE(T) template class MethodChoice<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

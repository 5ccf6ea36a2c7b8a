// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "matrix/assign.hpp"
#include "matrix/view_checks.hpp"
#include "solver/certify_answer.hpp"
#include "solver/nested_solver.hpp"
#include "solver/selection/method_selection.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Packed copy of the view's elements, on the view's device.
template <class T>
Dense<T> packed(DenseView<const T> view) {
  Dense<T> copy(view.device(), view.rows(), view.columns());
  assign<T>(view, copy);
  return copy;
}

/// A and B in the memory of the device that is being tried; each is transferred once.
template <class T>
class Problem {
 public:
  Problem(MatrixRef<T> A, DenseView<const T> B) : A_(A), B_(B) {}

  /// Transfers A and B, and returns the time in seconds.
  double move_to(const Device& device) {
    if (same_memory(device, current_A_.device()) && same_memory(device, current_B_.device())) return 0;
    if (A_.is_operator() && !same_memory(device, A_.device())) {
      throw DeviceMismatch(fmt::format("the operator A works on {} and cannot be moved to {}",
                                       A_.device().name(), device.name()));
    }
    const Stopwatch stopwatch;
    current_A_ = A_;
    current_B_ = B_;
    if (!same_memory(device, A_.device())) {
      if (A_.is_sparse()) {
        moved_A_ = A_.csr()->to(device);
      } else {
        moved_A_ = packed(A_.dense()).to(device);
      }
      current_A_ = MatrixRef<T>(moved_A_);
    }
    if (!same_memory(device, B_.device())) {
      moved_B_ = packed(B_).to(device);
      current_B_ = moved_B_;
    }
    return stopwatch.seconds();
  }
  [[nodiscard]] MatrixRef<T> matrix() const { return current_A_; }
  [[nodiscard]] DenseView<const T> right_hand_sides() const { return current_B_; }

 private:
  MatrixRef<T> A_;
  DenseView<const T> B_;
  MatrixRef<T> current_A_ = A_;
  DenseView<const T> current_B_ = B_;
  Matrix<T> moved_A_;
  Dense<T> moved_B_;
};

/// Options of a method with the stopping criteria that the caller requested, which take precedence over
/// `parameters`.
Options with_stop(const Options& parameters, const SolveOptions& asked) {
  Options result = parameters;
  if (asked.rtol) result.set("rtol", *asked.rtol);
  if (asked.atol) result.set("atol", *asked.atol);
  if (asked.max_iterations) result.set("max_iterations", *asked.max_iterations);
  return result;
}

template <class T>
void check_shape(const MatrixRef<T>& A, const std::string& method) {
  if (A.rows() == A.columns()) return;
  if (method != "auto" && find_method(method).needs == MethodNeeds::any_shape) return;
  throw DimensionMismatch(
      fmt::format("A is {} by {}: {} needs a square matrix; gauss-jordan and mapped-echelon take any shape",
                  A.rows(), A.columns(), method));
}

template <class T>
Dense<T> zeros(const Device& device, std::int64_t rows, std::int64_t columns) {
  const std::vector<T> host(static_cast<std::size_t>(rows * columns), T{0});
  return Dense<T>(rows, columns, Array<T>(device, std::span<const T>(host)));
}

/// The initial guess on `device`, or zeros.
template <class T>
Dense<T> starting_point(const InitialGuess& guess, const Device& device, std::int64_t rows,
                        std::int64_t columns) {
  if (guess.empty()) return zeros<T>(device, rows, columns);
  return packed(*guess.as<T>()).to(device);
}

template <class T>
void check_guess(const InitialGuess& guess, std::int64_t rows, std::int64_t columns) {
  if (guess.empty()) return;
  const DenseView<const T>* x = guess.as<T>();
  if (x == nullptr) {
    throw BadOption("initial_guess", fmt::format("its elements are {}, those of A {}",
                                                 std::is_same_v<T, double> ? "float" : "double",
                                                 std::is_same_v<T, double> ? "double" : "float"));
  }
  if (x->rows() == rows && x->columns() == columns) return;
  throw DimensionMismatch(
      fmt::format("the initial guess is {} by {}, x is {} by {}", x->rows(), x->columns(), rows, columns));
}

/// A direct solver that measures the error of an iterative method: of a few milliseconds, or, for a sparse A
/// of the most elements, of some tens of milliseconds with its analysis by AMD. Empty where each takes
/// longer. A sparse A is eliminated on the host, and as a symmetric one if the iterative method needs that.
template <class T>
std::optional<Solver<T>> quick_elimination(const MatrixRef<T>& A, const Device& device, MethodNeeds needs) {
  constexpr std::int64_t dense_rows = 256;
  if (A.is_operator() || A.rows() == 0) return std::nullopt;
  const auto n = static_cast<double>(A.rows());
  if (A.rows() <= dense_rows || (!A.is_sparse() && 2.0 / 3 * n * n * n <= measuring_flops))
    return make_solver<T>("lu", device);
  if (!A.is_sparse() || A.nonzeros() > most_measured_nonzeros) return std::nullopt;
  const Device host = device.on_host() ? device : Device();
  const Csr<T> copy = A.device().on_host() ? Csr<T>() : A.csr()->to(host);
  const bool symmetric = needs == MethodNeeds::symmetric || needs == MethodNeeds::diagonally_dominant ||
                         needs == MethodNeeds::symmetric_positive_definite;
  AnalyzedSolver<T> direct = analyze_factorization(symmetric ? "sparse-ldlt" : "sparse-lu",
                                                   A.device().on_host() ? *A.csr() : copy, host);
  return direct.cost.flops <= measuring_flops ? std::optional(std::move(direct.solver)) : std::nullopt;
}

/// Estimates the error of each x of an iterative method by its distance from that of a direct method, whose
/// own error is measured and added: 1 where that finds no x. No estimate remains where A is singular and its
/// null vectors are not known.
template <class T>
void measure_by_elimination(Problem<T>& problem, Solver<T>& lu, const Dense<double>& near_null_space,
                            const Dense<T>& x, Report& report) {
  problem.move_to(lu.device());
  const MatrixRef<T> A = problem.matrix();
  if (near_null_space.columns() > 0)
    pass_near_null_space(SolverAccess<T>::implementation(lu), near_null_space);
  lu.setup(A);
  Dense<T> y = zeros<T>(lu.device(), x.rows(), x.columns());
  const Report direct = lu.solve(problem.right_hand_sides(), y);
  const Dense<T> there = y.to(Device::serial());
  const Dense<T> here = x.to(Device::serial());
  const auto n = static_cast<std::size_t>(x.rows());
  for (std::size_t j = 0; j < report.columns.size(); ++j) {
    ColumnReport& column = report.columns[j];
    const bool known = j < direct.columns.size() && direct.columns[j].error_estimate.has_value();
    const bool worst = column.error_estimate == report.error_estimate;
    const bool deficient = direct.rank.value_or(A.rows()) < A.rows();
    column.error_estimate = deficient && !known ? std::nullopt : std::optional(1.0);
    if (known && solved(column.status)) {
      double distance = 0;
      double size = 0;
      for (std::size_t i = j * n; i < (j + 1) * n; ++i) {
        distance = std::max(
            distance, std::abs(static_cast<double>(here.data()[i]) - static_cast<double>(there.data()[i])));
        size = std::max(size, std::abs(static_cast<double>(here.data()[i])));
      }
      column.error_estimate =
          (distance > 0 ? distance / size : 0) + direct.columns[j].error_estimate.value_or(1);
    }
    if (worst) report.error_estimate = column.error_estimate;
  }
}

/// The candidate as a solver: the one that was analysed to choose it, in some seconds, or a new one.
template <class T>
Solver<T> solver_for(const Candidate& candidate, const SolveOptions& options, bool iterative,
                     std::optional<AnalyzedSolver<T>>& analyzed, double& analysis_seconds) {
  if (analyzed && analyzed->method == candidate.method && analyzed->solver.device() == candidate.device &&
      candidate.parameters.empty()) {
    Solver<T> solver = std::move(analyzed->solver);
    analysis_seconds = analyzed->seconds;
    analyzed.reset();
    return solver;
  }
  return make_solver<T>(candidate.method, candidate.device,
                        iterative ? with_stop(candidate.parameters, options) : candidate.parameters);
}

/// Runs one method from set-up to report; x is on the candidate's device.
template <class T>
Report attempt(const Candidate& candidate, const SolveOptions& options, Problem<T>& problem, Dense<T>& x,
               const Control& control, std::optional<AnalyzedSolver<T>>& analyzed) {
  const Method& method = find_method(candidate.method);
  if (method.kind == MethodKind::preconditioner) {
    throw BadOption("method",
                    fmt::format("'{}' only approximates a solution: use it inside another method, as "
                                "in --method gmres -p preconditioner={}",
                                method.name, method.name));
  }
  const bool iterative = method.kind == MethodKind::iterative;
  double analysis_seconds = 0;
  Solver<T> solver = solver_for(candidate, options, iterative, analyzed, analysis_seconds);
  if (options.near_null_space.columns() > 0)
    pass_near_null_space(SolverAccess<T>::implementation(solver), options.near_null_space);
  const double transfer_seconds = problem.move_to(candidate.device);
  solver.setup(problem.matrix(), control);
  x = starting_point<T>(options.initial_guess, candidate.device, problem.matrix().columns(),
                        problem.right_hand_sides().columns());
  Control with_guess = control;
  with_guess.use_initial_guess = iterative && !options.initial_guess.empty();
  Report report = solver.solve(problem.right_hand_sides(), x, with_guess);
  const MatrixRef<T> A = problem.matrix();
  if (iterative && options.measure_error && report.status == Status::converged) {
    const Stopwatch stopwatch;
    if (std::optional<Solver<T>> direct = quick_elimination(A, candidate.device, method.needs))
      measure_by_elimination(problem, *direct, options.near_null_space, x, report);
    report.solve_seconds += stopwatch.seconds();
  }
  report.method = solver.describe();
  report.reason = candidate.reason;
  report.analysis_seconds += analysis_seconds;
  report.transfer_seconds = transfer_seconds;
  if (options.method != "auto" && !iterative && (options.rtol || options.atol || options.max_iterations)) {
    report.warnings.emplace_back("rtol, atol and max_iterations have no effect on a direct method");
  }
  if (options.method != "auto" && !iterative && !options.initial_guess.empty()) {
    report.warnings.emplace_back("a direct method ignores the first guess");
  }
  return report;
}

/// Control of an attempt that is given up once its residual shows that it will not converge within a number
/// of iterations.
class Trial {
 public:
  Trial(const Control& given, std::int64_t iterations)
      : control_(given), link_(given.cancel.token(), [this] { stop_.request_stop(); }) {
    control_.cancel = {stop_.get_token(), given.cancel.flag()};
    control_.on_progress = [this, report = given.on_progress, iterations](const Progress& progress) {
      if (report) report(progress);
      if (progress.iteration >= first_look && expected_iterations(progress) > static_cast<double>(iterations))
        stop_.request_stop();
    };
  }
  [[nodiscard]] const Control& control() const { return control_; }

  /// Names the end of an attempt that was given up and not cancelled by the caller.
  static void name_end(Report& report, const Control& given) {
    if (report.status != Status::cancelled || given.cancel.stop_requested()) return;
    report.status = Status::max_iterations;
    report.message = fmt::format("given up after {} iterations, since the residual decreases too slowly",
                                 report.iterations);
    for (ColumnReport& column : report.columns) {
      if (column.status == Status::cancelled) column.status = Status::max_iterations;
    }
  }

 private:
  static constexpr std::int64_t first_look = 8;

  /// Iterations to the tolerance if the residual goes on to fall as it did on average.
  static double expected_iterations(const Progress& progress) {
    if (!(progress.relative_residual < 1)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(progress.iteration) * std::log(progress.tolerance) /
           std::log(progress.relative_residual);
  }

  std::stop_source stop_;
  Control control_;
  std::stop_callback<std::function<void()>> link_;
};

/// Tries candidates one after another and keeps the best answer: a solution, or else the one with the
/// smallest residual.
template <class T>
class Attempts {
 public:
  Attempts(const SolveOptions& options, Problem<T>& problem, const Control& control)
      : options_(options), problem_(problem), control_(control), columns_(problem.matrix().columns()) {}

  /// Keeps a solver that was analysed for A, for the candidate that names its method.
  void keep(std::optional<AnalyzedSolver<T>> analyzed) { analyzed_ = std::move(analyzed); }

  /// Runs until a solution is found, a direct method reports that A is singular, or no other method can help.
  void run(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      const bool direct = find_method(candidate.method).kind == MethodKind::direct;
      if (!may_take(candidate)) continue;
      if (doubtful_ && !(direct && candidate.seconds.value_or(0) <= digits_worth_seconds)) continue;
      add(candidate, direct);
      if (finished_ || singular_) return;
    }
  }

  /// Records that A is singular, whether or not a method has reported it. A rank is known only where it is
  /// proven.
  void set_singular(std::string message, Certainty certainty, std::optional<std::int64_t> rank = {}) {
    singular_ = true;
    singular_message_ = std::move(message);
    const bool deficient = certainty == Certainty::proven && rank != columns_;
    certainty_ = deficient ? Certainty::proven : Certainty::working_precision;
    rank_ = deficient ? rank : std::nullopt;
  }
  /// Runs the candidates for a singular A.
  void run_singular(const std::vector<Candidate>& candidates) {
    for (const Candidate& candidate : candidates) {
      if (finished_) return;
      if (may_take(candidate)) add(candidate, find_method(candidate.method).kind == MethodKind::direct);
    }
  }
  [[nodiscard]] bool has_ended() const { return finished_ || singular_; }
  /// Whether no candidate was of the kind asked for.
  [[nodiscard]] bool empty() const { return attempts_.empty(); }
  [[nodiscard]] bool singular_and_unsolved() const {
    return singular_ && !finished_ && (attempts_.empty() || !best_.report.solved());
  }

  /// Returns the best answer. If A is singular and no method found a solution, the report says so, whatever
  /// the outcome of the method whose x is returned.
  Solution<T> take() {
    Report& report = best_.report;
    for (auto& [entry, is_best] : attempts_) {
      if (!is_best) report.attempts.push_back(std::move(entry));
    }
    if (singular_ && report.status != Status::cancelled) name_singular(report);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool may_take(const Candidate& candidate) const {
    return !options_.kind || find_method(candidate.method).kind == *options_.kind;
  }

  /// Completes the report on an A that a method called singular, or that is.
  void name_singular(Report& report) const {
    const bool unique = report.status == Status::direct || report.status == Status::converged;
    if (unique && certainty_ == Certainty::proven) {
      report.status = Status::underdetermined;
      report.message = singular_message_ + ": x satisfies the equations, and so do others";
      report.certainty = Certainty::proven;
      if (!report.rank) report.rank = rank_;
      report.error_estimate.reset();
    } else if (report.status == Status::underdetermined) {
      if (certainty_ == Certainty::proven) report.certainty = Certainty::proven;
      report.warnings.push_back(singular_message_);
    } else if (unique && report.certainty != Certainty::proven) {
      report.warnings.push_back(singular_message_ + ": x satisfies the equations, but so may others");
    } else if (!report.solved() && report.status != Status::inconsistent) {
      report.status = Status::singular;
      report.message = singular_message_;
      report.row = singular_row_;
      report.certainty = certainty_;
      if (rank_) report.rank = rank_;
    }
  }

  Report run_candidate(const Candidate& candidate, Dense<T>& x) {
    if (candidate.trial_iterations == 0)
      return attempt(candidate, options_, problem_, x, control_, analyzed_);
    const Trial trial(control_, candidate.trial_iterations);
    Report report = attempt(candidate, options_, problem_, x, trial.control(), analyzed_);
    Trial::name_end(report, control_);
    return report;
  }

  void add(const Candidate& candidate, bool direct) {
    const Stopwatch stopwatch;
    Solution<T> next;
    try {
      next.report = run_candidate(candidate, next.x);
    } catch (const OutOfMemory& error) {
      next.report.status = Status::out_of_memory;
      next.report.message = error.what();
      next.report.method = candidate.method;
      next.report.device = candidate.device;
      next.report.reason = candidate.reason;
    }
    const Report& report = next.report;
    const bool goes_on = options_.least_squares && report.status == Status::inconsistent;
    if (direct && (report.status == Status::singular || goes_on)) {
      set_singular(
          report.method + " called A singular" + (report.message.empty() ? "" : ": " + report.message),
          report.certainty, report.rank);
      singular_row_ = report.row;
    }
    doubtful_ = report.solved() && report.expected_digits() == 0;
    finished_ = is_final(report) && !goes_on && (direct || singular_ || !doubtful_);
    const bool better = attempts_.empty() || is_better(report);
    if (better) {
      for (auto& entry : attempts_) entry.second = false;
    }
    attempts_.emplace_back(Attempt{report.method, report.status, report.message, stopwatch.seconds()},
                           better);
    if (better) best_ = std::move(next);
  }

  /// Whether no other method can change the outcome.
  [[nodiscard]] static bool is_final(const Report& report) {
    return report.solved() || report.status == Status::cancelled || report.status == Status::inconsistent ||
           (report.status == Status::not_a_number && report.columns.empty());
  }

  [[nodiscard]] bool is_better(const Report& report) const {
    if (best_.report.solved()) {
      return report.solved() && report.error_estimate.value_or(1) < best_.report.error_estimate.value_or(1);
    }
    return finished_ || report.solved() || residual(report) < residual(best_.report);
  }

  [[nodiscard]] static double residual(const Report& report) {
    if (report.columns.empty() || !(report.relative_residual >= 0)) {
      return std::numeric_limits<double>::infinity();
    }
    return report.relative_residual;
  }

  /// Longest time of a direct method that is tried after an iterative one whose x has no correct digit.
  static constexpr double digits_worth_seconds = 10;

  const SolveOptions& options_;
  Problem<T>& problem_;
  const Control& control_;
  std::int64_t columns_;  // of A
  std::optional<AnalyzedSolver<T>> analyzed_;
  Solution<T> best_;
  std::vector<std::pair<Attempt, bool>> attempts_;  // attempts, each with whether it is the best one
  bool finished_ = false;
  bool doubtful_ = false;  // the last x satisfies the equations, but may have no correct digit
  bool singular_ = false;
  std::string singular_message_;
  Certainty certainty_ = Certainty::working_precision;  // of the singularity
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> singular_row_;
};

/// Runs the candidates of a selection, and completes it where those before a deferred factorisation failed.
/// Returns the seconds of that.
template <class T>
double run_all(MethodSelection& selection, MatrixRef<T> A, Attempts<T>& attempts) {
  const Stopwatch listing;
  const std::vector<Candidate> first = selection.candidates();
  attempts.keep(selection.take_analyzed<T>());
  double seconds = listing.seconds();
  attempts.run(first);
  if (!selection.factor_deferred || attempts.has_ended()) return seconds;
  const Stopwatch completing;
  selection.complete(A);
  const std::vector<Candidate> all = selection.candidates();
  attempts.keep(selection.take_analyzed<T>());
  seconds += completing.seconds();
  attempts.run({all.begin() + std::ssize(first), all.end()});
  return seconds;
}

/// Candidates for matrices to which the selection gives none of the kind that the caller wants.
template <class T>
std::vector<Candidate> substitutes(MatrixRef<T> A, const SolveOptions& options) {
  const Device device = options.device.value_or(A.device());
  const std::string reason = "no better method of this kind is known for A";
  if (*options.kind == MethodKind::iterative) return {{"gmres", device, {}, reason}};
  return {{A.is_sparse() ? "sparse-lu" : "lu", device, {}, reason}};
}

void check_kind(const SolveOptions& options, bool is_operator) {
  if (!options.kind) return;
  if (*options.kind == MethodKind::preconditioner)
    throw BadOption("kind", "a preconditioner alone does not solve; take direct or iterative");
  if (options.method != "auto") throw BadOption("kind", "it limits 'auto', and a method is named");
  if (is_operator && *options.kind == MethodKind::direct)
    throw BadOption("kind", "a direct method needs the elements of A, which an operator does not have");
}

/// Tries the candidates that A's structure suggests.
template <class T>
Solution<T> solve_auto(MatrixRef<T> A, const SolveOptions& options, Problem<T>& problem,
                       const Control& control) {
  if (!options.parameters.empty()) {
    throw BadOption(options.parameters.entries().front().first,
                    "parameters belong to a method: name one instead of 'auto'");
  }
  Attempts<T> attempts(options, problem, control);
  if (A.is_operator()) {
    attempts.run(choose(A, options.device));
    return attempts.take();
  }
  const Stopwatch stopwatch;
  MethodSelection selection = MethodSelection::of(A, options.device);
  // With a full diagonal the structural rank is n. The methods for Laplacians use the known null space.
  const bool may_lack_rank =
      A.is_sparse() && selection.structure.zero_diagonals > 0 && selection.graph == DominanceKind::none;
  const std::int64_t rank = may_lack_rank ? structural_rank(A) : A.rows();
  double choosing_seconds = stopwatch.seconds();
  if (rank < A.rows()) {
    attempts.set_singular(
        fmt::format("A is singular whatever its values: its structural rank is {} of {}", rank, A.rows()),
        Certainty::proven);
  } else {
    choosing_seconds += run_all(selection, A, attempts);
    if (selection.graph == DominanceKind::sddm && !attempts.has_ended()) {
      const Stopwatch again;
      MethodSelection others = MethodSelection::of(A, options.device, false);
      choosing_seconds += again.seconds() + run_all(others, A, attempts);
    }
  }
  if (options.kind && attempts.empty() && rank == A.rows()) attempts.run(substitutes(A, options));
  if (attempts.singular_and_unsolved()) {
    selection.complete(A);
    attempts.run_singular(selection.singular_candidates());
  }
  Solution<T> solution = attempts.take();
  // The analysis by which a factorisation was chosen is a part of its own.
  solution.report.choosing_seconds = choosing_seconds - solution.report.analysis_seconds;
  if (selection.nearly_symmetric) {
    solution.report.warnings.push_back(fmt::format(
        "A was taken as symmetric: it differs from its transpose by {:.1e} of its largest element",
        selection.structure.asymmetry));
  }
  return solution;
}

template <class T>
Solution<T> solve_system(const MatrixRef<T>& A, const DenseView<const T>& B, const SolveOptions& options) {
  check_shape(A, options.method);
  check_view(B, "b");
  if (!A.is_sparse() && !A.is_operator()) check_view(A.dense(), "A");
  if (B.rows() != A.rows()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, b has {} rows", A.rows(), A.columns(), B.rows()));
  }
  check_guess<T>(options.initial_guess, A.columns(), B.columns());
  check_kind(options, A.is_operator());
  if (options.certify && A.is_operator())
    throw BadOption("certify", "a proof needs the elements of A, which an operator does not have");
  const Device home = A.device();
  const Control control{.on_progress = options.on_progress,
                        .cancel = options.cancel,
                        .measure_error = options.measure_error,
                        .least_squares = options.least_squares};
  Problem<T> problem(A, B);
  Solution<T> solution;
  if (options.method == "auto") {
    solution = solve_auto(A, options, problem, control);
  } else {
    const Method& method = find_method(options.method);
    Device device = options.device.value_or(home);
    if (!options.device && !method.runs_on(device)) {
      device = device.on_host() ? Device::cuda() : Device::openmp();
    }
    const Candidate asked{options.method, device, options.parameters, "asked for"};
    std::optional<AnalyzedSolver<T>> none;
    solution.report = attempt(asked, options, problem, solution.x, control, none);
  }
  if (!same_memory(solution.x.device(), home)) {
    const Stopwatch stopwatch;
    solution.x = solution.x.to(home);
    solution.report.transfer_seconds += stopwatch.seconds();
  }
  if (options.certify) {
    solution.report.certificate = std::make_shared<const ErrorCertificate>(
        certify_answer<T>(A, B, solution.x.view(), solution.report, options.cancel));
  }
  return solution;
}

}  // namespace

template <class T>
Solution<T> solve(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B, const SolveOptions& options) {
  return at_api_boundary([&] { return solve_system<T>(A, B, options); });
}

template <class T>
Report solve_into(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                  std::type_identity_t<DenseView<T>> X, const SolveOptions& options) {
  return at_api_boundary([&] {
    check_result_view(X, "X");
    if (X.rows() != A.columns() || X.columns() != B.columns()) {
      throw DimensionMismatch(fmt::format("X is {} by {}: the solution is {} by {}", X.rows(), X.columns(),
                                          A.columns(), B.columns()));
    }
    check_same_memory(A.device(), "A", X.device(), "X");
    if (overlap<T>(B, X) && !same_elements<T>(B, X))
      throw OverlappingOperands("B and X share a part of their memory: X has to be B itself, or elsewhere");
    Solution<T> solution = solve_system<T>(A, B, options);
    if (!solution.report.columns.empty()) {
      const Stopwatch stopwatch;
      assign<T>(solution.x.view(), X);
      solution.report.transfer_seconds += stopwatch.seconds();
    }
    return std::move(solution.report);
  });
}

template Report solve_into(MatrixRef<float>, DenseView<const float>, DenseView<float>, const SolveOptions&);
template Report solve_into(MatrixRef<double>, DenseView<const double>, DenseView<double>,
                           const SolveOptions&);
template Solution<float> solve(MatrixRef<float>, DenseView<const float>, const SolveOptions&);
template Solution<double> solve(MatrixRef<double>, DenseView<const double>, const SolveOptions&);

}  // namespace echelon

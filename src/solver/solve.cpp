// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/assign.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace echelon {

namespace {

/// A and B in the memory of the device that is being tried, moved there once.
template <class T>
class Problem {
 public:
  Problem(MatrixRef<T> A, DenseView<const T> B) : A_(A), B_(B) {}

  /// Returns the seconds that moving took.
  double move_to(const Device& device) {
    if (same_memory(device, current_A_.device()) && same_memory(device, current_B_.device())) return 0;
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
  /// The view's elements without gaps, on its own device.
  static Dense<T> packed(DenseView<const T> view) {
    Dense<T> copy(view.device(), view.rows(), view.columns());
    assign<T>(view, copy);
    return copy;
  }

  MatrixRef<T> A_;
  DenseView<const T> B_;
  MatrixRef<T> current_A_ = A_;
  DenseView<const T> current_B_ = B_;
  Matrix<T> moved_A_;
  Dense<T> moved_B_;
};

/// The method's own parameters, then the stopping criteria that the caller asked for, which win.
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
  throw DimensionMismatch(fmt::format("A is {} by {}: {} needs a square matrix; gauss-jordan takes any shape",
                                      A.rows(), A.columns(), method));
}

template <class T>
Dense<T> zeros(const Device& device, std::int64_t rows, std::int64_t columns) {
  const std::vector<T> host(static_cast<std::size_t>(rows * columns), T{0});
  return Dense<T>(rows, columns, Array<T>(device, std::span<const T>(host)));
}

/// One method from set-up to report; x is on the candidate's device.
template <class T>
Report attempt(const Candidate& candidate, const SolveOptions& options, Problem<T>& problem, Dense<T>& x,
               const Control& control) {
  const Method& method = find_method(candidate.method);
  if (method.kind == MethodKind::preconditioner) {
    throw BadOption("method",
                    fmt::format("'{}' only approximates a solution: use it inside another method, as "
                                "in --method gmres -p preconditioner={}",
                                method.name, method.name));
  }
  const bool iterative = method.kind == MethodKind::iterative;
  Solver<T> solver =
      make_solver<T>(candidate.method, candidate.device,
                     iterative ? with_stop(candidate.parameters, options) : candidate.parameters);
  const double transfer_seconds = problem.move_to(candidate.device);
  solver.setup(problem.matrix());
  x = zeros<T>(candidate.device, problem.matrix().columns(), problem.right_hand_sides().columns());
  Report report = solver.solve(problem.right_hand_sides(), x, control);
  report.method = solver.describe();
  report.reason = candidate.reason;
  report.transfer_seconds = transfer_seconds;
  if (options.method != "auto" && !iterative && (options.rtol || options.atol || options.max_iterations)) {
    report.warnings.emplace_back("rtol, atol and max_iterations have no effect on a direct method");
  }
  return report;
}

/// Outcomes that no other method can change.
bool final_whatever_the_method(const Report& report) {
  return report.solved() || report.status == Status::cancelled ||
         (report.status == Status::not_a_number && report.columns.empty());
}

double error_of(const Report& report) {
  if (report.columns.empty() || !(report.relative_residual >= 0)) {
    return std::numeric_limits<double>::infinity();
  }
  return report.relative_residual;
}

/// Tries the candidates in turn; keeps the best answer.
template <class T>
Solution<T> try_each(const std::vector<Candidate>& candidates, const SolveOptions& options,
                     Problem<T>& problem, const Control& control) {
  Solution<T> best;
  std::vector<std::pair<Attempt, bool>> attempts;  // and whether it is the best so far
  for (const Candidate& candidate : candidates) {
    const Stopwatch stopwatch;
    Solution<T> next;
    try {
      next.report = attempt(candidate, options, problem, next.x, control);
    } catch (const OutOfMemory& error) {
      next.report.status = Status::out_of_memory;
      next.report.message = error.what();
      next.report.method = candidate.method;
      next.report.device = candidate.device;
      next.report.reason = candidate.reason;
    }
    const bool last = final_whatever_the_method(next.report);
    const bool better = last || attempts.empty() || error_of(next.report) < error_of(best.report);
    if (better) {
      for (auto& entry : attempts) entry.second = false;
    }
    attempts.emplace_back(
        Attempt{next.report.method, next.report.status, next.report.message, stopwatch.seconds()}, better);
    if (better) best = std::move(next);
    if (last) break;
  }
  for (auto& [entry, is_best] : attempts) {
    if (is_best) continue;
    if (entry.status == Status::singular && best.report.solved()) {
      best.report.warnings.push_back(entry.method +
                                     " called A singular: x satisfies the equations, but so do others");
    }
    best.report.attempts.push_back(std::move(entry));
  }
  return best;
}

}  // namespace

template <class T>
Solution<T> solve(MatrixRef<T> A, DenseView<const T> B, const SolveOptions& options, const Control& control) {
  check_shape(A, options.method);
  if (B.rows() != A.rows()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, b has {} rows", A.rows(), A.columns(), B.rows()));
  }
  const Device home = A.device();
  Problem<T> problem(A, B);
  Solution<T> solution;
  if (options.method == "auto") {
    if (!options.parameters.empty()) {
      throw BadOption(options.parameters.entries().front().first,
                      "parameters belong to a method: name one instead of 'auto'");
    }
    solution = try_each(choose(A, options.device), options, problem, control);
  } else {
    const Method& method = find_method(options.method);
    Device device = options.device.value_or(home);
    if (!options.device && !method.runs_on(device)) {
      device = device.on_host() ? Device::cuda() : Device::openmp();
    }
    const Candidate asked{options.method, device, options.parameters, "asked for"};
    solution.report = attempt(asked, options, problem, solution.x, control);
  }
  if (!same_memory(solution.x.device(), home)) {
    const Stopwatch stopwatch;
    solution.x = solution.x.to(home);
    solution.report.transfer_seconds += stopwatch.seconds();
  }
  return solution;
}

template Solution<float> solve(MatrixRef<float>, DenseView<const float>, const SolveOptions&, const Control&);
template Solution<double> solve(MatrixRef<double>, DenseView<const double>, const SolveOptions&,
                                const Control&);

}  // namespace echelon

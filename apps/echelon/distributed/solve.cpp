// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/solve.hpp"

#include "distributed/launch.hpp"
#include "distributed/plan.hpp"
#include "output/temporary_file.hpp"
#include "terminal/progress_line.hpp"

#include <echelon/error.hpp>
#include <echelon/io/petsc.hpp>
#include <echelon/linalg.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

constexpr const char* program = "echelon-petsc-solve";
constexpr const char* remedy =
    "--ranks needs Echelon's programs for PETSc. Install PETSc with real numbers in double precision and MPI "
    "(Debian: libpetsc-real-dev, mpi-default-bin), and build Echelon with -DECHELON_PETSC=ON";

Status status_of(const std::string& word) {
  for (int k = 0; k <= static_cast<int>(Status::cancelled); ++k) {
    if (to_string(static_cast<Status>(k)) == word) return static_cast<Status>(k);
  }
  return Status::breakdown;
}

/// Rank of an outcome among several: the worst describes them all.
bool worse(Status a, Status b) {
  return solved(b) && !solved(a);
}

/// Explanation of PETSc's reason for the end of an iteration.
std::string explanation(const std::string& reason) {
  std::string text = "PETSc's reason: " + reason;
  if (reason == "DIVERGED_PC_FAILED") text += ", the problem of a subdomain could not be solved";
  if (reason == "DIVERGED_INDEFINITE_PC") text += ", the preconditioner is not positive definite";
  if (reason == "DIVERGED_INDEFINITE_MAT") text += ", the matrix is not positive definite";
  return text;
}

/// Adds a line of the program's result to the report.
void add_result_line(const std::string& line, Report& report) {
  std::istringstream words(line);
  std::string key;
  std::string name;
  words >> key;
  if (key == "column") {
    ColumnReport column;
    std::string status;
    words >> status >> column.iterations >> name;
    column.status = status_of(status);
    if (report.columns.empty() || worse(column.status, report.status)) {
      report.status = column.status;
      report.message = solved(column.status) ? "" : explanation(name);
      report.history.clear();
    }
    report.iterations = std::max(report.iterations, column.iterations);
    report.columns.push_back(column);
  } else if (key == "history" && report.history.empty()) {
    for (double value = 0; words >> value;) report.history.push_back(value);
  } else if (key == "setup_seconds") {
    words >> report.setup_seconds;
  } else if (key == "solve_seconds") {
    words >> report.solve_seconds;
  } else if (key == "bytes") {
    words >> report.bytes;
  } else if (key == "count") {
    std::int64_t value = 0;
    words >> name >> value;
    report.statistics.push_back({name, value});
  } else if (key == "number") {
    double value = 0;
    words >> name >> value;
    report.statistics.push_back({name, value});
  }
}

void read_result(const std::filesystem::path& path, Report& report) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) add_result_line(line, report);
}

double largest(DenseView<const double> x) {
  return norm_inf<double>(x);
}

/// Computes residuals and backward errors. A column whose residual is not what its process says has
/// stagnated.
void measure(MatrixRef<double> A, DenseView<const double> B, const Dense<double>& X, double rtol, double atol,
             Report& report) {
  constexpr double rounding = 1.1;  // of the residual as the processes compute it, and as it is computed here
  const double norm_A = norm_inf<double>(A);
  Dense<double> R(Device(), B.rows(), 1);
  double worst = -1;
  for (std::int64_t j = 0; j < B.columns(); ++j) {
    const DenseView<const double> b(B.column(j), B.rows(), 1, std::max<std::int64_t>(B.rows(), 1));
    const DenseView<const double> x(X.view().column(j), X.rows(), 1, std::max<std::int64_t>(X.rows(), 1));
    std::copy_n(b.data(), b.rows(), R.data());
    multiply<double>(-1, A, x, 1, R.view());
    const double residual = norm2<double>(R.view());
    const double norm_b = norm2<double>(b);
    ColumnReport& column = report.columns[static_cast<std::size_t>(j)];
    column.relative_residual = norm_b > 0 ? residual / norm_b : residual;
    const double scale = norm_A * largest(x) + largest(b);
    column.backward_error = scale > 0 ? largest(R.view()) / scale : 0;
    const double tolerance = std::max(rtol * norm_b, atol);
    if (column.status == Status::converged && !(residual <= rounding * tolerance)) {
      column.status = report.status = std::isnan(residual) ? Status::not_a_number : Status::stagnated;
      report.message = "the residual of x exceeds the tolerance that the iteration met";
    }
    if (column.relative_residual <= worst) continue;
    worst = column.relative_residual;
    report.residual_norm = residual;
    report.relative_residual = column.relative_residual;
    report.backward_error = std::max(report.backward_error, column.backward_error);
    report.tolerance = tolerance;
  }
}

/// Throws, or makes the status of a failed solve, by the file in which the first process that failed says
/// why.
void explain_failure(const std::filesystem::path& error_file, const Ended& ended, std::int64_t ranks,
                     Report& report) {
  std::ifstream file(error_file);
  std::string rank;
  std::string kind;
  if (!std::getline(file, rank) || !std::getline(file, kind)) throw ProcessFailure(explain_end(ended, ranks));
  std::string message;
  for (std::string line; std::getline(file, line);) message += (message.empty() ? "" : "\n") + line;
  if (kind == "option") throw BadOption("parameter", message);
  message = fmt::format("process {} of {}: {}; all processes have ended", rank, ranks, message);
  if (kind == "error") throw ProcessFailure(message);
  report.status = status_of(kind);
  report.message = message;
}

class DistributedSolve {
 public:
  DistributedSolve(MatrixRef<double> A, DenseView<const double> B, const SolveOptions& options,
                   std::int64_t ranks)
      : A_(A), B_(B), options_(options), ranks_(ranks) {
    const std::filesystem::path files(folder_.path());
    write_petsc<double>(files / "A.petsc", A);
    Dense<double> columns(Device(), B.rows(), B.columns());
    for (std::int64_t j = 0; j < B.columns(); ++j)
      std::copy_n(B.column(j), B.rows(), columns.view().column(j));
    write_petsc<double>(files / "b.petsc", MatrixRef<double>(columns));
    if (options.near_null_space.columns() > 0)
      write_petsc<double>(files / "near_null_space.petsc", MatrixRef<double>(options.near_null_space));
  }

  /// Runs the processes for one plan.
  [[nodiscard]] Solution<double> run(const DistributedPlan& plan, bool singular) const {
    Solution<double> solution;
    Report& report = solution.report;
    report.method = plan.method;
    report.reason = plan.reason;
    report.device = options_.device.value_or(Device::openmp());
    const std::filesystem::path files(folder_.path());
    for (const char* name : {"x.petsc", "result", "error"}) std::filesystem::remove(files / name);
    const Ended ended = run_launcher(
        command(plan, singular), [&](const std::string& line) { show(line, plan.method); }, options_.cancel);
    if (options_.cancel.stop_requested()) {
      report.status = Status::cancelled;
    } else if (ended.status != 0) {
      explain_failure(files / "error", ended, ranks_, report);
    } else {
      read_result(files / "result", report);
      if (!std::filesystem::exists(files / "x.petsc")) {  // x is not finite
        report.columns.clear();
        return solution;
      }
      solution.x = std::get<Dense<double>>(read_petsc<double>(files / "x.petsc").matrix);
      const Stop defaults;
      measure(A_, B_, solution.x, options_.rtol.value_or(defaults.relative_tolerance(false)),
              options_.atol.value_or(defaults.atol), report);
    }
    return solution;
  }

 private:
  [[nodiscard]] std::vector<std::string> command(const DistributedPlan& plan, bool singular) const {
    std::vector<std::string> words = launcher();
    for (const std::string& word :
         {std::string("-n"), std::to_string(ranks_), program_beside(program, remedy),
          std::string("-echelon_folder"), folder_.path(), std::string("-echelon_division"), plan.division,
          std::string("-echelon_block_size"), std::to_string(plan.block_size),
          std::string("-no_signal_handler")})
      words.push_back(word);
    if (singular) words.emplace_back("-echelon_constants");
    words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
    return words;
  }

  void show(const std::string& line, const std::string& method) const {
    std::istringstream words(line);
    std::string key;
    Progress progress{.method = method};
    if (words >> key >> progress.iteration >> progress.relative_residual && key == "progress" &&
        options_.on_progress)
      options_.on_progress(progress);
  }

  MatrixRef<double> A_;
  DenseView<const double> B_;
  const SolveOptions& options_;
  std::int64_t ranks_;
  TemporaryFolder folder_;
};

/// Whether A maps constants to zero, up to rounding.
bool maps_constants_to_zero(const Csr<double>& A) {
  constexpr double rounding = 100 * std::numeric_limits<double>::epsilon();
  Dense<double> ones(Device(), A.columns(), 1);
  Dense<double> sums(Device(), A.rows(), 1);
  std::fill_n(ones.data(), ones.rows(), 1.0);
  multiply<double>(1, MatrixRef<double>(A), ones.view(), 0, sums.view());
  return largest(sums.view()) <= rounding * norm_inf<double>(MatrixRef<double>(A));
}

void check_shapes(const MatrixRef<double>& A, DenseView<const double> B, std::int64_t ranks,
                  std::int64_t block_size) {
  if (A.rows() != A.columns())
    throw DimensionMismatch(
        fmt::format("--ranks solves with square matrices, not one of {} by {}", A.rows(), A.columns()));
  if (B.rows() != A.rows())
    throw DimensionMismatch(fmt::format("A has {} rows, and b has {}", A.rows(), B.rows()));
  if (A.rows() % block_size != 0) {
    throw BadOption("block_size",
                    fmt::format("{} unknowns per node do not divide {} rows", block_size, A.rows()));
  }
  if (A.rows() / block_size < ranks) {
    throw BadOption("--ranks", fmt::format("{} processes for {} nodes: each has to own one", ranks,
                                           A.rows() / block_size));
  }
}

}  // namespace

void check_distributed(const SolveOptions& options, std::int64_t ranks) {
  constexpr std::int64_t most = 100000;
  if (ranks < 1 || ranks > most)
    throw BadOption("--ranks", fmt::format("there are 1 to {} processes, not {}", most, ranks));
  (void)parse_distributed_options(options);
  (void)program_beside(program, remedy);
  (void)launcher();
}

Solution<double> solve_distributed(MatrixRef<double> A, DenseView<const double> B,
                                   const SolveOptions& options, std::int64_t ranks) {
  const DistributedOptions chosen = parse_distributed_options(options);
  check_shapes(A, B, ranks, chosen.block_size);
  const Csr<double> sparse = to_csr(A);
  const bool singular = maps_constants_to_zero(sparse);
  const DistributedSolve solve(MatrixRef<double>(sparse), B, options, ranks);
  std::vector<Attempt> attempts;
  Solution<double> solution;
  const std::vector<DistributedPlan> plans = distributed_plans(chosen, options, sparse, singular);
  for (const DistributedPlan& plan : plans) {
    const Stopwatch stopwatch;
    solution = solve.run(plan, singular);
    const Report& report = solution.report;
    const bool final = report.solved() || report.status == Status::cancelled ||
                       report.status == Status::out_of_memory || report.status == Status::max_iterations ||
                       &plan == &plans.back();
    if (final) break;
    attempts.push_back({report.method, report.status, report.message, stopwatch.seconds()});
  }
  solution.report.attempts = std::move(attempts);
  return solution;
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
// Distributed solve for `echelon solve --ranks`, which starts this program under mpirun: process 0 reads a
// system from a folder and divides it, PETSc solves by the options of its database with Echelon's
// factorisations, and process 0 writes the solution and the figures of the report into the folder.
//
//   -echelon_folder F        folder with A.petsc and b.petsc, for x.petsc if x is finite, result, and error
//   -echelon_division D      rows, or subdomains for bddc
//   -echelon_block_size K    unknowns of a node
//   -echelon_constants       A maps constants to zero
#include "../guard.hpp"
#include "distribution.hpp"
#include "failure.hpp"
#include "measurement.hpp"
#include "problem.hpp"

#include <echelon_petsc.h>
#include <petscksp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::petsc {

namespace {

struct Settings {
  std::string folder;
  Division division = Division::rows;
  PetscInt block_size = 1;
  bool constants = false;
};

PetscErrorCode read_settings(Settings& settings) {
  std::array<char, PETSC_MAX_PATH_LEN> text{};
  PetscBool given = PETSC_FALSE;
  PetscBool constants = PETSC_FALSE;
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-echelon_folder", text.data(), text.size(), &given));
  PetscCheck(given == PETSC_TRUE, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-echelon_folder is missing: `echelon solve --ranks` starts this program");
  settings.folder = text.data();
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-echelon_division", text.data(), text.size(), &given));
  if (given == PETSC_TRUE && std::string(text.data()) == "subdomains")
    settings.division = Division::subdomains;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-echelon_block_size", &settings.block_size, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-echelon_constants", &constants, nullptr));
  settings.constants = constants == PETSC_TRUE;
  return success;
}

/// Outcome for one right-hand side.
struct ColumnOutcome {
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  bool stagnated = false;
  PetscInt iterations = 0;
  std::vector<double> history;  // relative residuals, for process 0
};

std::string_view status_of(const ColumnOutcome& outcome) {
  if (outcome.stagnated) return "stagnated";
  if (outcome.reason > 0) return "converged";
  switch (outcome.reason) {
    case KSP_DIVERGED_ITS:
      return "max_iterations";
    case KSP_DIVERGED_DTOL:
      return "diverged";
    case KSP_DIVERGED_INDEFINITE_PC:
    case KSP_DIVERGED_INDEFINITE_MAT:
      return "not_spd";
    case KSP_DIVERGED_NANORINF:
      return "not_a_number";
    default:
      return "breakdown";
  }
}

struct Monitor {
  double norm_b = 0;
  ColumnOutcome* outcome = nullptr;
  bool prints = false;
};

/// Records the residual, and prints a line that `echelon solve` reads.
PetscErrorCode record(KSP /*ksp*/, PetscInt /*iteration*/, PetscReal norm, void* context) {
  const Monitor& monitor = *static_cast<Monitor*>(context);
  std::vector<double>& history = monitor.outcome->history;
  history.push_back(monitor.norm_b > 0 ? norm / monitor.norm_b : norm);
  if (monitor.prints) {
    std::printf("progress %zu %.3e\n", history.size() - 1, history.back());
    std::fflush(stdout);
  }
  return success;
}

/// Solves A x = b. The iteration goes on from x as long as the recursive residual meets the tolerance, the
/// true one does not, and each further solve halves it.
PetscErrorCode solve_column(KSP ksp, Vec b, Vec x, Vec r, ColumnOutcome& outcome) {
  Monitor monitor;
  Mat A = nullptr;
  PetscReal rtol = 0;
  PetscReal atol = 0;
  PetscReal dtol = 0;
  PetscInt most = 0;
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(KSPGetOperators(ksp, &A, nullptr));
  PetscCall(KSPGetTolerances(ksp, &rtol, &atol, &dtol, &most));
  PetscCall(VecNorm(b, NORM_2, &monitor.norm_b));
  monitor.outcome = &outcome;
  monitor.prints = rank == 0;
  PetscCall(KSPMonitorCancel(ksp));
  PetscCall(KSPMonitorSet(ksp, record, &monitor, nullptr));
  const double tolerance = std::max(rtol * monitor.norm_b, atol);
  double before = std::numeric_limits<double>::infinity();
  PetscCall(VecSet(x, 0));
  for (PetscBool from_x = PETSC_FALSE;; from_x = PETSC_TRUE) {
    PetscInt iterations = 0;
    double residual = 0;
    PetscCall(KSPSetInitialGuessNonzero(ksp, from_x));
    PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, most - outcome.iterations));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &outcome.reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    outcome.iterations += iterations;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    if (outcome.reason <= 0 || residual <= tolerance) break;
    outcome.stagnated = !(residual <= before / 2) || iterations == 0;
    if (outcome.stagnated) break;
    before = residual;
  }
  PetscCall(KSPMonitorCancel(ksp));
  return KSPSetTolerances(ksp, rtol, atol, dtol, most);
}

/// Figures of the report.
struct Result {
  std::vector<ColumnOutcome> columns;
  double distribution_seconds = 0;
  double setup_seconds = 0;
  double solve_seconds = 0;
  double bytes = 0;
  Traffic setup;
  Traffic solve;
};

Traffic operator-(const Traffic& a, const Traffic& b) {
  return {a.messages - b.messages, a.bytes - b.bytes, a.reductions - b.reductions};
}

void write_result(const std::string& folder, const Problem& problem, const Result& result) {
  std::ofstream file(std::filesystem::path(folder) / exchange::result);
  file.precision(17);
  const auto put = [&](const char* name, auto value) { file << name << ' ' << value << '\n'; };
  const auto count = [&](const char* name, auto value) {
    file << "count " << name << ' ' << static_cast<std::int64_t>(value) << '\n';
  };
  const auto number = [&](const char* name, double value) {
    file << "number " << name << ' ' << value << '\n';
  };
  double iterations = 0;
  for (const ColumnOutcome& column : result.columns) {
    file << "column " << status_of(column) << ' ' << column.iterations << ' '
         << KSPConvergedReasons[column.reason] << '\n';
    file << "history";
    for (const double value : column.history) file << ' ' << value;
    file << '\n';
    iterations += static_cast<double>(column.iterations);
  }
  put("setup_seconds", result.setup_seconds);
  put("solve_seconds", result.solve_seconds);
  put("bytes", static_cast<std::int64_t>(result.bytes));
  const auto [smallest, largest] = std::ranges::minmax(problem.rows_of_parts());
  count("ranks", problem.rows_of_parts().size());
  count("smallest_part_rows", smallest);
  count("largest_part_rows", largest);
  if (problem.shared_unknowns() > 0) count("interface_unknowns", problem.shared_unknowns());
  number("distribution_seconds", result.distribution_seconds);
  count("setup_messages", result.setup.messages);
  count("setup_message_bytes", result.setup.bytes);
  if (iterations == 0) return;
  number("messages_per_iteration", result.solve.messages / iterations);
  number("message_bytes_per_iteration", result.solve.bytes / iterations);
  number("reductions_per_iteration", result.solve.reductions / iterations);
}

class Solve {
 public:
  explicit Solve(Settings settings) : settings_(std::move(settings)) {}
  ~Solve() { (void)KSPDestroy(&ksp_); }
  Solve(const Solve&) = delete;
  Solve& operator=(const Solve&) = delete;

  PetscErrorCode run() {
    PetscCall(distribute());
    PetscCall(set_up());
    PetscCall(solve());
    if (problem_) {
      const std::span<const double> values(solution_->data(), solution_->rows() * solution_->columns());
      if (std::ranges::all_of(values, [](double x) { return std::isfinite(x); }))
        problem_->write_solution(*solution_);
      write_result(settings_.folder, *problem_, result_);
    }
    return success;
  }

 private:
  PetscErrorCode distribute() {
    PetscMPIInt rank = 0;
    PetscMPIInt processes = 0;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &processes));
    const double begin = MPI_Wtime();
    if (rank == 0) problem_.emplace(settings_.folder, processes, settings_.block_size, settings_.division);
    PetscCall(distribution_.send(problem_, settings_.division, settings_.block_size));
    if (settings_.constants) {
      MatNullSpace space = nullptr;
      PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, &space));
      PetscCall(MatSetNullSpace(distribution_.matrix(), space));
      PetscCall(MatNullSpaceDestroy(&space));
    }
    result_.distribution_seconds = MPI_Wtime() - begin;
    return success;
  }

  PetscErrorCode set_up() {
    Traffic before;
    Traffic after;
    PetscCall(measure_memory(bytes_before_));
    PetscCall(measure_traffic(before));
    const double begin = MPI_Wtime();
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp_));
    PetscCall(KSPSetOperators(ksp_, distribution_.matrix(), distribution_.matrix()));
    PetscCall(KSPSetFromOptions(ksp_));
    // A factorisation that fails in some processes only is an error, which ends all.
    PetscCall(KSPSetErrorIfNotConverged(ksp_, PETSC_TRUE));
    PetscCall(KSPSetUp(ksp_));
    PetscCall(KSPSetUpOnBlocks(ksp_));
    PetscCall(KSPSetErrorIfNotConverged(ksp_, PETSC_FALSE));
    result_.setup_seconds = MPI_Wtime() - begin;
    PetscCall(measure_traffic(after));
    result_.setup = after - before;
    return success;
  }

  PetscErrorCode solve() {
    Vec b = nullptr;
    Vec x = nullptr;
    Vec r = nullptr;
    Traffic before;
    Traffic after;
    double bytes_after = 0;
    PetscCall(MatCreateVecs(distribution_.matrix(), &x, &b));
    PetscCall(VecDuplicate(b, &r));
    if (problem_) {
      const Dense<double>& B = problem_->right_hand_sides();
      solution_.emplace(Device::serial(), B.rows(), B.columns());
    }
    result_.columns.resize(static_cast<std::size_t>(distribution_.right_hand_sides()));
    PetscCall(measure_traffic(before));
    for (std::size_t j = 0; j < result_.columns.size(); ++j) {
      const auto column = static_cast<std::int64_t>(j);
      PetscCall(distribution_.scatter(problem_ ? &problem_->right_hand_sides() : nullptr, column, b));
      const double begin = MPI_Wtime();
      PetscCall(solve_column(ksp_, b, x, r, result_.columns[j]));
      result_.solve_seconds += MPI_Wtime() - begin;
      PetscCall(distribution_.gather(x, solution_ ? &*solution_ : nullptr, column));
    }
    PetscCall(measure_traffic(after));
    result_.solve = after - before;
    PetscCall(measure_memory(bytes_after));
    result_.bytes = std::max(0.0, bytes_after - bytes_before_);
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    return VecDestroy(&r);
  }

  Settings settings_;
  std::optional<Problem> problem_;  // in process 0
  Distribution distribution_;
  KSP ksp_ = nullptr;
  std::optional<Dense<double>> solution_;  // in process 0
  double bytes_before_ = 0;
  Result result_;
};

PetscErrorCode run() {
  Settings settings;
  PetscCall(read_settings(settings));
  PetscCall(install_failure_handler(settings.folder));
  reserve_blas_buffer();
  try {
    PetscCall(EchelonPetscRegister());
    PetscCall(Solve(settings).run());
  } catch (const std::exception& error) {
    end_all(error);
  }
  return PetscPopErrorHandler();
}

}  // namespace

}  // namespace echelon::petsc

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(echelon::petsc::run());
  PetscCall(PetscFinalize());
  return 0;
}

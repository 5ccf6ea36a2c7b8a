// SPDX-License-Identifier: BSD-3-Clause
/// The choice of a method by `auto`: candidates are tried until one solves the system.
#pragma once

#include "solver/implementation.hpp"
#include "solver/selection/candidate_queue.hpp"
#include "solver/selection/placed_solver.hpp"

#include <echelon/methods/auto.hpp>
#include <echelon/solve.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// An A that a method called singular, or that is.
struct Singularity {
  std::string message = {};
  Certainty certainty = Certainty::working_precision;
  std::optional<std::int64_t> rank = {};  ///< where it is proven
  std::optional<std::int64_t> row = {};

  /// Completes the report of a solve: if no method found a solution, it says that A is singular, whatever the
  /// outcome of the method whose x is returned.
  void describe(Report& report) const;
};

/// Limits that the options of `auto` set.
[[nodiscard]] inline ChoiceLimits limits_of(const AutoOptions& options) {
  ChoiceLimits limits{.kind = {}, .stencils = options.stencils};
  if (options.methods == MethodSet::direct) limits.kind = MethodKind::direct;
  if (options.methods == MethodSet::iterative) limits.kind = MethodKind::iterative;
  return limits;
}

/// The method chosen for a matrix, and those that failed before it. Operands may be in other memory than that
/// of the methods' devices.
template <class T>
class MethodChoice final : public MethodChooser<T> {
 public:
  /// `device`: that to which the choice is limited, if set.
  MethodChoice(std::optional<Device> device, const ChoiceLimits& limits) : device_(device), limits_(limits) {}

  /// Keeps near-null-space vectors of A for later set-ups.
  void set_near_null_space(const Dense<double>& vectors) { near_null_space_ = vectors; }

  /// Chooses by A, and has the first candidate analyse it.
  Report analyze(const MatrixRef<T>& A, const Control& control) override;
  /// Sets up the first candidate that can be. `update`: A has the pattern of the matrix before, whose method
  /// comes before all candidates.
  Report setup(const MatrixRef<T>& A, bool update, const Control& control) override;
  /// Solves by the method that is set up and, where it fails, by those that follow. The one whose X is
  /// returned is kept for the next solve. Several threads may call it.
  Report solve(DenseView<const T> B, DenseView<T> X, const Control& control) override;
  /// The method that the next solve begins with; null before a set-up, and where none could be set up.
  [[nodiscard]] std::shared_ptr<PlacedSolver<T>> chosen() const;

 private:
  using SolverPointer = std::shared_ptr<PlacedSolver<T>>;
  struct FailedMethod {
    Attempt attempt;
    std::weak_ptr<PlacedSolver<T>> solver;  ///< whose set-up is released, unless it is chosen after all
  };
  class Attempts;

  CandidateQueue<T>& queue(const Control& control);
  /// Sets up the next candidate that can be, which becomes the chosen one; null at the end. `doubtful`: x
  /// satisfies the equations, but may have no correct digit.
  SolverPointer set_up_next(bool doubtful, const Control& control, Report& setup);
  /// Whether a set-up left something to solve with, or its status is not one that another method mends.
  bool set_up(const SolverPointer& solver, bool update, const Control& control, Report& report);
  /// The method that follows those that a solve has tried; null at the end.
  SolverPointer next(const Attempts& attempts, const Control& control);
  void set_singular(const Singularity& singularity);
  [[nodiscard]] bool is_singular() const;
  /// Adds to the report of a method what the choice is known for.
  void describe_choice(const SolverPointer& solver, Report& report) const;

  std::optional<Device> device_;
  ChoiceLimits limits_;
  Dense<double> near_null_space_;

  std::mutex advancing_;  // guards the queue and set-ups during solves
  std::shared_ptr<PlacedMatrix<T>> matrix_;
  std::optional<CandidateQueue<T>> queue_;  // made when the first candidate is asked for
  SolverPointer before_;                    // the method of the matrix before, or one that has analysed A
  bool before_failed_ = false;              // it need not be tried again

  mutable std::mutex mutex_;  // guards what follows
  SolverPointer chosen_;
  std::vector<FailedMethod> failed_;
  Report failure_;  // of the first of them, if it could not be set up
  std::optional<Singularity> singularity_;
  std::optional<double> ignored_asymmetry_;
  double choosing_seconds_ = 0;
};

}  // namespace echelon

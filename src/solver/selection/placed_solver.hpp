// SPDX-License-Identifier: BSD-3-Clause
/// A method for operands in any memory.
#pragma once

#include "solver/selection/elimination_check.hpp"
#include "solver/selection/placed_matrix.hpp"

#include <echelon/solve.hpp>

#include <memory>
#include <mutex>
#include <optional>

namespace echelon {

/// A candidate as a solver: operands in other memory than that of its device are transferred. Where an
/// iterative method has converged, the dominance of A bounds the error of x, or a quick factorisation
/// measures it.
template <class T>
class PlacedSolver {
 public:
  /// `analysis_seconds`: time of an analysis by which the solver was chosen; `factor`: cost of a
  /// factorisation of A, where the choice has predicted it.
  PlacedSolver(Candidate candidate, Solver<T> solver, double analysis_seconds,
               std::optional<CostPrediction> factor);

  [[nodiscard]] const Candidate& candidate() const { return candidate_; }
  [[nodiscard]] const Solver<T>& solver() const { return solver_; }
  [[nodiscard]] const Method& method() const { return *method_; }
  [[nodiscard]] bool is_direct() const { return method_->kind == MethodKind::direct; }
  [[nodiscard]] double analysis_seconds() const { return analysis_seconds_; }
  /// Time of the last set-up, with the transfer of A.
  [[nodiscard]] double setup_seconds() const { return setup_seconds_; }

  Report analyze(PlacedMatrix<T>& A, const Control& control);
  /// `update`: A has the pattern of the matrix before.
  Report setup(std::shared_ptr<PlacedMatrix<T>> A, bool update, const Control& control);
  /// Several threads may call it.
  Report solve(DenseView<const T> B, DenseView<T> X, const Control& control);

 private:
  [[nodiscard]] const Device& device() const { return candidate_.device; }
  void measure_error(DenseView<const T> B, DenseView<const T> X, const Control& control, Report& report);
  /// Bounds the errors by the dominance of A; false if that shows no digit of one of them.
  [[nodiscard]] bool bound_error(DenseView<const T> B, DenseView<const T> X, Operation operation,
                                 Report& report) const;
  Report& describe(Report& report, double transfer_seconds) const;

  Candidate candidate_;
  const Method* method_;
  Solver<T> solver_;
  double analysis_seconds_ = 0;
  std::optional<CostPrediction> factor_;
  double setup_seconds_ = 0;
  double transfer_seconds_ = 0;  // of A
  std::shared_ptr<PlacedMatrix<T>> matrix_;
  std::mutex mutex_;
  std::unique_ptr<const EliminationCheck<T>> check_;  // null until a solve needs it
};

}  // namespace echelon

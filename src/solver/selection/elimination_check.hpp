// SPDX-License-Identifier: BSD-3-Clause
/// Measurement of the error of an iterative method by a factorisation.
#pragma once

#include "solver/selection/placed_matrix.hpp"

#include <echelon/solver.hpp>

#include <optional>

namespace echelon {

/// A direct solver that measures the error of an iterative method: of a few milliseconds, or, for a sparse A
/// of the most elements, of some tens of milliseconds with its analysis by AMD. A sparse A is eliminated on
/// the host, and as a symmetric one if the iterative method needs that.
template <class T>
class EliminationCheck {
 public:
  /// Factors A for a method on `device`, unless it takes longer. `factor`: its predicted cost, if that is
  /// known.
  EliminationCheck(PlacedMatrix<T>& A, const Device& device, MethodNeeds needs,
                   const Dense<double>& near_null_space, const std::optional<CostPrediction>& factor);

  /// Estimates the error of each x by its distance from that of the direct solver, whose own error is
  /// measured and added: 1 where that finds no x. No estimate remains where A is singular and its null
  /// vectors are not known. Without a factorisation the report is left as it is. Several threads may call it.
  void measure(DenseView<const T> B, DenseView<const T> X, Operation operation, Report& report) const;

 private:
  std::optional<Solver<T>> direct_;
};

}  // namespace echelon

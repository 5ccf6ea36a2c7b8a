// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/rref.hpp>, instantiated for HostTarget and CudaTarget.
#pragma once

#include "backend/targets.hpp"
#include "solver/implementation.hpp"

#include <echelon/rref.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

/// Backends, and on a GPU streams and library handles, that repeated operations share; for one call at a
/// time.
struct OperationWorkspace {
  explicit OperationWorkspace(const Device& of) : device(of) {}
  OperationWorkspace(const OperationWorkspace&) = delete;
  OperationWorkspace& operator=(const OperationWorkspace&) = delete;
  virtual ~OperationWorkspace() = default;
  Device device;
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<OperationWorkspace> make_operation_workspace(const Device& device);

// `workspace`: made for the same target and T, and for the device of the operands.

template <class Target, class T>
[[nodiscard]] EchelonForm<T> reduce_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                                       Dense<T> A);
template <class Target, class T>
[[nodiscard]] Report invert_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                               DenseView<T> A);
template <class Target, class T>
[[nodiscard]] Dense<T> null_space_on(const EchelonForm<T>& form);

/// Solver of the method `gauss-jordan`, with the facts of its elimination that GeneralSolution has in
/// addition to X.
template <class T>
class EliminationSolver : public SolverImplementation<T> {
 public:
  using SolverImplementation<T>::SolverImplementation;

  /// True if the elimination was completed: false if A has a NaN or Inf, or after an overflow.
  [[nodiscard]] virtual bool has_elimination() const = 0;

  // Results of the elimination:
  [[nodiscard]] virtual const RankFacts& facts() const = 0;
  [[nodiscard]] virtual const std::vector<std::int64_t>& pivot_columns() const = 0;
  /// A basis of the null space of A, n by n - rank.
  [[nodiscard]] virtual Dense<T> null_space() const = 0;
};

/// Creates a solver that uses the backend of `workspace`, which must outlive it, for set-ups and solves, one
/// at a time.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<EliminationSolver<T>> make_elimination_solver(
    OperationWorkspace& workspace, const GaussJordanOptions& options);

}  // namespace echelon

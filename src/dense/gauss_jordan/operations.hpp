// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/rref.hpp>, instantiated for HostTarget and CudaTarget.
#pragma once

#include "backend/targets.hpp"

#include <echelon/rref.hpp>

#include <memory>
#include <stop_token>

namespace echelon {

/// Backends, and on a GPU streams and library handles, that repeated operations share; for one call at a
/// time.
struct OperationWorkspace {
  explicit OperationWorkspace(const Device& of) : device(of) {}
  OperationWorkspace(const OperationWorkspace&) = delete;
  OperationWorkspace& operator=(const OperationWorkspace&) = delete;
  virtual ~OperationWorkspace() = default;
  Device device;
  std::stop_token cancel = {};  ///< of the call; checked between panels on the host
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<OperationWorkspace> make_operation_workspace(const Device& device);

// `workspace`: made for the same target and T, and for the device of the operands.

template <class Target, class T>
[[nodiscard]] EchelonForm<T> reduce_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                                       Dense<T> A);
template <class Target, class T>
[[nodiscard]] GeneralSolution<T> solve_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                                          const MatrixRef<T>& A, DenseView<const T> rhs);
template <class Target, class T>
[[nodiscard]] Report invert_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                               DenseView<T> A);
template <class Target, class T>
[[nodiscard]] Dense<T> null_space_on(const EchelonForm<T>& form);

}  // namespace echelon

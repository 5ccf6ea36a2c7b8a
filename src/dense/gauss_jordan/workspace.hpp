// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/target.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/panels/blocked_elimination.hpp"

#include <memory>

namespace echelon {

/// Row sums and two vectors for the inverse of an n by n matrix.
template <class T>
struct InverseWorkspace {
  Array<double> row_sums;
  Array<T> vectors;

  void resize(const Device& device, std::int64_t n) {
    if (row_sums.size() == n) return;
    row_sums = Array<double>(device, n);
    vectors = Array<T>(device, 2 * n);
  }
};

template <class B, class T>
struct BackendWorkspace final : OperationWorkspace {
  explicit BackendWorkspace(const Device& of) : OperationWorkspace(of), elimination(of) {}
  /// Workspace for eliminations in a lower precision, created by the first call.
  BackendWorkspace<B, float>& lower() {
    if (lower_ == nullptr) lower_ = std::make_unique<BackendWorkspace<B, float>>(device);
    return *lower_;
  }
  EliminationWorkspace<B> elimination;
  InverseWorkspace<T> inverse;

 private:
  std::unique_ptr<BackendWorkspace<B, float>> lower_;
};

/// The workspace of a device that the backend B serves.
template <class B, class T>
BackendWorkspace<B, T>& workspace_of(OperationWorkspace& workspace) {
  return static_cast<BackendWorkspace<B, T>&>(workspace);
}

}  // namespace echelon

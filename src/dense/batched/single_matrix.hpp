// SPDX-License-Identifier: BSD-3-Clause
/// Inversion and solution for one matrix of a batch, by one thread of the host or by the whole GPU.
#pragma once

#include "dense/batched/operations.hpp"
#include "dense/gauss_jordan/panel_width.hpp"
#include "dense/panels/blocked_elimination.hpp"

#include <echelon/matrix/scalar.hpp>

#include <limits>
#include <vector>

namespace echelon {

template <class T>
DenseView<T> matrix_of(const DenseBatch<T>& batch, std::int64_t number, const Device& device) {
  return {batch.data() + number * batch.stride(), batch.rows(), batch.columns(), batch.leading(), device};
}

/// Complex numbers are NaN in both parts.
template <class B, class T>
void fill_with_nan(B& backend, DenseView<T> A) {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  T element{nan};
  if constexpr (is_complex<T>) element = {nan, nan};
  for (std::int64_t j = 0; j < A.columns(); ++j) backend.fill(A.rows(), element, A.column(j));
}

/// Workspace and operations for one matrix at a time: its inverse, or solutions by the inverse with
/// refinement.
template <class B, class T>
class SingleMatrix {
 public:
  /// Memory for inverses of n by n matrices.
  SingleMatrix(const Device& device, std::int64_t n) : workspace_(device), row_sums_(device, n) {}
  /// Memory for systems with k right-hand sides.
  SingleMatrix(const Device& device, std::int64_t n, std::int64_t k)
      : workspace_(device),
        row_sums_(device, n),
        inverse_(device, n, n),
        x_(device, n, k),
        r_(device, n, k) {}

  BatchOutcome invert(DenseView<T> A, double tolerance) {
    const double norm = scan<T>(backend_, A, row_sums_.data()).norm_inf;
    BlockedElimination<B, T> elimination(workspace_, A, panel_width<T>(backend_, {}, A.rows(), A.columns()));
    elimination.invert(static_cast<Real<T>>(tolerance * norm));
    elimination.fetch_state();
    const EliminationState& state = elimination.state();
    bool finite = true;
    if (state.overflow_column < 0 && state.rank == A.columns()) {
      put_back_columns(backend_, A, elimination.rows(), elimination.device_state());
      finite = scan<T>(backend_, A, row_sums_.data()).row < 0;
    }
    const BatchOutcome outcome = batch_outcome(state, A.columns(), elimination.first_without_pivot(), finite);
    if (outcome.status != Status::direct) fill_with_nan(backend_, A);
    return outcome;
  }

  BatchOutcome solve(DenseView<const T> A, DenseView<T> B_, double tolerance, std::int64_t refine) {
    copy(A, inverse_);
    const BatchOutcome outcome = invert(inverse_, tolerance);
    if (outcome.status != Status::direct) {
      fill_with_nan(backend_, B_);
      return outcome;
    }
    gemm<T>(backend_, T{1}, inverse_, B_, T{0}, x_);
    for (std::int64_t step = 0; step < refine; ++step) {
      copy(B_, r_);
      gemm<T>(backend_, T{-1}, A, x_, T{1}, r_);
      gemm<T>(backend_, T{1}, inverse_, r_, T{1}, x_);
    }
    copy(x_, B_);
    return outcome;
  }

  B& backend() { return backend_; }

 private:
  void copy(DenseView<const T> from, DenseView<T> to) {
    for (std::int64_t j = 0; j < to.columns(); ++j) backend_.copy(to.rows(), from.column(j), to.column(j));
  }

  EliminationWorkspace<B> workspace_;
  B& backend_ = workspace_.backend;
  Array<double> row_sums_;
  Dense<T> inverse_, x_, r_;
};

}  // namespace echelon

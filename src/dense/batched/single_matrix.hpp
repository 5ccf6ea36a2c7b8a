// SPDX-License-Identifier: BSD-3-Clause
/// The matrices of a batch one after the other: each on one thread of the host, or on the whole GPU.
#pragma once

#include "dense/batched/operations.hpp"
#include "dense/gauss_jordan/system.hpp"

#include <limits>
#include <vector>

namespace echelon {

template <class T>
DenseView<T> matrix_of(const DenseBatch<T>& batch, std::int64_t number, const Device& device) {
  return {batch.data() + number * batch.stride(), batch.rows(), batch.columns(), batch.leading(), device};
}

template <class B, class T>
void fill_with_nan(B& backend, DenseView<T> A) {
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    backend.fill(A.rows(), std::numeric_limits<T>::quiet_NaN(), A.column(j));
  }
}

/// Inverts, or solves with the inverse and refines.
template <class B, class T>
class OneByOne {
 public:
  /// For inverses of n by n matrices.
  OneByOne(const Device& device, std::int64_t n) : tools_(device), row_sums_(device, n) {}
  /// For systems with k right-hand sides.
  OneByOne(const Device& device, std::int64_t n, std::int64_t k)
      : tools_(device), row_sums_(device, n), inverse_(device, n, n), x_(device, n, k), r_(device, n, k) {}

  BatchOutcome invert(DenseView<T> A, double tolerance) {
    const double norm = scan<T>(backend_, A, row_sums_.data()).norm_inf;
    Elimination<B, T> elimination(tools_, A, panel_columns<T>(backend_, {}, A.rows(), A.columns()));
    elimination.invert(static_cast<T>(tolerance * norm));
    elimination.look();
    const EliminationState& state = elimination.state();
    bool finite = true;
    if (state.overflow_column < 0 && state.rank == A.columns()) {
      put_back_columns(backend_, A, elimination.rows(), elimination.state_there());
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

  EliminationTools<B> tools_;
  B& backend_ = tools_.backend;
  Array<double> row_sums_;
  Dense<T> inverse_, x_, r_;
};

}  // namespace echelon

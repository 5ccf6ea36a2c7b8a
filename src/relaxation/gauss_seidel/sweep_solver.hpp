// SPDX-License-Identifier: BSD-3-Clause
/// Base of the iterative methods that sweep: A in sparse form, the check of its diagonal, and the intervals
/// between residuals.
#pragma once

#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

namespace echelon::gauss_seidel {

/// Counts the rows whose diagonal element is zero or not stored.
template <class T>
struct InspectDiagonal {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  ECHELON_ANYWHERE SkippedRows operator()(std::int64_t i) const {
    const RowSplit parts = split_row(column_indices, row_offsets[i], row_offsets[i + 1], i);
    if (parts.has_diagonal() && values[parts.diagonal] != T{0}) return {};
    return {1, i};
  }
};

/// Counts a sweep without computing its residual; it is recorded with the previous one.
template <class S>
struct CountSweep {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    if (state->running()) state->record(state->residual);
  }
};

template <class B, class T>
class SweepSolver : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;

 public:
  using typename Base::SolveWorkspace;

  SweepSolver(const Device& device, const Stop& stop, std::int64_t residual_every)
      : Base(device, stop), residual_every_(residual_every) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Base::setup(A);
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    sparse_ = A.is_sparse() ? A.csr() : &copy_;
    B backend(this->device());
    Array<SkippedRows> found(this->device(), 1);
    backend.reduce(A.rows(),
                   InspectDiagonal<T>{sparse_->row_offsets().data(), sparse_->column_indices().data(),
                                      sparse_->values().data()},
                   Store<SkippedRows>{found.data()});
    const SkippedRows skipped = backend.read(found.data());
    if (skipped.count == 0) return {};
    return {Status::breakdown,
            this->name() + " divides by the diagonal, and it is zero or missing in " +
                std::to_string(skipped.count) + " rows, the first of which is row " +
                std::to_string(skipped.first) + " (from 0)",
            skipped.first};
  }
  Outcome update_values(const MatrixRef<T>& A) override { return setup(A); }

  [[nodiscard]] std::size_t bytes() const override { return copy_.bytes(); }

 protected:
  struct SweepWorkspace : SolveWorkspace {
    using SolveWorkspace::SolveWorkspace;
    std::int64_t since_residual = 0;  ///< sweeps since the residual was last computed
  };

  /// Queues one sweep over x, which changes nothing if `state` is not null and the iteration has stopped.
  virtual void sweep(SweepWorkspace& workspace, const IterationStateOf<Dot<T>>* state, const T* b,
                     T* x) const = 0;

  [[nodiscard]] const Csr<T>& sparse() const { return *sparse_; }

 private:
  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    static_cast<SweepWorkspace&>(workspace).since_residual = 0;
  }

  void step(SolveWorkspace& workspace, const T* b, T* x) const override {
    auto& own = static_cast<SweepWorkspace&>(workspace);
    sweep(own, own.state(), b, x);
    if (++own.since_residual < residual_every_) {
      own.backend.for_each(1, CountSweep<Dot<T>>{own.state()});
      return;
    }
    own.since_residual = 0;
    own.backend.copy(own.n, b, own.r.data());
    multiply(own.backend, T{-1}, this->matrix(), x, T{1}, own.r.data());
    own.backend.reduce(own.n, SquaredMagnitude{own.r.data()}, RecordResidual{own.state()});
  }

  std::int64_t residual_every_;
  const Csr<T>* sparse_ = nullptr;
  Csr<T> copy_;  // of a dense A
};

}  // namespace echelon::gauss_seidel

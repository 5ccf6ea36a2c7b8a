// SPDX-License-Identifier: BSD-3-Clause
/// Common part of Crout's methods on a GPU: scaling, the assessment of the factors, and solves with them.
#pragma once

#include "backend/store.hpp"
#include "dense/crout/cuda/trsm.cuh"
#include "dense/crout/growth.hpp"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/scaling.hpp"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon::crout {

namespace cuda_detail {

/// Magnitude |l_ii u_ij| of an element that elimination has left in the upper triangle.
template <class T>
struct EliminatedMagnitude {
  DenseView<const T> factors;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    if (i > j) return {0};
    const auto value = static_cast<double>(factors.data()[i + j * factors.leading()]);
    const double scale = i < j ? static_cast<double>(factors.data()[i * (factors.leading() + 1)]) : 1.0;
    return {std::fabs(scale * value)};
  }
};

/// Copies to(i, j) = from(p, j) for p = permutation[i].
template <class T>
struct GatherRows {
  DenseView<const T> from;
  const std::int64_t* permutation;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    to.data()[j * to.leading() + i] = from.data()[j * from.leading() + permutation[i]];
  }
};

/// Copies to(permutation[i], j) = from(i, j).
template <class T>
struct ScatterRows {
  DenseView<const T> from;
  const std::int64_t* permutation;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    to.data()[j * to.leading() + permutation[i]] = from.data()[j * from.leading() + i];
  }
};

}  // namespace cuda_detail

/// A method derives from it and factors in place: P A = L U, where U has a unit diagonal. Memory: n^2
/// elements and 2 n for scaling; 2 n elements for each solve in progress.
template <class T>
class CudaFactorization : public SolverImplementation<T> {
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n) : backend(device), refinement(device, n) {
      backend.blas();  // created here, so that no solve creates it
    }
    [[nodiscard]] std::size_t bytes() const override { return refinement.bytes(); }
    Cuda backend;
    RefinementArrays<T> refinement;
  };

 public:
  Outcome setup(const MatrixRef<T>& A) final {
    A_ = A;
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(A);
    const std::int64_t n = factors_.rows();
    scales_ = {};
    if (n == 0) return {};
    Cuda backend(this->device());
    const lu::ScaledNorms norms = lu::scale<T>(backend, factors_.view(), equilibrate_, scales_);
    if (norms.zero_row >= 0) return zero_line("row", norms.zero_row);
    if (norms.zero_column >= 0) return zero_line("column", norms.zero_column);
    Array<std::int64_t> pivots(this->device(), n);
    Outcome outcome = factor_in_place(backend, pivots.data());
    const bool zero_pivot = outcome.status == Status::singular;
    if (!outcome.ok() && !zero_pivot) return outcome;
    const double eliminated = largest_eliminated(backend, zero_pivot ? outcome.row.value() + 1 : n);
    if (!zero_pivot) {
      keep_permutation(pivots);
      std::vector<Statistic> statistics = std::move(outcome.statistics);
      outcome = assess_condition<T>(estimate_reciprocal_condition<T>(
          backend, n, norms.one,
          [&](bool transposed, T* v) { substitute_factors(backend, transposed, vector(v)); }));
      outcome.statistics = std::move(statistics);
    }
    return with_growth<T>(std::move(outcome), eliminated / norms.largest, n);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const final {
    return std::make_unique<SolveWorkspace>(this->device(), factors_.rows());
  }

  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + permutation_.bytes() + scales_.bytes();
  }

  /// Queues the whole solve, including the decision on each refinement step. Allocates nothing.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const final {
    if (right.rows() == 0 || right.columns() == 0) return;
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(own.backend, right, left);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      refine(
          own.backend, right.rows(), refinement_steps_, left.column(j), own.refinement,
          [&](const T* x, T* r) {
            own.backend.copy(right.rows(), right.column(j), r);
            multiply(own.backend, T{-1}, A_, x, T{1}, r);
          },
          [&](const T* r, T* z) { substitute(own.backend, vector(r), vector(z)); });
    }
  }

  /// Substitution without refinement. Does not wait.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const final {
    if (factors_.rows() == 0) return;
    for (int c = 0; c < r.columns(); ++c)
      substitute(static_cast<SolveWorkspace&>(workspace).backend, vector(r[c]), vector(z[c]));
  }

 protected:
  CudaFactorization(const Device& device, bool equilibrate, std::int64_t refinement_steps)
      : SolverImplementation<T>(device), equilibrate_(equilibrate), refinement_steps_(refinement_steps) {}

  /// Replaces `factors()` by factors. `pivots[j]` is the row that was exchanged with row j.
  virtual Outcome factor_in_place(Cuda& backend, std::int64_t* pivots) = 0;

  /// Computes X = S^-1 X, or S^-T X, for the scaled matrix S. Queued.
  virtual void substitute_factors(Cuda& backend, bool transposed, DenseView<T> X) const {
    const std::int64_t elements = X.rows() * X.columns();
    const DenseView<T> permuted(
        static_cast<T*>(backend.scratch(static_cast<std::size_t>(elements) * sizeof(T))), X.rows(),
        X.columns(), X.rows(), X.device());
    if (!transposed) {
      backend.for_each(elements, cuda_detail::GatherRows<T>{X, permutation_.data(), permuted});
      copy(backend, permuted, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, X);
    } else {
      solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, X);
      copy(backend, X, permuted);
      backend.for_each(elements, cuda_detail::ScatterRows<T>{permuted, permutation_.data(), X});
    }
  }

  /// The largest magnitude of an element that elimination has left in the upper triangle of the first
  /// columns, which are those before a pivot that is zero, and its own.
  [[nodiscard]] virtual double largest_eliminated(Cuda& backend, std::int64_t columns) const {
    Array<double> of_columns(this->device(), columns);
    magnitudes::for_columns<Largest>(this->device(), columns,
                                     cuda_detail::EliminatedMagnitude<T>{factors_.view()}, of_columns.data());
    Array<Largest> largest(this->device(), 1);
    backend.reduce(columns, magnitudes::ElementMagnitude<double>{of_columns.data()},
                   Store<Largest>{largest.data()});
    return backend.read(largest.data()).value;
  }

  [[nodiscard]] Dense<T>& factors() { return factors_; }
  [[nodiscard]] const Dense<T>& factors() const { return factors_; }

 private:
  static void copy(Cuda& backend, DenseView<const T> from, DenseView<T> to) {
    for (std::int64_t j = 0; j < from.columns(); ++j) backend.copy(from.rows(), from.column(j), to.column(j));
  }

  template <class U>
  [[nodiscard]] DenseView<U> vector(U* elements) const {
    const std::int64_t n = factors_.rows();
    return {elements, n, 1, n, this->device()};
  }

  void keep_permutation(const Array<std::int64_t>& pivots) {
    const Array<std::int64_t> exchanges = pivots.to(Device());
    Array<std::int64_t> order(Device(), pivots.size());
    for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::int64_t j = 0; j < order.size(); ++j) std::swap(order[j], order[exchanges[j]]);
    permutation_ = order.to(this->device());
  }

  /// Computes X = A^-1 B by the factors. B and X do not overlap.
  void substitute(Cuda& backend, DenseView<const T> B, DenseView<T> X) const {
    const auto pointer = [](const Array<T>& scale) { return scale.size() > 0 ? scale.data() : nullptr; };
    const std::int64_t elements = X.rows() * X.columns();
    backend.for_each(elements, lu::CopyScaled<T>{B, pointer(scales_.rows), nullptr, X});
    substitute_factors(backend, false, X);
    if (scales_.columns.size() == 0) return;
    backend.for_each(elements, lu::CopyScaled<T>{X, scales_.columns.data(), nullptr, X});
  }

  void solve_triangle(Cuda& backend, cublasFillMode_t part, cublasOperation_t form, DenseView<T> X) const {
    const CurrentDevice current(this->device().id());
    const cublasDiagType_t diagonal =
        part == CUBLAS_FILL_MODE_LOWER ? CUBLAS_DIAG_NON_UNIT : CUBLAS_DIAG_UNIT;
    check(trsm(backend.blas(), part, form, diagonal, X.rows(), X.columns(), factors_.data(),
               factors_.leading(), X.data(), X.leading()));
  }

  bool equilibrate_;
  std::int64_t refinement_steps_;
  MatrixRef<T> A_;
  Dense<T> factors_;
  Array<std::int64_t> permutation_;  // row i of P A is row permutation[i] of A
  lu::Scales<T> scales_;
};

}  // namespace echelon::crout

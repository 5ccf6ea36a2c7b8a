// SPDX-License-Identifier: BSD-3-Clause
/// The striped scheme in the loops of any backend, for devices without kernels of its own, and its parts that
/// need no such kernels with CUDA.
#pragma once

#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/assign.hpp"
#include "solver/implementation.hpp"
#include "studies/gauss_jordan_striped/striped.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon {

/// Replaces the element of column p by zero and keeps the multiplier, in its place or elsewhere, in row
/// `first` + i.
template <class T>
struct MultiplierOfRow {
  T* a;
  T* multipliers;
  std::int64_t n, p, first;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t place = (first + i) * n + p;
    const T multiplier = a[place] / a[p * n + p];
    a[place] = T{0};
    multipliers[place] = multiplier;
  }
};

/// Subtracts multiples of row p from the rows from `first_row` on, in `columns` columns from `first_column`
/// on.
template <class T>
struct SubtractPivotRow {
  T* a;
  const T* multipliers;
  std::int64_t n, p, first_row, first_column, columns;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t y = first_row + k / columns;
    const std::int64_t x = first_column + k % columns;
    a[y * n + x] -= multipliers[y * n + p] * a[p * n + x];
  }
};

/// Computes x[y] -= multiplier x[p], for y from `begin` on.
template <class T>
struct SubtractMultiples {
  const T* multipliers;
  std::int64_t n, p, begin;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[begin + i] -= multipliers[(begin + i) * n + p] * x[p];
  }
};

template <class T>
struct DivideByPivots {
  const T* a;
  std::int64_t n;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t y) const { x[y] /= a[y * n + y]; }
};

template <class T>
struct ZeroPivot {
  const T* a;
  std::int64_t n;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t p) const {
    return {a[p * n + p] == 0 ? p : FirstIndex::none};
  }
};

/// Outcome of both passes over `a`, with `pivots` pivots: ok, or the first one that is zero. Waits.
template <class B, class T>
Outcome find_zero_pivot(B& backend, const T* a, std::int64_t pivots, std::int64_t n) {
  Array<FirstIndex> first(backend.device(), 1);
  backend.reduce(pivots, ZeroPivot<T>{a, n}, Store<FirstIndex>{first.data()});
  const std::int64_t row = backend.read(first.data()).value;
  return row == FirstIndex::none ? Outcome{} : zero_without_exchanges(row);
}

/// Applies both passes over an n by n matrix to right-hand sides. Queued.
template <class B, class T>
void apply_passes(B& backend, const T* a, const T* multipliers, std::int64_t n, const DenseView<const T>& rhs,
                  const DenseView<T>& X) {
  for (std::int64_t j = 0; j < rhs.columns(); ++j) {
    T* const x = X.column(j);
    backend.copy(n, rhs.column(j), x);
    for (std::int64_t p = 0; p < n; ++p)
      backend.for_each(n - p - 1, SubtractMultiples<T>{multipliers, n, p, p + 1, x});
    for (std::int64_t p = n; p-- > 0;) backend.for_each(p, SubtractMultiples<T>{multipliers, n, p, 0, x});
    backend.for_each(n, DivideByPivots<T>{a, n, x});
  }
}

/// Elements of an m by n matrix row after row, and the multipliers of an elimination with the pivots on the
/// diagonal.
template <class T>
class StripedMatrix {
 public:
  StripedMatrix() = default;
  StripedMatrix(const MatrixRef<T>& A, const GaussJordanStripedOptions& options)
      : second_pass_(options.second_pass), m_(A.rows()), n_(A.columns()), elements_(A.device(), m_ * n_) {
    const DenseView<T> by_row(elements_.data(), m_, n_, n_, A.device(), Layout::row_major);
    const Dense<T> all = A.is_sparse() ? to_dense(A) : Dense<T>();
    assign<T>(A.is_sparse() ? all.view() : A.dense(), by_row);
    if (second_pass_ == SecondPass::published) multipliers_ = Array<T>(A.device(), m_ * n_);
  }

  [[nodiscard]] std::int64_t rows() const { return m_; }
  [[nodiscard]] const T* elements() const { return elements_.data(); }
  [[nodiscard]] const T* multipliers() const {
    return multipliers_.size() > 0 ? multipliers_.data() : elements_.data();
  }
  [[nodiscard]] std::size_t bytes() const { return elements_.bytes() + multipliers_.bytes(); }

 protected:
  [[nodiscard]] std::int64_t pivots() const { return std::min(m_, n_); }
  [[nodiscard]] T* multipliers() { return multipliers_.size() > 0 ? multipliers_.data() : elements_.data(); }

  SecondPass second_pass_ = SecondPass::shortened;
  std::int64_t m_ = 0, n_ = 0;
  Array<T> elements_;     // of the shortened form with multipliers in place of zeros
  Array<T> multipliers_;  // of the published form
};

/// An m by n matrix and its elimination, with the pivots on the diagonal. Each pivot takes two launches, over
/// the tiles of all stripes: their elements do not depend on each other.
template <class B, class T>
class StripedLoops : public StripedMatrix<T> {
 public:
  using StripedMatrix<T>::StripedMatrix;

  /// Both passes.
  Outcome eliminate(B& backend) {
    if (pivots() == 0) return {};
    for (std::int64_t p = 0; p < pivots(); ++p) {
      compute_multipliers(backend, {p + 1, m_}, p);
      subtract(backend, {p + 1, m_}, p, {p + 1, n_});
    }
    for (std::int64_t p = pivots(); p-- > 0;) {
      compute_multipliers(backend, {0, p}, p);
      if (second_pass_ == SecondPass::published) subtract(backend, {0, p}, p, {0, p});
      subtract(backend, {0, p}, p, {pivots(), n_});
    }
    return find_zero_pivot(backend, elements_.data(), pivots(), n_);
  }

 private:
  using StripedMatrix<T>::elements_;
  using StripedMatrix<T>::m_;
  using StripedMatrix<T>::n_;
  using StripedMatrix<T>::pivots;
  using StripedMatrix<T>::second_pass_;

  void compute_multipliers(B& backend, StripeRange rows, std::int64_t p) {
    backend.for_each(rows.end - rows.begin,
                     MultiplierOfRow<T>{elements_.data(), this->multipliers(), n_, p, rows.begin});
  }
  void subtract(B& backend, StripeRange rows, std::int64_t p, StripeRange columns) {
    const std::int64_t width = columns.end - columns.begin;
    backend.for_each(
        (rows.end - rows.begin) * width,
        SubtractPivotRow<T>{elements_.data(), this->multipliers(), n_, p, rows.begin, columns.begin, width});
  }
};

/// The method with a Matrix on a device: StripedLoops, or one with kernels of its own.
template <class B, class T, class Matrix>
class StripedSolver final : public SolverImplementation<T> {
 public:
  StripedSolver(const Device& device, const GaussJordanStripedOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    matrix_ = Matrix(A, options_);
    B backend(this->device());
    return matrix_.eliminate(backend);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override { return matrix_.bytes(); }

  void solve(Workspace& /*workspace*/, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& /*jobs*/) const override {
    B backend(this->device());
    apply_passes(backend, matrix_.elements(), matrix_.multipliers(), matrix_.rows(), rhs, X);
  }

 private:
  GaussJordanStripedOptions options_;
  Matrix matrix_;
};

/// The reduced form of A by the elimination of a Matrix.
template <class B, class Matrix, class T>
StripedForm<T> reduce_striped_with(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  B backend(A.device());
  Matrix matrix(A, options);
  Outcome outcome = matrix.eliminate(backend);
  if (!outcome.ok()) return {.outcome = std::move(outcome), .R = {}, .pivots = {}};
  return form_of(backend, matrix.elements(), A.rows(), A.columns());
}

}  // namespace echelon

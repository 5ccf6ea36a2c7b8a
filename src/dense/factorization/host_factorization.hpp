// SPDX-License-Identifier: BSD-3-Clause
/// Common part of the dense factorisations on the host: a scaled dense copy of A that the method
/// replaces by its factors, solves with refinement, and the use as a preconditioner.
#pragma once

#include "dense/factorization/scaling.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/blas/vector_instructions.hpp"
#include "linalg/condition.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Base class of a method, which defines how to factor `factors()` and how to solve with the result. Memory:
/// n^2 elements and 2 n for scaling; 2 n elements for each solve in progress.
template <class B, class T>
class HostFactorization : public SolverImplementation<T> {
  /// Vectors of refinement: the residual and the corrected x, n elements each.
  struct Vectors : Workspace {
    explicit Vectors(std::int64_t n) : residual(Device(), n), candidate(Device(), n) {}
    [[nodiscard]] std::size_t bytes() const override { return residual.bytes() + candidate.bytes(); }
    Array<T> residual, candidate;
  };

 public:
  Outcome setup(const MatrixRef<T>& A) final {
    A_ = A;
    clear();
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    const int n = blas::dimension(A.rows());
    factors_ = to_dense(A);
    row_scale_.clear();
    column_scale_.clear();
    if (n == 0) return {};
    const blas::Threads threads(this->device(), n);
    if (equilibrate_) {
      if (Outcome scaled = equilibrate(factors_.view(), row_scale_, column_scale_); !scaled.ok())
        return scaled;
    }
    Outcome outcome = factor(n);
    const std::string slow = calls_blas() ? blas::slow_kernels_warning(n) : std::string();
    if (!slow.empty()) outcome.warnings.push_back(slow);
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const final {
    return std::make_unique<Vectors>(factors_.rows());
  }

  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + (row_scale_.size() + column_scale_.size()) * sizeof(T);
  }

  void solve(Workspace& workspace, DenseView<const T> B_, DenseView<T> X,
             std::vector<Job>& jobs) const final {
    if (B_.rows() == 0 || B_.columns() == 0) return;
    const blas::Threads threads(this->device(), B_.rows());
    for (std::int64_t j = 0; j < B_.columns(); ++j) std::copy_n(B_.column(j), B_.rows(), X.column(j));
    substitute(X);
    for (std::int64_t j = 0; j < B_.columns(); ++j) {
      Job& job = jobs[static_cast<std::size_t>(j)];
      if (job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
        continue;
      }
      const std::int64_t steps = refine(static_cast<Vectors&>(workspace), B_.column(j), X.column(j));
      job.statistics = {{"refinement_steps", steps}};
    }
  }

  /// Computes X = A^-1 X without refinement, for column-major X.
  void substitute(Workspace& /*workspace*/, DenseView<T> X) const {
    if (X.rows() == 0) return;
    const blas::Threads threads(this->device(), X.rows());
    substitute(X);
  }
  /// Substitution without refinement.
  void apply(Workspace& /*workspace*/, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const final {
    const std::int64_t n = factors_.rows();
    if (n == 0) return;
    const blas::Threads threads(this->device(), n);
    for (int c = 0; c < r.columns(); ++c) {
      std::copy_n(r[c], n, z[c]);
      substitute({z[c], n, 1, n});
    }
  }

 protected:
  HostFactorization(const Device& device, bool equilibrate, std::int64_t refinement_steps)
      : SolverImplementation<T>(device), equilibrate_(equilibrate), refinement_steps_(refinement_steps) {}

  /// Scales rows and columns of A to magnitude 1 and returns the scale factors, empty if A was not scaled.
  /// The default scales by powers of two where LAPACK's criterion says that it helps. A row or column of
  /// zeros is a singular matrix.
  virtual Outcome equilibrate(DenseView<T> A, std::vector<T>& rows, std::vector<T>& columns) {
    B backend(this->device());
    lu::Scales<T> scales;
    const lu::ScaledNorms norms = lu::scale<T>(backend, A, true, scales);
    if (norms.zero_row >= 0) return zero_line("row", norms.zero_row);
    if (norms.zero_column >= 0) return zero_line("column", norms.zero_column);
    rows = scales.rows.to_vector();
    columns = scales.columns.to_vector();
    return {};
  }
  /// Whether most of the factorisation's time is spent in BLAS.
  [[nodiscard]] virtual bool calls_blas() const { return true; }
  /// Releases everything that the last factorisation keeps, except `factors()`.
  virtual void clear() {}
  /// Replaces `factors()`, which is the scaled A of n > 0 rows, by factors.
  virtual Outcome factor(int n) = 0;
  /// Computes X = A^-1 X, or A^-T X, for the scaled A.
  virtual void substitute_factors(bool transposed, DenseView<T> X) const = 0;

  [[nodiscard]] Dense<T>& factors() { return factors_; }
  [[nodiscard]] const Dense<T>& factors() const { return factors_; }

  /// Copies the scaled A to `factors()` again.
  void restore_matrix() {
    factors_ = Dense<T>();
    factors_ = to_dense(A_);
    scale_rows(row_scale_, factors_);
    for (std::size_t j = 0; j < column_scale_.size(); ++j) {
      T* column = factors_.view().column(static_cast<std::int64_t>(j));
      for (std::int64_t i = 0; i < factors_.rows(); ++i) column[i] *= column_scale_[j];
    }
  }

  /// Estimates the reciprocal condition number of the scaled A, whose 1-norm is given, by a few
  /// substitutions.
  [[nodiscard]] double reciprocal_condition(T norm_one) const {
    const std::int64_t n = factors_.rows();
    B backend(this->device());
    return estimate_reciprocal_condition<T>(
        backend, n, static_cast<double>(norm_one),
        [&](bool transposed, T* v) { substitute_factors(transposed, DenseView<T>(v, n, 1, n)); });
  }

 private:
  /// Computes X = A^-1 X by the factors.
  void substitute(DenseView<T> X) const {
    scale_rows(row_scale_, X);
    substitute_factors(false, X);
    scale_rows(column_scale_, X);
  }

  static void scale_rows(const std::vector<T>& scale, DenseView<T> X) {
    if (scale.empty()) return;
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < X.rows(); ++i) X(i, j) *= scale[static_cast<std::size_t>(i)];
    }
  }

  /// Refines x while the residual becomes smaller. Returns the number of corrections.
  std::int64_t refine(Vectors& v, const T* b, T* x) const {
    const std::int64_t n = factors_.rows();
    T* candidate = v.candidate.data();
    T before = residual(b, x, v.residual.data());
    std::int64_t steps = 0;
    for (; steps < refinement_steps_ && before > 0; ++steps) {
      std::copy_n(v.residual.data(), n, candidate);
      substitute({candidate, n, 1, n});
      for (std::int64_t i = 0; i < n; ++i) candidate[i] += x[i];
      const T after = residual(b, candidate, v.residual.data());
      if (!(after < before)) break;
      std::copy_n(candidate, n, x);
      before = after;
    }
    return steps;
  }

  /// Computes r = b - A x; returns its largest magnitude, NaN if there is one.
  T residual(const T* b, const T* x, T* r) const {
    const std::int64_t n = factors_.rows();
    B backend(this->device());
    std::copy_n(b, n, r);
    multiply(backend, T{-1}, A_, x, T{1}, r);
    Largest largest;
    for (std::int64_t i = 0; i < n; ++i) largest = combine(largest, {std::abs(static_cast<double>(r[i]))});
    return static_cast<T>(largest.value);
  }

  bool equilibrate_;
  std::int64_t refinement_steps_;
  MatrixRef<T> A_;
  Dense<T> factors_;
  std::vector<T> row_scale_, column_scale_;  // empty: not scaled
};

}  // namespace echelon

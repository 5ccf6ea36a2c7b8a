// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/vendor/blocked_lu.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/condition.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/lapack_lu.hpp>

#include <algorithm>
#include <cmath>

namespace echelon {

namespace {

template <class B, class T>
class LapackFactorisation final : public SolverImplementation<T> {
  /// For refinement: the residual and the corrected x, n elements each.
  struct Vectors : Workspace {
    explicit Vectors(std::int64_t n) : residual(Device(), n), candidate(Device(), n) {}
    [[nodiscard]] std::size_t bytes() const override { return residual.bytes() + candidate.bytes(); }
    Array<T> residual, candidate;
  };

 public:
  LapackFactorisation(const Device& device, const LapackLuOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    const int n = blas::dimension(A.rows());
    A_ = A;
    tau_.clear();
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(A);
    pivots_.assign(static_cast<std::size_t>(n), 0);
    row_scale_.clear();
    column_scale_.clear();
    if (n == 0) return {};
    const blas::Threads threads(this->device(), n);
    if (Outcome scaled = equilibrate(n); !scaled.ok()) return scaled;
    const T norm = lapack::norm_one(n, factors_.data());
    const T largest = lapack::norm_max(n, factors_.data());
    const BlockedLuResult lu = factor_blocked_lu(n, factors_.data(), pivots_.data(), this->cancel());
    if (lu.cancelled) return cancelled_factorisation();
    const double growth = static_cast<double>(lapack::upper_norm_max(n, factors_.data()) / largest);
    if (!(growth <= acceptable_growth<T>(n))) return factor_qr(n, norm, growth);
    if (lu.zero_pivot > 0) return zero_pivot(lu.zero_pivot - 1);
    Outcome outcome = assess_condition<T>(lapack::reciprocal_condition(n, factors_.data(), norm));
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(factors_.rows());
  }

  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + pivots_.size() * sizeof(int) +
           (tau_.size() + row_scale_.size() + column_scale_.size()) * sizeof(T);
  }

  void solve(Workspace& workspace, DenseView<const T> B_, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (B_.rows() == 0 || B_.columns() == 0) return;
    const blas::Threads threads(this->device(), B_.rows());
    for (std::int64_t j = 0; j < B_.columns(); ++j) {
      std::copy_n(B_.column(j), B_.rows(), X.column(j));
    }
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

  /// Substitution without refinement.
  void apply(Workspace& /*workspace*/, const T* r, T* z) const override {
    const std::int64_t n = factors_.rows();
    if (n == 0) return;
    const blas::Threads threads(this->device(), n);
    std::copy_n(r, n, z);
    substitute({z, n, 1, n});
  }

 private:
  /// Scales rows and columns to magnitude 1 where LAPACK says that it helps. A row or column of zeros is a
  /// singular matrix.
  Outcome equilibrate(int n) {
    if (!options_.equilibrate) return {};
    row_scale_.resize(static_cast<std::size_t>(n));
    column_scale_.resize(static_cast<std::size_t>(n));
    const int info = lapack::equilibrate(n, factors_.data(), row_scale_, column_scale_);
    if (info == 0) return {};
    return info <= n ? zero_line("row", info - 1) : zero_line("column", info - n - 1);
  }

  /// A = Q R: backward stable whatever A, for twice the flops of LU.
  Outcome factor_qr(int n, T norm, double growth) {
    factors_ = Dense<T>();
    factors_ = to_dense(A_);
    scale_rows(row_scale_, factors_);
    for (std::size_t j = 0; j < column_scale_.size(); ++j) {
      T* column = factors_.view().column(static_cast<std::int64_t>(j));
      for (int i = 0; i < n; ++i) column[i] *= column_scale_[j];
    }
    tau_.assign(static_cast<std::size_t>(n), T{0});
    if (this->cancel().stop_requested()) return cancelled_factorisation();
    lapack::geqrf(n, factors_.data(), tau_.data());
    for (int i = 0; i < n; ++i) {
      if (factors_(i, i) == 0) return zero_pivot(i);
    }
    B backend(this->device());
    const double rcond = estimate_reciprocal_condition<T>(
        backend, n, static_cast<double>(norm),
        [&](bool transposed, T* v) { substitute_qr(transposed, DenseView<T>(v, n, 1, n)); });
    Outcome outcome = assess_condition<T>(rcond);
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  /// X = A^-1 X by the factors.
  void substitute(DenseView<T> X) const {
    scale_rows(row_scale_, X);
    if (tau_.empty()) {
      lapack::getrs(static_cast<int>(factors_.rows()), static_cast<int>(X.columns()), factors_.data(),
                    pivots_.data(), X.data(), blas::dimension(X.leading()));
    } else {
      substitute_qr(false, X);
    }
    scale_rows(column_scale_, X);
  }

  /// X = R^-1 Q^T X, or Q R^-T X.
  void substitute_qr(bool transposed, DenseView<T> X) const {
    const int n = static_cast<int>(factors_.rows());
    const int columns = static_cast<int>(X.columns());
    const int leading = blas::dimension(X.leading());
    if (!transposed) lapack::multiply_by_q(true, n, columns, factors_.data(), tau_.data(), X.data(), leading);
    blas::trsm(CblasUpper, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, n, columns, factors_.data(),
               n, X.data(), leading);
    if (transposed) lapack::multiply_by_q(false, n, columns, factors_.data(), tau_.data(), X.data(), leading);
  }

  static void scale_rows(const std::vector<T>& scale, DenseView<T> X) {
    if (scale.empty()) return;
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < X.rows(); ++i) X(i, j) *= scale[static_cast<std::size_t>(i)];
    }
  }

  /// Adds the solution for the residual as long as that makes the residual smaller. Returns the number of
  /// corrections.
  std::int64_t refine(Vectors& v, const T* b, T* x) const {
    const std::int64_t n = factors_.rows();
    T* candidate = v.candidate.data();
    T before = residual(b, x, v.residual.data());
    std::int64_t steps = 0;
    for (; steps < options_.refine && before > 0; ++steps) {
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

  /// r = b - A x; returns its largest magnitude, NaN if there is one.
  T residual(const T* b, const T* x, T* r) const {
    const std::int64_t n = factors_.rows();
    B backend(this->device());
    std::copy_n(b, n, r);
    multiply(backend, T{-1}, A_, x, T{1}, r);
    Largest largest;
    for (std::int64_t i = 0; i < n; ++i) largest = combine(largest, {std::abs(static_cast<double>(r[i]))});
    return static_cast<T>(largest.value);
  }

  LapackLuOptions options_;
  MatrixRef<T> A_;
  Dense<T> factors_;  // of LU, or of QR
  std::vector<int> pivots_;
  std::vector<T> tau_;                       // of QR's reflections; empty: LU
  std::vector<T> row_scale_, column_scale_;  // empty: not scaled
};

}  // namespace

template <>
struct MethodWith<LapackLuOptions> {
  template <class B, class T>
  using Type = LapackFactorisation<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LapackLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const LapackLuOptions&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
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
    lu_ = Dense<T>();  // the old factor makes room for the new one
    lu_ = to_dense(A);
    pivots_.assign(static_cast<std::size_t>(n), 0);
    row_scale_.clear();
    column_scale_.clear();
    if (n == 0) return {};
    const blas::Threads threads(this->device(), n);
    if (Outcome scaled = equilibrate(n); !scaled.ok()) return scaled;
    const T norm = lapack::norm_one(n, lu_.data());
    const int info = lapack::getrf(n, lu_.data(), pivots_.data());
    if (info > 0) return zero_pivot(info - 1);
    return judge_condition<T>(lapack::reciprocal_condition(n, lu_.data(), norm));
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(lu_.rows());
  }

  [[nodiscard]] std::size_t bytes() const override {
    return lu_.bytes() + pivots_.size() * sizeof(int) +
           (row_scale_.size() + column_scale_.size()) * sizeof(T);
  }

  void solve(Workspace& workspace, DenseView<const T> B_, DenseView<T> X, std::vector<Job>&) const override {
    if (B_.rows() == 0 || B_.columns() == 0) return;
    const blas::Threads threads(this->device(), B_.rows());
    for (std::int64_t j = 0; j < B_.columns(); ++j) {
      std::copy_n(B_.column(j), B_.rows(), X.column(j));
    }
    substitute(X);
    for (std::int64_t j = 0; j < B_.columns(); ++j) {
      refine(static_cast<Vectors&>(workspace), B_.column(j), X.column(j));
    }
  }

  /// Substitution without refinement.
  void apply(Workspace& /*workspace*/, const T* r, T* z) const override {
    const std::int64_t n = lu_.rows();
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
    const int info = lapack::equilibrate(n, lu_.data(), row_scale_, column_scale_);
    if (info == 0) return {};
    return info <= n ? zero_line("row", info - 1) : zero_line("column", info - n - 1);
  }

  /// X = A^-1 X by the factors.
  void substitute(DenseView<T> X) const {
    scale_rows(row_scale_, X);
    lapack::getrs(static_cast<int>(lu_.rows()), static_cast<int>(X.columns()), lu_.data(), pivots_.data(),
                  X.data(), blas::dimension(X.leading()));
    scale_rows(column_scale_, X);
  }

  static void scale_rows(const std::vector<T>& scale, DenseView<T> X) {
    if (scale.empty()) return;
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      for (std::int64_t i = 0; i < X.rows(); ++i) X(i, j) *= scale[static_cast<std::size_t>(i)];
    }
  }

  /// Adds the solution for the residual as long as that makes the residual smaller.
  void refine(Vectors& v, const T* b, T* x) const {
    const std::int64_t n = lu_.rows();
    T* candidate = v.candidate.data();
    T before = residual(b, x, v.residual.data());
    for (std::int64_t step = 0; step < options_.refine && before > 0; ++step) {
      std::copy_n(v.residual.data(), n, candidate);
      substitute({candidate, n, 1, n});
      for (std::int64_t i = 0; i < n; ++i) candidate[i] += x[i];
      const T after = residual(b, candidate, v.residual.data());
      if (!(after < before)) return;
      std::copy_n(candidate, n, x);
      before = after;
    }
  }

  /// r = b - A x; returns its largest magnitude, NaN if there is one.
  T residual(const T* b, const T* x, T* r) const {
    const std::int64_t n = lu_.rows();
    B backend(this->device());
    std::copy_n(b, n, r);
    multiply(backend, T{-1}, A_, x, T{1}, r);
    Largest largest;
    for (std::int64_t i = 0; i < n; ++i) largest = combine(largest, {std::abs(static_cast<double>(r[i]))});
    return static_cast<T>(largest.value);
  }

  LapackLuOptions options_;
  MatrixRef<T> A_;
  Dense<T> lu_;
  std::vector<int> pivots_;
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

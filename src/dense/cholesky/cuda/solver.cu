// SPDX-License-Identifier: BSD-3-Clause
// Dense Cholesky factorisation on a GPU as a Solver.
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "dense/cholesky/cuda/asymmetry.cuh"
#include "dense/cholesky/cuda/tiled_matrix.cuh"
#include "dense/mixed_precision/products.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "linalg/condition.hpp"
#include "linalg/refinement.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace echelon {

namespace {

using cuda_kernels::block_size;
using dense_cholesky::NotPositive;
using dense_cholesky::SubstitutionArrays;
using dense_cholesky::TiledMatrix;

/// The range of the diagonal elements.
struct DiagonalRange {
  double least = INFINITY;
  double largest = -INFINITY;
  friend ECHELON_ANYWHERE DiagonalRange combine(DiagonalRange a, DiagonalRange b) {
    return {a.least < b.least ? a.least : b.least, a.largest > b.largest ? a.largest : b.largest};
  }
};
template <class T>
struct DiagonalElement {
  DenseView<const T> A;
  ECHELON_ANYWHERE DiagonalRange operator()(std::int64_t i) const {
    const auto value = static_cast<double>(A.data()[i + i * A.leading()]);
    return {value, value};
  }
};

/// The power of two next to 1 / sqrt(a_ii).
template <class T>
struct ChooseScale {
  DenseView<const T> A;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    scale[i] = static_cast<T>(ldexp(1.0, -ilogb(static_cast<double>(A.data()[i + i * A.leading()])) / 2));
  }
};

/// Computes to = S A S, continued by the identity, and the sums of the magnitudes of its columns, a block to
/// a column. Without `scale`, S is the identity.
template <class T>
__global__ void __launch_bounds__(block_size)
    copy_columns(DenseView<const T> A, const T* scale, DenseView<T> to, double* sums) {
  for (std::int64_t j = blockIdx.x; j < to.rows(); j += gridDim.x) {
    Sum sum;
    for (std::int64_t i = threadIdx.x; i < to.rows(); i += block_size) {
      T value = i == j ? T{1} : T{0};
      if (i < A.rows() && j < A.rows()) {
        value = A.data()[i + j * A.leading()];
        if (scale != nullptr) value *= scale[i] * scale[j];
        sum = combine(sum, {fabs(static_cast<double>(value))});
      }
      to.data()[i + j * to.leading()] = value;
    }
    sum = cuda_kernels::combine_block(sum);
    if (threadIdx.x == 0) sums[j] = sum.value;
    __syncthreads();  // combine_block's storage is free again
  }
}

struct ColumnSum {
  const double* x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {x[i]}; }
};

/// Computes y = S x; without `scale`, y = x.
template <class T>
struct ScaleVector {
  const T* scale;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] = scale == nullptr ? x[i] : scale[i] * x[i]; }
};

/// Whether A, in either layout, is symmetric. Waits.
template <class T>
Outcome check_symmetry(Cuda& backend, DenseView<const T> A) {
  if (A.rows() == 0) return {};
  if (const auto place = dense_symmetric::first_asymmetry(backend, A)) {
    return not_symmetric(place->first, place->second, Status::not_spd);
  }
  return {};
}

template <class CudaBackend, class T>
class GpuCholesky final : public SolverImplementation<T> {
  static_assert(!CudaBackend::on_host);
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t n, std::int64_t padded)
        : backend(device), vectors(device, padded), refinement(device, n) {
      backend.fill(padded, T{0}, vectors.rhs.data());
    }
    [[nodiscard]] std::size_t bytes() const override { return vectors.bytes() + refinement.bytes(); }
    Cuda backend;
    SubstitutionArrays<T> vectors;
    RefinementArrays<T> refinement;
  };
  /// Least number of right-hand sides for which substitution uses matrix products.
  static constexpr std::int64_t many_columns = 8;

 public:
  GpuCholesky(const Device& device, const CholeskyOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  /// Whether A is symmetric.
  static Outcome check_matrix(Cuda& backend, const MatrixRef<T>& A) {
    const Dense<T> converted = A.is_sparse() ? to_dense(A) : Dense<T>();
    return check_symmetry<T>(backend, A.is_sparse() ? converted.view() : A.dense());
  }

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    n_ = A.rows();
    matrix_ = TiledMatrix<T>();  // releases the old factor before the new one is allocated
    scale_ = Array<T>();
    if (n_ == 0) return {};
    Cuda backend(this->device());
    double norm = 0;
    if (Outcome copied = copy_scaled(backend, norm); !copied.ok()) return copied;
    if (this->cancel().stop_requested()) return cancelled_factorization();
    if (const std::optional<NotPositive> failed =
            matrix_.factor(backend, float_products(options_.factor_precision))) {
      return not_positive(failed->column, short_number(failed->value));
    }
    if (this->cancel().stop_requested()) return cancelled_factorization();
    SolveWorkspace own(this->device(), n_, matrix_.padded_rows());
    return assess_condition<T>(estimate_reciprocal_condition<T>(
        backend, n_, norm, [&](bool /*transposed*/, T* v) { substitute_scaled(own, nullptr, v, v); }));
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<SolveWorkspace>(this->device(), n_, matrix_.padded_rows());
  }
  [[nodiscard]] std::size_t bytes() const override { return matrix_.bytes() + scale_.bytes(); }

  /// Queues the whole solve, including the decision on each refinement step. Allocates nothing.
  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X, std::vector<Job>&) const override {
    if (B.rows() == 0 || B.columns() == 0) return;
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(own, B, X);
    for (std::int64_t j = 0; j < B.columns() && options_.refine > 0; ++j) {
      refine_column(own, B.column(j), X.column(j));
    }
  }

  /// Computes X = A^-1 X without refinement. Does not wait.
  void substitute(Workspace& workspace, DenseView<T> X) const {
    if (n_ > 0) substitute(static_cast<SolveWorkspace&>(workspace), X, X);
  }
  /// Substitution without refinement. Does not wait.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (n_ == 0) return;
    for (int c = 0; c < r.columns(); ++c) substitute(static_cast<SolveWorkspace&>(workspace), r[c], z[c]);
  }

 private:
  /// Copies the scaled A to `matrix_`; `norm` is its 1-norm. A diagonal that is not positive is reported by
  /// the factorisation.
  Outcome copy_scaled(Cuda& backend, double& norm) {
    const Dense<T> converted = A_.is_sparse() ? to_dense(A_) : Dense<T>();
    const DenseView<const T> A = A_.is_sparse() ? converted.view() : A_.dense();
    if (options_.factor_precision == Precision::working) {  // else A was checked before it was rounded
      if (Outcome symmetric = check_symmetry<T>(backend, A); !symmetric.ok()) return symmetric;
    }
    if (options_.equilibrate) select_scales(backend, A);
    matrix_ = TiledMatrix<T>(this->device(), n_);
    const DenseView<T> to = matrix_.view();
    Array<double> sums(this->device(), to.rows());
    Array<Largest> largest(this->device(), 1);
    constexpr std::int64_t most_blocks = 65536;
    const CurrentDevice current(this->device().id());
    copy_columns<T><<<static_cast<unsigned>(std::min(to.rows(), most_blocks)), block_size, 0, stream()>>>(
        A, scale(), to, sums.data());
    check(cudaGetLastError());
    backend.reduce(n_, ColumnSum{sums.data()}, Store<Largest>{largest.data()});
    norm = backend.read(largest.data()).value;
    return {};
  }

  /// Scales the diagonal elements to about 1, if they differ by more than a factor of ten or are extreme.
  void select_scales(Cuda& backend, DenseView<const T> A) {
    Array<DiagonalRange> range(this->device(), 1);
    backend.reduce(n_, DiagonalElement<T>{A}, Store<DiagonalRange>{range.data()});
    const auto [least, largest] = backend.read(range.data());
    constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    if (!(least > 0) || (largest <= 10 * least && least >= small && largest <= 1 / small)) return;
    scale_ = Array<T>(this->device(), n_);
    backend.for_each(n_, ChooseScale<T>{A, scale_.data()});
  }

  [[nodiscard]] const T* scale() const { return scale_.size() > 0 ? scale_.data() : nullptr; }

  void substitute(SolveWorkspace& own, DenseView<const T> B, DenseView<T> X) const {
    if (B.columns() < many_columns) {
      for (std::int64_t j = 0; j < B.columns(); ++j) substitute(own, B.column(j), X.column(j));
    } else {
      substitute_columns(own, B, X);
    }
  }
  /// Computes x = S (S A S)^-1 S b = A^-1 b.
  void substitute(SolveWorkspace& own, const T* b, T* x) const { substitute_scaled(own, scale(), b, x); }
  /// Computes x = S (L L^T)^-1 S b; without `scale`, S is the identity.
  void substitute_scaled(SolveWorkspace& own, const T* scale, const T* b, T* x) const {
    own.backend.for_each(n_, ScaleVector<T>{scale, b, own.vectors.rhs.data()});
    matrix_.substitute(own.backend, own.vectors);
    own.backend.for_each(n_, ScaleVector<T>{scale, own.vectors.solution.data(), x});
  }
  void substitute_columns(SolveWorkspace& own, DenseView<const T> B, DenseView<T> X) const {
    for (std::int64_t j = 0; j < B.columns(); ++j) {
      own.backend.for_each(n_, ScaleVector<T>{scale(), B.column(j), X.column(j)});
    }
    matrix_.substitute(own.backend, X);
    for (std::int64_t j = 0; j < B.columns() && scale() != nullptr; ++j) {
      own.backend.for_each(n_, ScaleVector<T>{scale(), X.column(j), X.column(j)});
    }
  }

  void refine_column(SolveWorkspace& own, const T* b, T* x) const {
    refine(
        own.backend, n_, options_.refine, x, own.refinement,
        [&](const T* iterate, T* r) {
          own.backend.copy(n_, b, r);
          multiply(own.backend, T{-1}, A_, iterate, T{1}, r);
        },
        [&](const T* r, T* z) { substitute(own, r, z); });
  }

  CholeskyOptions options_;
  MatrixRef<T> A_;
  std::int64_t n_ = 0;
  TiledMatrix<T> matrix_;  // the factor of S A S
  Array<T> scale_;         // empty: not scaled
};

template <class CudaBackend, class T>
using MixedPrecisionGpuCholesky = MixedPrecisionSolver<CudaBackend, T, GpuCholesky, CholeskyOptions>;

}  // namespace

template <>
std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(const Device& device,
                                                                             const CholeskyOptions& options) {
  return make_in_factor_precision<GpuCholesky, MixedPrecisionGpuCholesky, float>(device, options);
}
template <>
std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device& device, const CholeskyOptions& options) {
  return make_in_factor_precision<GpuCholesky, MixedPrecisionGpuCholesky, double>(device, options);
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// Dense Cholesky factorisation on a GPU as a Solver.
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "dense/cholesky/cuda/asymmetry.cuh"
#include "dense/cholesky/cuda/tiled_matrix.cuh"
#include "dense/mixed_precision/products.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cholesky.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

namespace echelon {

namespace {

using cuda_kernels::block_size;
using dense_cholesky::NotPositive;
using dense_cholesky::SubstitutionVectors;
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
struct ChooseDiagonalScale {
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

/// Whether A, in either layout, is symmetric. Waits.
template <class T>
Outcome check_symmetry(Cuda& backend, DenseView<const T> A) {
  if (A.rows() == 0) return {};
  if (const auto place = dense_symmetric::first_asymmetry(backend, A)) {
    return not_symmetric(place->first, place->second, Status::not_spd);
  }
  return {};
}

/// A = S^-1 L L^T S^-1 for a diagonal S of powers of two.
template <class B, class T>
class GpuCholeskyFactorization {
  static_assert(!B::on_host);
  using Space = SubstitutionVectors<T>;
  /// Least number of right-hand sides for which substitution uses matrix products.
  static constexpr std::int64_t many_columns = 8;

 public:
  GpuCholeskyFactorization(const Device& device, const CholeskyOptions& options)
      : device_(device), options_(options) {}

  /// Whether A is symmetric.
  static Outcome check_matrix(B& backend, const MatrixRef<T>& A) {
    const Dense<T> converted = A.is_sparse() ? to_dense(A) : Dense<T>();
    return check_symmetry<T>(backend, A.is_sparse() ? converted.view() : A.dense());
  }

  Outcome factor(const direct::FactorContext<B, T>& context) {
    matrix_ = TiledMatrix<T>();  // releases the old factor before the new one is allocated
    scale_ = Array<T>();
    if (Outcome copied = copy_scaled(context.backend, context.A); !copied.ok()) return copied;
    if (context.control.stop_requested()) return cancelled_factorization();
    if (const std::optional<NotPositive> failed =
            matrix_.factor(context.backend, float_products(options_.factor_precision))) {
      return not_positive(failed->column, short_number(failed->value));
    }
    if (context.control.stop_requested()) return cancelled_factorization();
    return {};
  }

  [[nodiscard]] Space make_workspace(B& backend) const {
    Space space(device_, matrix_.padded_rows());
    backend.fill(matrix_.padded_rows(), T{0}, space.rhs.data());
    return space;
  }

  /// Computes X = S (L L^T)^-1 S V = A^-1 V, or without S for the scaled matrix.
  void substitute(direct::Operation /*of a symmetric matrix*/, direct::SystemForm form, B& backend,
                  Space& space, DenseView<const T> V, DenseView<T> X) const {
    const std::int64_t n = V.rows();
    const T* const scale = form == direct::SystemForm::original ? this->scale() : nullptr;
    if (V.columns() >= many_columns) return substitute_columns(scale, backend, V, X);
    for (std::int64_t j = 0; j < V.columns(); ++j) {
      backend.for_each(n, ScaleVector<T>{scale, V.column(j), space.rhs.data()});
      matrix_.substitute(backend, space);
      backend.for_each(n, ScaleVector<T>{scale, space.solution.data(), X.column(j)});
    }
  }

  [[nodiscard]] double norm() const { return norm_; }
  [[nodiscard]] std::size_t bytes() const { return matrix_.bytes() + scale_.bytes(); }

 private:
  /// Copies the scaled A to `matrix_`. A diagonal that is not positive is reported by the factorisation.
  Outcome copy_scaled(B& backend, const MatrixRef<T>& matrix) {
    const std::int64_t n = matrix.rows();
    const Dense<T> converted = matrix.is_sparse() ? to_dense(matrix) : Dense<T>();
    const DenseView<const T> A = matrix.is_sparse() ? converted.view() : matrix.dense();
    if (options_.factor_precision == Precision::working) {  // else A was checked before it was rounded
      if (Outcome symmetric = check_symmetry<T>(backend, A); !symmetric.ok()) return symmetric;
    }
    if (options_.equilibrate) select_scales(backend, A);
    matrix_ = TiledMatrix<T>(device_, n);
    const DenseView<T> to = matrix_.view();
    Array<double> sums(device_, to.rows());
    Array<Largest> largest(device_, 1);
    constexpr std::int64_t most_blocks = 65536;
    const CurrentDevice current(device_.id());
    copy_columns<T><<<static_cast<unsigned>(std::min(to.rows(), most_blocks)), block_size, 0, stream()>>>(
        A, scale(), to, sums.data());
    check(cudaGetLastError());
    backend.reduce(n, ColumnSum{sums.data()}, Store<Largest>{largest.data()});
    norm_ = backend.read(largest.data()).value;
    return {};
  }

  /// Scales the diagonal elements to about 1, if they differ by more than a factor of ten or are extreme.
  void select_scales(B& backend, DenseView<const T> A) {
    Array<DiagonalRange> range(device_, 1);
    backend.reduce(A.rows(), DiagonalElement<T>{A}, Store<DiagonalRange>{range.data()});
    const auto [least, largest] = backend.read(range.data());
    constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    if (!(least > 0) || (largest <= 10 * least && least >= small && largest <= 1 / small)) return;
    scale_ = Array<T>(device_, A.rows());
    backend.for_each(A.rows(), ChooseDiagonalScale<T>{A, scale_.data()});
  }

  [[nodiscard]] const T* scale() const { return scale_.size() > 0 ? scale_.data() : nullptr; }

  void substitute_columns(const T* scale, B& backend, DenseView<const T> V, DenseView<T> X) const {
    for (std::int64_t j = 0; j < V.columns(); ++j) {
      backend.for_each(V.rows(), ScaleVector<T>{scale, V.column(j), X.column(j)});
    }
    matrix_.substitute(backend, X);
    for (std::int64_t j = 0; j < V.columns() && scale != nullptr; ++j) {
      backend.for_each(V.rows(), ScaleVector<T>{scale, X.column(j), X.column(j)});
    }
  }

  Device device_;
  CholeskyOptions options_;
  TiledMatrix<T> matrix_;  // the factor of S A S
  Array<T> scale_;         // empty: not scaled
  double norm_ = 0;        // ||S A S||_1
};

template <class B, class T>
using GpuCholesky = DirectMethod<B, T, GpuCholeskyFactorization<B, T>>;

template <class B, class T>
using MixedPrecisionGpuCholesky = MixedPrecisionSolver<B, T, GpuCholesky, CholeskyOptions>;

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

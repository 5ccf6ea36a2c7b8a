// SPDX-License-Identifier: BSD-3-Clause
/// Dense factorisations, triangular solves and products of cuSOLVER and cuBLAS for single large fronts.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace echelon::sparse_direct::gpu {

/// Calls with column-major operands on the device; work is queued without waiting.
template <class T>
class Vendor {
  using Handle = Owned<cusolverDnHandle_t, cusolverDnDestroy>;
  static constexpr bool is_double = std::is_same_v<T, double>;

 public:
  explicit Vendor(const Device& device) : backend_(device), info_(device, 1) {
    const CurrentDevice current(device.id());
    handle_ = make_owned<Handle>(cusolverDnCreate);
    check(cusolverDnSetStream(handle_.get(), stream()));
  }

  /// Allocates the workspace for fronts of up to `pivots` pivots.
  void reserve(Factors factors, int pivots) {
    if (pivots == 0) return;
    int size = 0;
    if constexpr (is_double) {
      check(factors == Factors::cholesky
                ? cusolverDnDpotrf_bufferSize(handle_.get(), CUBLAS_FILL_MODE_LOWER, pivots, nullptr, pivots,
                                              &size)
                : cusolverDnDgetrf_bufferSize(handle_.get(), pivots, pivots, nullptr, pivots, &size));
    } else {
      check(factors == Factors::cholesky
                ? cusolverDnSpotrf_bufferSize(handle_.get(), CUBLAS_FILL_MODE_LOWER, pivots, nullptr, pivots,
                                              &size)
                : cusolverDnSgetrf_bufferSize(handle_.get(), pivots, pivots, nullptr, pivots, &size));
    }
    if (workspace_.size() < size) workspace_ = Array<T>(backend_.device(), size);
  }

  [[nodiscard]] const int* info() const { return info_.data(); }

  /// Factors A = L L^T in the lower triangle of an n by n A.
  void cholesky(int n, T* a, int leading) {
    const int size = static_cast<int>(workspace_.size());
    if constexpr (is_double) {
      check(cusolverDnDpotrf(handle_.get(), CUBLAS_FILL_MODE_LOWER, n, a, leading, workspace_.data(), size,
                             info_.data()));
    } else {
      check(cusolverDnSpotrf(handle_.get(), CUBLAS_FILL_MODE_LOWER, n, a, leading, workspace_.data(), size,
                             info_.data()));
    }
  }

  /// Factors P A = L U for an n by n A; `exchanges` counts rows from 1.
  void lu(int n, T* a, int leading, int* exchanges) {
    if constexpr (is_double) {
      check(cusolverDnDgetrf(handle_.get(), n, n, a, leading, workspace_.data(), exchanges, info_.data()));
    } else {
      check(cusolverDnSgetrf(handle_.get(), n, n, a, leading, workspace_.data(), exchanges, info_.data()));
    }
  }

  /// Solves X = X R^-1 for an m by n X, where R is the transpose of the lower triangle of `a`, or the upper
  /// triangle.
  void solve_right(bool lower_transposed, bool unit_diagonal, std::int64_t m, int n, const T* a, int leading,
                   T* x, std::int64_t leading_x) {
    if (m == 0) return;
    const cublasFillMode_t fill = lower_transposed ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t form = lower_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasDiagType_t diagonal = unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const T one = 1;
    if constexpr (is_double) {
      check(cublasDtrsm(backend_.blas(), CUBLAS_SIDE_RIGHT, fill, form, diagonal, static_cast<int>(m), n,
                        &one, a, leading, x, static_cast<int>(leading_x)));
    } else {
      check(cublasStrsm(backend_.blas(), CUBLAS_SIDE_RIGHT, fill, form, diagonal, static_cast<int>(m), n,
                        &one, a, leading, x, static_cast<int>(leading_x)));
    }
  }

  /// Computes C = C - A B^T for n by k matrices A and B; if `symmetric`, only in blocks of columns from the
  /// diagonal down.
  void subtract_product(bool symmetric, std::int64_t n, int k, const T* a, std::int64_t leading_a, const T* b,
                        std::int64_t leading_b, T* c) {
    constexpr std::int64_t block = 1024;
    const T minus_one = -1;
    const T one = 1;
    for (std::int64_t j = 0; j < n; j += symmetric ? block : n) {
      const int columns = static_cast<int>(symmetric ? std::min(block, n - j) : n);
      const std::int64_t top = symmetric ? j : 0;
      const int rows = static_cast<int>(n - top);
      const int la = static_cast<int>(leading_a);
      const int lb = static_cast<int>(leading_b);
      const int lc = static_cast<int>(n);
      if constexpr (is_double) {
        check(cublasDgemm(backend_.blas(), CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, k, &minus_one, a + top,
                          la, b + j, lb, &one, c + top + j * n, lc));
      } else {
        check(cublasSgemm(backend_.blas(), CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, k, &minus_one, a + top,
                          la, b + j, lb, &one, c + top + j * n, lc));
      }
    }
  }

 private:
  Cuda backend_;
  Handle handle_;
  Array<int> info_;
  Array<T> workspace_;
};

/// Records a pivot at which cuSOLVER failed; cuSOLVER counts from 1.
template <class T>
__global__ void record_vendor_failure(FactorArrays<T> arrays, const int* info, int first) {
  if (*info > 0) record_failure(arrays, first + *info - 1);
}

/// Converts row numbers that count from 1 to numbers that count from 0.
template <class Index>
__global__ void count_from_zero(int n, Index* rows) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) --rows[i];
}

/// Copies target(i, c) = source(i, order[c]) for matrices of `rows` rows. blockIdx.y: column.
template <class T>
__global__ void exchange_columns(std::int64_t rows, const T* source, const std::int32_t* order, T* target) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) target[i + blockIdx.y * rows] = source[i + order[blockIdx.y] * rows];
}

/// Finds the largest multiplier in the rows of a front's L below its pivots.
template <class T>
__global__ void record_multipliers(FactorArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[*list];
  const T* const panel = arrays.factor + front.panel;
  T largest = 0;
  const int warps = static_cast<int>(gridDim.x) * block_warps();
  for (int c = static_cast<int>(blockIdx.x) * block_warps() + warp_id(); c < front.pivots; c += warps) {
    for (int i = front.pivots + lane_id(); i < front.rows; i += warp_size) {
      largest = fmax(largest, fabs(panel[i + std::int64_t{c} * front.rows]));
    }
  }
  record_multiplier(arrays, largest);
}

}  // namespace echelon::sparse_direct::gpu

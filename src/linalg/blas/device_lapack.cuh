// SPDX-License-Identifier: BSD-3-Clause
/// LAPACK routines for matrices on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/cusolver.cuh"
#include "backend/cuda/libraries.cuh"

#include <echelon/array.hpp>
#include <echelon/matrix/operation.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace echelon {

/// LAPACK and BLAS routines with column-major operands on a device, by cuSOLVER and cuBLAS; work is queued
/// without waiting.
template <class T>
class DeviceLapack {
  static constexpr bool is_double = std::is_same_v<T, double>;

 public:
  explicit DeviceLapack(const Device& device) : backend_(device), handle_(device), info_(device, 1) {}

  /// Allocates the workspace of potrf() for matrices up to this order.
  void reserve_potrf(int order) {
    if (order == 0) return;
    int size = 0;
    if constexpr (is_complex<T>) {
      check(cusolver().DnZpotrf_bufferSize(handle_.get(), CUBLAS_FILL_MODE_LOWER, order, nullptr, order,
                                           &size));
    } else if constexpr (is_double) {
      check(cusolver().DnDpotrf_bufferSize(handle_.get(), CUBLAS_FILL_MODE_LOWER, order, nullptr, order,
                                           &size));
    } else {
      check(cusolver().DnSpotrf_bufferSize(handle_.get(), CUBLAS_FILL_MODE_LOWER, order, nullptr, order,
                                           &size));
    }
    reserve(size);
  }
  /// Allocates the workspace of getrf() for matrices up to this order.
  void reserve_getrf(int order) {
    if (order == 0) return;
    int size = 0;
    if constexpr (is_complex<T>) {
      check(cusolver().DnZgetrf_bufferSize(handle_.get(), order, order, nullptr, order, &size));
    } else if constexpr (is_double) {
      check(cusolver().DnDgetrf_bufferSize(handle_.get(), order, order, nullptr, order, &size));
    } else {
      check(cusolver().DnSgetrf_bufferSize(handle_.get(), order, order, nullptr, order, &size));
    }
    reserve(size);
  }

  /// On the device: the first pivot, from 1, at which the last factorisation failed, or 0.
  [[nodiscard]] const int* info() const { return info_.data(); }

  /// Factors A = L L^H in the lower triangle of an n by n A.
  void potrf(int n, T* a, int leading) {
    const int size = static_cast<int>(workspace_.size());
    if constexpr (is_complex<T>) {
      check(cusolver().DnZpotrf(handle_.get(), CUBLAS_FILL_MODE_LOWER, n, to_library(a), leading,
                                to_library(workspace_.data()), size, info_.data()));
    } else if constexpr (is_double) {
      check(cusolver().DnDpotrf(handle_.get(), CUBLAS_FILL_MODE_LOWER, n, a, leading, workspace_.data(), size,
                                info_.data()));
    } else {
      check(cusolver().DnSpotrf(handle_.get(), CUBLAS_FILL_MODE_LOWER, n, a, leading, workspace_.data(), size,
                                info_.data()));
    }
  }

  /// Factors P A = L U for an n by n A; `exchanges` counts rows from 1.
  void getrf(int n, T* a, int leading, int* exchanges) {
    if constexpr (is_complex<T>) {
      check(cusolver().DnZgetrf(handle_.get(), n, n, to_library(a), leading, to_library(workspace_.data()),
                                exchanges, info_.data()));
    } else if constexpr (is_double) {
      check(cusolver().DnDgetrf(handle_.get(), n, n, a, leading, workspace_.data(), exchanges, info_.data()));
    } else {
      check(cusolver().DnSgetrf(handle_.get(), n, n, a, leading, workspace_.data(), exchanges, info_.data()));
    }
  }

  /// Solves X = X R^-1 for an m by n X, where R is the upper triangle of `a`, or the transpose or the adjoint
  /// of the lower triangle.
  void trsm_right(Operation of_lower, bool unit_diagonal, std::int64_t m, int n, const T* a, int leading,
                  T* x, std::int64_t leading_x) {
    if (m == 0) return;
    const bool is_upper = of_lower == Operation::none;
    const cublasFillMode_t fill = is_upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const cublasOperation_t form = is_upper                         ? CUBLAS_OP_N
                                   : of_lower == Operation::adjoint ? CUBLAS_OP_C
                                                                    : CUBLAS_OP_T;
    const cublasDiagType_t diagonal = unit_diagonal ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const T one = 1;
    if constexpr (is_complex<T>) {
      const cuDoubleComplex factor = to_library(one);
      check(cublasZtrsm(backend_.blas(), CUBLAS_SIDE_RIGHT, fill, form, diagonal, static_cast<int>(m), n,
                        &factor, to_library(a), leading, to_library(x), static_cast<int>(leading_x)));
    } else if constexpr (is_double) {
      check(cublasDtrsm(backend_.blas(), CUBLAS_SIDE_RIGHT, fill, form, diagonal, static_cast<int>(m), n,
                        &one, a, leading, x, static_cast<int>(leading_x)));
    } else {
      check(cublasStrsm(backend_.blas(), CUBLAS_SIDE_RIGHT, fill, form, diagonal, static_cast<int>(m), n,
                        &one, a, leading, x, static_cast<int>(leading_x)));
    }
  }

  /// Computes C = C - A B^T for n by k matrices A and B; if `hermitian`, C = C - A B^H, in blocks of columns
  /// from the diagonal down.
  void subtract_product(bool hermitian, std::int64_t n, int k, const T* a, std::int64_t leading_a, const T* b,
                        std::int64_t leading_b, T* c) {
    constexpr std::int64_t block = 1024;
    const T minus_one = -1;
    const T one = 1;
    for (std::int64_t j = 0; j < n; j += hermitian ? block : n) {
      const int columns = static_cast<int>(hermitian ? std::min(block, n - j) : n);
      const std::int64_t top = hermitian ? j : 0;
      const int rows = static_cast<int>(n - top);
      const int la = static_cast<int>(leading_a);
      const int lb = static_cast<int>(leading_b);
      const int lc = static_cast<int>(n);
      if constexpr (is_complex<T>) {
        const cuDoubleComplex factor = to_library(minus_one);
        const cuDoubleComplex factor_of_c = to_library(one);
        check(cublasZgemm(backend_.blas(), CUBLAS_OP_N, hermitian ? CUBLAS_OP_C : CUBLAS_OP_T, rows, columns,
                          k, &factor, to_library(a + top), la, to_library(b + j), lb, &factor_of_c,
                          to_library(c + top + j * n), lc));
      } else if constexpr (is_double) {
        check(cublasDgemm(backend_.blas(), CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, k, &minus_one, a + top,
                          la, b + j, lb, &one, c + top + j * n, lc));
      } else {
        check(cublasSgemm(backend_.blas(), CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, k, &minus_one, a + top,
                          la, b + j, lb, &one, c + top + j * n, lc));
      }
    }
  }

 private:
  void reserve(int size) {
    if (workspace_.size() < size) workspace_ = Array<T>(backend_.device(), size);
  }

  Cuda backend_;
  CusolverHandle handle_;
  Array<int> info_;
  Array<T> workspace_;
};

}  // namespace echelon

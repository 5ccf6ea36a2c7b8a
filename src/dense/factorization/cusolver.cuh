// SPDX-License-Identifier: BSD-3-Clause
/// LU, Cholesky and QR of dense matrices by cuSOLVER.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/cusolver.cuh"
#include "backend/cuda/libraries.cuh"

#include <echelon/array.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon {

template <class T>
inline constexpr cudaDataType cuda_type = is_complex<T>               ? CUDA_C_64F
                                          : std::is_same_v<T, double> ? CUDA_R_64F
                                                                      : CUDA_R_32F;

/// Computes x = R^-1 x, or R^-T x, for R in the upper triangle of qr and one column x. Does not wait.
template <class T>
void solve_triangle(Cuda& backend, bool transposed, DenseView<const T> qr, T* x) {
  const CurrentDevice current(qr.device().id());
  const int n = static_cast<int>(qr.rows());
  const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  if constexpr (std::is_same_v<T, double>) {
    check(cublasDtrsv(backend.blas(), CUBLAS_FILL_MODE_UPPER, operation, CUBLAS_DIAG_NON_UNIT, n, qr.data(),
                      n, x, 1));
  } else {
    check(cublasStrsv(backend.blas(), CUBLAS_FILL_MODE_UPPER, operation, CUBLAS_DIAG_NON_UNIT, n, qr.data(),
                      n, x, 1));
  }
}

/// A cuSOLVER handle for one thread at a time, and the status that its routines leave in device memory.
class Cusolver {
 public:
  explicit Cusolver(const Device& device) : handle_(device), info_(device, 1) {
    parameters_ = make_owned<CusolverParameters>(cusolver().DnCreateParams);
  }

  /// P A = L U in place of the n-by-n matrix a. Returns 0, or the first zero pivot's number from 1.
  /// Allocates the workspace that cuSOLVER asks for, and waits.
  template <class T>
  int factor(Cuda& backend, std::int64_t n, T* a, std::int64_t* pivots) {
    const CurrentDevice current(backend.device().id());
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    check(cusolver().DnXgetrf_bufferSize(handle_.get(), parameters_.get(), n, n, cuda_type<T>, a, n,
                                         cuda_type<T>, &device_bytes, &host_bytes));
    Array<unsigned char> on_device(backend.device(), static_cast<std::int64_t>(device_bytes));
    std::vector<unsigned char> on_host(host_bytes);
    check(cusolver().DnXgetrf(handle_.get(), parameters_.get(), n, n, cuda_type<T>, a, n, pivots,
                              cuda_type<T>, on_device.data(), device_bytes, on_host.data(), host_bytes,
                              info_.data()));
    return status(backend);
  }

  /// Computes X = A^-1 X, or A^-T X, for column-major X. Does not wait.
  template <class T>
  void substitute(bool transposed, const Dense<T>& lu, const Array<std::int64_t>& pivots, DenseView<T> X) {
    const CurrentDevice current(lu.device().id());
    check(cusolver().DnXgetrs(handle_.get(), parameters_.get(), transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                              lu.rows(), X.columns(), cuda_type<T>, lu.data(), lu.leading(), pivots.data(),
                              cuda_type<T>, X.data(), X.leading(), info_.data()));
  }

  /// A = L L^H in the lower triangle of the n-by-n matrix a. Returns 0, or the first pivot, from 1, that is
  /// not positive. Allocates the workspace that cuSOLVER asks for, and waits.
  template <class T>
  int factor_cholesky(Cuda& backend, std::int64_t n, T* a) {
    const CurrentDevice current(backend.device().id());
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    check(cusolver().DnXpotrf_bufferSize(handle_.get(), parameters_.get(), CUBLAS_FILL_MODE_LOWER, n,
                                         cuda_type<T>, a, n, cuda_type<T>, &device_bytes, &host_bytes));
    Array<unsigned char> on_device(backend.device(), static_cast<std::int64_t>(device_bytes));
    std::vector<unsigned char> on_host(host_bytes);
    check(cusolver().DnXpotrf(handle_.get(), parameters_.get(), CUBLAS_FILL_MODE_LOWER, n, cuda_type<T>, a, n,
                              cuda_type<T>, on_device.data(), device_bytes, on_host.data(), host_bytes,
                              info_.data()));
    return status(backend);
  }

  /// Computes X = L^-H L^-1 X for column-major X. Does not wait.
  template <class T>
  void substitute_cholesky(const Dense<T>& lower, DenseView<T> X) {
    const CurrentDevice current(lower.device().id());
    check(cusolver().DnXpotrs(handle_.get(), parameters_.get(), CUBLAS_FILL_MODE_LOWER, lower.rows(),
                              X.columns(), cuda_type<T>, lower.data(), lower.leading(), cuda_type<T>,
                              X.data(), X.leading(), info_.data()));
  }

  /// Factors A = Q R in place of the m-by-n matrix a, Q as reflections with factors tau. Waits.
  template <class T>
  void factor_qr(Cuda& backend, std::int64_t m, std::int64_t n, T* a, T* tau) {
    const CurrentDevice current(backend.device().id());
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    check(cusolver().DnXgeqrf_bufferSize(handle_.get(), parameters_.get(), m, n, cuda_type<T>, a, m,
                                         cuda_type<T>, tau, cuda_type<T>, &device_bytes, &host_bytes));
    Array<unsigned char> on_device(backend.device(), static_cast<std::int64_t>(device_bytes));
    std::vector<unsigned char> on_host(host_bytes);
    check(cusolver().DnXgeqrf(handle_.get(), parameters_.get(), m, n, cuda_type<T>, a, m, cuda_type<T>, tau,
                              cuda_type<T>, on_device.data(), device_bytes, on_host.data(), host_bytes,
                              info_.data()));
    status(backend);
  }

  /// Replaces the reflections that factor_qr left in the m-by-n matrix a by the first n columns of Q. Waits.
  template <class T>
  void form_q(Cuda& backend, int m, int n, T* a, const T* tau) {
    const CurrentDevice current(backend.device().id());
    int elements = 0;
    const auto run = [&](auto size, auto form, auto* matrix, const auto* factors) {
      check(size(handle_.get(), m, n, n, matrix, m, factors, &elements));
      Array<T> workspace(backend.device(), elements);
      using Pointer = decltype(matrix);
      check(form(handle_.get(), m, n, n, matrix, m, factors, reinterpret_cast<Pointer>(workspace.data()),
                 elements, info_.data()));
      status(backend);
    };
    if constexpr (is_complex<T>) {
      run(cusolver().DnZungqr_bufferSize, cusolver().DnZungqr, to_library(a), to_library(tau));
    } else if constexpr (std::is_same_v<T, double>) {
      run(cusolver().DnDorgqr_bufferSize, cusolver().DnDorgqr, a, tau);
    } else {
      run(cusolver().DnSorgqr_bufferSize, cusolver().DnSorgqr, a, tau);
    }
  }

  /// Elements of workspace that multiply_by_q needs for one column.
  template <class T>
  std::int64_t q_workspace(DenseView<const T> qr, const T* tau) {
    const CurrentDevice current(qr.device().id());
    const int n = static_cast<int>(qr.rows());
    int elements = 0;
    if constexpr (std::is_same_v<T, double>) {
      check(cusolver().DnDormqr_bufferSize(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_T, n, 1, n, qr.data(),
                                           n, tau, nullptr, n, &elements));
    } else {
      check(cusolver().DnSormqr_bufferSize(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_T, n, 1, n, qr.data(),
                                           n, tau, nullptr, n, &elements));
    }
    return elements;
  }

  /// Computes x = Q^T x, or Q x, for one column of n elements. Does not wait.
  template <class T>
  void multiply_by_q(bool transposed, DenseView<const T> qr, const T* tau, T* x, Array<T>& workspace) {
    const CurrentDevice current(qr.device().id());
    const int n = static_cast<int>(qr.rows());
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int elements = static_cast<int>(workspace.size());
    if constexpr (std::is_same_v<T, double>) {
      check(cusolver().DnDormqr(handle_.get(), CUBLAS_SIDE_LEFT, operation, n, 1, n, qr.data(), n, tau, x, n,
                                workspace.data(), elements, info_.data()));
    } else {
      check(cusolver().DnSormqr(handle_.get(), CUBLAS_SIDE_LEFT, operation, n, 1, n, qr.data(), n, tau, x, n,
                                workspace.data(), elements, info_.data()));
    }
  }

  /// Computes X = A^-1 X = R^-1 Q^T X, or A^-T X. Does not wait for the work in `workspace`.
  template <class T>
  void substitute_qr(Cuda& backend, bool transposed, DenseView<const T> qr, const T* tau, DenseView<T> X,
                     Array<T>& workspace) {
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      if (!transposed) multiply_by_q(true, qr, tau, X.column(j), workspace);
      solve_triangle(backend, transposed, qr, X.column(j));
      if (transposed) multiply_by_q(false, qr, tau, X.column(j), workspace);
    }
  }

  /// The status of the last routine. Waits for it.
  int status(Cuda& backend) {
    const int info = backend.read(info_.data());
    if (info < 0) throw CudaError("cuSOLVER refused argument " + std::to_string(-info));
    return info;
  }

 private:
  CusolverHandle handle_;
  CusolverParameters parameters_;
  Array<int> info_;
};

}  // namespace echelon

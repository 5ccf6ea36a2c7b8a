// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "linalg/multiply.hpp"

namespace echelon {

namespace {

constexpr int block_size = 256;
constexpr int warp_size = 32;

/// `Lanes` neighbouring threads share a row.
template <int Lanes, class T>
__global__ void __launch_bounds__(block_size)
    multiply_csr(std::int64_t rows, T alpha, const std::int64_t* __restrict__ row_offsets,
                 const std::int32_t* __restrict__ column_indices, const T* __restrict__ values,
                 const T* __restrict__ x, T beta, T* __restrict__ y) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * block_size + threadIdx.x) / Lanes;
  if (row >= rows) return;
  const int lane = threadIdx.x % Lanes;
  T sum = 0;
  for (std::int64_t k = row_offsets[row] + lane; k < row_offsets[row + 1]; k += Lanes) {
    sum += values[k] * x[column_indices[k]];
  }
  const unsigned mask =
      Lanes == warp_size ? 0xffffffffu : ((1u << Lanes) - 1) << (threadIdx.x % warp_size / Lanes * Lanes);
#pragma unroll
  for (int delta = Lanes / 2; delta > 0; delta /= 2) sum += __shfl_down_sync(mask, sum, delta, Lanes);
  if (lane == 0) y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

template <int Lanes, class T>
void launch_csr(T alpha, const Csr<T>& A, const T* x, T beta, T* y) {
  const std::int64_t rows_per_block = block_size / Lanes;
  const auto blocks = static_cast<unsigned>((A.rows() + rows_per_block - 1) / rows_per_block);
  multiply_csr<Lanes><<<blocks, block_size, 0, stream()>>>(
      A.rows(), alpha, A.row_offsets().data(), A.column_indices().data(), A.values().data(), x, beta, y);
  check(cudaGetLastError());
}

template <class T>
void multiply_sparse(T alpha, const Csr<T>& A, const T* x, T beta, T* y) {
  const std::int64_t mean = A.nonzeros() / A.rows();
  if (mean <= 4) {
    launch_csr<4>(alpha, A, x, beta, y);
  } else if (mean <= 12) {
    launch_csr<8>(alpha, A, x, beta, y);
  } else if (mean <= 24) {
    launch_csr<16>(alpha, A, x, beta, y);
  } else {
    launch_csr<32>(alpha, A, x, beta, y);
  }
}

cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, std::int64_t rows,
                    std::int64_t columns, float alpha, const float* a, std::int64_t leading, const float* x,
                    float beta, float* y) {
  return cublasSgemv_64(handle, operation, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, std::int64_t rows,
                    std::int64_t columns, double alpha, const double* a, std::int64_t leading,
                    const double* x, double beta, double* y) {
  return cublasDgemv_64(handle, operation, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}

template <class T>
struct Scale {
  T factor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] = factor == T{0} ? T{0} : factor * y[i]; }
};

template <class T>
void multiply_dense(Cuda& backend, bool transposed, T alpha, const DenseView<const T>& A, const T* x, T beta,
                    T* y) {
  const bool by_column = A.layout == Layout::column_major;
  if (A.rows == 0 || A.columns == 0) {
    backend.for_each(transposed ? A.columns : A.rows, Scale<T>{beta, y});
    return;
  }
  // A row-major matrix is, to BLAS, its column-major transpose.
  check(gemv(backend.blas(), transposed == by_column ? CUBLAS_OP_T : CUBLAS_OP_N,
             by_column ? A.rows : A.columns, by_column ? A.columns : A.rows, alpha, A.data, A.leading, x,
             beta, y));
}

}  // namespace

template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (A.rows() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (A.is_sparse()) {
    multiply_sparse(alpha, *A.csr(), x, beta, y);
  } else {
    multiply_dense(backend, false, alpha, A.dense(), x, beta, y);
  }
}

template <class T>
void multiply_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  const CurrentDevice current(backend.device().id());
  multiply_dense(backend, true, alpha, V, x, beta, y);
}

template void multiply(Cuda&, float, const MatrixRef<float>&, const float*, float, float*);
template void multiply(Cuda&, double, const MatrixRef<double>&, const double*, double, double*);
template void multiply_transposed(Cuda&, float, const DenseView<const float>&, const float*, float, float*);
template void multiply_transposed(Cuda&, double, const DenseView<const double>&, const double*, double,
                                  double*);

}  // namespace echelon

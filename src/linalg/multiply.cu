// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "linalg/multiply.hpp"
#include "matrix/row_blocks.hpp"

namespace echelon {

namespace {

using cuda_kernels::block_size;
using cuda_kernels::warp_size;

/// Values that one 16-byte load brings, and their columns.
template <class T>
struct Pack {
  static constexpr int size = 16 / sizeof(T);
  struct alignas(16) Values {
    T at[size];
  };
  struct alignas(4 * size) Columns {
    std::int32_t at[size];
  };
};

/// Where product k lies in shared memory: a gap after every 128 bytes, so that threads that walk along rows
/// of 8, 16, ... products do not all meet in one bank.
template <class T>
__device__ int place(int k) {
  return k + k / static_cast<int>(128 / sizeof(T));
}
template <class T>
constexpr int room = row_block_size + row_block_size / (128 / sizeof(T));

/// products[place(k - begin)] = values[k] x[columns[k]] for k in [begin, min(end, begin + row_block_size)).
/// `begin` is a multiple of Pack<T>::size. All loads of a thread are under way before it uses the first.
template <class T>
__device__ void stage_products(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                               const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                               const T* __restrict__ x, T* products) {
  constexpr int pack = Pack<T>::size;
  constexpr int packs = row_block_size / (block_size * pack);
  typename Pack<T>::Values value[packs];
  typename Pack<T>::Columns column[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::int64_t k = begin + (p * block_size + static_cast<int>(threadIdx.x)) * pack;
    if (k < end && k + pack <= nonzeros) {
      value[p] = *reinterpret_cast<const typename Pack<T>::Values*>(values + k);
      column[p] = *reinterpret_cast<const typename Pack<T>::Columns*>(columns + k);
    } else {
#pragma unroll
      for (int i = 0; i < pack; ++i) {
        value[p].at[i] = k + i < end ? values[k + i] : T{0};
        column[p].at[i] = k + i < end ? columns[k + i] : -1;
      }
    }
  }
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int i = 0; i < pack; ++i) {
      if (column[p].at[i] >= 0) value[p].at[i] *= x[column[p].at[i]];
    }
  }
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int i = 0; i < pack; ++i) {
      products[place<T>((p * block_size + static_cast<int>(threadIdx.x)) * pack + i)] = value[p].at[i];
    }
  }
}

template <class T>
__device__ void put(T alpha, T sum, T beta, T* y) {
  *y = beta == T{0} ? alpha * sum : alpha * sum + beta * *y;
}

/// y = alpha (sums of the staged products) + beta y for rows [first, last), as many lanes a row as there are
/// threads for it.
template <class T>
__device__ void sum_rows(std::int64_t first, std::int64_t last, std::int64_t begin,
                         const std::int64_t* __restrict__ row_offsets, const T* products, T alpha, T beta,
                         T* __restrict__ y) {
  const int rows = static_cast<int>(last - first);
  int lanes = 1;
  while (lanes < warp_size && 2 * lanes * rows <= block_size) lanes *= 2;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int next = 0; next < rows; next += block_size / lanes) {
    const int row = next + static_cast<int>(threadIdx.x) / lanes;
    T sum = 0;
    if (row < rows) {
      const int row_end = static_cast<int>(row_offsets[first + row + 1] - begin);
      for (int k = static_cast<int>(row_offsets[first + row] - begin) + lane; k < row_end; k += lanes) {
        sum += products[place<T>(k)];
      }
    }
    for (int delta = lanes / 2; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta);
    if (row < rows && lane == 0) put(alpha, sum, beta, y + first + row);
  }
}

/// Contributes to (row k of A, x).
template <class T>
struct RowProduct {
  const std::int32_t* columns;
  const T* values;
  const T* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const {
    return {static_cast<double>(values[k]) * static_cast<double>(x[columns[k]])};
  }
};

/// y = alpha A x + beta y for one block of rows: their products go to shared memory in one stream, whatever
/// the rows' lengths, and are summed from there (CSR-stream: Greathouse and Daga, SC14). Row blocks hold
/// equally much work. A block's last row may be too long to be staged, and is then summed by all threads.
/// Reads values, columns, offsets once, x once a block from the caches; writes y once. 8 products a thread
/// and several blocks a multiprocessor keep some 100 KB under way in each.
template <class T>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 8)
    multiply_csr(const longlong2* __restrict__ starts, std::int64_t longest, std::int64_t nonzeros,
                 const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                 const T* __restrict__ values, const T* __restrict__ x, T alpha, T beta, T* __restrict__ y) {
  __shared__ T products[room<T>];
  const longlong2 start = starts[blockIdx.x];
  const longlong2 end = starts[blockIdx.x + 1];
  const std::int64_t begin = start.y / Pack<T>::size * Pack<T>::size;
  stage_products<T>(begin, end.y, nonzeros, columns, values, x, products);
  __syncthreads();
  const bool staged = end.y - begin <= row_block_size;
  sum_rows(start.x, staged ? end.x : end.x - 1, begin, row_offsets, products, alpha, beta, y);
  if (staged) return;
  const std::int64_t row_begin = row_offsets[end.x - 1];
  if (end.y - row_begin > longest) return;  // left to all blocks together
  const RowProduct<T> product{columns, values, x};
  Sum sum;
  for (std::int64_t k = row_begin + threadIdx.x; k < end.y; k += block_size) sum = combine(sum, product(k));
  sum = cuda_kernels::combine_block(sum);
  if (threadIdx.x == 0) put(alpha, static_cast<T>(sum.value), beta, y + end.x - 1);
}

/// y = alpha sum + beta y for one row.
template <class T>
struct PutRow {
  T alpha;
  T beta;
  T* y;
  ECHELON_ANYWHERE void operator()(Sum sum) const {
    const T product = alpha * static_cast<T>(sum.value);
    *y = beta == T{0} ? product : product + beta * *y;
  }
};

template <class T>
void multiply_sparse(Cuda& backend, T alpha, const Csr<T>& A, const T* x, T beta, T* y) {
  const RowBlocks& shares = A.row_blocks();
  const std::int32_t* columns = A.column_indices().data();
  const T* values = A.values().data();
  const auto blocks = static_cast<unsigned>(shares.starts.size() / 2 - 1);
  multiply_csr<<<blocks, block_size, 0, stream()>>>(
      reinterpret_cast<const longlong2*>(shares.starts.data()), longest_block_row(A.nonzeros()), A.nonzeros(),
      A.row_offsets().data(), columns, values, x, alpha, beta, y);
  check(cudaGetLastError());
  for (const RowBlocks::LongRow& row : shares.long_rows) {
    backend.reduce(row.end - row.begin, RowProduct<T>{columns + row.begin, values + row.begin, x},
                   PutRow<T>{alpha, beta, y + row.row});
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
    multiply_sparse(backend, alpha, *A.csr(), x, beta, y);
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

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_sums.cuh"

namespace echelon {

namespace {

using namespace row_sums;

/// products[padded_index(k - begin)] = values[k] x[columns[k]] for k in
/// [begin, min(end, begin + row_block_size)). A thread issues all its loads before it uses the first, to hide
/// their latency.
template <class T>
__device__ void stage_products(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                               const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                               const T* __restrict__ x, T* products) {
  using P = Pack<T>;
  constexpr int packs = row_block_size / (block_size * P::size);
  typename P::Values value[packs];
  typename P::Columns column[packs];
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const std::int64_t k = begin + (p * block_size + static_cast<int>(threadIdx.x)) * P::size;
    if (k < end && k + P::size <= nonzeros) {
      value[p] = *reinterpret_cast<const typename P::Values*>(values + k);
      column[p] = *reinterpret_cast<const typename P::Columns*>(columns + k);
      continue;
    }
#pragma unroll
    for (int i = 0; i < P::size; ++i) {
      value[p].at[i] = k + i < end ? values[k + i] : T{0};
      column[p].at[i] = k + i < end ? columns[k + i] : 0;
    }
  }
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int i = 0; i < P::size; ++i) value[p].at[i] *= x[column[p].at[i]];
  }
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int i = 0; i < P::size; ++i) {
      products[padded_index<T>((p * block_size + static_cast<int>(threadIdx.x)) * P::size + i)] =
          value[p].at[i];
    }
  }
}

/// The sum of products [begin, end) by `lanes` consecutive threads; valid in the first of them. All threads
/// of the warp call this.
template <class T>
__device__ T sum_products(const T* products, int begin, int end, int lanes) {
  T sum = 0;
  for (int k = begin + static_cast<int>(threadIdx.x) % lanes; k < end; k += lanes)
    sum += products[padded_index<T>(k)];
  return warp_sum(sum, lanes);
}

/// y = alpha A x + beta y for one block of rows per thread block (CSR-stream: Greathouse and Daga, SC14). The
/// products are staged in shared memory in one contiguous pass, independently of the rows' lengths, and
/// summed from there. Blocks have about the same number of nonzeros. A row is summed by as many lanes as the
/// block's threads suffice for; a row much longer than the others, by a warp. The first `piece_count` thread
/// blocks process the pieces of rows that do not fit into a block. Memory movement: values, columns and
/// offsets are read once, x from the caches or once per block, y is written once. 8 products per thread and 6
/// to 8 blocks per multiprocessor keep about 100 KB of loads in flight on each, which the bandwidth of HBM
/// needs.
template <class T>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 6 : 8)
    multiply_blocks(const RowBlocks::Piece* __restrict__ pieces, unsigned piece_count,
                    const longlong2* __restrict__ starts, std::int64_t nonzeros,
                    const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, const T* __restrict__ x, T alpha, T beta, T* __restrict__ y,
                    Sum* partial, unsigned* finished) {
  __shared__ T products[padded_size<T>];
  __shared__ int3 long_rows[row_block_size / max_per_lane];  // row, begin, end
  __shared__ int long_count;
  if (blockIdx.x < piece_count) {
    const RowBlocks::Piece piece = pieces[blockIdx.x];
    multiply_piece(piece, columns, values, x, 1, alpha, beta, y + piece.row, partial, finished);
    return;
  }
  const longlong2 start = starts[blockIdx.x - piece_count];
  const longlong2 end = starts[blockIdx.x - piece_count + 1];
  const std::int64_t begin = start.y / row_block_alignment * row_block_alignment;
  const int rows = static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1);
  const int lanes = lanes_for(rows);
  if (threadIdx.x == 0) long_count = 0;
  stage_products<T>(begin, end.y, nonzeros, columns, values, x, products);
  __syncthreads();
  const bool first_lane = threadIdx.x % lanes == 0;
  for (int next = 0; next < rows; next += block_size / lanes) {
    const int row = next + static_cast<int>(threadIdx.x) / lanes;
    const std::int64_t* offset = row_offsets + start.x + row;
    const int row_begin = row < rows ? static_cast<int>(offset[0] - begin) : 0;
    const int row_end = row < rows ? static_cast<int>(offset[1] - begin) : 0;
    const bool is_long = lanes < warp_size && row_end - row_begin > max_per_lane * lanes;
    const T sum = sum_products(products, row_begin, is_long ? row_begin : row_end, lanes);
    if (is_long && first_lane) long_rows[atomicAdd(&long_count, 1)] = {row, row_begin, row_end};
    if (row < rows && !is_long && first_lane) put(alpha, sum, beta, y + start.x + row);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < long_count; k += block_size / warp_size) {
    const T sum = sum_products(products, long_rows[k].y, long_rows[k].z, warp_size);
    if (threadIdx.x % warp_size == 0) put(alpha, sum, beta, y + start.x + long_rows[k].x);
  }
}

template <class T>
void multiply_sparse(Cuda& backend, T alpha, const Csr<T>& A, const T* x, T beta, T* y) {
  if (A.nonzeros() == 0) {
    backend.for_each(A.rows(), Scale<T>{beta, y});
    return;
  }
  const RowBlocks& row_blocks = CsrAccess::row_blocks(A);
  const std::int64_t pieces = row_blocks.pieces.size();
  const std::int64_t blocks = pieces + row_blocks.starts.size() / 2 - 1;
  auto* partial = static_cast<Sum*>(backend.scratch(static_cast<std::size_t>(pieces) * sizeof(Sum)));
  multiply_blocks<<<static_cast<unsigned>(blocks), block_size, 0, stream()>>>(
      row_blocks.pieces.data(), static_cast<unsigned>(pieces),
      reinterpret_cast<const longlong2*>(row_blocks.starts.data()), A.nonzeros(), A.row_offsets().data(),
      A.column_indices().data(), A.values().data(), x, alpha, beta, y, partial, backend.counters(pieces));
  check(cudaGetLastError());
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
void multiply_dense(Cuda& backend, bool transposed, T alpha, const DenseView<const T>& A, const T* x, T beta,
                    T* y) {
  const bool by_column = A.layout() == Layout::column_major;
  if (A.rows() == 0 || A.columns() == 0) {
    backend.for_each(transposed ? A.columns() : A.rows(), Scale<T>{beta, y});
    return;
  }
  // A row-major matrix is, to BLAS, its column-major transpose.
  check(gemv(backend.blas(), transposed == by_column ? CUBLAS_OP_T : CUBLAS_OP_N,
             by_column ? A.rows() : A.columns(), by_column ? A.columns() : A.rows(), alpha, A.data(),
             A.leading(), x, beta, y));
}

}  // namespace

template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (A.rows() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (A.is_operator()) {
    apply_operator(*A.linear_operator(), alpha, x, beta, y);
  } else if (A.is_sparse()) {
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

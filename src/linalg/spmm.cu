// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on a GPU.
#include "linalg/multiply.hpp"
#include "linalg/row_sums.cuh"
#include "linalg/vector_functors.hpp"

#include <algorithm>

namespace echelon {

namespace {

using namespace row_sums;

/// Blocks of rows that one thread block takes, side by side: neighbouring rows share much of X, and what one
/// block of rows has fetched lies in the cache for the next.
constexpr int groups = 1;

/// A block of rows in shared memory.
template <class T>
struct Staged {
  T values[room<T>];
  std::int32_t columns[room<std::int32_t>];
  int3 long_rows[row_block_size / most_per_lane];  // row, begin, end
  int long_count;
};

/// Nonzeros [begin, end) to shared memory, from place 0 on.
template <class T>
__device__ void stage(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                      const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                      Staged<T>& staged) {
  using P = Pack<T>;
  for (int offset = static_cast<int>(threadIdx.x) * P::size; offset < end - begin;
       offset += block_size * P::size) {
    const std::int64_t k = begin + offset;
    typename P::Values value;
    typename P::Columns column;
    if (k + P::size <= nonzeros) {
      value = *reinterpret_cast<const typename P::Values*>(values + k);
      column = *reinterpret_cast<const typename P::Columns*>(columns + k);
    } else {
      for (int i = 0; i < P::size; ++i) {
        value.at[i] = k + i < end ? values[k + i] : T{0};
        column.at[i] = k + i < end ? columns[k + i] : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < P::size; ++i) {
      staged.values[place<T>(offset + i)] = value.at[i];
      staged.columns[place<std::int32_t>(offset + i)] = column.at[i];
    }
  }
}

/// `count` columns of a matrix.
template <class T>
struct Several {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step;
  int count;
  __device__ Several from(int column) const {
    return {data + column * column_step, row_step, column_step, count - column};
  }
};

/// y = alpha (sum of the products [begin, end) by `lanes` neighbouring threads) + beta y for `width` columns.
/// The products are rounded before they are added, as they are where they are staged for a single column, so
/// that each column gets the same bits.
template <int width, class T>
__device__ void multiply_row(const Staged<T>& staged, int begin, int end, int lanes, bool wanted,
                             const Several<const T>& x, T alpha, T beta, const Several<T>& y,
                             std::int64_t row) {
  T sums[width] = {};
  for (int k = begin + static_cast<int>(threadIdx.x) % lanes; k < end; k += lanes) {
    const T value = staged.values[place<T>(k)];
    const T* from = x.data + staged.columns[place<std::int32_t>(k)] * x.row_step;
    T factors[width];
#pragma unroll
    for (int c = 0; c < width; ++c) factors[c] = c < x.count ? from[c * x.column_step] : T{0};
#pragma unroll
    for (int c = 0; c < width; ++c) sums[c] += rounded_product(value, factors[c]);
  }
#pragma unroll
  for (int c = 0; c < width; ++c) {
    for (int delta = lanes / 2; delta > 0; delta /= 2) {
      sums[c] += __shfl_down_sync(0xffffffffu, sums[c], delta);
    }
    if (wanted && c < y.count && threadIdx.x % lanes == 0) {
      put(alpha, sums[c], beta, y.data + row * y.row_step + c * y.column_step);
    }
  }
}

/// The staged rows, `first_row` and those that follow, for `width` columns. Rows that are too long for their
/// lanes are listed instead when `list_long`, else passed over.
template <int width, class T>
__device__ void multiply_rows(Staged<T>& staged, std::int64_t first_row, int rows, std::int64_t begin,
                              const std::int64_t* __restrict__ row_offsets, bool list_long,
                              const Several<const T>& x, T alpha, T beta, const Several<T>& y) {
  const int lanes = lanes_for(rows);
  const bool first_lane = threadIdx.x % lanes == 0;
  for (int next = 0; next < rows; next += block_size / lanes) {
    const int row = next + static_cast<int>(threadIdx.x) / lanes;
    const std::int64_t* offset = row_offsets + first_row + row;
    const int row_begin = row < rows ? static_cast<int>(offset[0] - begin) : 0;
    const int row_end = row < rows ? static_cast<int>(offset[1] - begin) : 0;
    const bool is_long = lanes < warp_size && row_end - row_begin > most_per_lane * lanes;
    if (list_long && is_long && first_lane) {
      staged.long_rows[atomicAdd(&staged.long_count, 1)] = {row, row_begin, row_end};
    }
    multiply_row<width>(staged, row_begin, is_long ? row_begin : row_end, lanes, row < rows && !is_long, x,
                        alpha, beta, y, first_row + row);
  }
}

/// Y = alpha A X + beta Y for `groups` blocks of rows; threadIdx.y tells which. As `multiply` does it for one
/// column, but what is staged are values and columns, so that they are read once for all columns.
template <int width, class T>
__global__ void __launch_bounds__(block_size* groups, 4)
    multiply_blocks(std::int64_t blocks, const longlong2* __restrict__ starts, std::int64_t nonzeros,
                    const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, Several<const T> x, T alpha, T beta, Several<T> y) {
  extern __shared__ unsigned char storage[];
  Staged<T>& staged = reinterpret_cast<Staged<T>*>(storage)[threadIdx.y];
  const std::int64_t block = std::int64_t{blockIdx.x} * groups + threadIdx.y;
  const longlong2 start = starts[min(block, blocks)];
  const longlong2 end = starts[min(block + 1, blocks)];
  const std::int64_t begin = start.y / row_block_alignment * row_block_alignment;
  const int rows = static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1);
  if (threadIdx.x == 0) staged.long_count = 0;
  stage(begin, min(static_cast<std::int64_t>(end.y), begin + row_block_size), nonzeros, columns, values,
        staged);
  __syncthreads();
  for (int c = 0; c < x.count; c += width) {
    multiply_rows<width>(staged, start.x, rows, begin, row_offsets, c == 0, x.from(c), alpha, beta,
                         y.from(c));
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < staged.long_count;
       k += block_size / warp_size) {
    const int3 row = staged.long_rows[k];
    for (int c = 0; c < x.count; c += width) {
      multiply_row<width>(staged, row.y, row.z, warp_size, true, x.from(c), alpha, beta, y.from(c),
                          start.x + row.x);
    }
  }
}

/// The rows that do not fit into a block, piece by piece; blockIdx.y tells the column.
template <class T>
__global__ void __launch_bounds__(block_size)
    multiply_pieces(const RowBlocks::Piece* __restrict__ pieces, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, Several<const T> x, T alpha, T beta, Several<T> y,
                    Sum* partial, unsigned* finished) {
  const RowBlocks::Piece piece = pieces[blockIdx.x];
  const std::int64_t column = blockIdx.y;
  const std::int64_t places = column * gridDim.x;
  multiply_piece(piece, columns, values, x.data + column * x.column_step, x.row_step, alpha, beta,
                 y.data + piece.row * y.row_step + column * y.column_step, partial + places,
                 finished + places);
}

template <class T>
Several<T> columns_from(const DenseView<T>& view, std::int64_t first, int count) {
  const bool by_column = view.layout == Layout::column_major;
  const std::int64_t column_step = by_column ? view.leading : 1;
  return {view.data + first * column_step, by_column ? 1 : view.leading, column_step, count};
}

template <int width, class T>
void multiply_batch(Cuda& backend, T alpha, const Csr<T>& A, const Several<const T>& x, T beta,
                    const Several<T>& y) {
  const RowBlocks& shares = A.row_blocks();
  const std::int64_t blocks = shares.starts.size() / 2 - 1;
  constexpr std::size_t bytes = groups * sizeof(Staged<T>);
  check(cudaFuncSetAttribute(multiply_blocks<width, T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)));
  multiply_blocks<width>
      <<<static_cast<unsigned>((blocks + groups - 1) / groups), dim3(block_size, groups), bytes, stream()>>>(
          blocks, reinterpret_cast<const longlong2*>(shares.starts.data()), A.nonzeros(),
          A.row_offsets().data(), A.column_indices().data(), A.values().data(), x, alpha, beta, y);
  check(cudaGetLastError());
  const std::int64_t pieces = shares.pieces.size();
  if (pieces == 0) return;
  const std::int64_t places = pieces * x.count;
  auto* partial = static_cast<Sum*>(backend.scratch(static_cast<std::size_t>(places) * sizeof(Sum)));
  multiply_pieces<<<dim3(static_cast<unsigned>(pieces), static_cast<unsigned>(x.count)), block_size, 0,
                    stream()>>>(shares.pieces.data(), A.column_indices().data(), A.values().data(), x, alpha,
                                beta, y, partial, backend.counters(places));
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void multiply_several(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  if (A.nonzeros() == 0) {
    using View = Elements<T>;
    backend.for_each(Y.rows * Y.columns, AddElement<T, View, View, View>{0, View(Y), beta, View(Y), View(Y)});
    return;
  }
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t widest = 8;
  for (std::int64_t first = 0; first < X.columns; first += widest) {
    const auto count = static_cast<int>(std::min(widest, X.columns - first));
    const Several<const T> x = columns_from(X, first, count);
    const Several<T> y = columns_from(Y, first, count);
    if (count > 4) {
      multiply_batch<8>(backend, alpha, A, x, beta, y);
    } else if (count > 2) {
      multiply_batch<4>(backend, alpha, A, x, beta, y);
    } else {
      multiply_batch<2>(backend, alpha, A, x, beta, y);
    }
  }
}

template void multiply_several(Cuda&, float, const Csr<float>&, DenseView<const float>, float,
                               DenseView<float>);
template void multiply_several(Cuda&, double, const Csr<double>&, DenseView<const double>, double,
                               DenseView<double>);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on a GPU.
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_sums.cuh"
#include "linalg/vector/functors.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon {

namespace {

using namespace row_sums;

/// Nonzeros of a block of rows in shared memory.
template <class T>
struct Staged {
  T values[padded_size<T>];
  std::int32_t columns[padded_size<std::int32_t>];
  int3 long_rows[row_block_size / max_per_lane];  // row, begin, end
  int long_count;
};

/// Copies nonzeros [begin, end) to shared memory, from index 0 on. A thread issues all its loads before it
/// uses the first, to hide their latency.
template <class T>
__device__ void stage(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                      const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                      Staged<T>& staged) {
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
    for (int i = 0; i < P::size; ++i) {
      const int k = (p * block_size + static_cast<int>(threadIdx.x)) * P::size + i;
      staged.values[padded_index<T>(k)] = value[p].at[i];
      staged.columns[padded_index<std::int32_t>(k)] = column[p].at[i];
    }
  }
}

/// `count` columns of a dense matrix. `packed`: rows are contiguous and aligned for 16-byte loads.
template <class T>
struct Columns {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step;
  int count;
  bool packed;
  __device__ Columns from(int column) const {
    return {data + column * column_step, row_step, column_step, count - column, packed};
  }
  template <int width, class V>
  __device__ void load(std::int64_t row, V (&elements)[width]) const {
    const T* source = data + row * row_step;
    if (width == Pack<V>::size && packed && count >= width) {
      const auto pack = *reinterpret_cast<const typename Pack<V>::Values*>(source);
#pragma unroll
      for (int c = 0; c < width; ++c) elements[c] = pack.at[c];
      return;
    }
#pragma unroll
    for (int c = 0; c < width; ++c) elements[c] = c < count ? source[c * column_step] : V{0};
  }
};

/// The threads that multiply one row, and this thread's position among them: `lanes` threads split the
/// nonzeros, for each of `across` groups of columns. Both are powers of two. Consecutive threads have
/// consecutive rows if X is column-major, and consecutive column groups of one row if X is row-major, so that
/// they access consecutive memory.
struct RowThreads {
  int lanes;
  int across;
  int rows;  ///< at a time
  int step;  ///< from one lane to the next, within a warp
  int row;
  int lane;
  int group;  ///< of columns
  __device__ RowThreads(bool by_column, int lanes_, int across_)
      : lanes(lanes_), across(across_), rows(block_size / (lanes * across)), step(by_column ? 1 : across) {
    const int thread = static_cast<int>(threadIdx.x);
    const int place = by_column ? thread % (rows * lanes) : thread / across;
    row = place / lanes;
    lane = place % lanes;
    group = by_column ? thread / (rows * lanes) : thread % across;
  }
};

/// Range of a row's nonzeros in shared memory.
struct Span {
  int begin;
  int end;
};

/// Adds the products with nonzeros k, k + lanes, ..., `ahead` of them but none from `end` on, to the sums of
/// `width` columns.
template <int width, int ahead, class T>
__device__ void add_products(const Staged<T>& staged, int k, int end, int lanes, const Columns<const T>& x,
                             T (&sums)[width]) {
  T values[ahead];
  T factors[ahead][width];
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
    values[a] = staged.values[padded_index<T>(k + a * lanes)];
    x.load(staged.columns[padded_index<std::int32_t>(k + a * lanes)], factors[a]);
  }
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
#pragma unroll
    for (int c = 0; c < width; ++c) sums[c] += rounded_product(values[a], factors[a][c]);
  }
}

/// y = alpha (sum of the products in the span) + beta y for `width` columns, those of the thread's group.
/// Eight loads are in flight at a time. Products are rounded before they are added, and added in the order
/// of the product with a single vector, so that each column has the same bits as there.
template <int width, class T>
__device__ void multiply_row(const Staged<T>& staged, Span span, const RowThreads& threads, bool wanted,
                             const Columns<const T>& x, T alpha, T beta, const Columns<T>& y,
                             std::int64_t row) {
  constexpr int ahead = 8 / width;
  T sums[width] = {};
  for (int k = span.begin + threads.lane; k < span.end; k += ahead * threads.lanes) {
    add_products<width, ahead>(staged, k, span.end, threads.lanes, x, sums);
  }
#pragma unroll
  for (int c = 0; c < width; ++c) {
    for (int delta = threads.lanes / 2; delta > 0; delta /= 2) {
      sums[c] += shuffle_down(sums[c], delta * threads.step);
    }
    if (wanted && c < y.count && threads.lane == 0) {
      put(alpha, sums[c], beta, y.data + row * y.row_step + c * y.column_step);
    }
  }
}

/// The rows of a block, and their offsets.
struct BlockRows {
  std::int64_t first;
  int count;
  std::int64_t begin;  ///< nonzero that is staged at index 0
  const std::int64_t* offsets;
  __device__ Span span(int row) const {
    if (row >= count) return {0, 0};
    return {static_cast<int>(offsets[row] - begin), static_cast<int>(offsets[row + 1] - begin)};
  }
};

/// Multiplies the staged rows. Rows that are too long for their lanes are listed in `long_rows`.
template <int width, class T>
__device__ void multiply_rows(Staged<T>& staged, const BlockRows& rows, const RowThreads& threads,
                              const Columns<const T>& x, T alpha, T beta, const Columns<T>& y) {
  const int column = threads.group * width;
  for (int next = 0; next < rows.count; next += threads.rows) {
    const int row = next + threads.row;
    const Span span = rows.span(row);
    const bool is_long = threads.lanes < warp_size && span.end - span.begin > max_per_lane * threads.lanes;
    if (is_long && threads.lane == 0 && threads.group == 0) {
      staged.long_rows[atomicAdd(&staged.long_count, 1)] = {row, span.begin, span.end};
    }
    multiply_row<width>(staged, is_long ? Span{0, 0} : span, threads, row < rows.count && !is_long,
                        x.from(column), alpha, beta, y.from(column), rows.first + row);
  }
}

/// Y = alpha A X + beta Y for `width` columns, by the method of `multiply` for one column. Values and column
/// indices are staged instead of products. If X is column-major, a thread computes all columns of a row (at
/// most four in float), and consecutive threads consecutive rows; if X is row-major, consecutive threads
/// compute the columns of one row.
/// Memory movement: values, columns and offsets are read once for all `width` columns, X from the caches or
/// once per block, Y is written once.
template <int width, bool by_column, class T>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 6)
    multiply_blocks(const longlong2* __restrict__ starts, std::int64_t nonzeros,
                    const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, Columns<const T> x, T alpha, T beta, Columns<T> y) {
  __shared__ Staged<T> staged;
  (by_column ? x.row_step : x.column_step) = 1;  // makes the constant known to the compiler
  const longlong2 start = starts[blockIdx.x];
  const longlong2 end = starts[blockIdx.x + 1];
  const BlockRows rows{start.x, static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1),
                       start.y / row_block_alignment * row_block_alignment, row_offsets + start.x};
  const int lanes = lanes_for(rows.count);
  constexpr int max_columns = !by_column ? Pack<T>::size : sizeof(T) == 8 ? 8 : 4;
  constexpr int group = width < max_columns ? width : max_columns;  // columns that a thread computes
  const RowThreads threads(by_column, lanes,
                           by_column ? width / group : min(width / group, warp_size / lanes));
  if (threadIdx.x == 0) staged.long_count = 0;
  stage<T>(rows.begin, end.y, nonzeros, columns, values, staged);
  __syncthreads();
  if (threads.across == width / group) {
    multiply_rows<group>(staged, rows, threads, x, alpha, beta, y);
  } else if (threads.across == 1) {
    multiply_rows<width>(staged, rows, threads, x, alpha, beta, y);
  } else {
    multiply_rows<width / 2>(staged, rows, threads, x, alpha, beta, y);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < staged.long_count;
       k += block_size / warp_size) {
    const int3 row = staged.long_rows[k];
    multiply_row<width>(staged, {row.y, row.z}, RowThreads(true, warp_size, 1), true, x, alpha, beta, y,
                        rows.first + row.x);
  }
}

/// y = alpha A x + beta y for a vector with a stride.
template <class T>
struct PutStrided {
  T alpha;
  T beta;
  Strided<T> y;
  __device__ void operator()(std::int64_t i, T sum) const { put(alpha, sum, beta, &y[i]); }
};

/// Rows that do not fit into a block: thread block (p, c) computes piece p for column c.
template <class T>
__global__ void __launch_bounds__(block_size)
    multiply_pieces(const RowBlocks::Piece* __restrict__ pieces, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, Columns<const T> x, T alpha, T beta, Columns<T> y,
                    Sum* partial, unsigned* finished) {
  const RowBlocks::Piece piece = pieces[blockIdx.x];
  const std::int64_t column = blockIdx.y;
  const std::int64_t places = column * gridDim.x;
  multiply_piece(piece, columns, values, Strided<const T>{x.data + column * x.column_step, x.row_step},
                 PutStrided<T>{alpha, beta, {y.data + column * y.column_step, y.row_step}}, partial + places,
                 finished + places);
}

template <class T>
Columns<T> columns_from(const DenseView<T>& view, std::int64_t first, int count) {
  const bool by_column = view.layout() == Layout::column_major;
  const std::int64_t column_step = by_column ? view.leading() : 1;
  T* data = view.data() + first * column_step;
  const bool packed = !by_column && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
                      view.leading() * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  return {data, by_column ? 1 : view.leading(), column_step, count, packed};
}

template <int width, class T>
void multiply_batch(Cuda& backend, bool by_column, T alpha, const Csr<T>& A, const Columns<const T>& x,
                    T beta, const Columns<T>& y) {
  const RowBlocks& row_blocks = CsrAccess::row_blocks(A);
  const std::int64_t blocks = row_blocks.starts.size() / 2 - 1;
  const auto kernel = by_column ? multiply_blocks<width, true, T> : multiply_blocks<width, false, T>;
  kernel<<<static_cast<unsigned>(blocks), block_size, 0, stream()>>>(
      reinterpret_cast<const longlong2*>(row_blocks.starts.data()), A.nonzeros(), A.row_offsets().data(),
      A.column_indices().data(), A.values().data(), x, alpha, beta, y);
  check(cudaGetLastError());
  const std::int64_t pieces = row_blocks.pieces.size();
  if (pieces == 0) return;
  const std::int64_t places = pieces * x.count;
  auto* partial = static_cast<Sum*>(backend.scratch(static_cast<std::size_t>(places) * sizeof(Sum)));
  multiply_pieces<<<dim3(static_cast<unsigned>(pieces), static_cast<unsigned>(x.count)), block_size, 0,
                    stream()>>>(row_blocks.pieces.data(), A.column_indices().data(), A.values().data(), x,
                                alpha, beta, y, partial, backend.counters(places));
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void multiply_several(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  if (A.nonzeros() == 0) {
    using View = Elements<T>;
    backend.for_each(Y.rows() * Y.columns(),
                     AddElement<T, View, View, View>{0, View(Y), beta, View(Y), View(Y)});
    return;
  }
  const CurrentDevice current(backend.device().id());
  const bool by_column = X.layout() == Layout::column_major;
  constexpr std::int64_t max_width = 8;
  for (std::int64_t first = 0; first < X.columns(); first += max_width) {
    const auto count = static_cast<int>(std::min(max_width, X.columns() - first));
    const Columns<const T> x = columns_from(X, first, count);
    const Columns<T> y = columns_from(Y, first, count);
    if (count > 4) {
      multiply_batch<8>(backend, by_column, alpha, A, x, beta, y);
    } else if (count > 2) {
      multiply_batch<4>(backend, by_column, alpha, A, x, beta, y);
    } else {
      multiply_batch<2>(backend, by_column, alpha, A, x, beta, y);
    }
  }
}

template void multiply_several(Cuda&, float, const Csr<float>&, DenseView<const float>, float,
                               DenseView<float>);
template void multiply_several(Cuda&, double, const Csr<double>&, DenseView<const double>, double,
                               DenseView<double>);

}  // namespace echelon

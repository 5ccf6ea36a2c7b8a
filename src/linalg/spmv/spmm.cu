// SPDX-License-Identifier: BSD-3-Clause
// A sparse matrix times several vectors on a GPU.
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/spmv/staged_rows.cuh"
#include "linalg/vector/functors.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

namespace {

using namespace row_sums;

/// `count` columns of a dense matrix. `packed`: rows are contiguous and aligned for 16-byte loads.
template <class T>
struct DeviceColumns {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step;
  int count;
  bool packed;
  __device__ DeviceColumns from(int column) const {
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

/// y = alpha sum + beta y for some columns.
template <class T>
struct PutColumns {
  T alpha;
  T beta;
  DeviceColumns<T> y;
  /// Returns the same for the columns from `column` on.
  __device__ PutColumns from(int column) const { return {alpha, beta, y.from(column)}; }
  __device__ void operator()(std::int64_t row, int c, T sum) const {
    if (c < y.count) put(alpha, sum, beta, y.data + row * y.row_step + c * y.column_step);
  }
};

/// Multiplies the rows of a block by groups of threads that compute `width` columns each.
template <int width, class T>
__device__ void multiply_columns(Staged<T>& staged, const BlockRows& rows, const RowThreads& threads,
                                 const DeviceColumns<const T>& x, const PutColumns<T>& put) {
  const int column = threads.group * width;
  multiply_rows<width>(staged, rows, threads, x.from(column), put.from(column));
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
                    const T* __restrict__ values, DeviceColumns<const T> x, const PutColumns<T> put) {
  __shared__ Staged<T> staged;
  (by_column ? x.row_step : x.column_step) = 1;  // makes the constant known to the compiler
  const BlockRows rows = stage_block_rows(starts, nonzeros, row_offsets, columns, values, staged);
  const int lanes = lanes_for(rows.count);
  constexpr int max_columns = !by_column ? Pack<T>::size : sizeof(T) == 8 ? 8 : 4;
  constexpr int group = width < max_columns ? width : max_columns;  // columns that a thread computes
  const RowThreads threads(by_column, lanes,
                           by_column ? width / group : min(width / group, warp_size / lanes));
  if (threads.across == width / group) {
    multiply_columns<group>(staged, rows, threads, x, put);
  } else if (threads.across == 1) {
    multiply_columns<width>(staged, rows, threads, x, put);
  } else {
    multiply_columns<width / 2>(staged, rows, threads, x, put);
  }
  __syncthreads();
  multiply_long_rows<width>(staged, rows, x, put);
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
                    const T* __restrict__ values, DeviceColumns<const T> x, const PutColumns<T> put,
                    const PieceSums sums) {
  const RowBlocks::Piece piece = pieces[blockIdx.x];
  const std::int64_t column = blockIdx.y;
  const std::int64_t places = column * gridDim.x;
  multiply_piece(
      piece, columns, values, Strided<const T>{x.data + column * x.column_step, x.row_step},
      PutStrided<T>{put.alpha, put.beta, {put.y.data + column * put.y.column_step, put.y.row_step}},
      PieceSums{sums.partial + places, sums.finished + places});
}

template <class T>
DeviceColumns<T> columns_from(const DenseView<T>& view, std::int64_t first, int count) {
  const bool by_column = view.layout() == Layout::column_major;
  const std::int64_t column_step = by_column ? view.leading() : 1;
  T* data = view.data() + first * column_step;
  const bool packed = !by_column && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
                      view.leading() * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  return {data, by_column ? 1 : view.leading(), column_step, count, packed};
}

template <int width, class T>
void multiply_batch(Cuda& backend, bool by_column, T alpha, const Csr<T>& A, const DeviceColumns<const T>& x,
                    T beta, const DeviceColumns<T>& y) {
  const RowBlocks& row_blocks = CsrAccess::row_blocks(A);
  const std::int64_t blocks = row_blocks.starts.size() / 2 - 1;
  const auto kernel = by_column ? multiply_blocks<width, true, T> : multiply_blocks<width, false, T>;
  kernel<<<static_cast<unsigned>(blocks), block_size, 0, stream()>>>(
      reinterpret_cast<const longlong2*>(row_blocks.starts.data()), A.nonzeros(), A.row_offsets().data(),
      A.column_indices().data(), A.values().data(), x, PutColumns<T>{alpha, beta, y});
  check(cudaGetLastError());
  const std::int64_t pieces = row_blocks.pieces.size();
  if (pieces == 0) return;
  const std::int64_t places = pieces * x.count;
  auto* partial = static_cast<Sum*>(backend.scratch(static_cast<std::size_t>(places) * sizeof(Sum)));
  multiply_pieces<<<dim3(static_cast<unsigned>(pieces), static_cast<unsigned>(x.count)), block_size, 0,
                    stream()>>>(row_blocks.pieces.data(), A.column_indices().data(), A.values().data(), x,
                                PutColumns<T>{alpha, beta, y},
                                PieceSums{.partial = partial, .finished = backend.counters(places)});
  check(cudaGetLastError());
}

/// A vector of a view: a column.
template <class T>
Strided<T> column_of(const DenseView<T>& view, std::int64_t j) {
  if (view.layout() == Layout::column_major) return {view.data() + j * view.leading(), 1};
  return {view.data() + j, view.leading()};
}

/// Y = alpha A X + beta Y, by products with up to most_columns columns at once.
template <class T>
void multiply_by_columns(Cuda& backend, T alpha, const Csr<T>& A, const DenseView<const T>& X, T beta,
                         const DenseView<T>& Y) {
  constexpr auto most = static_cast<std::int64_t>(most_columns);
  for (std::int64_t first = 0; first < X.columns(); first += most) {
    const auto count = static_cast<int>(std::min(most, X.columns() - first));
    for_column_products(backend, A, count, [&](int c) {
      return VectorProduct{column_of(X, first + c), PutStrided<T>{alpha, beta, column_of(Y, first + c)}};
    });
  }
}

/// Y = alpha A X + beta Y for a matrix of real numbers that is not empty, by up to eight columns at once.
template <class T>
void multiply_batches(Cuda& backend, T alpha, const Csr<T>& A, const DenseView<const T>& X, T beta,
                      const DenseView<T>& Y) {
  const CurrentDevice current(backend.device().id());
  const bool by_column = X.layout() == Layout::column_major;
  constexpr std::int64_t max_width = 8;
  for (std::int64_t first = 0; first < X.columns(); first += max_width) {
    const auto count = static_cast<int>(std::min(max_width, X.columns() - first));
    const DeviceColumns<const T> x = columns_from(X, first, count);
    const DeviceColumns<T> y = columns_from(Y, first, count);
    if (count > 4) {
      multiply_batch<8>(backend, by_column, alpha, A, x, beta, y);
    } else if (count > 2) {
      multiply_batch<4>(backend, by_column, alpha, A, x, beta, y);
    } else {
      multiply_batch<2>(backend, by_column, alpha, A, x, beta, y);
    }
  }
}

}  // namespace

template <class T>
void multiply_several(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y) {
  if (A.nonzeros() == 0) {
    using View = ViewElements<T>;
    add_elements(backend, Y.rows() * Y.columns(), T{0}, View(Y), beta, View(Y), View(Y));
    return;
  }
  if constexpr (is_complex<T>) {
    multiply_by_columns(backend, alpha, A, X, beta, Y);
  } else {
    multiply_batches(backend, alpha, A, X, beta, Y);
  }
}

#define ECHELON_INSTANTIATE(T) \
  template void multiply_several(Cuda&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

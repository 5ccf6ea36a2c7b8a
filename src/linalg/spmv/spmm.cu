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

/// A block of rows in shared memory.
template <class T>
struct Staged {
  T values[room<T>];
  std::int32_t columns[room<std::int32_t>];
  int3 long_rows[row_block_size / most_per_lane];  // row, begin, end
  int long_count;
};

/// Nonzeros [begin, end) to shared memory, from place 0 on. All loads of a thread are under way before it
/// uses the first.
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
      staged.values[place<T>(k)] = value[p].at[i];
      staged.columns[place<std::int32_t>(k)] = column[p].at[i];
    }
  }
}

/// `count` columns of a matrix. Packed: 16 bytes of a row may be read at once.
template <class T>
struct Several {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step;
  int count;
  bool packed;
  __device__ Several from(int column) const {
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

/// The threads of a row, and this thread's place: `lanes` take turns at the nonzeros, for each of `across`
/// shares of the columns. Both are powers of two. Neighbouring threads take neighbouring rows, with X by
/// columns, or the shares of one row, with X by rows: what neighbours in memory are.
struct Team {
  int lanes;
  int across;
  int rows;  ///< at a time
  int step;  ///< from one lane to the next, within a warp
  int row;
  int lane;
  int share;
  __device__ Team(bool by_column, int lanes_, int across_)
      : lanes(lanes_), across(across_), rows(block_size / (lanes * across)), step(by_column ? 1 : across) {
    const int thread = static_cast<int>(threadIdx.x);
    const int place = by_column ? thread % (rows * lanes) : thread / across;
    row = place / lanes;
    lane = place % lanes;
    share = by_column ? thread / (rows * lanes) : thread % across;
  }
};

/// Where a row's nonzeros are staged.
struct Span {
  int begin;
  int end;
};

/// Adds the products with `ahead` nonzeros, from the k-th on but before `end`, to the sums of `width`
/// columns.
template <int width, int ahead, class T>
__device__ void add_products(const Staged<T>& staged, int k, int end, int lanes, const Several<const T>& x,
                             T (&sums)[width]) {
  T values[ahead];
  T factors[ahead][width];
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
    values[a] = staged.values[place<T>(k + a * lanes)];
    x.load(staged.columns[place<std::int32_t>(k + a * lanes)], factors[a]);
  }
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
#pragma unroll
    for (int c = 0; c < width; ++c) sums[c] += rounded_product(values[a], factors[a][c]);
  }
}

/// y = alpha (sum of the products in the span) + beta y for `width` columns, those of the thread's share.
/// Eight loads are under way at a time. The products are rounded before they are added, as they are where
/// they are staged for a single column, and added in the same order, so that each column gets the same bits.
template <int width, class T>
__device__ void multiply_row(const Staged<T>& staged, Span span, const Team& team, bool wanted,
                             const Several<const T>& x, T alpha, T beta, const Several<T>& y,
                             std::int64_t row) {
  constexpr int ahead = 8 / width;
  T sums[width] = {};
  for (int k = span.begin + team.lane; k < span.end; k += ahead * team.lanes) {
    add_products<width, ahead>(staged, k, span.end, team.lanes, x, sums);
  }
#pragma unroll
  for (int c = 0; c < width; ++c) {
    for (int delta = team.lanes / 2; delta > 0; delta /= 2) {
      sums[c] += shuffle_down(sums[c], delta * team.step);
    }
    if (wanted && c < y.count && team.lane == 0) {
      put(alpha, sums[c], beta, y.data + row * y.row_step + c * y.column_step);
    }
  }
}

/// A block's rows; `offsets` are theirs.
struct BlockRows {
  std::int64_t first;
  int count;
  std::int64_t begin;  ///< the nonzero that is staged at place 0
  const std::int64_t* offsets;
  __device__ Span span(int row) const {
    if (row >= count) return {0, 0};
    return {static_cast<int>(offsets[row] - begin), static_cast<int>(offsets[row + 1] - begin)};
  }
};

/// The staged rows. Those that are too long for their lanes are listed.
template <int width, class T>
__device__ void multiply_rows(Staged<T>& staged, const BlockRows& rows, const Team& team,
                              const Several<const T>& x, T alpha, T beta, const Several<T>& y) {
  const int column = team.share * width;
  for (int next = 0; next < rows.count; next += team.rows) {
    const int row = next + team.row;
    const Span span = rows.span(row);
    const bool is_long = team.lanes < warp_size && span.end - span.begin > most_per_lane * team.lanes;
    if (is_long && team.lane == 0 && team.share == 0) {
      staged.long_rows[atomicAdd(&staged.long_count, 1)] = {row, span.begin, span.end};
    }
    multiply_row<width>(staged, is_long ? Span{0, 0} : span, team, row < rows.count && !is_long,
                        x.from(column), alpha, beta, y.from(column), rows.first + row);
  }
}

/// Y = alpha A X + beta Y for `width` columns, as `multiply` does it for one, except that what is staged are
/// values and columns, so that they are read once for all. With X by columns a thread takes them all (in
/// float up to four), and its neighbours the neighbouring rows; with X by rows neighbouring threads take the
/// columns of one row.
template <int width, bool by_column, class T>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 6)
    multiply_blocks(const longlong2* __restrict__ starts, std::int64_t nonzeros,
                    const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, Several<const T> x, T alpha, T beta, Several<T> y) {
  __shared__ Staged<T> staged;
  (by_column ? x.row_step : x.column_step) = 1;  // known to the compiler, too
  const longlong2 start = starts[blockIdx.x];
  const longlong2 end = starts[blockIdx.x + 1];
  const BlockRows rows{start.x, static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1),
                       start.y / row_block_alignment * row_block_alignment, row_offsets + start.x};
  const int lanes = lanes_for(rows.count);
  constexpr int largest_share = !by_column ? Pack<T>::size : sizeof(T) == 8 ? 8 : 4;
  constexpr int share = width < largest_share ? width : largest_share;  // of the columns, for a thread
  const Team team(by_column, lanes, by_column ? width / share : min(width / share, warp_size / lanes));
  if (threadIdx.x == 0) staged.long_count = 0;
  stage<T>(rows.begin, end.y, nonzeros, columns, values, staged);
  __syncthreads();
  if (team.across == width / share) {
    multiply_rows<share>(staged, rows, team, x, alpha, beta, y);
  } else if (team.across == 1) {
    multiply_rows<width>(staged, rows, team, x, alpha, beta, y);
  } else {
    multiply_rows<width / 2>(staged, rows, team, x, alpha, beta, y);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < staged.long_count;
       k += block_size / warp_size) {
    const int3 row = staged.long_rows[k];
    multiply_row<width>(staged, {row.y, row.z}, Team(true, warp_size, 1), true, x, alpha, beta, y,
                        rows.first + row.x);
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
  const bool by_column = view.layout() == Layout::column_major;
  const std::int64_t column_step = by_column ? view.leading() : 1;
  T* data = view.data() + first * column_step;
  const bool packed = !by_column && reinterpret_cast<std::uintptr_t>(data) % 16 == 0 &&
                      view.leading() * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
  return {data, by_column ? 1 : view.leading(), column_step, count, packed};
}

template <int width, class T>
void multiply_batch(Cuda& backend, bool by_column, T alpha, const Csr<T>& A, const Several<const T>& x,
                    T beta, const Several<T>& y) {
  const RowBlocks& shares = A.row_blocks();
  const std::int64_t blocks = shares.starts.size() / 2 - 1;
  const auto kernel = by_column ? multiply_blocks<width, true, T> : multiply_blocks<width, false, T>;
  kernel<<<static_cast<unsigned>(blocks), block_size, 0, stream()>>>(
      reinterpret_cast<const longlong2*>(shares.starts.data()), A.nonzeros(), A.row_offsets().data(),
      A.column_indices().data(), A.values().data(), x, alpha, beta, y);
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
    backend.for_each(Y.rows() * Y.columns(),
                     AddElement<T, View, View, View>{0, View(Y), beta, View(Y), View(Y)});
    return;
  }
  const CurrentDevice current(backend.device().id());
  const bool by_column = X.layout() == Layout::column_major;
  constexpr std::int64_t widest = 8;
  for (std::int64_t first = 0; first < X.columns(); first += widest) {
    const auto count = static_cast<int>(std::min(widest, X.columns() - first));
    const Several<const T> x = columns_from(X, first, count);
    const Several<T> y = columns_from(Y, first, count);
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

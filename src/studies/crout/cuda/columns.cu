// SPDX-License-Identifier: BSD-3-Clause
#include "studies/crout/cuda/columns.cuh"
#include "studies/crout/cuda/grid.cuh"

#include <algorithm>
#include <cmath>

namespace echelon::crout {

namespace {

template <class T>
struct Arguments {
  DenseView<T> A;
  std::int64_t begin, end;
  std::int64_t* pivots;
  PivotMaximum* candidates;
  T* row;
  FirstIndex* zero_pivot;
};

/// Column j of L from the diagonal down. Returns the block's largest element.
template <int threads, class T>
__device__ PivotMaximum form_column(const Arguments<T>& s, std::int64_t j, T* partial) {
  T* const a = s.A.data();
  const std::int64_t leading = s.A.leading();
  const int tile_rows = rows_of_tile(s.A.rows() - j);
  PivotMaximum largest;
  for (std::int64_t first = j + std::int64_t{blockIdx.x} * tile_rows; first < s.A.rows();
       first += std::int64_t{gridDim.x} * tile_rows) {
    const T sum = tile_products<threads>(a + first, leading, s.A.rows() - first, a + j * leading, j,
                                         tile_rows, partial);
    const std::int64_t i = first + threadIdx.x;
    if (threadIdx.x >= static_cast<unsigned>(tile_rows) || i >= s.A.rows()) continue;
    const T element = a[j * leading + i] - sum;
    a[j * leading + i] = element;
    largest = combine(largest, candidate(element, i));
  }
  return block_best<threads>(largest);
}

/// Exchanges rows j and `other`, and copies the elements of row j before the diagonal to `row`.
template <int threads, class T>
__device__ void exchange_rows(const Arguments<T>& s, std::int64_t j, std::int64_t other) {
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  const std::int64_t columns = other == j ? j : s.A.columns();
  for (std::int64_t c = std::int64_t{blockIdx.x} * threads + threadIdx.x; c < columns; c += stride) {
    T* const column = s.A.data() + c * s.A.leading();
    const T element = column[other];
    if (other != j) {
      column[other] = column[j];
      column[j] = element;
    }
    if (c < j) s.row[c] = element;
  }
}

/// Row j of U, right of the diagonal. Several warps share a column where there are fewer columns than warps.
template <int threads, class T>
__device__ void form_row(const Arguments<T>& s, std::int64_t j, T* partial) {
  constexpr int column_warps = threads / warp_size;
  const std::int64_t columns = s.A.columns() - j - 1;
  int warps_of_column = 1;
  while (warps_of_column < column_warps &&
         columns * warps_of_column * 2 <= std::int64_t{gridDim.x} * column_warps) {
    warps_of_column *= 2;
  }
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const std::int64_t together = column_warps / warps_of_column;  // columns of a block
  const T pivot = s.A.data()[j * s.A.leading() + j];
  for (std::int64_t first = blockIdx.x * together; first < columns; first += gridDim.x * together) {
    const std::int64_t c = first + warp / warps_of_column;
    T* const column = s.A.data() + (j + 1 + c) * s.A.leading();
    T sum = 0;
    if (c < columns) {
      const int step = warps_of_column * warp_size;
#pragma unroll 8
      for (std::int64_t k = warp % warps_of_column * warp_size + lane_id(); k < j; k += step) {
        sum += s.row[k] * column[k];
      }
    }
    sum = warp_sum(sum);
    if (lane_id() == 0) partial[warp] = sum;
    __syncthreads();
    if (c < columns && warp % warps_of_column == 0 && lane_id() == 0) {
      for (int w = 1; w < warps_of_column; ++w) sum += partial[warp + w];
      column[j] = (column[j] - sum) / pivot;
    }
    __syncthreads();
  }
}

template <int threads, class T>
__global__ void __launch_bounds__(threads, 1) eliminate(const Arguments<T> s, unsigned* arrivals) {
  __shared__ T partial[threads / warp_size * 16];
  GridBarrier barrier(arrivals);
  if (s.zero_pivot->value != FirstIndex::none) return;
  for (std::int64_t j = s.begin; j < s.end; ++j) {
    const PivotMaximum of_block = form_column<threads>(s, j, partial);
    if (threadIdx.x == 0) s.candidates[blockIdx.x] = of_block;
    barrier.wait();
    const PivotMaximum pivot = grid_best(s.candidates);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      s.pivots[j] = pivot.row;
      if (pivot.magnitude == 0) s.zero_pivot->value = j;
    }
    if (pivot.magnitude == 0) return;
    exchange_rows<threads>(s, j, pivot.row);
    barrier.wait();
    form_row<threads>(s, j, partial);
    barrier.wait();
  }
}

/// Calls f.template operator()<threads>() for the largest of the sizes of blocks that kernels are compiled
/// for that is at most `threads_per_block`, or the smallest.
template <class F>
void with_threads(std::int64_t threads_per_block, F f) {
  if (threads_per_block >= 512) return f.template operator()<512>();
  if (threads_per_block >= 256) return f.template operator()<256>();
  if (threads_per_block >= 128) return f.template operator()<128>();
  if (threads_per_block >= 64) return f.template operator()<64>();
  return f.template operator()<32>();
}

}  // namespace

template <class T>
ColumnWorkspace<T>::ColumnWorkspace(const Device& device, std::int64_t columns, std::int64_t threads)
    : threads_per_block(threads),
      candidates(device, multiprocessors(device)),
      row(device, columns),
      arrivals(device, 1),
      zero_pivot(device, 1) {
  Cuda(device).write(FirstIndex{}, zero_pivot.data());
}

template <class T>
void eliminate_columns(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                       std::int64_t* pivots, ColumnWorkspace<T>& workspace) {
  if (begin == end) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t rows_of_block = 16;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
      workspace.candidates.size(), (A.rows() - begin + rows_of_block - 1) / rows_of_block));
  check(cudaMemsetAsync(workspace.arrivals.data(), 0, sizeof(unsigned), stream()));
  const Arguments<T> arguments{
      A, begin, end, pivots, workspace.candidates.data(), workspace.row.data(), workspace.zero_pivot.data()};
  with_threads(workspace.threads_per_block, [&]<int threads>() {
    launch_grid(eliminate<threads, T>, {blocks, threads, 0, stream()}, arguments, workspace.arrivals.data());
  });
}

template struct ColumnWorkspace<float>;
template struct ColumnWorkspace<double>;
template void eliminate_columns(Cuda&, DenseView<float>, std::int64_t, std::int64_t, std::int64_t*,
                                ColumnWorkspace<float>&);
template void eliminate_columns(Cuda&, DenseView<double>, std::int64_t, std::int64_t, std::int64_t*,
                                ColumnWorkspace<double>&);

}  // namespace echelon::crout

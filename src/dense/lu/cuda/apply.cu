// SPDX-License-Identifier: BSD-3-Clause
// Row exchanges, triangular solves and products with factored columns.
#include "backend/cuda/cluster.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/lu/cuda/apply.cuh"
#include "dense/lu/cuda/substitution.cuh"
#include "linalg/blas/tensor_products.cuh"
#include "linalg/spmv/multiply.hpp"

#include <cuda_pipeline.h>

#include <algorithm>
#include <type_traits>

namespace echelon::lu {

namespace {

using column_tiles::ColumnTile;
using column_tiles::multiply_tile;
using column_tiles::tile;
using column_tiles::TileRow;
using column_tiles::tiles;

constexpr int max_exchange_threads = 1024;  // of a block, for 512 columns

/// A row that exchanges fill, and the one that it is taken from.
struct Move {
  int to = -1;  ///< negative: none
  int from = -1;
};

/// Finds the t-th of 2 width moves: first those to the rows of the pivots (with `all_pivots`, rows that stay
/// in place included), then those to the rows that the pivots came from.
__device__ Move find_move(const int* origins, int width, int t, bool all_pivots) {
  if (t >= 2 * width) return {};
  int to = t;
  if (t >= width) {
    to = origins[t - width];
    if (to < width) return {};
  }
  const int from = origins[to];
  return from == to && !(all_pivots && t < width) ? Move{} : Move{to, from};
}

/// Blocks of 2 width threads. Rows of pivots go to W, unless it is null.
template <class T>
__global__ void __launch_bounds__(max_exchange_threads)
    exchange_rows_kernel(const ColumnsExcept<T> X, const int* origins, int width, T* W) {
  const Move move = find_move(origins, width, static_cast<int>(threadIdx.x), W != nullptr);
  for (std::int64_t first = std::int64_t{blockIdx.x} * tile; first < X.count();
       first += std::int64_t{gridDim.x} * tile) {
    const int columns = static_cast<int>(min(std::int64_t{tile}, X.count() - first));
    T moved[tile];
#pragma unroll
    for (int c = 0; c < tile; ++c) {
      moved[c] = c < columns && move.to >= 0 ? X.column(first + c)[move.from] : T{0};
    }
    __syncthreads();
    if (move.to < 0) continue;
    const bool to_W = W != nullptr && move.to < width;
#pragma unroll
    for (int c = 0; c < tile; ++c) {
      if (c >= columns) continue;
      T* const column = to_W ? W + (first + c) * width : X.column(first + c);
      column[move.to] = moved[c];
    }
  }
}

constexpr int threads_for_origins = 256;

/// Computes later(i, p) = the row that the exchanges of panels p, p + 1, ... move to row i.
__global__ void __launch_bounds__(threads_for_origins)
    compose_origins(std::int64_t rows, int panels, std::int64_t block, const int* origins, int* later) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads_for_origins + threadIdx.x;
  if (i >= rows) return;
  std::int64_t at = i;
  for (int p = panels - 1; p > 0; --p) {
    const std::int64_t begin = p * block;
    if (at >= begin) at = begin + origins[p * rows + at - begin];
    later[p * rows + i] = static_cast<int>(at);
  }
}

constexpr int threads_for_left = 1024;

/// Exchanges rows in the columns to the left of the last panel, one column after the other; `scratch`: rows
/// elements of each block in global memory, for columns that do not fit into shared memory.
template <class T>
__global__ void __launch_bounds__(threads_for_left)
    exchange_left(DenseView<T> A, std::int64_t columns, std::int64_t block, const int* later, T* scratch) {
  extern __shared__ double2 column_shared[];
  T* const old = scratch == nullptr ? reinterpret_cast<T*>(column_shared) : scratch + blockIdx.x * A.rows();
  for (std::int64_t j = blockIdx.x; j < columns; j += gridDim.x) {
    const std::int64_t next = j / block + 1;
    const int* const origins = later + next * A.rows();
    T* const column = A.data() + j * A.leading();
#pragma unroll 8
    for (std::int64_t i = next * block + threadIdx.x; i < A.rows(); i += threads_for_left) old[i] = column[i];
    __syncthreads();
#pragma unroll 8
    for (std::int64_t i = next * block + threadIdx.x; i < A.rows(); i += threads_for_left) {
      column[i] = old[origins[i]];
    }
    __syncthreads();
  }
}

constexpr int max_width_in_clusters = 128;
constexpr int threads_in_clusters = 256;

/// Shared memory of a block of apply_in_clusters.
template <class T>
struct ExchangedRows {
  // `width` elements each:
  TileRow<T>* pivot;      // rows that become rows of U
  TileRow<T>* displaced;  // rows that were exchanged with these
  // Below the diagonal, column after column without gaps: width (width - 1) / 2 elements.
  T* triangle;
  int* places;  // `width` destinations of displaced rows in this block; negative: none

  __device__ ExchangedRows(void* shared, int width)
      : pivot(static_cast<TileRow<T>*>(shared)),
        displaced(pivot + width),
        triangle(reinterpret_cast<T*>(displaced + width)),
        places(reinterpret_cast<int*>(triangle + width * (width - 1) / 2)) {}
  static std::size_t bytes(int width) {
    const auto n = static_cast<std::size_t>(width);
    return n * (2 * sizeof(TileRow<T>) + sizeof(int)) + n * (n - 1) / 2 * sizeof(T);
  }
};

/// Starts to copy the triangle, a warp for each column.
template <class T>
__device__ void start_to_load(const T* L, std::int64_t leading, int width, T* triangle) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < width; k += warps) {
    T* const column = triangle + k * (2 * width - k - 1) / 2;
    for (int i = k + 1 + lane; i < width; i += warp_size) {
      __pipeline_memcpy_async(column + i - (k + 1), L + k * leading + i, sizeof(T));
    }
  }
  __pipeline_commit();
}

template <class T>
__device__ void read_rows(const ColumnTile<T>& own, const int* origins, int width, ExchangedRows<T>& rows) {
  for (int p = static_cast<int>(threadIdx.x); p < width; p += static_cast<int>(blockDim.x)) {
    const int from = origins[p];
    const bool leaves_hole = from >= width && own.has_row(from);
    rows.places[p] = leaves_hole ? from : -1;
    rows.pivot[p] = own.row(from);
    if (leaves_hole) rows.displaced[p] = own.row(origins[from]);
  }
}

template <class T>
__device__ void write_displaced(const ColumnTile<T>& own, int width, const ExchangedRows<T>& rows) {
  for (int p = static_cast<int>(threadIdx.x); p < width; p += static_cast<int>(blockDim.x)) {
    if (rows.places[p] >= 0) own.put(rows.places[p], rows.displaced[p]);
  }
}

/// Solves pivot = -L^-1 pivot, by a warp for each column: each lane has every 32nd row.
template <class T>
__device__ void solve_columns(const T* triangle, int width, TileRow<T>* pivot) {
  constexpr int rows_per_lane = max_width_in_clusters / warp_size;
  constexpr unsigned all = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  for (int c = static_cast<int>(threadIdx.x) / warp_size; c < tile; c += warps) {
    T u[rows_per_lane];
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const int row = lane + r * warp_size;
      u[r] = row < width ? pivot[row].at[c] : T{0};
    }
    const T* below = triangle - 1;  // row i of column k is below[i]
#pragma unroll
    for (int kr = 0; kr < rows_per_lane; ++kr) {
      const int last = min(warp_size, width - kr * warp_size);
#pragma unroll 8
      for (int kk = 0; kk < last; ++kk) {
        const int k = kr * warp_size + kk;
        const T pivot_element = __shfl_sync(all, u[kr], kk);
#pragma unroll
        for (int r = kr; r < rows_per_lane; ++r) {
          const int row = lane + r * warp_size;
          const T l = row > k && row < width ? below[row] : T{0};
          u[r] -= l * pivot_element;
        }
        below += width - 2 - k;
      }
    }
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const int row = lane + r * warp_size;
      if (row < width) pivot[row].at[c] = -u[r];
    }
  }
}

template <class T>
__device__ void write_pivot_rows(const ColumnTile<T>& own, int width, const TileRow<T>* pivot, T sign) {
  for (int p = static_cast<int>(threadIdx.x); p < width; p += static_cast<int>(blockDim.x)) {
    if (!own.has_row(p)) continue;
    TileRow<T> row = pivot[p];
#pragma unroll
    for (int c = 0; c < tile; ++c) row.at[c] *= sign;
    own.put(p, row);
  }
}

/// Columns of the `index`-th cluster: tiles of the left part, then of the right part.
template <class T>
__device__ ColumnTile<T> find_tile(const ColumnsExcept<T>& X, std::int64_t index, bool& is_left) {
  const std::int64_t left = X.excluded_begin - X.begin;
  const std::int64_t left_tiles = (left + tile - 1) / tile;
  is_left = index < left_tiles;
  const std::int64_t first = is_left ? index * tile : left + (index - left_tiles) * tile;
  const std::int64_t last = is_left ? left : X.count();
  const std::int64_t share = (X.A.rows() + cluster::size() - 1) / cluster::size();
  const std::int64_t first_row = share * cluster::rank();
  return {X, first_row, min(first_row + share, X.A.rows()), first,
          static_cast<int>(min(std::int64_t{tile}, last - first))};
}

/// Applies factored columns to few columns in one launch, as apply_columns does: one cluster for each tile of
/// columns, whose blocks share the rows. A cluster barrier separates the reads of other blocks' rows from all
/// writes. rows_per_thread = 0 omits the product.
template <class T, int rows_per_thread>
__global__ void __launch_bounds__(threads_in_clusters)
    apply_in_clusters(const ColumnsExcept<T> X, const T* __restrict__ L, std::int64_t leading,
                      const int* origins, int width) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm("trap;");  // suits_clusters excludes GPUs without clusters
#else
  extern __shared__ double2 applied_shared[];
  ExchangedRows<T> rows(applied_shared, width);
  cluster::wait_for_kernel_ahead();
  cluster::let_next_kernel_start();
  bool is_left = false;
  const ColumnTile<T> own = find_tile(X, blockIdx.x / cluster::size(), is_left);
  if (!is_left) start_to_load(L, leading, width, rows.triangle);
  read_rows(own, origins, width, rows);
  cluster::sync();
  write_displaced(own, width, rows);
  if (is_left) {
    write_pivot_rows(own, width, rows.pivot, T{1});
    return;
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  solve_columns(rows.triangle, width, rows.pivot);
  __syncthreads();
  write_pivot_rows(own, width, rows.pivot, T{-1});
  if constexpr (rows_per_thread > 0) {
    const ColumnTile<T> below{X, max(own.first_row, std::int64_t{width}), own.last_row, own.first_column,
                              own.columns};
    multiply_tile<rows_per_thread>(below, L, leading, width, rows.pivot);
  }
#endif
}

/// Launches apply_in_clusters. `multiplies`: includes the product, by 8 blocks for each tile of columns
/// instead of one.
template <class T>
void launch_in_clusters(const StreamContext& context, const FactoredColumns<T>& factored,
                        const ColumnsExcept<T>& X, bool multiplies) {
  const unsigned blocks = multiplies ? 8 : 1;  // of a cluster
  const auto width = static_cast<int>(factored.L.columns());
  const std::int64_t share = (X.A.rows() + blocks - 1) / blocks;
  const unsigned clusters = tiles(X.excluded_begin - X.begin) + tiles(X.end - X.excluded_end);
  const cluster::Launch launch(blocks, blocks * clusters, threads_in_clusters, ExchangedRows<T>::bytes(width),
                               context.stream, true);
  const auto kernel = !multiplies
                          ? apply_in_clusters<T, 0>
                          : (share > threads_in_clusters ? apply_in_clusters<T, 2> : apply_in_clusters<T, 1>);
  allow_shared_memory(kernel);
  check(cudaLaunchKernelEx(launch.config(), kernel, X, factored.L.data(), factored.L.leading(),
                           factored.origins, width));
}

int max_shared_bytes(const Device& device) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.id()));
  return bytes;
}

/// Whether apply_in_clusters solves for rows of U, in few columns, faster than products do.
template <class T>
bool has_few_columns(const FactoredColumns<T>& factored, const ColumnsExcept<T>& X) {
  constexpr std::int64_t max_columns = 512;
  return factored.L.columns() <= max_width_in_clusters && X.count() <= max_columns &&
         cluster::available(X.A.device());
}

/// True if apply_in_clusters also multiplies faster than cuBLAS. The blocks of cuBLAS do not have to start at
/// the same time, which large multiplications on another stream would delay.
template <class T>
bool has_small_product(const FactoredColumns<T>& factored, const ColumnsExcept<T>& X) {
  constexpr std::int64_t max_rows = 8192;
  constexpr std::int64_t max_multiplications = std::int64_t{1} << 26;
  return X.A.rows() <= max_rows && X.A.rows() * factored.L.columns() * X.count() <= max_multiplications;
}

/// Updates the rows below U: X = X - L U.
template <class T>
void subtract_product(const StreamContext& context, const DenseView<const T>& L, const DenseView<T>& X) {
  const std::int64_t width = L.columns();
  const std::int64_t below = X.rows() - width;
  if (below == 0 || X.columns() == 0) return;
  const auto part = [&](auto* data, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
    return DenseView(data, rows, columns, leading, X.device());
  };
  const auto lower = part(L.data() + width, below, width, L.leading());
  const DenseView<const T> upper = part(X.data(), width, X.columns(), X.leading());
  const DenseView<T> rest = part(X.data() + width, below, X.columns(), X.leading());
  if constexpr (std::is_same_v<T, float>) {
    if (context.products != FloatProducts::in_float) {
      add_product_on_tensor_cores(context.backend, context.stream, context.products, -1, lower, upper, rest);
      return;
    }
  }
  gemm<T>(context.backend, T{-1}, lower, upper, T{1}, rest);
}

}  // namespace

template <class T>
void take_upper_rows(const StreamContext& context, const ColumnsExcept<T>& X, const int* origins, int width,
                     T* W) {
  if (X.count() == 0 || width == 0) return;
  const CurrentDevice current(context.backend.device().id());
  const auto threads = static_cast<unsigned>((2 * width + warp_size - 1) / warp_size * warp_size);
  constexpr unsigned enough_threads = 1U << 18U;  // to occupy all multiprocessors
  exchange_rows_kernel<<<std::min(tiles(X.count()), enough_threads / threads), threads, 0, context.stream>>>(
      X, origins, width, W);
  check(cudaGetLastError());
}

template <class T>
void exchange_rows(const StreamContext& context, const ColumnsExcept<T>& X, const int* origins, int width) {
  take_upper_rows<T>(context, X, origins, width, nullptr);
}

template <class T>
void exchange_left_rows(const StreamContext& context, DenseView<T> A, std::int64_t count, std::int64_t block,
                        const int* origins, int* later_origins) {
  constexpr std::int64_t max_blocks = 264;
  const auto panels = static_cast<int>((count + block - 1) / block);
  if (panels < 2) return;
  const CurrentDevice current(context.backend.device().id());
  compose_origins<<<static_cast<unsigned>((A.rows() + threads_for_origins - 1) / threads_for_origins),
                    threads_for_origins, 0, context.stream>>>(A.rows(), panels, block, origins,
                                                              later_origins);
  check(cudaGetLastError());
  const std::int64_t columns = (panels - 1) * block;
  const std::int64_t bytes = A.rows() * static_cast<std::int64_t>(sizeof(T));
  const bool fits = bytes <= max_shared_bytes(context.backend.device());
  const auto blocks = static_cast<unsigned>(std::min(columns, max_blocks));
  Array<T> scratch(A.device(), fits ? 0 : blocks * A.rows());
  allow_shared_memory(exchange_left<T>);
  exchange_left<T><<<blocks, threads_for_left, fits ? static_cast<std::size_t>(bytes) : 0, context.stream>>>(
      A, columns, block, later_origins, fits ? nullptr : scratch.data());
  check(cudaGetLastError());
}

template <class T>
void apply_columns(const StreamContext& context, const FactoredColumns<T>& factored,
                   const ColumnsExcept<T>& X, const ApplyWorkspace<T>& workspace) {
  if (X.count() == 0) return;
  const CurrentDevice current(context.backend.device().id());
  const DenseView<T> left = X.left();
  const DenseView<T> right = X.right();
  const DenseView<const T>& L = factored.L;
  if (has_few_columns(factored, X)) {
    const bool multiplies = has_small_product(factored, X);
    launch_in_clusters(context, factored, X, multiplies);
    if (!multiplies) subtract_product(context, L, right);
    return;
  }
  const std::int64_t width = L.columns();
  exchange_rows(context, columns_of(left, 0, left.columns()), factored.origins, static_cast<int>(width));
  if (right.columns() == 0) return;
  take_upper_rows(context, columns_of(right, 0, right.columns()), factored.origins, static_cast<int>(width),
                  workspace.rows);
  const DenseView<const T> triangle(L.data(), width, width, L.leading(), L.device());
  if (workspace.inverted != nullptr) {
    check(cudaStreamWaitEvent(context.stream, workspace.inverted, 0));
  } else {
    invert_diagonal_blocks<T>(context, triangle, true, workspace.inverses);
  }
  solve_unit_lower<T>(context.backend, triangle, workspace.inverses,
                      {workspace.rows, width, right.columns(), width, right.device()},
                      {right.data(), width, right.columns(), right.leading(), right.device()});
  subtract_product(context, L, right);
}

template void exchange_rows(const StreamContext&, const ColumnsExcept<float>&, const int*, int);
template void exchange_rows(const StreamContext&, const ColumnsExcept<double>&, const int*, int);
template void take_upper_rows(const StreamContext&, const ColumnsExcept<float>&, const int*, int, float*);
template void take_upper_rows(const StreamContext&, const ColumnsExcept<double>&, const int*, int, double*);
template void exchange_left_rows(const StreamContext&, DenseView<float>, std::int64_t, std::int64_t,
                                 const int*, int*);
template void exchange_left_rows(const StreamContext&, DenseView<double>, std::int64_t, std::int64_t,
                                 const int*, int*);
template void apply_columns(const StreamContext&, const FactoredColumns<float>&, const ColumnsExcept<float>&,
                            const ApplyWorkspace<float>&);
template void apply_columns(const StreamContext&, const FactoredColumns<double>&,
                            const ColumnsExcept<double>&, const ApplyWorkspace<double>&);

}  // namespace echelon::lu

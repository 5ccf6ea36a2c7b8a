// SPDX-License-Identifier: BSD-3-Clause
// Row exchanges and products of panels with few or many columns.
#include "backend/cuda/cluster.cuh"
#include "dense/panels/row_exchange.cuh"
#include "linalg/blas/tensor_products.cuh"

#include <algorithm>

namespace echelon {

namespace {

using column_tiles::ColumnTile;
using column_tiles::multiply_tile;
using column_tiles::tile;
using column_tiles::TileRow;
using column_tiles::tiles;

constexpr int max_exchange_threads = 1024;  ///< of a block, for panels of 512 columns

/// Blocks of 2 width threads. Memory traffic: 32 bytes for each element of an exchanged row, a sector read
/// and one written, and W. A block computes the destinations of rows once for all of its tiles.
template <class T>
__global__ void __launch_bounds__(max_exchange_threads)
    take_rows_kernel(const ColumnsExcept<T> X, const PivotRows pivots, T* W) {
  extern __shared__ std::int64_t shared_rows[];
  const PivotRange range = pivots.known();
  const int count = static_cast<int>(range.count());
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) shared_rows[t] = pivots.rows[range.first + t];
  __syncthreads();
  const RowExchanges exchanges{range.first, count, shared_rows};
  const std::int64_t from = exchanges.touched(t);
  const std::int64_t to = from < 0 ? -1 : exchanges.destination(from);
  const bool is_pivot = to >= range.first && to < range.last;
  std::int64_t row_of_w = to - range.first;
  if (is_pivot && pivots.columns != nullptr) row_of_w = pivots.columns[to] - pivots.begin;
  for (std::int64_t first = std::int64_t{blockIdx.x} * tile; first < X.count();
       first += std::int64_t{gridDim.x} * tile) {
    const int columns = static_cast<int>(min(std::int64_t{tile}, X.count() - first));
    T* w = W + first * pivots.width;
    T moved[tile];
#pragma unroll
    for (int c = 0; c < tile; ++c) moved[c] = c < columns && from >= 0 ? X.column(first + c)[from] : T{0};
    if (count < pivots.width) {  // columns without a pivot
      for (int e = t; e < columns * pivots.width; e += static_cast<int>(blockDim.x)) w[e] = T{0};
    }
    __syncthreads();
    if (from < 0) continue;
#pragma unroll
    for (int c = 0; c < tile; ++c) {
      if (c >= columns) continue;
      T* x = X.column(first + c);
      if (is_pivot) {
        w[c * pivots.width + row_of_w] = moved[c];
      } else {
        x[to] = moved[c];
      }
      if (t < count) x[range.first + t] = T{0};
    }
  }
}

/// Shared memory of a block of apply_in_clusters, for panels of `width` columns.
template <class T>
struct AppliedRows {
  // `width` elements each:
  TileRow<T>* W;
  TileRow<T>* displaced;  // rows that were exchanged with pivot rows
  std::int64_t* places;   // destinations of these; negative: none
  std::int64_t* rows;     // row exchanges of the pivots

  __device__ AppliedRows(void* shared, int width)
      : W(static_cast<TileRow<T>*>(shared)),
        displaced(W + width),
        places(reinterpret_cast<std::int64_t*>(displaced + width)),
        rows(places + width) {}
  static std::size_t bytes(int width) {
    return static_cast<std::size_t>(width) * (2 * sizeof(TileRow<T>) + 2 * sizeof(std::int64_t));
  }
};

constexpr int max_width_in_clusters = 128;
constexpr int threads_in_clusters = 256;

/// Reads W and the displaced rows whose destination is in this block.
template <class T>
__device__ void read_rows(const ColumnTile<T>& own, const PivotRows& pivots, PivotRange range,
                          AppliedRows<T>& shared) {
  const int count = static_cast<int>(range.count());
  const int threads = static_cast<int>(blockDim.x);
  for (int p = static_cast<int>(threadIdx.x); p < pivots.width; p += threads) {
    if (p < count) shared.rows[p] = pivots.rows[range.first + p];
    shared.places[p] = -1;
#pragma unroll
    for (int c = 0; c < tile; ++c) shared.W[p].at[c] = T{0};
  }
  __syncthreads();
  const RowExchanges exchanges{range.first, count, shared.rows};
  for (int t = static_cast<int>(threadIdx.x); t < 2 * count; t += threads) {
    const std::int64_t from = exchanges.touched(t);
    if (from < 0) continue;
    const std::int64_t to = exchanges.destination(from);
    const bool is_pivot = to >= range.first && to < range.last;
    if (!is_pivot && !own.has_row(to)) continue;
    const int p = t < count ? t : t - count;
    TileRow<T>& target = is_pivot ? shared.W[pivots.columns[to] - pivots.begin] : shared.displaced[p];
    if (!is_pivot) shared.places[p] = to;
    target = own.row(from);
  }
}

template <class T>
__device__ void write_rows(const ColumnTile<T>& own, PivotRange range, const AppliedRows<T>& shared) {
  for (int p = static_cast<int>(threadIdx.x); p < range.count(); p += static_cast<int>(blockDim.x)) {
    if (shared.places[p] >= 0) own.put(shared.places[p], shared.displaced[p]);
    if (own.has_row(range.first + p)) own.put(range.first + p, {});
  }
}

/// Applies a panel to few columns in one launch: one cluster for each tile of columns, whose blocks share the
/// rows. A cluster barrier separates the reads of other blocks' rows from all writes.
template <class T, int rows_per_thread>
__global__ void __launch_bounds__(threads_in_clusters)
    apply_in_clusters(const ColumnsExcept<T> X, const T* __restrict__ G, std::int64_t leading,
                      const PivotRows pivots) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm("trap;");  // suits_clusters excludes GPUs without clusters
#else
  extern __shared__ double2 applied_shared[];
  AppliedRows<T> shared(applied_shared, pivots.width);
  cluster::wait_for_kernel_ahead();
  cluster::let_next_kernel_start();
  const PivotRange range = pivots.known();
  const std::int64_t share = (X.A.rows() + cluster::size() - 1) / cluster::size();
  const std::int64_t first_row = share * cluster::rank();
  const std::int64_t first_column = std::int64_t{blockIdx.x / cluster::size()} * tile;
  const ColumnTile<T> own{X, first_row, min(first_row + share, X.A.rows()), first_column,
                          static_cast<int>(min(std::int64_t{tile}, X.count() - first_column))};
  read_rows(own, pivots, range, shared);
  cluster::sync();
  write_rows(own, range, shared);
  __syncthreads();
  multiply_tile<rows_per_thread>(own, G, leading, pivots.width, shared.W);
#endif
}

template <class T>
void launch_in_clusters(const StreamContext& context, DenseView<const T> G, const PivotRows& pivots,
                        const ColumnsExcept<T>& X) {
  constexpr unsigned blocks = 8;  // of a cluster
  const std::int64_t share = (X.A.rows() + blocks - 1) / blocks;
  constexpr int half = threads_in_clusters / 2;
  const cluster::Launch launch(blocks, blocks * tiles(X.count()), share > half ? threads_in_clusters : half,
                               AppliedRows<T>::bytes(pivots.width), context.stream, true);
  const auto kernel = share > threads_in_clusters ? apply_in_clusters<T, 2> : apply_in_clusters<T, 1>;
  check(cudaLaunchKernelEx(launch.config(), kernel, X, G.data(), G.leading(), pivots));
}

/// Whether apply_in_clusters is faster than cuBLAS: for small products. The blocks of cuBLAS need no
/// multiprocessors that are free at the same time, which large multiplications on another stream delay.
template <class T>
bool suits_clusters(const PivotRows& pivots, const ColumnsExcept<T>& X) {
  constexpr std::int64_t max_rows = 8192;
  constexpr std::int64_t max_columns = 512;
  constexpr std::int64_t max_multiplications = std::int64_t{1} << 26;
  return pivots.columns != nullptr && pivots.width <= max_width_in_clusters && X.count() <= max_columns &&
         X.A.rows() <= max_rows && X.A.rows() * pivots.width * X.count() <= max_multiplications &&
         cluster::available(X.A.device());
}

template <class T>
void add_large_product(const StreamContext& context, DenseView<const T> G, DenseView<const T> W,
                       DenseView<T> X) {
  if constexpr (std::is_same_v<T, float>) {
    if (context.products != FloatProducts::in_float) {
      add_product_on_tensor_cores(context.backend, context.stream, context.products, 1, G, W, X);
      return;
    }
  }
  gemm<T>(context.backend, T{1}, G, W, T{1}, X);
}

}  // namespace

template <class T>
void take_rows(const StreamContext& context, const ColumnsExcept<T>& X, const PivotRows& pivots, T* W) {
  if (X.count() == 0 || pivots.width == 0) return;
  const CurrentDevice current(context.backend.device().id());
  const auto threads = static_cast<unsigned>((2 * pivots.width + warp_size - 1) / warp_size * warp_size);
  constexpr unsigned enough_threads = 1U << 18U;  // to occupy all multiprocessors
  take_rows_kernel<<<std::min(tiles(X.count()), enough_threads / threads), threads,
                     static_cast<std::size_t>(pivots.width) * sizeof(std::int64_t), context.stream>>>(
      X, pivots, W);
  check(cudaGetLastError());
}

template <class T>
void apply_panel(const StreamContext& context, DenseView<const T> G, const PivotRows& pivots,
                 const ColumnsExcept<T>& X, T* W) {
  if (X.count() == 0 || X.A.rows() == 0) return;
  if (suits_clusters(pivots, X)) {
    const CurrentDevice current(context.backend.device().id());
    launch_in_clusters(context, G, pivots, X);
    return;
  }
  take_rows(context, X, pivots, W);
  for (const DenseView<T>& part : {X.left(), X.right()}) {
    if (part.columns() == 0) continue;
    add_large_product<T>(context, G, {W, pivots.width, part.columns(), pivots.width, part.device()}, part);
    W += pivots.width * part.columns();
  }
}

template void take_rows(const StreamContext&, const ColumnsExcept<float>&, const PivotRows&, float*);
template void take_rows(const StreamContext&, const ColumnsExcept<double>&, const PivotRows&, double*);
template void apply_panel(const StreamContext&, DenseView<const float>, const PivotRows&,
                          const ColumnsExcept<float>&, float*);
template void apply_panel(const StreamContext&, DenseView<const double>, const PivotRows&,
                          const ColumnsExcept<double>&, double*);

}  // namespace echelon

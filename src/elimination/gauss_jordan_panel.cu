// SPDX-License-Identifier: BSD-3-Clause
// The steps of Gauss-Jordan elimination on a GPU.
#include "backend/store.hpp"
#include "elimination/gauss_jordan_blocks.hpp"
#include "elimination/gauss_jordan_cuda.cuh"
#include "elimination/gauss_jordan_panel.hpp"
#include "elimination/panel_by_columns.hpp"

#include <algorithm>

namespace echelon {

namespace {

constexpr int warp_size = 32;
/// Columns of a leaf that does not fit into registers.
constexpr std::int64_t leaf_by_columns = 32;

/// The row where what is in row i comes to be when rows k and rows[k] change places for k = first, ...,
/// last - 1; every row can ask for itself. `shared_rows`: rows[first], ... in shared memory.
__device__ std::int64_t place_after(std::int64_t i, std::int64_t first, int count,
                                    const std::int64_t* shared_rows) {
  for (int p = 0; p < count; ++p) {
    const std::int64_t k = first + p;
    const std::int64_t row = shared_rows[p];
    i = i == row ? k : (i == k ? row : i);
  }
  return i;
}

/// The same for k = last - 1, ..., first.
__device__ std::int64_t place_before(std::int64_t i, std::int64_t first, int count,
                                     const std::int64_t* shared_rows) {
  for (int p = count; p-- > 0;) {
    const std::int64_t k = first + p;
    const std::int64_t row = shared_rows[p];
    i = i == row ? k : (i == k ? row : i);
  }
  return i;
}

/// The t-th of the 2 count rows that the exchanges touch, or -1 where it is told twice.
__device__ std::int64_t touched_row(int t, std::int64_t first, int count, const std::int64_t* shared_rows) {
  if (t < count) return first + t;
  if (t >= 2 * count) return -1;
  const std::int64_t row = shared_rows[t - count];
  return row < first + count ? -1 : row;
}

/// Where pivot rows go: the rank before and after the panel, on the host or on the GPU, and the row of W for
/// each pivot.
struct PivotRows {
  PivotRange range;           ///< unless `ranks` is there
  const std::int64_t* ranks;  ///< null: `range` counts
  const std::int64_t* rows;
  const std::int64_t* columns;  ///< null: pivot k is row k - first of W; otherwise columns[k] - begin
  std::int64_t begin;
  int width;  ///< the height of W
};

constexpr int columns_of_block = 8;
constexpr int most_threads = 1024;  // for panels of 512 columns

/// Blocks of 2 width threads; each takes `columns_of_block` columns of X. Reads and writes 32 bytes for every
/// touched element, and W.
template <class T>
__global__ void __launch_bounds__(most_threads) take_rows(DenseView<T> X, PivotRows pivots, T* W) {
  extern __shared__ std::int64_t taken_rows[];
  const std::int64_t first = pivots.ranks == nullptr ? pivots.range.first : pivots.ranks[0];
  const std::int64_t last = pivots.ranks == nullptr ? pivots.range.last : pivots.ranks[1];
  const int count = static_cast<int>(last - first);
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) taken_rows[t] = pivots.rows[first + t];
  __syncthreads();
  const std::int64_t from = touched_row(t, first, count, taken_rows);
  const std::int64_t to = from < 0 ? -1 : place_after(from, first, count, taken_rows);
  const std::int64_t column = std::int64_t{blockIdx.x} * columns_of_block;
  const int columns = static_cast<int>(min(std::int64_t{columns_of_block}, X.columns - column));
  T* x = X.data + column * X.leading;
  T* w = W + column * pivots.width;
  T moved[columns_of_block];
#pragma unroll
  for (int c = 0; c < columns_of_block; ++c)
    moved[c] = c < columns && from >= 0 ? x[c * X.leading + from] : T{0};
  if (count < pivots.width) {  // some columns have no pivot
    for (int e = t; e < columns * pivots.width; e += static_cast<int>(blockDim.x)) w[e] = T{0};
  }
  __syncthreads();
  if (from < 0) return;
  const bool is_pivot = to >= first && to < last;
  std::int64_t row_of_w = to - first;
  if (is_pivot && pivots.columns != nullptr) row_of_w = pivots.columns[to] - pivots.begin;
#pragma unroll
  for (int c = 0; c < columns_of_block; ++c) {
    if (c >= columns) continue;
    if (is_pivot) {
      w[c * pivots.width + row_of_w] = moved[c];
    } else {
      x[c * X.leading + to] = moved[c];
    }
    if (t < count) x[c * X.leading + first + t] = T{0};
  }
}

template <class T>
void take_rows(const Cuda& backend, DenseView<T> X, const PivotRows& pivots, T* W,
               cudaStream_t on = stream()) {
  if (X.columns == 0 || pivots.width == 0) return;
  const CurrentDevice current(backend.device().id());
  const int threads = (2 * pivots.width + warp_size - 1) / warp_size * warp_size;
  const auto blocks = static_cast<unsigned>((X.columns + columns_of_block - 1) / columns_of_block);
  take_rows<<<blocks, static_cast<unsigned>(threads),
              static_cast<std::size_t>(pivots.width) * sizeof(std::int64_t), on>>>(X, pivots, W);
  check(cudaGetLastError());
}

/// One block of 2 count threads.
template <class T>
__global__ void __launch_bounds__(most_threads)
    put_back_rows(PivotRange range, const std::int64_t* rows, const T* products, T* x) {
  extern __shared__ std::int64_t taken_rows[];
  const int count = static_cast<int>(range.count());
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) taken_rows[t] = rows[range.first + t];
  __syncthreads();
  const std::int64_t from = touched_row(t, range.first, count, taken_rows);
  const std::int64_t to = from < 0 ? -1 : place_before(from, range.first, count, taken_rows);
  const T moved = t < count ? products[t] : (from < 0 ? T{0} : x[from]);
  __syncthreads();
  if (to >= 0) x[to] = moved;
}

/// Where each column comes to be when columns k and rows[k] change places for k = n - 1, ..., 0.
struct FinalColumn {
  std::int64_t n;
  const std::int64_t* rows;
  std::int64_t* places;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t at = i;
    for (std::int64_t k = n; k-- > 0;) {
      const std::int64_t row = rows[k];
      at = at == row ? k : (at == k ? row : at);
    }
    places[i] = at;
  }
};

/// Rows [begin, begin + count), columns in their new places, in a matrix of `count` rows; and back.
template <class T>
struct PermuteStrip {
  DenseView<const T> A;
  std::int64_t begin, count;
  const std::int64_t* places;
  T* strip;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / count;
    strip[places[j] * count + e % count] = A.data[j * A.leading + begin + e % count];
  }
};
template <class T>
struct ReturnStrip {
  DenseView<T> A;
  std::int64_t begin, count;
  const T* strip;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    A.data[e / count * A.leading + begin + e % count] = strip[e];
  }
};

/// What a block of rows contributes to a MatrixScan; `element` is row * columns + column.
struct ScanPart {
  Largest largest;
  Largest norm_inf;
  FirstIndex nonfinite;
  friend ECHELON_ANYWHERE ScanPart combine(ScanPart a, ScanPart b) {
    return {combine(a.largest, b.largest), combine(a.norm_inf, b.norm_inf),
            combine(a.nonfinite, b.nonfinite)};
  }
};

constexpr int scan_warps = 16;

/// A block for 32 rows, a lane for each: warp w takes columns w, w + 16, ... Reads A once.
template <class T>
__global__ void __launch_bounds__(warp_size* scan_warps)
    scan_rows(DenseView<const T> A, double* row_sums, ScanPart* rows) {
  __shared__ double sums[scan_warps][warp_size];
  __shared__ double largest[scan_warps][warp_size];
  __shared__ std::int64_t nonfinite[scan_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const std::int64_t i = std::int64_t{blockIdx.x} * warp_size + lane;
  double sum = 0;
  double most = 0;
  std::int64_t first = FirstIndex::none;
#pragma unroll 8
  for (std::int64_t j = warp; j < A.columns; j += scan_warps) {
    const double magnitude = i < A.rows ? fabs(static_cast<double>(A.data[j * A.leading + i])) : 0.0;
    sum += magnitude;
    most = magnitude > most ? magnitude : most;
    if (!(magnitude <= DBL_MAX) && first == FirstIndex::none) first = j;
  }
  sums[warp][lane] = sum;
  largest[warp][lane] = most;
  nonfinite[warp][lane] = first;
  __syncthreads();
  if (warp > 0 || i >= A.rows) return;
  for (int w = 1; w < scan_warps; ++w) {
    sum += sums[w][lane];
    most = largest[w][lane] > most ? largest[w][lane] : most;
    first = nonfinite[w][lane] < first ? nonfinite[w][lane] : first;
  }
  row_sums[i] = sum;
  rows[i] = {{most}, {sum}, {first == FirstIndex::none ? first : i * A.columns + first}};
}

struct ScanOfRow {
  const ScanPart* rows;
  ECHELON_ANYWHERE ScanPart operator()(std::int64_t i) const { return rows[i]; }
};

/// X = X + G W for the panel [begin, end) of A, with a W of its width.
template <class T>
void apply_queued(const Lane& lane, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  const std::int64_t* ranks, const PivotList<T>& pivots, DenseView<T> X, T* W) {
  if (X.columns == 0) return;
  const std::int64_t width = end - begin;
  take_rows(lane.backend, X, {{}, ranks, pivots.rows, pivots.columns, begin, static_cast<int>(width)}, W,
            lane.on);
  gemm<T>(lane.backend, T{1}, column_range(A, begin, end),
          DenseView<const T>(W, width, X.columns, width, X.device), T{1}, X);
}

/// Cuts panels into leaves, and applies the leaves to each other.
template <class T>
class Panels {
 public:
  Panels(const Lane& lane, DenseView<T> A, std::int64_t block, T tolerance, EliminationState* state,
         const PivotList<T>& pivots, PanelScratch<T>& scratch, const LeafPlan<T>& leaves)
      : lane_(lane),
        A_(A),
        tolerance_(tolerance),
        state_(state),
        pivots_(pivots),
        scratch_(scratch),
        leaves_(leaves),
        leaf_ranks_(A.device, (block + leaf_width() - 1) / leaf_width() + 1) {}

  /// ranks[1] becomes the rank after columns [begin, end); ranks[0] is that before them.
  void factor(std::int64_t begin, std::int64_t end, std::int64_t* ranks) {
    if (end - begin <= leaf_width()) {
      factor_one_leaf(begin, end, ranks);
      return;
    }
    std::int64_t* leaf_ranks = leaf_ranks_.data();
    copy(ranks, leaf_ranks);
    for (std::int64_t leaf = begin; leaf < end; leaf += leaf_width(), ++leaf_ranks) {
      const std::int64_t next = std::min(leaf + leaf_width(), end);
      factor_one_leaf(leaf, next, leaf_ranks);
      apply(leaf, next, leaf_ranks, column_range(A_, next, end));
      apply(leaf, next, leaf_ranks, column_range(A_, begin, leaf));
    }
    copy(leaf_ranks, ranks + 1);
  }

  void apply(std::int64_t begin, std::int64_t end, const std::int64_t* ranks, DenseView<T> X) {
    apply_queued(lane_, A_, begin, end, ranks, pivots_, X, scratch_.rows.data());
  }

 private:
  [[nodiscard]] std::int64_t leaf_width() const {
    return leaves_.kernel != nullptr ? leaves_.width : leaf_by_columns;
  }

  void copy(const std::int64_t* from, std::int64_t* to) {
    check(cudaMemcpyAsync(to, from, sizeof *to, cudaMemcpyDeviceToDevice, lane_.on));
  }

  void factor_one_leaf(std::int64_t begin, std::int64_t end, std::int64_t* ranks) {
    if (leaves_.kernel == nullptr) {
      factor_by_columns(lane_.backend, A_, begin, end, tolerance_, state_, pivots_, scratch_);
      copy(&state_->rank, ranks + 1);
      return;
    }
    factor_leaf(lane_.backend, leaves_,
                {A_.column(begin), A_.leading, static_cast<int>(A_.rows), static_cast<int>(end - begin),
                 begin, static_cast<double>(tolerance_), state_, pivots_, ranks + 1},
                lane_.on);
  }

  Lane lane_;
  DenseView<T> A_;
  T tolerance_;
  EliminationState* state_;
  PivotList<T> pivots_;
  PanelScratch<T>& scratch_;
  LeafPlan<T> leaves_;
  Array<std::int64_t> leaf_ranks_;
};

/// The next panel is brought up to date and factored beside the large multiplication with this one.
template <class T>
void eliminate_looking_ahead(Cuda& backend, DenseView<T> A, std::int64_t block, bool both_sides, T tolerance,
                             EliminationState* state, std::int64_t* ranks, const PivotList<T>& pivots,
                             PanelScratch<T>& scratch, const LeafPlan<T>& leaves, SideStream& side) {
  PanelScratch<T> side_scratch{Array<T>(A.device, block * block), {}};
  Panels<T> panels(side.lane(), A, block, tolerance, state, pivots, side_scratch, leaves);
  side.mark_main();
  side.wait_for_main();
  panels.factor(0, std::min(block, A.columns), ranks);
  side.mark_side();
  for (std::int64_t begin = 0; begin < A.columns; begin += block, ++ranks) {
    const std::int64_t end = std::min(begin + block, A.columns);
    const std::int64_t next_end = std::min(end + block, A.columns);
    side.main_waits_for_side();
    if (next_end > end) {
      side.wait_for_main();
      panels.apply(begin, end, ranks, column_range(A, end, next_end));
      panels.factor(end, next_end, ranks + 1);
      side.mark_side();
    }
    const Lane main{backend, stream()};
    T* W = scratch.rows.data();
    apply_queued(main, A, begin, end, ranks, pivots, column_range(A, next_end, A.columns), W);
    if (both_sides) apply_queued(main, A, begin, end, ranks, pivots, column_range(A, 0, begin), W);
    side.mark_main();
  }
}

}  // namespace

template <class T>
void factor_panel(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end, T tolerance,
                  EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch) {
  if (A.rows == 0 || begin == end) return;
  Array<std::int64_t> ranks(A.device, 2);
  backend.copy(1, &state->rank, ranks.data());
  const LeafPlan<T> leaves = plan_leaves<T>(backend, A.rows, end - begin, {});
  Panels<T>({backend, stream()}, A, end - begin, tolerance, state, pivots, scratch, leaves)
      .factor(begin, end, ranks.data());
}

template <class T>
void eliminate(Cuda& backend, DenseView<T> A, std::int64_t block, bool both_sides, T tolerance,
               EliminationState* state, std::int64_t* ranks, const PivotList<T>& pivots,
               PanelScratch<T>& scratch, const PanelTuning& tuning, SideStream* side) {
  if (A.rows == 0 || A.columns == 0) return;
  backend.copy(1, &state->rank, ranks);
  const LeafPlan<T> leaves = plan_leaves<T>(backend, A.rows, std::min(block, A.columns), tuning);
  if (side != nullptr && leaves.kernel != nullptr && A.columns > block) {
    eliminate_looking_ahead(backend, A, block, both_sides, tolerance, state, ranks, pivots, scratch, leaves,
                            *side);
    return;
  }
  Panels<T> panels({backend, stream()}, A, block, tolerance, state, pivots, scratch, leaves);
  for (std::int64_t begin = 0; begin < A.columns; begin += block, ++ranks) {
    const std::int64_t end = std::min(begin + block, A.columns);
    panels.factor(begin, end, ranks);
    panels.apply(begin, end, ranks, column_range(A, end, A.columns));
    if (both_sides) panels.apply(begin, end, ranks, column_range(A, 0, begin));
  }
}

template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  take_rows(backend, X, {range, nullptr, rows, nullptr, 0, static_cast<int>(range.count())}, W);
}

template <class T>
void put_back_pivot_rows(Cuda& backend, PivotRange range, const std::int64_t* rows, const T* products, T* x) {
  if (range.count() == 0) return;
  const CurrentDevice current(backend.device().id());
  const auto count = static_cast<unsigned>(range.count());
  put_back_rows<<<1, 2 * count, count * sizeof(std::int64_t), stream()>>>(range, rows, products, x);
  check(cudaGetLastError());
}

/// n^2 steps of a comparison, and A read and written twice.
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows) {
  constexpr std::int64_t strip_rows = 512;
  if (A.columns == 0) return;
  Array<std::int64_t> places(A.device, A.columns);
  Array<T> strip(A.device, std::min(strip_rows, A.rows) * A.columns);
  backend.for_each(A.columns, FinalColumn{A.columns, rows, places.data()});
  for (std::int64_t begin = 0; begin < A.rows; begin += strip_rows) {
    const std::int64_t count = std::min(strip_rows, A.rows - begin);
    backend.for_each(count * A.columns, PermuteStrip<T>{A, begin, count, places.data(), strip.data()});
    backend.for_each(count * A.columns, ReturnStrip<T>{A, begin, count, strip.data()});
  }
}

template <class T>
MatrixScan scan(Cuda& backend, DenseView<const T> A, double* row_sums) {
  if (A.rows == 0) return {};
  const CurrentDevice current(backend.device().id());
  Array<ScanPart> rows(A.device, A.rows);
  Array<ScanPart> all(A.device, 1);
  const auto blocks = static_cast<unsigned>((A.rows + warp_size - 1) / warp_size);
  scan_rows<<<blocks, warp_size * scan_warps, 0, stream()>>>(A, row_sums, rows.data());
  check(cudaGetLastError());
  backend.reduce(A.rows, ScanOfRow{rows.data()}, Store<ScanPart>{all.data()});
  const ScanPart part = backend.read(all.data());
  MatrixScan result{part.largest.value, part.norm_inf.value};
  if (part.nonfinite.value != FirstIndex::none) {
    result.row = part.nonfinite.value / A.columns;
    result.column = part.nonfinite.value % A.columns;
  }
  return result;
}

template void factor_panel(Cuda&, DenseView<float>, std::int64_t, std::int64_t, float, EliminationState*,
                           const PivotList<float>&, PanelScratch<float>&);
template void factor_panel(Cuda&, DenseView<double>, std::int64_t, std::int64_t, double, EliminationState*,
                           const PivotList<double>&, PanelScratch<double>&);
template void eliminate(Cuda&, DenseView<float>, std::int64_t, bool, float, EliminationState*, std::int64_t*,
                        const PivotList<float>&, PanelScratch<float>&, const PanelTuning&, SideStream*);
template void eliminate(Cuda&, DenseView<double>, std::int64_t, bool, double, EliminationState*,
                        std::int64_t*, const PivotList<double>&, PanelScratch<double>&, const PanelTuning&,
                        SideStream*);
template void take_pivot_rows(Cuda&, DenseView<float>, PivotRange, const std::int64_t*, float*);
template void take_pivot_rows(Cuda&, DenseView<double>, PivotRange, const std::int64_t*, double*);
template void put_back_pivot_rows(Cuda&, PivotRange, const std::int64_t*, const float*, float*);
template void put_back_pivot_rows(Cuda&, PivotRange, const std::int64_t*, const double*, double*);
template void put_back_columns(Cuda&, DenseView<float>, const std::int64_t*);
template void put_back_columns(Cuda&, DenseView<double>, const std::int64_t*);
template MatrixScan scan(Cuda&, DenseView<const float>, double*);
template MatrixScan scan(Cuda&, DenseView<const double>, double*);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// The steps of Gauss-Jordan elimination on a GPU.
#include "backend/store.hpp"
#include "elimination/gauss_jordan_cuda.cuh"
#include "elimination/gauss_jordan_panel.hpp"
#include "elimination/panel_by_columns.hpp"
#include "elimination/pivot_rows.cuh"

#include <algorithm>

namespace echelon {

namespace {

constexpr int warp_size = 32;
/// Columns of a leaf that does not fit into registers.
constexpr std::int64_t leaf_by_columns = 32;

constexpr int most_threads = 1024;  // for panels of 512 columns

/// One block of 2 count threads.
template <class T>
__global__ void __launch_bounds__(most_threads)
    put_back_rows(PivotRange range, const std::int64_t* rows, const T* products, T* x) {
  extern __shared__ std::int64_t taken_rows[];
  const int count = static_cast<int>(range.count());
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) taken_rows[t] = rows[range.first + t];
  __syncthreads();
  const RowExchanges exchanges{range.first, count, taken_rows};
  const std::int64_t from = exchanges.touched(t);
  const std::int64_t to = from < 0 ? -1 : exchanges.place_before(from);
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
        leaf_ranks_(A.device, (block + leaf_width() - 1) / leaf_width()) {}

  /// ranks[1] becomes the rank after columns [begin, end); ranks[0] is that before them.
  void factor(std::int64_t begin, std::int64_t end, std::int64_t* ranks) {
    const std::int64_t* before = ranks;
    for (std::int64_t leaf = begin; leaf < end; leaf += leaf_width()) {
      const std::int64_t next = std::min(leaf + leaf_width(), end);
      std::int64_t* const after =
          next == end ? ranks + 1 : leaf_ranks_.data() + (leaf - begin) / leaf_width();
      factor_one_leaf(leaf, next, after);
      apply(lane_, leaf, next, before, after, {A_, begin, leaf, next, end}, scratch_);
      before = after;
    }
  }

  /// Applies the panel [begin, end) to X.
  void apply(const Lane& lane, std::int64_t begin, std::int64_t end, const std::int64_t* before,
             const std::int64_t* after, const ColumnsAround<T>& X, PanelScratch<T>& scratch) const {
    apply_panel<T>(lane, column_range(A_, begin, end),
                   {{}, before, after, pivots_.rows, pivots_.columns, begin, static_cast<int>(end - begin)},
                   X, scratch.rows.data());
  }

 private:
  [[nodiscard]] std::int64_t leaf_width() const {
    return leaves_.kernel != nullptr ? leaves_.width : leaf_by_columns;
  }

  void factor_one_leaf(std::int64_t begin, std::int64_t end, std::int64_t* rank_after) {
    if (leaves_.kernel == nullptr) {
      factor_by_columns(lane_.backend, A_, begin, end, tolerance_, state_, pivots_, scratch_);
      lane_.backend.copy(1, &state_->rank, rank_after);
      return;
    }
    factor_leaf(lane_.backend, leaves_,
                {A_.column(begin), A_.leading, static_cast<int>(A_.rows), static_cast<int>(end - begin),
                 begin, static_cast<double>(tolerance_), state_, pivots_, rank_after},
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
  const Lane main{backend, stream()};
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
      panels.apply(side.lane(), begin, end, ranks, ranks + 1, {A, end, end, end, next_end}, side_scratch);
      panels.factor(end, next_end, ranks + 1);
      side.mark_side();
    }
    panels.apply(main, begin, end, ranks, ranks + 1, {A, both_sides ? 0 : begin, begin, next_end, A.columns},
                 scratch);
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
  const Lane lane{backend, stream()};
  Panels<T> panels(lane, A, block, tolerance, state, pivots, scratch, leaves);
  for (std::int64_t begin = 0; begin < A.columns; begin += block, ++ranks) {
    const std::int64_t end = std::min(begin + block, A.columns);
    panels.factor(begin, end, ranks);
    panels.apply(lane, begin, end, ranks, ranks + 1, {A, both_sides ? 0 : begin, begin, end, A.columns},
                 scratch);
  }
}

template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  take_rows<T>({backend, stream()}, {X, 0, 0, 0, X.columns},
               {range, nullptr, nullptr, rows, nullptr, 0, static_cast<int>(range.count())}, W);
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

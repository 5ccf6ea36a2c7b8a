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
/// Columns of a leaf that does not fit into a cluster.
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

constexpr int threads_for_places = 256;

/// sources[j] = the column that comes to be column j when columns k and rows[k] change places for k = n - 1,
/// ..., 0; or j itself, unless the rank is n. A thread for each.
__global__ void __launch_bounds__(threads_for_places)
    find_sources(std::int64_t n, const std::int64_t* rows, const EliminationState* state, int* sources) {
  constexpr int stage = 1024;
  __shared__ int staged[stage];
  const int j = static_cast<int>(blockIdx.x) * threads_for_places + static_cast<int>(threadIdx.x);
  int at = j;
  for (int last = state->rank < n ? 0 : static_cast<int>(n); last > 0; last -= stage) {
    const int first = max(last - stage, 0);
    __syncthreads();
    for (int k = first + static_cast<int>(threadIdx.x); k < last; k += threads_for_places) {
      staged[k - first] = static_cast<int>(rows[k]);
    }
    __syncthreads();
#pragma unroll 8
    for (int k = last - 1; k >= first; --k) {
      const int row = staged[k - first];
      at = at == row ? k : (at == k ? row : at);
    }
  }
  if (j < n) sources[at] = j;
}

constexpr int threads_of_strip = 128;
constexpr int columns_of_strip = 4;  // of a block; their loads are under way together

/// strip(i, j) = A(i, sources[j]), side by side.
template <class T>
__global__ void __launch_bounds__(threads_of_strip)
    gather_columns(DenseView<const T> A, const int* sources, T* strip) {
  const std::int64_t first = std::int64_t{blockIdx.x} * columns_of_strip;
  for (std::int64_t i = threadIdx.x; i < A.rows; i += threads_of_strip) {
    T element[columns_of_strip];
#pragma unroll
    for (int c = 0; c < columns_of_strip; ++c) {
      const std::int64_t source = sources[min(first + c, A.columns - 1)];
      element[c] = A.data[source * A.leading + i];
    }
#pragma unroll
    for (int c = 0; c < columns_of_strip; ++c) {
      if (first + c < A.columns) strip[(first + c) * A.rows + i] = element[c];
    }
  }
}

/// What a part of a row contributes to a MatrixScan.
struct ScanPart {
  double sum;
  double largest;
  std::int64_t nonfinite;  // column, or FirstIndex::none
};

constexpr int scan_warps = 16;

/// A block for 32 rows, a lane for each, and a share of the columns: warp w takes every 16th from the w-th
/// on. Reads A once.
template <class T>
__global__ void __launch_bounds__(warp_size* scan_warps)
    scan_rows(DenseView<const T> A, std::int64_t share, ScanPart* parts) {
  __shared__ ScanPart found[scan_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const std::int64_t i = std::int64_t{blockIdx.x} * warp_size + lane;
  const std::int64_t begin = share * blockIdx.y;
  const std::int64_t end = min(begin + share, A.columns);
  ScanPart part{0, 0, FirstIndex::none};
#pragma unroll 8
  for (std::int64_t j = begin + warp; j < end; j += scan_warps) {
    const double magnitude = i < A.rows ? fabs(static_cast<double>(A.data[j * A.leading + i])) : 0.0;
    part.sum += magnitude;
    part.largest = magnitude > part.largest ? magnitude : part.largest;
    if (!(magnitude <= DBL_MAX) && part.nonfinite == FirstIndex::none) part.nonfinite = j;
  }
  found[warp][lane] = part;
  __syncthreads();
  if (warp > 0 || i >= A.rows) return;
  for (int w = 1; w < scan_warps; ++w) {
    const ScanPart other = found[w][lane];
    part.sum += other.sum;
    part.largest = other.largest > part.largest ? other.largest : part.largest;
    part.nonfinite = min(part.nonfinite, other.nonfinite);
  }
  parts[blockIdx.y * A.rows + i] = part;
}

/// `nonfinite` is row * columns + column.
struct ScanOfRows {
  Largest largest;
  Largest norm_inf;
  FirstIndex nonfinite;
  friend ECHELON_ANYWHERE ScanOfRows combine(ScanOfRows a, ScanOfRows b) {
    return {combine(a.largest, b.largest), combine(a.norm_inf, b.norm_inf),
            combine(a.nonfinite, b.nonfinite)};
  }
};

struct CombineRow {
  std::int64_t rows, columns;
  unsigned shares;
  const ScanPart* parts;
  double* row_sums;
  ECHELON_ANYWHERE ScanOfRows operator()(std::int64_t i) const {
    ScanPart row = parts[i];
    for (unsigned s = 1; s < shares; ++s) {
      const ScanPart part = parts[s * rows + i];
      row.sum += part.sum;
      row.largest = part.largest > row.largest ? part.largest : row.largest;
      row.nonfinite = part.nonfinite < row.nonfinite ? part.nonfinite : row.nonfinite;
    }
    row_sums[i] = row.sum;
    const bool finite = row.nonfinite == FirstIndex::none;
    return {{row.largest}, {row.sum}, {finite ? FirstIndex::none : i * columns + row.nonfinite}};
  }
};

struct StoreScan {
  std::int64_t columns;
  MatrixScan* result;
  ECHELON_ANYWHERE void operator()(ScanOfRows found) const {
    const bool finite = found.nonfinite.value == FirstIndex::none;
    *result = {found.largest.value, found.norm_inf.value, finite ? -1 : found.nonfinite.value / columns,
               finite ? -1 : found.nonfinite.value % columns};
  }
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
    factor_leaves({begin, end, ranks}, 0, (end - begin + leaf_width() - 1) / leaf_width());
  }

  /// Applies the panel [begin, end) to X.
  void apply(const Lane& lane, std::int64_t begin, std::int64_t end, const std::int64_t* before,
             const std::int64_t* after, const ColumnsAround<T>& X, PanelScratch<T>& scratch) const {
    apply_panel<T>(lane, column_range(A_, begin, end),
                   {{}, before, after, pivots_.rows, pivots_.columns, begin, static_cast<int>(end - begin)},
                   X, scratch.rows.data());
  }

 private:
  struct Cut {
    std::int64_t begin, end;
    std::int64_t* ranks;
  };

  [[nodiscard]] std::int64_t leaf_width() const {
    return leaves_.kernel != nullptr ? leaves_.width : leaf_by_columns;
  }
  /// Where the leaf with this number begins, and the rank before it.
  [[nodiscard]] std::int64_t column(const Cut& panel, std::int64_t leaf) const {
    return std::min(panel.begin + leaf * leaf_width(), panel.end);
  }
  [[nodiscard]] std::int64_t* rank_before(const Cut& panel, std::int64_t leaf) {
    if (leaf == 0) return panel.ranks;
    return column(panel, leaf) == panel.end ? panel.ranks + 1 : leaf_ranks_.data() + leaf - 1;
  }

  /// The left half, applied to the right half; the right half, applied to the left one.
  void factor_leaves(const Cut& panel, std::int64_t first, std::int64_t last) {
    if (last - first == 1) {
      factor_one_leaf(column(panel, first), column(panel, last), rank_before(panel, last));
      return;
    }
    const std::int64_t middle = first + (last - first + 1) / 2;
    factor_leaves(panel, first, middle);
    apply_leaves(panel, first, middle, column(panel, middle), column(panel, last));
    factor_leaves(panel, middle, last);
    apply_leaves(panel, middle, last, column(panel, first), column(panel, middle));
  }

  /// To the columns [begin, end).
  void apply_leaves(const Cut& panel, std::int64_t first, std::int64_t last, std::int64_t begin,
                    std::int64_t end) {
    apply(lane_, column(panel, first), column(panel, last), rank_before(panel, first),
          rank_before(panel, last), {A_, begin, end, end, end}, scratch_);
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
  constexpr std::int64_t small = 4096;  // so far the panels take longer than the multiplications
  const bool panels_decide = A.columns <= small;
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
      if (panels_decide) {  // they get the whole GPU to be brought up to date
        side.mark_side();
        side.main_waits_for_side();
      }
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

/// n^2 steps of a comparison, and A read and written twice, once of these in the second-level cache.
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state) {
  constexpr std::int64_t strip_bytes = std::int64_t{1} << 24;  // stays in the cache
  const std::int64_t n = A.columns;
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t strip_rows =
      std::min(A.rows, std::max<std::int64_t>(strip_bytes / (n * size) / warp_size, 1) * warp_size);
  Array<int> sources(A.device, n);
  Array<T> strip(A.device, strip_rows * n);
  const auto shares = [](std::int64_t count, int share) {
    return static_cast<unsigned>((count + share - 1) / share);
  };
  find_sources<<<shares(n, threads_for_places), threads_for_places, 0, stream()>>>(n, rows, state,
                                                                                   sources.data());
  check(cudaGetLastError());
  for (std::int64_t begin = 0; begin < A.rows; begin += strip_rows) {
    const std::int64_t count = std::min(strip_rows, A.rows - begin);
    gather_columns<T><<<shares(n, columns_of_strip), threads_of_strip, 0, stream()>>>(
        {A.data + begin, count, n, A.leading, A.device}, sources.data(), strip.data());
    check(cudaGetLastError());
    const auto width = static_cast<std::size_t>(count * size);
    check(cudaMemcpy2DAsync(A.data + begin, static_cast<std::size_t>(A.leading * size), strip.data(), width,
                            width, static_cast<std::size_t>(n), cudaMemcpyDeviceToDevice, stream()));
  }
}

template <class T>
void scan(Cuda& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  if (A.rows == 0) {
    backend.fill(1, MatrixScan{}, result);
    return;
  }
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t enough_blocks = 512;
  const std::int64_t row_blocks = (A.rows + warp_size - 1) / warp_size;
  const std::int64_t most_shares = std::max<std::int64_t>(A.columns / (2 * scan_warps), 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(enough_blocks / row_blocks, 1, most_shares);
  const std::int64_t share = std::max<std::int64_t>((A.columns + wanted - 1) / wanted, 1);
  const auto shares = static_cast<unsigned>(std::max<std::int64_t>((A.columns + share - 1) / share, 1));
  Array<ScanPart> parts(A.device, A.rows * shares);
  scan_rows<<<dim3(static_cast<unsigned>(row_blocks), shares), warp_size * scan_warps, 0, stream()>>>(
      A, share, parts.data());
  check(cudaGetLastError());
  backend.reduce(A.rows, CombineRow{A.rows, A.columns, shares, parts.data(), row_sums},
                 StoreScan{A.columns, result});
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
template void put_back_columns(Cuda&, DenseView<float>, const std::int64_t*, const EliminationState*);
template void put_back_columns(Cuda&, DenseView<double>, const std::int64_t*, const EliminationState*);
template void scan(Cuda&, DenseView<const float>, double*, MatrixScan*);
template void scan(Cuda&, DenseView<const double>, double*, MatrixScan*);

}  // namespace echelon

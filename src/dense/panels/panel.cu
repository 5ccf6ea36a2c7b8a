// SPDX-License-Identifier: BSD-3-Clause
// The steps of Gauss-Jordan elimination on a GPU.
#include "dense/panels/column_by_column.hpp"
#include "dense/panels/workspace.cuh"
#include "dense/panels/panel.hpp"
#include "dense/panels/row_exchange.cuh"

#include <algorithm>

namespace echelon {

namespace {

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

/// A thread for each row, which goes back from the place where it ends.
__global__ void __launch_bounds__(threads_for_places)
    follow_rows(std::int64_t n, const std::int64_t* rows, std::int64_t least_rank,
                const EliminationState* state, int* places) {
  constexpr int stage = 1024;
  __shared__ int staged[stage];
  const int j = static_cast<int>(blockIdx.x) * threads_for_places + static_cast<int>(threadIdx.x);
  int at = j;
  const int rank = static_cast<int>(state->rank);
  for (int last = rank < least_rank ? 0 : rank; last > 0; last -= stage) {
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
  if (j < n) places[at] = j;
}

constexpr int threads_of_strip = 128;
constexpr int columns_of_strip = 4;  // of a block; their loads are under way together

/// strip(i, j) = A(i, sources[j]), side by side.
template <class T>
__global__ void __launch_bounds__(threads_of_strip)
    gather_columns(DenseView<const T> A, const int* sources, T* strip) {
  const std::int64_t first = std::int64_t{blockIdx.x} * columns_of_strip;
  for (std::int64_t i = threadIdx.x; i < A.rows(); i += threads_of_strip) {
    T element[columns_of_strip];
#pragma unroll
    for (int c = 0; c < columns_of_strip; ++c) {
      const std::int64_t source = sources[min(first + c, A.columns() - 1)];
      element[c] = A.data()[source * A.leading() + i];
    }
#pragma unroll
    for (int c = 0; c < columns_of_strip; ++c) {
      if (first + c < A.columns()) strip[(first + c) * A.rows() + i] = element[c];
    }
  }
}

/// A = strip, side by side.
template <class T>
__global__ void __launch_bounds__(threads_of_strip) put_back_strip(const T* strip, DenseView<T> A) {
  const std::int64_t first = std::int64_t{blockIdx.x} * columns_of_strip;
#pragma unroll 2
  for (std::int64_t i = threadIdx.x; i < A.rows(); i += threads_of_strip) {
#pragma unroll
    for (int c = 0; c < columns_of_strip; ++c) {
      if (first + c < A.columns())
        A.data()[(first + c) * A.leading() + i] = strip[(first + c) * A.rows() + i];
    }
  }
}

/// Cuts panels into leaves, and applies the leaves to each other.
template <class T>
class Panels {
 public:
  Panels(const Lane& lane, DenseView<T> A, std::int64_t block, EliminationState* state,
         const PivotList<T>& pivots, PanelScratch<T>& scratch, const LeafPlan<T>& leaves)
      : lane_(lane),
        A_(A),
        state_(state),
        pivots_(pivots),
        scratch_(scratch),
        leaves_(leaves),
        leaf_ranks_(A.device(), (block + leaf_width() - 1) / leaf_width()) {}

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
      factor_by_columns(lane_.backend, A_, begin, end, state_, pivots_, scratch_);
      lane_.backend.copy(1, &state_->rank, rank_after);
      return;
    }
    factor_leaf(lane_.backend, leaves_,
                {A_.column(begin), A_.leading(), static_cast<int>(A_.rows()), static_cast<int>(end - begin),
                 begin, state_, pivots_, rank_after},
                lane_.on);
  }

  Lane lane_;
  DenseView<T> A_;
  EliminationState* state_;
  PivotList<T> pivots_;
  PanelScratch<T>& scratch_;
  LeafPlan<T> leaves_;
  Array<std::int64_t> leaf_ranks_;
};

/// Takes as long as a launch: the next kernel on another stream comes before what follows this one.
__global__ void give_way() {}

/// The next panel is brought up to date and factored beside the large multiplication with this one.
template <class T>
void eliminate_looking_ahead(Cuda& backend, DenseView<T> A, std::int64_t block, bool both_sides,
                             EliminationState* state, std::int64_t* ranks, const PivotList<T>& pivots,
                             PanelScratch<T>& scratch, const LeafPlan<T>& leaves, SideStream& side,
                             FloatProducts products) {
  constexpr std::int64_t small = 4096;  // so far the panels take longer than the multiplications
  const bool panels_decide = A.columns() <= small;
  const Lane main{backend, stream(), products};
  PanelScratch<T> side_scratch{Array<T>(A.device(), block * block), {}};
  Panels<T> panels(side.lane(), A, block, state, pivots, side_scratch, leaves);
  side.mark_main();
  side.wait_for_main();
  panels.factor(0, std::min(block, A.columns()), ranks);
  side.mark_side();
  for (std::int64_t begin = 0; begin < A.columns(); begin += block, ++ranks) {
    const std::int64_t end = std::min(begin + block, A.columns());
    const std::int64_t next_end = std::min(end + block, A.columns());
    side.main_waits_for_side();
    if (next_end > end) {
      side.wait_for_main();
      panels.apply(side.lane(), begin, end, ranks, ranks + 1, {A, end, end, end, next_end}, side_scratch);
      if (panels_decide) {  // they get the whole GPU to be brought up to date, and then what they need of it
        side.mark_side();
        side.main_waits_for_side();
        give_way<<<1, 1, 0, stream()>>>();
        check(cudaGetLastError());
      }
      panels.factor(end, next_end, ranks + 1);
      side.mark_side();
    }
    panels.apply(main, begin, end, ranks, ranks + 1,
                 {A, both_sides ? 0 : begin, begin, next_end, A.columns()}, scratch);
    side.mark_main();
  }
}

}  // namespace

template <class T>
std::int64_t fastest_panel(const Cuda& backend, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t small = 512;  // nothing to multiply worth speaking of
  constexpr std::int64_t narrowest = 64;
  constexpr std::int64_t wide = 256;
  const std::int64_t n = std::max(rows, columns);
  if (n <= small) return wide;
  const auto share = [=](std::int64_t of, std::int64_t most) {
    return std::clamp(n / of / warp_size * warp_size, narrowest, most);
  };
  const auto leaf = [&](std::int64_t width) { return plan_leaves<T>(backend, rows, width, {}).width; };
  const std::int64_t one_leaf = share(24, wide);
  if (leaf(one_leaf) == one_leaf) return one_leaf;
  const std::int64_t widest_leaf = leaf(wide);
  return widest_leaf >= narrowest && one_leaf < 2 * widest_leaf ? widest_leaf : share(32, widest_panel);
}

template <class T>
void factor_panel(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch) {
  if (A.rows() == 0 || begin == end) return;
  Array<std::int64_t> ranks(A.device(), 2);
  backend.copy(1, &state->rank, ranks.data());
  const LeafPlan<T> leaves = plan_leaves<T>(backend, A.rows(), end - begin, {});
  Panels<T>({backend, stream()}, A, end - begin, state, pivots, scratch, leaves)
      .factor(begin, end, ranks.data());
}

template <class T>
void eliminate(Cuda& backend, DenseView<T> A, std::int64_t block, bool both_sides, EliminationState* state,
               std::int64_t* ranks, const PivotList<T>& pivots, PanelScratch<T>& scratch,
               const PanelTuning& tuning, SideStream* side, FloatProducts products) {
  if (A.rows() == 0 || A.columns() == 0) return;
  const LeafPlan<T> leaves = plan_leaves<T>(backend, A.rows(), std::min(block, A.columns()), tuning);
  if (side != nullptr && leaves.kernel != nullptr && A.columns() > block) {
    eliminate_looking_ahead(backend, A, block, both_sides, state, ranks, pivots, scratch, leaves, *side,
                            products);
    return;
  }
  const Lane lane{backend, stream(), products};
  Panels<T> panels(lane, A, block, state, pivots, scratch, leaves);
  for (std::int64_t begin = 0; begin < A.columns(); begin += block, ++ranks) {
    const std::int64_t end = std::min(begin + block, A.columns());
    panels.factor(begin, end, ranks);
    panels.apply(lane, begin, end, ranks, ranks + 1, {A, both_sides ? 0 : begin, begin, end, A.columns()},
                 scratch);
  }
}

template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  take_rows<T>({backend, stream()}, {X, 0, 0, 0, X.columns()},
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

void find_places(Cuda& backend, std::int64_t n, const std::int64_t* rows, std::int64_t least_rank,
                 const EliminationState* state, int* places) {
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  const auto blocks = static_cast<unsigned>((n + threads_for_places - 1) / threads_for_places);
  follow_rows<<<blocks, threads_for_places, 0, stream()>>>(n, rows, least_rank, state, places);
  check(cudaGetLastError());
}

/// n^2 steps of a comparison, and A read and written twice, once of these in the second-level cache.
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state) {
  constexpr std::int64_t strip_bytes = std::int64_t{1} << 24;  // stays in the cache
  const std::int64_t n = A.columns();
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t strip_rows =
      std::min(A.rows(), std::max<std::int64_t>(strip_bytes / (n * size) / warp_size, 1) * warp_size);
  Array<int> sources(A.device(), n);  // columns change places back as rows did
  Array<T> strip(A.device(), strip_rows * n);
  find_places(backend, n, rows, n, state, sources.data());
  const auto blocks = static_cast<unsigned>((n + columns_of_strip - 1) / columns_of_strip);
  for (std::int64_t begin = 0; begin < A.rows(); begin += strip_rows) {
    const std::int64_t count = std::min(strip_rows, A.rows() - begin);
    gather_columns<T><<<blocks, threads_of_strip, 0, stream()>>>(
        {A.data() + begin, count, n, A.leading(), A.device()}, sources.data(), strip.data());
    check(cudaGetLastError());
    put_back_strip<T><<<blocks, threads_of_strip, 0, stream()>>>(
        strip.data(), {A.data() + begin, count, n, A.leading(), A.device()});
    check(cudaGetLastError());
  }
}

template std::int64_t fastest_panel<float>(const Cuda&, std::int64_t, std::int64_t);
template std::int64_t fastest_panel<double>(const Cuda&, std::int64_t, std::int64_t);
template void factor_panel(Cuda&, DenseView<float>, std::int64_t, std::int64_t, EliminationState*,
                           const PivotList<float>&, PanelScratch<float>&);
template void factor_panel(Cuda&, DenseView<double>, std::int64_t, std::int64_t, EliminationState*,
                           const PivotList<double>&, PanelScratch<double>&);
template void eliminate(Cuda&, DenseView<float>, std::int64_t, bool, EliminationState*, std::int64_t*,
                        const PivotList<float>&, PanelScratch<float>&, const PanelTuning&, SideStream*,
                        FloatProducts);
template void eliminate(Cuda&, DenseView<double>, std::int64_t, bool, EliminationState*, std::int64_t*,
                        const PivotList<double>&, PanelScratch<double>&, const PanelTuning&, SideStream*,
                        FloatProducts);
template void take_pivot_rows(Cuda&, DenseView<float>, PivotRange, const std::int64_t*, float*);
template void take_pivot_rows(Cuda&, DenseView<double>, PivotRange, const std::int64_t*, double*);
template void put_back_pivot_rows(Cuda&, PivotRange, const std::int64_t*, const float*, float*);
template void put_back_pivot_rows(Cuda&, PivotRange, const std::int64_t*, const double*, double*);
template void put_back_columns(Cuda&, DenseView<float>, const std::int64_t*, const EliminationState*);
template void put_back_columns(Cuda&, DenseView<double>, const std::int64_t*, const EliminationState*);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// The steps of Gauss-Jordan elimination on a GPU: panels, look-ahead, and exchanges of rows and columns.
#include "dense/panels/leaf.cuh"
#include "dense/panels/panel.hpp"
#include "dense/panels/panel_loops.hpp"
#include "dense/panels/row_exchange.cuh"
#include "dense/panels/workspace.cuh"

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

/// Columns of a leaf that does not fit into a cluster.
constexpr std::int64_t leaf_width_by_columns = 32;

constexpr int max_threads = 1024;  // of a block, for panels of 512 columns

/// x at the pivots = products; then the row exchanges are undone. One block of 2 count threads.
template <class T>
__global__ void __launch_bounds__(max_threads)
    put_back_rows(PivotRange range, const std::int64_t* rows, const T* products, T* x) {
  extern __shared__ std::int64_t shared_rows[];
  const int count = static_cast<int>(range.count());
  const int t = static_cast<int>(threadIdx.x);
  if (t < count) shared_rows[t] = rows[range.first + t];
  __syncthreads();
  const RowExchanges exchanges{range.first, count, shared_rows};
  const std::int64_t from = exchanges.touched(t);
  const std::int64_t to = from < 0 ? -1 : exchanges.inverse_destination(from);
  const T moved = t < count ? products[t] : (from < 0 ? T{0} : x[from]);
  __syncthreads();
  if (to >= 0) x[to] = moved;
}

constexpr int threads_for_places = 256;

/// Thread j starts at the final place j and undoes the exchanges, which leads to the row that ends there.
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
constexpr int columns_of_strip = 4;  // of a block, loaded together

/// Copies strip(i, j) = A(i, sources[j]); the columns of the strip are contiguous.
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

/// Copies the strip back to A.
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

/// Factors panels leaf by leaf, and applies leaves and panels to other columns.
template <class T>
class PanelFactorization {
 public:
  PanelFactorization(const StreamContext& context, DenseView<T> A, std::int64_t block,
                     EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace,
                     const LeafPlan<T>& leaves)
      : context_(context),
        A_(A),
        state_(state),
        pivots_(pivots),
        workspace_(workspace),
        leaves_(leaves),
        leaf_ranks_(A.device(), (block + leaf_width() - 1) / leaf_width()) {}

  /// Factors columns [begin, end). ranks[0] is the rank before them; ranks[1] becomes that after them.
  void factor(std::int64_t begin, std::int64_t end, std::int64_t* ranks) {
    factor_leaves({begin, end, ranks}, 0, (end - begin + leaf_width() - 1) / leaf_width());
  }

  /// Applies the panel of columns [begin, end), with the ranks before and after it, to X.
  void apply(const StreamContext& context, std::int64_t begin, std::int64_t end,
             const std::int64_t* rank_before, const std::int64_t* rank_after, const ColumnsExcept<T>& X,
             PanelWorkspace<T>& workspace) const {
    const PivotRows pivots{.rank_before = rank_before,
                           .rank_after = rank_after,
                           .rows = pivots_.rows,
                           .columns = pivots_.columns,
                           .begin = begin,
                           .width = static_cast<int>(end - begin)};
    apply_panel<T>(context, column_range(A_, begin, end), pivots, X, workspace.rows.data());
  }

 private:
  struct Panel {
    std::int64_t begin, end;
    std::int64_t* ranks;
  };

  [[nodiscard]] std::int64_t leaf_width() const {
    return leaves_.kernel != nullptr ? leaves_.width : leaf_width_by_columns;
  }
  /// First column of a leaf.
  [[nodiscard]] std::int64_t column(const Panel& panel, std::int64_t leaf) const {
    return std::min(panel.begin + leaf * leaf_width(), panel.end);
  }
  [[nodiscard]] std::int64_t* rank_before(const Panel& panel, std::int64_t leaf) {
    if (leaf == 0) return panel.ranks;
    return column(panel, leaf) == panel.end ? panel.ranks + 1 : leaf_ranks_.data() + leaf - 1;
  }

  /// Factors leaves [first, last) by halves: the left half is applied to the right one, and vice versa.
  void factor_leaves(const Panel& panel, std::int64_t first, std::int64_t last) {
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

  /// Applies leaves [first, last) to columns [begin, end).
  void apply_leaves(const Panel& panel, std::int64_t first, std::int64_t last, std::int64_t begin,
                    std::int64_t end) {
    apply(context_, column(panel, first), column(panel, last), rank_before(panel, first),
          rank_before(panel, last), columns_of(A_, begin, end), workspace_);
  }

  void factor_one_leaf(std::int64_t begin, std::int64_t end, std::int64_t* rank_after) {
    if (leaves_.kernel == nullptr) {
      factor_by_columns(context_.backend, A_, begin, end, state_, pivots_, workspace_);
      context_.backend.copy(1, &state_->rank, rank_after);
      return;
    }
    const LeafJob<T> job{.a = A_.column(begin),
                         .leading = A_.leading(),
                         .rows = static_cast<int>(A_.rows()),
                         .width = static_cast<int>(end - begin),
                         .begin = begin,
                         .state = state_,
                         .pivots = pivots_,
                         .rank_after = rank_after};
    factor_leaf(context_.backend, leaves_, job, context_.stream);
  }

  StreamContext context_;
  DenseView<T> A_;
  EliminationState* state_;
  PivotList<T> pivots_;
  PanelWorkspace<T>& workspace_;
  LeafPlan<T> leaves_;
  Array<std::int64_t> leaf_ranks_;
};

/// Empty kernel. Delays this stream by one launch so that the look-ahead stream is scheduled first.
__global__ void delay_stream() {}

/// The columns of the other panels: all of them for the inverse, those on the right of `begin` otherwise.
template <class T>
ColumnsExcept<T> columns_around(const PanelElimination<T>& e, std::int64_t begin, std::int64_t end) {
  return {e.A, e.both_sides ? 0 : begin, begin, end, e.A.columns()};
}

/// Panels and multiplications on one stream.
template <class T>
void eliminate_in_order(Cuda& backend, const PanelElimination<T>& e, const LeafPlan<T>& leaves) {
  const StreamContext context{backend, stream(), e.products};
  PanelFactorization<T> panels(context, e.A, e.block, e.state, e.pivots, e.workspace, leaves);
  std::int64_t* ranks = e.ranks;
  for (std::int64_t begin = 0; begin < e.A.columns(); begin += e.block, ++ranks) {
    const std::int64_t end = std::min(begin + e.block, e.A.columns());
    panels.factor(begin, end, ranks);
    panels.apply(context, begin, end, ranks, ranks + 1, columns_around(e, begin, end), e.workspace);
  }
}

/// Eliminates with look-ahead: the next panel is updated and factored during the large multiplication with
/// this one.
template <class T>
void eliminate_with_lookahead(Cuda& backend, const PanelElimination<T>& e, const LeafPlan<T>& leaves) {
  // Up to this size panels take longer than the multiplications. The next panel then gets the whole GPU for
  // its update, and the multiprocessors that it needs before the multiplications start.
  constexpr std::int64_t panels_dominate = 4096;
  const bool panels_first = e.A.columns() <= panels_dominate;
  LookaheadStream& lookahead = *e.lookahead;
  const StreamContext main{backend, stream(), e.products};
  PanelWorkspace<T> lookahead_workspace{Array<T>(e.A.device(), e.block * e.block), {}};
  PanelFactorization<T> panels(lookahead.context(), e.A, e.block, e.state, e.pivots, lookahead_workspace,
                               leaves);
  lookahead.record_main();
  lookahead.wait_for_main();
  panels.factor(0, std::min(e.block, e.A.columns()), e.ranks);
  lookahead.record();
  std::int64_t* ranks = e.ranks;
  for (std::int64_t begin = 0; begin < e.A.columns(); begin += e.block, ++ranks) {
    const std::int64_t end = std::min(begin + e.block, e.A.columns());
    const std::int64_t next_end = std::min(end + e.block, e.A.columns());
    lookahead.make_main_wait();
    if (next_end > end) {
      lookahead.wait_for_main();
      panels.apply(lookahead.context(), begin, end, ranks, ranks + 1, columns_of(e.A, end, next_end),
                   lookahead_workspace);
      if (panels_first) {
        lookahead.record();
        lookahead.make_main_wait();
        delay_stream<<<1, 1, 0, stream()>>>();
        check(cudaGetLastError());
      }
      panels.factor(end, next_end, ranks + 1);
      lookahead.record();
    }
    ColumnsExcept<T> others = columns_around(e, begin, next_end);
    panels.apply(main, begin, end, ranks, ranks + 1, others, e.workspace);
    lookahead.record_main();
  }
}

}  // namespace

template <class T>
std::int64_t select_panel_width(const Cuda& backend, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t small = 512;  // the multiplications take a negligible time
  constexpr std::int64_t min_width = 64;
  constexpr std::int64_t wide = 256;
  const std::int64_t n = std::max(rows, columns);
  if (n <= small) return wide;
  const auto share = [=](std::int64_t divisor, std::int64_t max_width) {
    return std::clamp(n / divisor / warp_size * warp_size, min_width, max_width);
  };
  const auto leaf = [&](std::int64_t width) { return plan_leaves<T>(backend, rows, width, {}).width; };
  const std::int64_t one_leaf = share(24, wide);
  if (leaf(one_leaf) == one_leaf) return one_leaf;
  const std::int64_t widest_leaf = leaf(wide);
  return widest_leaf >= min_width && one_leaf < 2 * widest_leaf ? widest_leaf : share(32, max_panel_width);
}

template <class T>
void factor_panel(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  if (A.rows() == 0 || begin == end) return;
  if constexpr (is_complex<T>) {
    factor_by_columns(backend, A, begin, end, state, pivots, workspace);
  } else {
    Array<std::int64_t> ranks(A.device(), 2);
    backend.copy(1, &state->rank, ranks.data());
    const LeafPlan<T> leaves = plan_leaves<T>(backend, A.rows(), end - begin, {});
    PanelFactorization<T>({backend, stream()}, A, end - begin, state, pivots, workspace, leaves)
        .factor(begin, end, ranks.data());
  }
}

template <class T>
requires(!is_complex<T>) void eliminate_panels(Cuda& backend, const PanelElimination<T>& e) {
  if (e.A.rows() == 0 || e.A.columns() == 0) return;
  const LeafPlan<T> leaves = plan_leaves<T>(backend, e.A.rows(), std::min(e.block, e.A.columns()), e.tuning);
  if (e.lookahead != nullptr && leaves.kernel != nullptr && e.A.columns() > e.block) {
    eliminate_with_lookahead(backend, e, leaves);
  } else {
    eliminate_in_order(backend, e, leaves);
  }
}

template <class T>
void take_pivot_rows(Cuda& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  if constexpr (is_complex<T>) {
    take_pivot_rows_by_columns(backend, X, range, rows, W);
  } else {
    take_rows<T>({backend, stream()}, columns_of(X, 0, X.columns()),
                 {.range = range, .rows = rows, .width = static_cast<int>(range.count())}, W);
  }
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

/// n^2 comparisons; A is read and written twice, the second time through the second-level cache, in strips of
/// rows that fit into it.
template <class T>
void put_back_columns(Cuda& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state) {
  constexpr std::int64_t strip_bytes = std::int64_t{1} << 24;
  const std::int64_t n = A.columns();
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t strip_rows =
      std::min(A.rows(), std::max<std::int64_t>(strip_bytes / (n * size) / warp_size, 1) * warp_size);
  Array<int> sources(A.device(), n);  // exchanges of columns undo those of rows
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

template std::int64_t select_panel_width<float>(const Cuda&, std::int64_t, std::int64_t);
template std::int64_t select_panel_width<double>(const Cuda&, std::int64_t, std::int64_t);
template void eliminate_panels(Cuda&, const PanelElimination<float>&);
template void eliminate_panels(Cuda&, const PanelElimination<double>&);

#define ECHELON_INSTANTIATE(T)                                                                   \
  template void factor_panel(Cuda&, DenseView<T>, std::int64_t, std::int64_t, EliminationState*, \
                             const PivotList<T>&, PanelWorkspace<T>&);                           \
  template void take_pivot_rows(Cuda&, DenseView<T>, PivotRange, const std::int64_t*, T*);       \
  template void put_back_pivot_rows(Cuda&, PivotRange, const std::int64_t*, const T*, T*);       \
  template void put_back_columns(Cuda&, DenseView<T>, const std::int64_t*, const EliminationState*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

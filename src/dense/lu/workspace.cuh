// SPDX-License-Identifier: BSD-3-Clause
/// Streams, memory and plans of LU factorisations on a GPU.
#pragma once

#include "backend/backend.hpp"
#include "backend/cuda/grid.cuh"
#include "dense/lu/factorization.hpp"
#include "dense/panels/leaf.cuh"
#include "dense/panels/workspace.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace echelon::lu {

/// Division of a matrix into panels. 0: selected by the matrix and the GPU.
struct Tuning {
  std::int64_t panel_columns = 0;
  PanelTuning panel = {};
  bool clusters = true;  ///< leaves are in clusters where they fit and the GPU has clusters
  bool lookahead = true;
  bool panels_first = true;  ///< the next panel starts before the concurrent multiplications
  bool left_last = false;    ///< rows on the left of panels are exchanged at the end, once for all panels
};

/// Facts about the factors, as inspect() finds them.
struct Inspection {
  Largest largest = {};        ///< |u_ij|
  FirstIndex zero_pivot = {};  ///< the first zero on the diagonal
  friend ECHELON_ANYWHERE Inspection combine(const Inspection& a, const Inspection& b) {
    return {combine(a.largest, b.largest), combine(a.zero_pivot, b.zero_pivot)};
  }
};

/// Plans of leaves, which take a few microseconds each to make, by height and width.
template <class Job>
class LeafPlans {
 public:
  using Plan = LeafPlan<typename Job::Element, Job>;

  const Plan& find(const Cuda& backend, std::int64_t rows, std::int64_t width, const PanelTuning& tuning) {
    constexpr std::int64_t step = 512;  // 16 blocks of 32 rows
    std::int64_t height = (rows + step - 1) / step * step;
    while (height / 2 >= std::max<std::int64_t>(rows, warp_size)) height /= 2;
    const auto [at, is_new] = plans_.try_emplace({height, width, tuning.leaf_columns, tuning.cluster_blocks});
    if (is_new) at->second = plan_leaves<typename Job::Element, Job>(backend, height, width, tuning);
    return at->second;
  }

 private:
  struct Key {
    std::int64_t height, width;
    int leaf_columns, cluster_blocks;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, Plan> plans_;
};

/// Most columns of a leaf that fits into no cluster.
inline constexpr int max_tall_width = 32;

/// Candidates for the pivot of a column of such a leaf.
struct TallPivot {
  double magnitude = -1;
  std::int64_t row = INT64_MAX;
  /// NaN is above all numbers; the first of equal ones.
  friend ECHELON_ANYWHERE TallPivot combine(const TallPivot& a, const TallPivot& b) {
    const bool a_nan = a.magnitude != a.magnitude;
    const bool b_nan = b.magnitude != b.magnitude;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.magnitude == b.magnitude) return a.row < b.row ? a : b;
    return a.magnitude > b.magnitude ? a : b;
  }
};

/// Memory through which the blocks of such a leaf exchange candidates, for two columns in turn.
template <class T>
struct TallMessages {
  TallPivot* pivots;   ///< of each block
  T* rows;             ///< of these candidates, and the row of the diagonal; max_tall_width elements each
  unsigned* arrivals;  ///< of the grid barrier
};

template <class T>
struct FactorWorkspace<Cuda, T> {
  explicit FactorWorkspace(const Device& device)
      : lookahead(device),
        found(device),
        exchange(device, lu_exchange_size),
        tall_pivots(device, std::int64_t{2} * multiprocessors(device)),
        tall_rows(device, std::int64_t{2} * (multiprocessors(device) + 1) * max_tall_width),
        counters(device, 2) {
    const CurrentDevice current(device.id());
    inversion = make_owned<OwnedStream>(cudaStreamCreateWithFlags, cudaStreamNonBlocking);
    for (OwnedEvent* event : {&factored, &inverted[0], &inverted[1]}) {
      *event = make_owned<OwnedEvent>(cudaEventCreateWithFlags, cudaEventDisableTiming);
    }
    check(cudaMemsetAsync(counters.data(), 0, counters.bytes(), stream()));
  }
  [[nodiscard]] std::size_t bytes() const {
    return exchange.bytes() + permutation.bytes() + inverses.bytes() + leaf_origins.bytes() +
           panel_origins.bytes() + later_origins.bytes() + pivot_rows.bytes() + panel_inverses.bytes() +
           tall_pivots.bytes() + tall_rows.bytes();
  }

  Tuning tuning;
  FloatProducts products = FloatProducts::in_float;  // of panels with the columns on their right
  LookaheadStream lookahead;
  OwnedStream inversion;   // stream for inverses of the diagonal blocks of L
  OwnedEvent factored;     // the last panel that was queued
  OwnedEvent inverted[2];  // its inverses, and those of the panel before
  LeafPlans<LuLeafJob<T>> plans;
  LeafPlans<IteratedLeafJob<T>> iterated_plans;
  PinnedResult<Cuda> found;  // an Inspection
  Array<T> exchange;         // of leaf kernels
  Array<int> permutation;    // row i of P A is row permutation[i] of A
  Array<T> inverses;         // of diagonal blocks, see cuda/substitution.cuh
  Array<int> leaf_origins;   // of the leaf at work
  Array<int> panel_origins;  // of each panel: a column of as many elements as A has rows
  Array<int> later_origins;  // of all panels from each on, for their left columns
  Array<T> pivot_rows;       // of a panel, in the columns on its right
  Array<T> panel_inverses;   // of the diagonal blocks of two panels, and of the look-ahead stream
  Array<TallPivot> tall_pivots;
  Array<T> tall_rows;
  Array<unsigned> counters;  // of the grid barrier of tall leaves; at zero: of inspect()
};

/// Queues a factorisation of a matrix that is not empty, as factor() does, without waiting for the result.
/// `iteration`: the columns of leaves are factored in iterated sections, unless they do not fit into a
/// cluster; null: one after the other.
template <class T>
void queue_factorization(Cuda& backend, FactorWorkspace<Cuda, T>& workspace, DenseView<T> A,
                         std::int64_t* pivots, const SectionIteration<T>* iteration = nullptr);

/// Waits for the last factorisation that was queued.
template <class T>
LuResult wait_for_factors(FactorWorkspace<Cuda, T>& workspace);

}  // namespace echelon::lu

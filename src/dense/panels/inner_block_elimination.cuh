// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of an inner block of columns in registers: members of ClusterPanel.
#pragma once

#include "backend/cuda/mbarrier.cuh"
#include "dense/panels/cluster_panel.cuh"
#include "dense/panels/pivot_selection.cuh"

#include <cfloat>

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::eliminate_inner_block(int begin) {
  const int columns = min(inner_block, job_.width - begin);
#pragma unroll
  for (int c = 0; c < inner_block; ++c) {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) element_[d][c] = panel_[(begin + c) * leading_ + local(d)];
  }
  accepted_ = 0;
  overflowed_ = false;
  find_candidates();
  int c = 0;
  do {
    publish_candidate();
    eliminate_column(begin, c);
    find_candidates();
    ++c;
  } while (c < columns && rank_ < job_.rows && !overflowed_);
  if constexpr (!is_lu) {
#pragma unroll
    for (int e = 0; e < inner_block; ++e) {
      const int column = begin + (e + c) % inner_block;
#pragma unroll
      for (int d = 0; d < rows_per_thread; ++d) panel_[column * leading_ + local(d)] = element_[d][e];
    }
  }
  if (threadIdx.x == 0) {
    shared_.accepted = accepted_;
    shared_.eliminated_columns = c;
    shared_.overflow = overflowed_;
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::find_candidates() {
  best_row_ = no_row;
  best_index_ = 0;
  best_magnitude_ = 0;
  T pivot = 0;
  std::uint32_t above = 0;
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
    const T x = element_[d][0];
    const int place = place_[d];
    const bool eligible = place >= rank_ && (!is_lu || place != no_row);
    const std::uint64_t bits = magnitude_bits(x);
    if (!is_lu && !eligible) above = max(above, upper_half(bits));
    if (eligible && (d == 0 || bits > best_magnitude_ || (bits == best_magnitude_ && place < best_row_))) {
      best_magnitude_ = bits;
      best_row_ = place;
      pivot = x;
      best_index_ = d;
    }
  }
  warp_upper_ = __reduce_max_sync(full_warp, upper_half(best_magnitude_));
  warp_above_ = is_lu ? 0U : __reduce_max_sync(full_warp, above);
  best_pivot_ = pivot;
  best_factor_ = reciprocal(-pivot);
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::eliminate_column(int begin, int c) {
  if constexpr (!single_block) {
    mbarrier::wait(&shared_.barriers[slot_], phase_);
    if (threadIdx.x == 0) mbarrier::expect_bytes(&shared_.barriers[slot_], message_bytes());
  }
  const auto& list = [&]() -> const auto& {
    if constexpr (single_block) {
      return shared_.candidates[slot_];
    } else {
      return shared_.messages[slot_];
    }
  }
  ();
  const SelectedPivot selected = select_pivot<T, !is_lu>(list.pivots, candidate_count_);
  const T* best = list.rows[selected.index];
  const PivotCandidate<T> pivot = list.pivots[selected.index];
  slot_ ^= 1U;
  phase_ ^= slot_ == 0 ? 1U : 0U;
  const T factor = best[0];
  T w[inner_block];
#pragma unroll
  for (int e = 1; e < inner_block; ++e) w[e] = best[e];
  if (block_ == 0 && threadIdx.x == 0) {
    shared_.selected[c] = make_candidate(pivot.pivot, pivot.row, selected.above);
  }
  T g[rows_per_thread];
  T last[rows_per_thread];
  bool accept = true;
  if constexpr (is_lu) {
    divide_below(pivot, factor, has_reciprocal<T>(selected.upper), g, last);
  } else {
    accept = divide_all(pivot, selected, factor, g, last);
  }
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
    if (place_[d] == pivot.row && accept) {
      shared_.pivot_rows[c] = local(d);
#pragma unroll
      for (int e = 1; e < inner_block; ++e) element_[d][e] = is_lu ? element_[d][e] : T{0};
    }
    const int place = place_[d] == pivot.row ? rank_ : (place_[d] == rank_ ? pivot.row : place_[d]);
    if (accept) place_[d] = place;
  }
#pragma unroll
  for (int e = 1; e < inner_block; ++e) {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) element_[d][e - 1] = element_[d][e] + g[d] * w[e];
  }
  T* const column = panel_ + (begin + c) * leading_;
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
    if constexpr (is_lu) column[local(d)] = last[d];
    element_[d][inner_block - 1] = is_lu ? T{0} : last[d];
  }
  accepted_ |= (accept ? 1U : 0U) << static_cast<unsigned>(c);
  rank_ += accept ? 1 : 0;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ bool ClusterPanel<Job, rows_per_thread, single_block>::divide_all(const PivotCandidate<T>& pivot,
                                                                             const SelectedPivot& selected,
                                                                             T factor,
                                                                             T (&g)[rows_per_thread],
                                                                             T (&last)[rows_per_thread]) {
  const auto above = static_cast<double>(magnitude_from<T>(std::uint64_t{selected.above} << 32U));
  constexpr std::uint32_t one = sizeof(T) == 8 ? 0x3ff00000U : 0x3f800000U;
  const double limit = tolerance_ * (selected.above > one ? above : 1.0);
  const double magnitude = fabs(static_cast<double>(pivot.pivot));
  const bool ordinary =
      has_reciprocal<T>(selected.upper) && has_no_overflow(selected.above) && magnitude > limit;
  bool accept = true;
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) last[d] = g[d] = element_[d][0] * factor;
  T own = -factor;
  if (!ordinary) {
    overflowed_ = !(magnitude + above <= DBL_MAX);
    accept = !overflowed_ && magnitude > limit;
    own = T{1} / pivot.pivot;
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      g[d] = accept ? -element_[d][0] / pivot.pivot : T{0};
      last[d] = accept ? g[d] : (place_[d] >= rank_ ? T{0} : element_[d][0]);
    }
  }
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
    if (place_[d] == pivot.row && accept) last[d] = g[d] = own;
  }
  return accept;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::divide_below(const PivotCandidate<T>& pivot,
                                                                               T factor, bool has_factor,
                                                                               T (&g)[rows_per_thread],
                                                                               T (&last)[rows_per_thread]) {
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
    const T x = element_[d][0];
    const bool below = place_[d] >= rank_ && place_[d] != pivot.row;
    g[d] = below ? x * factor : T{0};
    if (!has_factor) g[d] = below && x != 0 ? -x / pivot.pivot : T{0};
    last[d] = below ? -g[d] : x;
  }
}

#endif

}  // namespace echelon::panel_kernels

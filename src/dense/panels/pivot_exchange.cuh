// SPDX-License-Identifier: BSD-3-Clause
/// Exchange of pivots and pivot rows between the blocks of a cluster: members of ClusterPanel.
#pragma once

#include "backend/cuda/mbarrier.cuh"
#include "dense/panels/cluster_panel.cuh"
#include "dense/panels/pivot_selection.cuh"

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Barrier for the first `count` threads of the block, the pivot warps.
__device__ inline void sync_pivot_warps(int count) {
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::plan_messages() {
  const std::uint32_t base = mbarrier::shared_address(&shared_);
  const int senders = every_warp_sends_ ? 1 : pivot_threads_ / warp_size;
  const int sender = every_warp_sends_ ? 0 : warp_;
  sends_pivot_ = sender == 0 && lane_ < blocks_;
  pivot_offset_ = mbarrier::map_to_block(base, sends_pivot_ ? lane_ : 0) - base;
#pragma unroll
  for (int i = 0; i < sending_rounds; ++i) {
    const int block = (i * warp_size + lane_) / SharedPanel<T>::chunks;
    const bool sends = i % senders == sender && block < blocks_;
    row_rounds_ |= (sends ? 1U : 0U) << static_cast<unsigned>(i);
    row_offset_[i] = mbarrier::map_to_block(base, sends ? block : 0) - base;
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::init_barriers() {
  for (std::uint64_t& barrier : shared_.barriers) {
    mbarrier::init(&barrier);
    mbarrier::expect_bytes(&barrier, message_bytes());
  }
  mbarrier::fence_init();
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::publish_candidate() {
  store_candidate();
  if constexpr (single_block) {
    sync_pivot_warps(pivot_threads_);
  } else {
    send_candidate();
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::store_candidate() {
  CandidateList<T, warps>& candidates = shared_.candidates[slot_];
  const unsigned best_lane = best_lanes(best_magnitude_, best_row_, warp_upper_);
  if ((best_lane >> static_cast<unsigned>(lane_) & 1U) != 0) {
    candidates.pivots[warp_] = make_candidate(best_pivot_, best_row_, warp_above_);
    T* row = candidates.rows[warp_];
    row[0] = best_factor_;
#pragma unroll
    for (int c = 1; c < inner_block; ++c) {
      T element = element_[0][c];
#pragma unroll
      for (int d = 1; d < rows_per_thread; ++d) {
        const T other = element_[d][c];  // an unconditional read keeps element_ in registers
        element = d == best_index_ ? other : element;
      }
      row[c] = element;
    }
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::send_candidate() {
  const CandidateList<T, warps>& candidates = shared_.candidates[slot_];
  int best = warp_;
  std::uint32_t above = warp_above_;
  if (every_warp_sends_) {
    __syncwarp();
  } else {
    sync_pivot_warps(pivot_threads_);
    const SelectedPivot selected = select_pivot<T, !is_lu>(candidates.pivots, pivot_threads_ / warp_size);
    best = selected.index;
    above = selected.above;
  }
  constexpr int chunks = SharedPanel<T>::chunks;
  CandidateList<T, max_candidates>& message = shared_.messages[slot_];
  const std::uint32_t barrier = mbarrier::shared_address(&shared_.barriers[slot_]);
  const std::uint32_t row =
      mbarrier::shared_address(message.rows[own_candidate_]) + static_cast<unsigned>(lane_ % chunks) * 16U;
  const Chunk part = reinterpret_cast<const Chunk*>(candidates.rows[best])[lane_ % chunks];
  PivotCandidate<T> pivot = candidates.pivots[best];
  pivot.above = above;
  Chunk packed;
  memcpy(&packed, &pivot, sizeof pivot);
  mbarrier::store_if(sends_pivot_, packed,
                     mbarrier::shared_address(&message.pivots[own_candidate_]) + pivot_offset_,
                     barrier + pivot_offset_);
#pragma unroll
  for (int i = 0; i < sending_rounds; ++i) {
    mbarrier::store_if((row_rounds_ >> static_cast<unsigned>(i) & 1U) != 0, part, row + row_offset_[i],
                       barrier + row_offset_[i]);
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::exchange_pivot_rows(
    int begin, std::uint32_t accepted) {
  const int p = static_cast<int>(threadIdx.x) % inner_block;
  const int first = static_cast<int>(threadIdx.x) / inner_block;
  constexpr int step = threads / inner_block;
  T* const through = job_.a + __popc(accepted & ((1U << static_cast<unsigned>(p)) - 1));
  const int row = shared_.pivot_rows[p];
  if (row >= 0) {
    for (int column = first; column < job_.width; column += step) {
      if (column >= begin && column < begin + inner_block) continue;
      T* element = panel_ + column * leading_ + row;
      __stcg(through + column * job_.leading, *element);
      *element = T{0};
    }
  }
  cluster::sync();
  const bool has_pivot = (accepted >> static_cast<unsigned>(p) & 1U) != 0;
#pragma unroll 8
  for (int column = first; column < columns_; column += step) {
    W_[column * padded_inner_block + p] =
        has_pivot && column < job_.width ? __ldcg(through + column * job_.leading) : T{0};
  }
  __syncthreads();
}

// Rows are contiguous in the workspace, which is used alternately by two inner blocks.
template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::send_pivot_rows(int begin) {
  T* const through = job_.exchange + begin / inner_block % 2 * columns_ * inner_block;
#pragma unroll 4
  for (int p = 0; p < inner_block; ++p) {
    const int row = shared_.pivot_rows[p];
    if (row < 0) continue;
    for (int column = static_cast<int>(threadIdx.x); column < columns_; column += threads) {
      T* const element = panel_ + column * leading_ + row;
      const T value = *element;
      if (column < begin + inner_block) job_.a[column * job_.leading + begin + p] = value;
      if (column >= begin) {
        __stcg(through + p * columns_ + column, value);
        *element = T{0};
      }
    }
  }
  cluster::sync();
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::solve_next_inner_block(int begin) {
  const T* const through = job_.exchange + begin / inner_block % 2 * columns_ * inner_block;
  const int p = static_cast<int>(threadIdx.x) / inner_block;
  const int column = begin + static_cast<int>(threadIdx.x) % inner_block;
  const T l = __ldcg(through + p * columns_ + column);
  const T w = __ldcg(through + p * columns_ + column + inner_block);
  W_[column * padded_inner_block + p] = l;  // the columns of the inner block are not needed in W
  W_[(column + inner_block) * padded_inner_block + p] = w;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < inner_block) {
    T u[inner_block];
#pragma unroll
    for (int i = 0; i < inner_block; ++i) u[i] = W_[(column + inner_block) * padded_inner_block + i];
    solve_column(begin, column + inner_block, u);
  }
  __syncthreads();
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::solve_other_columns(int begin,
                                                                                      int first_warp) {
  const T* const through = job_.exchange + begin / inner_block % 2 * columns_ * inner_block;
  const int count = threads - first_warp * warp_size;
  for (int column = begin + 2 * inner_block + static_cast<int>(threadIdx.x) - first_warp * warp_size;
       column < columns_; column += count) {
    T u[inner_block];
#pragma unroll
    for (int i = 0; i < inner_block; ++i) u[i] = __ldcg(through + i * columns_ + column);
    solve_column(begin, column, u);
  }
  asm volatile("bar.sync 2, %0;" ::"r"(count) : "memory");
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::solve_column(int begin, int column,
                                                                               T (&u)[inner_block]) {
  const T* const L = W_ + begin * padded_inner_block;
#pragma unroll
  for (int k = 0; k < inner_block; ++k) {
#pragma unroll
    for (int i = k + 1; i < inner_block; ++i) u[i] -= L[k * padded_inner_block + i] * u[k];
  }
  const bool stores = column < job_.width && column % blocks_ == block_;
  T* const stored = job_.a + column * job_.leading + begin;
#pragma unroll
  for (int i = 0; i < inner_block; ++i) {
    W_[column * padded_inner_block + i] = -u[i];
    if (stores) stored[i] = u[i];
  }
}

#endif

}  // namespace echelon::panel_kernels

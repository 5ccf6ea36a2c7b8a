// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a leaf (getf2) in the shared memory of one cluster of thread blocks.
///
/// Each column depends on the pivot of the preceding one, so the time of a column is the latency until all
/// blocks have agreed on a pivot and have its row. The leaf is therefore read once, stays in the shared
/// memory of up to 16 multiprocessors that write to each other's shared memory, and is written once:
///
///   a block holds          an equal share of the rows, of all columns, in shared memory;
///   its pivot warps hold   16 columns of it, an inner block, in registers: `rows_per_thread` rows for each
///   thread.
///
/// Within an inner block, one column is eliminated after the other. Each block finds its largest element and
/// sends it to all blocks together with its row of the inner block, in one message that completes a barrier
/// in the receiver's shared memory. The latency of a column is that of one message in one direction: every
/// block selects the same pivot from the same messages, and has its row already. With 32 warps in the cluster
/// or fewer, each warp sends its own candidate. A single block sends nothing: its warps read each other's
/// candidates.
///
/// The other columns are updated an inner block at a time: the pivot rows are exchanged through the global
/// memory of the leaf, the next inner block is updated first, and the other warps update the rest while the
/// pivot warps eliminate the next inner block.
///
/// Rows do not move in between: each has a place, to which it is written at the end.
#pragma once

#include "backend/cuda/cluster.cuh"
#include "dense/panels/cluster_memory.cuh"
#include "dense/panels/leaf.cuh"
#include "dense/panels/magnitude_bits.hpp"
#include "dense/panels/pivot_selection.cuh"

#include <cuda_pipeline.h>

#include <cstddef>
#include <cstdint>

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// One block's part in the elimination of a leaf. `single_block`: the cluster has no other block.
template <class Job, int rows_per_thread, bool single_block>
class ClusterPanel {
  using T = typename Job::Element;
  static constexpr bool is_lu = Job::elimination == EliminationKind::lu;

 public:
  __device__ ClusterPanel(const Job& job, unsigned char* memory)
      : job_(job),
        shared_(*reinterpret_cast<SharedPanel<T>*>(memory)),
        block_(static_cast<int>(cluster::rank())),
        blocks_(static_cast<int>(cluster::size())),
        warp_(__shfl_sync(full_warp, static_cast<int>(threadIdx.x) / warp_size, 0)),
        lane_(static_cast<int>(threadIdx.x) % warp_size),
        columns_((job.width + inner_block - 1) / inner_block * inner_block) {
    rows_ = rows_of_block(job.rows, blocks_, rows_per_thread);
    pivot_threads_ = rows_ / rows_per_thread;
    leading_ = padded_rows(rows_);
    panel_ = reinterpret_cast<T*>(memory + sizeof(SharedPanel<T>));
    W_ = panel_ + static_cast<std::size_t>(leading_) * static_cast<std::size_t>(columns_);
    shared_places_ = reinterpret_cast<int*>(W_ + columns_ * padded_inner_block);
    every_warp_sends_ = blocks_ * pivot_threads_ <= warp_size * max_candidates;
    candidate_count_ = every_warp_sends_ ? blocks_ * (pivot_threads_ / warp_size) : blocks_;
    own_candidate_ = every_warp_sends_ ? block_ * (pivot_threads_ / warp_size) + warp_ : block_;
    if constexpr (!single_block) plan_messages();
  }

  __device__ void run() {
    cluster::wait_for_kernel_ahead();
    const bool leader = begin();
    for (int first = 0; first < job_.width && rank_ < job_.rows && !shared_.overflow; first += inner_block) {
      eliminate_columns(first, leader);
    }
    update_other_columns();
    end(leader);
  }

 private:
  static constexpr int sending_rounds = max_blocks * SharedPanel<T>::chunks / warp_size;

  /// Reads the state and the rows of this block, and waits for the cluster. True for the warp that records
  /// the results of all blocks.
  __device__ __forceinline__ bool begin() {
    EliminationState state{};
    if constexpr (!is_lu) state = *job_.state;
    const bool leader = block_ == 0 && warp_ == 0;
    if (threadIdx.x == 0) {
      shared_.overflow = state.overflow_column >= 0;
      if constexpr (!single_block) init_barriers();
    }
    load();
    rank_ = rank_before_inner_block_ = static_cast<int>(state.rank);
    smallest_accepted_ = state.smallest_accepted;
    largest_rejected_ = state.largest_rejected;
    overflow_column_ = state.overflow_column;
    tolerance_ = state.tolerance;
    if (is_pivot_warp()) {
#pragma unroll
      for (int d = 0; d < rows_per_thread; ++d) {
        const int row = global_row(local(d));
        place_[d] = row < job_.rows ? row : no_row;
      }
    }
    cluster::sync();
    return leader;
  }

  /// Eliminates the inner block of columns from `first` on, during the update of the other columns with the
  /// inner block before it, and updates the next inner block.
  __device__ __forceinline__ void eliminate_columns(int first, bool leader) {
    if (threadIdx.x < inner_block) shared_.pivot_rows[threadIdx.x] = -1;
    __syncthreads();
    bool complete = false;
    if constexpr (Job::iterated) complete = iterate_inner_block(first);
    if (!complete && is_pivot_warp()) eliminate_inner_block(first);
    update_other_columns();
    __syncthreads();
    const std::uint32_t accepted = shared_.accepted;
    if (leader) record_inner_block(first, accepted);
    rank_ = rank_before_inner_block_ + __popc(accepted);
    rank_before_inner_block_ = rank_;
    if constexpr (is_lu) {
      if (first + inner_block < job_.width) {
        send_pivot_rows(first);
        solve_next_inner_block(first);
        update_next_inner_block(first);
      }
    } else if (columns_ > inner_block && accepted != 0) {
      exchange_pivot_rows(first, accepted);
      update_next_inner_block(first);
    }
    __syncthreads();
  }

  /// Writes the rows to their places, and the results beside them.
  __device__ __forceinline__ void end(bool leader) {
    if (is_pivot_warp()) {
#pragma unroll
      for (int d = 0; d < rows_per_thread; ++d) shared_places_[local(d)] = place_[d];
    }
    RowsBefore before;
    if constexpr (is_lu) read_origins(before);
    cluster::sync();
    cluster::let_next_kernel_start();
    store();
    if constexpr (is_lu) {
      store_origins(before);
      if constexpr (Job::iterated) add_counts();
    } else if (leader) {
      store_state();
    }
  }

  /// Assigns chunks of the row and destination blocks to the lanes of the sending warps. Neighbouring lanes
  /// send neighbouring chunks to one block, so that these are coalesced; one lane for each block sends the
  /// pivot.
  inline __device__ void plan_messages();

  inline __device__ void init_barriers();

  [[nodiscard]] __device__ bool is_pivot_warp() const {
    return warp_ < pivot_threads_ / warp_size;
  }
  [[nodiscard]] __device__ unsigned message_bytes() const {
    return static_cast<unsigned>(candidate_count_ *
                                 static_cast<int>(sizeof(PivotCandidate<T>) + inner_block * sizeof(T)));
  }
  [[nodiscard]] __device__ int local(int d) const {
    return static_cast<int>(threadIdx.x) + d * pivot_threads_;
  }

  [[nodiscard]] __device__ int global_row(int row) const {
    return block_ * rows_ + row;
  }

  __device__ void load() {
    const T* from = job_.a + global_row(lane_) + warp_ * job_.leading;
    const int there = job_.rows - global_row(lane_);
    for (int column = warp_; column < columns_; column += warps, from += warps * job_.leading) {
      T* to = panel_ + column * leading_ + lane_;
#pragma unroll 4
      for (int row = 0; row < rows_; row += warp_size) {
        if (column < job_.width && row < there) {
          __pipeline_memcpy_async(to + row, from + row, sizeof(T));
        } else {
          to[row] = T{0};
        }
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  /// Stores the rows; in LU those that send_pivot_rows has not stored.
  __device__ void store() {
    const int stored = is_lu ? columns_ - inner_block : 0;
    for (int row = lane_; row < rows_; row += warp_size) {
      const int place = shared_places_[row];
      if (place == no_row || place < stored) continue;
      const T* from = panel_ + warp_ * leading_ + row;
      T* to = job_.a + place + warp_ * job_.leading;
#pragma unroll 8
      for (int column = warp_; column < job_.width; column += warps) {
        *to = *from;
        from += warps * leading_;
        to += warps * job_.leading;
      }
    }
  }

  /// Numbers of the rows of this thread before earlier exchanges of the panel and of the matrix.
  struct RowsBefore {
    int in_panel[rows_per_thread], in_matrix[rows_per_thread];
  };

  __device__ void read_origins(RowsBefore& before) const {
    const auto read = [](const RowOrigins& rows, int row) {
      return rows.composed ? __ldcg(rows.origins + row) : row;
    };
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const int row = global_row(local(d));
      if (!is_pivot_warp() || row >= job_.rows) continue;
      before.in_panel[d] = read(job_.of_panel, row);
      before.in_matrix[d] = read(job_.of_matrix, row);
    }
  }

  __device__ void store_origins(const RowsBefore& before) const {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const int row = global_row(local(d));
      if (!is_pivot_warp() || row >= job_.rows) continue;
      if (job_.of_leaf.origins != nullptr) job_.of_leaf.origins[place_[d]] = row;
      if (job_.of_panel.origins != nullptr) job_.of_panel.origins[place_[d]] = before.in_panel[d];
      if (job_.of_matrix.origins != nullptr) job_.of_matrix.origins[place_[d]] = before.in_matrix[d];
    }
  }

  inline __device__ void eliminate_inner_block(int begin);

  /// Factors the inner block by sweeps over its rows of the diagonal, all columns at once, by all warps.
  /// Returns whether every pivot was on the diagonal; otherwise the inner block is as it was before.
  inline __device__ bool iterate_inner_block(int begin);

  /// Copies the rows of the diagonal to all blocks; returns this thread's element of them.
  inline __device__ T gather_square(int begin, int columns);

  /// Sweeps until no element changes. Thread t has row t % inner_block and column t / inner_block.
  inline __device__ void sweep_square(T element, int columns, T* square);

  /// Factors of the rows below the diagonal in registers; whether none is larger than the pivots.
  inline __device__ bool multiply_by_inverse(int begin, int columns, const T* square);

  /// Whether the condition holds in all blocks.
  inline __device__ bool holds_everywhere(bool condition);

  /// Stores the inner block as LU with a unit diagonal of L.
  inline __device__ void store_iterated(int begin, int columns, const T* square);

  /// Adds the counts of the leaf to those of the matrix, by one warp of the cluster.
  inline __device__ void add_counts();

  /// Finds the best pivots of this thread and of this warp in the current column, which is element_[.][0].
  inline __device__ void find_candidates();

  /// Sends the candidate of this block, or of this warp, to all blocks.
  inline __device__ void publish_candidate();

  /// Stores the candidate of this warp and its row of the inner block.
  inline __device__ void store_candidate();

  inline __device__ void send_candidate();

  static __device__ PivotCandidate<T> make_candidate(T pivot, int row, std::uint32_t above) {
    PivotCandidate<T> candidate{};
    candidate.pivot = pivot;
    candidate.row = row;
    candidate.above = above;
    return candidate;
  }

  /// Eliminates column c of the inner block with the best of all candidates. The registers rotate: the next
  /// column is always in the first one. Eliminated columns of LU leave the registers, since they change no
  /// more.
  inline __device__ void eliminate_column(int begin, int c);

  /// Computes the factors g of the pivot row that eliminate the column, and the new values of the column.
  /// Returns true if the pivot is accepted. In LU: `has_factor` says if `factor` is -1 / pivot.
  inline __device__ bool divide_all(const PivotCandidate<T>& pivot, const SelectedPivot& selected, T factor,
                                    T (&g)[rows_per_thread], T (&last)[rows_per_thread]);
  inline __device__ void divide_below(const PivotCandidate<T>& pivot, T factor, bool has_factor,
                                      T (&g)[rows_per_thread], T (&last)[rows_per_thread]);

  /// Whether the sum of this magnitude and of one that has a reciprocal is finite.
  static __device__ bool has_no_overflow(std::uint32_t upper) {
    return sizeof(T) == 4 ? upper < 0x7f800000U : upper < 0x7fe00000U;
  }

  /// Records the pivots of an inner block and assesses them, by the first lanes of one warp, one for each
  /// column.
  __device__ void record_inner_block(int begin, std::uint32_t accepted) {
    if (lane_ >= shared_.eliminated_columns) return;
    const PivotCandidate<T> pivot = shared_.selected[lane_];
    if constexpr (is_lu) {
      job_.pivots[begin + lane_] = job_.begin + pivot.row;
      if constexpr (Job::iterated) counts_.exchanges += pivot.row != begin + lane_ ? 1 : 0;
    } else {
      record_pivot(begin, accepted, pivot);
    }
  }

  __device__ void record_pivot(int begin, std::uint32_t accepted, const PivotCandidate<T>& pivot) {
    const auto above = static_cast<double>(magnitude_from<T>(std::uint64_t{pivot.above} << 32U));
    const PivotAssessment assessment =
        assess_pivot(fabs(static_cast<double>(pivot.pivot)), above, tolerance_);
    const std::int64_t column = job_.begin + begin + lane_;
    if (assessment.status == PivotStatus::overflow) {
      overflow_column_ = column;
    } else if ((accepted >> static_cast<unsigned>(lane_) & 1U) == 0) {
      if (assessment.size > largest_rejected_) largest_rejected_ = assessment.size;
    } else {
      if (assessment.size < smallest_accepted_) smallest_accepted_ = assessment.size;
      const int rank =
          rank_before_inner_block_ + __popc(accepted & ((1U << static_cast<unsigned>(lane_)) - 1));
      job_.pivots.rows[rank] = pivot.row;
      job_.pivots.columns[rank] = column;
      job_.pivots.values[rank] = pivot.pivot;
    }
  }

  __device__ void store_state() {
#pragma unroll
    for (int delta = inner_block / 2; delta > 0; delta /= 2) {
      smallest_accepted_ = fmin(smallest_accepted_, __shfl_xor_sync(full_warp, smallest_accepted_, delta));
      largest_rejected_ = fmax(largest_rejected_, __shfl_xor_sync(full_warp, largest_rejected_, delta));
      overflow_column_ = max(overflow_column_, __shfl_xor_sync(full_warp, overflow_column_, delta));
    }
    if (lane_ == 0) {
      *job_.state = {rank_, smallest_accepted_, largest_rejected_, overflow_column_, tolerance_};
      *job_.rank_after = rank_;
    }
  }

  /// Exchanges pivot rows (laswp) between blocks through the global memory of the leaf, which is unused until
  /// the end, and reads W.
  inline __device__ void exchange_pivot_rows(int begin, std::uint32_t accepted);

  /// Stores the pivot rows, which in LU leave the shared memory.
  inline __device__ void send_pivot_rows(int begin);

  /// Reads the inner block's triangle of L and the pivot rows in the next inner block, which become rows of
  /// U (trsm).
  inline __device__ void solve_next_inner_block(int begin);

  /// Reads and solves the pivot rows in the columns after the next inner block of `begin`, by the warps from
  /// `first_warp` on.
  inline __device__ void solve_other_columns(int begin, int first_warp);

  /// Stores W = -U and U, for U = L^-1 u of a column, where L is the inner block's triangle.
  inline __device__ void solve_column(int begin, int column, T (&u)[inner_block]);

  /// Updates the next inner block (gemm), by all warps, since the pivot warps wait for it.
  __device__ void update_next_inner_block(int begin) {
    pending_inner_block_ = begin;
    const int next = begin + inner_block;
    if (next >= columns_) return;
    for (int row = warp_ * warp_size; row < rows_; row += warps * warp_size) update_tile(row, next);
  }

  /// Updates all other columns, during the elimination of the next inner block, by the warps that take no
  /// part in that, if there are any.
  __device__ void update_other_columns() {
    const int busy = pivot_threads_ < threads ? pivot_threads_ / warp_size : 0;
    if (pending_inner_block_ < 0 || warp_ < busy) return;
    if constexpr (is_lu) solve_other_columns(pending_inner_block_, busy);
    const int next = pending_inner_block_ + inner_block;
    int tile = is_lu ? pending_inner_block_ + 2 * inner_block : 0;
    int row = (warp_ - busy) * warp_size;
    while (true) {
      while (row >= rows_) row -= rows_, tile += inner_block;
      if (tile >= columns_) break;
      if (tile != pending_inner_block_ && tile != next) update_tile(row, tile);
      row += (warps - busy) * warp_size;
    }
    pending_inner_block_ = -1;
  }

  /// Computes X = X + G W for rows [row, row + warp_size) and columns [column, column + inner_block), where G
  /// is the pending inner block; by one warp.
  inline __device__ void update_tile(int row, int column) requires(sizeof(T) == 8);
  inline __device__ void update_tile(int row, int column) requires(sizeof(T) == 4);

  const Job& job_;
  SharedPanel<T>& shared_;
  int block_, blocks_, warp_, lane_;
  int columns_;
  int rows_, pivot_threads_, leading_;
  bool every_warp_sends_;  // its own candidate, in clusters with few warps; otherwise each block sends one
  int candidate_count_;
  T* panel_;
  T* W_;
  int* shared_places_;
  int own_candidate_;  // index of the candidate of this block or warp
  // Destinations of messages, as offsets from addresses in this block:
  bool sends_pivot_;
  unsigned row_rounds_ = 0;
  std::uint32_t pivot_offset_;
  std::uint32_t row_offset_[sending_rounds];
  // The best pivot of this thread, and of this warp:
  std::uint64_t best_magnitude_ = 0;
  int best_row_ = 0, best_index_ = 0;
  T best_pivot_ = 0, best_factor_ = 0;
  std::uint32_t warp_upper_ = 0, warp_above_ = 0;
  bool overflowed_ = false;
  int rank_ = 0;
  int rank_before_inner_block_ = 0;
  int pending_inner_block_ = -1;  // first column of the inner block that other columns are not updated with
  std::uint32_t accepted_ = 0;
  unsigned slot_ = 0;
  unsigned phase_ = 0;
  double smallest_accepted_ = 0;
  double largest_rejected_ = 0;
  double tolerance_ = 0;
  std::int64_t overflow_column_ = -1;
  T element_[rows_per_thread][inner_block];
  int place_[rows_per_thread];
  SectionCounts counts_;  // of iterated sections
};

#endif

}  // namespace echelon::panel_kernels

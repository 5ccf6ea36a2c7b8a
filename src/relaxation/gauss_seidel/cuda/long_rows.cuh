// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweep by chunks for matrices with long rows: one lane per short row, one warp per long row.
///
/// A block has a multiprocessor to itself, and all chunks have nearly equal weight. First its threads compute
/// everything that needs no waiting for all rows of the chunk. Then some warps poll the rows with few
/// elements to wait for, one or two rows per lane. The other warps, and those that have finished their short
/// rows, take the long rows one after another, hold a few of them at a time and block on none. A lane
/// advances in its share of a long row as far as values are ready, so between the arrival of the last value
/// and the publication there are one fma, the reduction over the warp, a subtraction, and a multiplication or
/// fma.
///
/// Termination: long rows are taken in order, and a warp takes one whenever it holds fewer than
/// long_rows_in_flight. The first unfinished row of a block is therefore always being polled, and everything
/// it waits for belongs to chunks of blocks that have started.
#pragma once

#include "relaxation/gauss_seidel/cuda/chunks.cuh"

namespace echelon::gauss_seidel {

/// Threads of a block, and the capacity of a chunk: each thread prepares one row.
inline constexpr int long_rows_threads = 1024;
/// Weight of a row in nonzeros: a chunk's weight is its nonzeros plus row_work times its rows.
inline constexpr int row_work = 14;
/// Chunks of up to this size have one short row per lane, larger ones two. In both cases some of the 32 warps
/// have no short rows and start with the long ones.
inline constexpr int max_rows_one_per_lane = 768;
/// Long rows that a warp polls at a time.
inline constexpr int long_rows_in_flight = 2;

/// Partition into chunks of nearly equal weight.
template <bool forward>
struct EqualWork {
  std::int64_t rows;  ///< of the matrix
  const std::int64_t* row_offsets;
  int work;  ///< weight of a chunk; a multiple of row_work
  unsigned chunks;

  /// Block-collective.
  [[nodiscard]] __device__ RowRange operator()(unsigned number) const {
    const std::int64_t begin_work = std::int64_t{work} * (forward ? number : chunks - 1 - number);
    const std::int64_t begin = find_row(begin_work, 0, rows);
    const std::int64_t end = find_row(begin_work + work, begin, min(begin + work / row_work, rows));
    return {static_cast<int>(forward ? begin : end - 1), static_cast<int>(end - begin)};
  }

 private:
  /// The first row of [begin, end) with at least this weight before it, or end. A search with blockDim.x
  /// probes per round; two rounds suffice for 10^6 rows. Block-collective.
  [[nodiscard]] __device__ std::int64_t find_row(std::int64_t begin_work, std::int64_t begin,
                                                 std::int64_t end) const {
    while (begin < end) {
      const std::int64_t stride = (end - begin + blockDim.x - 1) / blockDim.x;
      const std::int64_t probe = begin + (threadIdx.x + 1) * stride - 1;
      const int less = __syncthreads_count(probe < end && row_offsets[probe] + row_work * probe < begin_work);
      begin = min(end, begin + less * stride);
      end = min(end, begin + stride - 1);
    }
    return begin;
  }
};

/// Elements that a row waits for. A negative count marks a long row.
struct WaitingElements {
  std::uint32_t element;  ///< WaitingRow::element
  int remaining;
};

/// A chunk's waiting rows, in shared memory.
struct RowList {
  static constexpr int words = long_rows_threads / warp_size;
  WaitingElements rows[long_rows_threads];
  std::uint16_t long_rows[long_rows_threads];  ///< rows with a negative count, in order
  unsigned long_mask[words];                   ///< one bit per row
  int next;                                    ///< index of the next long row that is not taken

  /// Compacts the long rows into long_rows and returns their number. Block-collective.
  __device__ int compact_long_rows(int size) {
    const int local = static_cast<int>(threadIdx.x);
    const int lane = local % warp_size;
    const bool is_long = local < size && rows[local].remaining < 0;
    const unsigned mask = __ballot_sync(full_warp, is_long);
    if (lane == 0) long_mask[local / warp_size] = mask;
    if (local == 0) next = 0;
    __syncthreads();
    const int count = __popc(long_mask[lane]);
    const int preceding = __shfl_sync(full_warp, warp_sum(lane < local / warp_size ? count : 0), 0);
    if (is_long) long_rows[preceding + __popc(mask & lanes_before(lane))] = static_cast<std::uint16_t>(local);
    const int total = __shfl_sync(full_warp, warp_sum(count), 0);
    __syncthreads();
    return total;
  }

  /// Takes the next index into long_rows, which may be past its end. Warp-collective.
  __device__ int next_long_row() {
    int number = 0;
    if (threadIdx.x % warp_size == 0) number = atomicAdd_block(&next, 1);
    return __shfl_sync(full_warp, number, 0);
  }
};

/// Computes everything that needs no waiting for all rows of a chunk. Neighbouring rows go to different
/// warps, since a warp sums the long parts of its rows one after another. Block-collective.
template <class T, bool forward>
__device__ void prepare_rows(const Chunk<T, forward>& chunk, RowList& list) {
  const int thread = static_cast<int>(threadIdx.x);
  const int local = thread % warp_size * (long_rows_threads / warp_size) + thread / warp_size;
  WaitingRow<T> row;
  chunk.locate(row, local);
  chunk.template prepare<true>(row, local);
  list.rows[local] = {row.element, row.remaining};
}

/// Polls this warp's short rows until they are finished, `rows_per_lane` for each lane. Warp-collective.
template <int rows_per_lane, class T, bool forward>
__device__ void poll_short_rows(const Chunk<T, forward>& chunk, const RowList& list) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int first = (static_cast<int>(threadIdx.x) - lane) * rows_per_lane + lane;
  if (first - lane >= chunk.size()) return;
  WaitingRow<T> rows[rows_per_lane];
#pragma unroll
  for (int s = 0; s < rows_per_lane; ++s) {
    const int local = first + s * warp_size;
    if (local >= chunk.size() || list.rows[local].remaining <= 0) continue;
    rows[s].element = list.rows[local].element;
    rows[s].remaining = list.rows[local].remaining;
    chunk.load_next(rows[s], local);
  }
  poll_rows<false>(chunk, rows, first);
}

/// A long row that a warp polls. Lane l adds elements l, l + 32, … of it, counted from the far end.
template <class T, bool forward>
class LongRow {
 public:
  /// True if the warp holds a row.
  [[nodiscard]] __device__ bool active() const { return local_ >= 0; }

  /// Takes a row and advances as far as values are ready. Warp-collective.
  __device__ void start(const Chunk<T, forward>& chunk, int local, const WaitingElements& waiting) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    local_ = local;
    lane_row_ = {};
    lane_row_.element = waiting.element + static_cast<unsigned>(lane * Chunk<T, forward>::step);
    lane_row_.remaining = (-waiting.remaining - lane + warp_size - 1) / warp_size;
    advance_batches(chunk);
    finish(chunk);
  }

  /// Value of an earlier chunk that this lane waits for, or not_ready.
  [[nodiscard]] __device__ Word<T> load_global(const Chunk<T, forward>& chunk) const {
    return lane_row_.remaining > 0 && lane_row_.source < 0 ? chunk.exchange().load_global(lane_row_.source)
                                                           : not_ready<T>;
  }
  /// Adds the product with the result of load_global() and publishes the row if that completes it.
  /// Warp-collective.
  __device__ void accumulate_global(const Chunk<T, forward>& chunk, Word<T> word) {
    const bool arrived = word != not_ready<T>;
    if (arrived) advance(chunk, word);
    if (!__any_sync(full_warp, arrived)) return;
    if (__any_sync(full_warp, arrived && lane_row_.remaining > 0)) advance_batches(chunk);
    finish(chunk);
  }
  /// Adds products with values of this chunk that lanes wait for, and publishes the row if that completes it.
  /// Returns whether any value was ready. Warp-collective.
  __device__ bool accumulate_shared(const Chunk<T, forward>& chunk) {
    Word<T> word = not_ready<T>;
    if (lane_row_.remaining > 0 && lane_row_.source >= 0)
      word = chunk.exchange().load_shared(lane_row_.source);
    const bool arrived = word != not_ready<T>;
    if (arrived) advance(chunk, word);
    if (!__any_sync(full_warp, arrived)) return false;
    finish(chunk);
    return true;
  }

 private:
  static constexpr int stride = Chunk<T, forward>::step * warp_size;

  __device__ void add(T coefficient, Word<T> word) {
    lane_row_.partial_sum = multiply_add(coefficient, to_value<T>(word), lane_row_.partial_sum);
    lane_row_.element += static_cast<unsigned>(stride);
    --lane_row_.remaining;
  }

  __device__ void advance(const Chunk<T, forward>& chunk, Word<T> word) {
    add(lane_row_.coefficient, word);
    if (lane_row_.remaining > 0) chunk.load_next(lane_row_, local_);
  }

  /// Advances by several elements at a time while all of a lane's next values are ready. Warp-collective.
  __device__ void advance_batches(const Chunk<T, forward>& chunk) {
    constexpr int batch = 4;  // larger batches spill registers
    bool all_arrived;
    do {
      WaitingRow<T> next[batch];
      Word<T> global_word[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        global_word[k] = not_ready<T>;
        if (k >= lane_row_.remaining) continue;
        next[k].element = lane_row_.element + static_cast<unsigned>(k * stride);
        chunk.load_next(next[k], local_);
        if (next[k].source < 0) global_word[k] = chunk.exchange().load_global(next[k].source);
      }
      all_arrived = lane_row_.remaining > 0;
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (!all_arrived || lane_row_.remaining == 0) continue;
        const Word<T> word =
            next[k].source < 0 ? global_word[k] : chunk.exchange().load_shared(next[k].source);
        all_arrived = word != not_ready<T>;
        if (all_arrived) add(next[k].coefficient, word);
      }
    } while (__any_sync(full_warp, all_arrived && lane_row_.remaining > 0));
    if (lane_row_.remaining > 0) chunk.load_next(lane_row_, local_);
  }

  /// Publishes the row if all lanes are done. Warp-collective.
  __device__ void finish(const Chunk<T, forward>& chunk) {
    if (__any_sync(full_warp, lane_row_.remaining > 0)) return;
    const T sum = warp_sum(lane_row_.partial_sum);
    if (threadIdx.x % warp_size == 0) chunk.finish(local_, sum);
    __syncwarp();
    local_ = -1;
  }

  WaitingRow<T> lane_row_;
  int local_ = -1;
};

/// Takes and polls long rows until none is left. Warp-collective.
template <class T, bool forward>
__device__ void poll_long_rows(const Chunk<T, forward>& chunk, RowList& list, int total) {
  LongRow<T, forward> rows[long_rows_in_flight];
  bool more = true;
  for (;;) {
    bool any_active = false;
#pragma unroll
    for (int s = 0; s < long_rows_in_flight; ++s) {
      if (!rows[s].active() && more) {
        const int number = list.next_long_row();
        more = number < total;
        if (more) rows[s].start(chunk, list.long_rows[number], list.rows[list.long_rows[number]]);
      }
      any_active = any_active || rows[s].active();
    }
    if (!any_active && !more) return;
    // Loads from global memory are issued first and used after all progress within the chunk.
    Word<T> global_word[long_rows_in_flight];
#pragma unroll
    for (int s = 0; s < long_rows_in_flight; ++s) global_word[s] = rows[s].load_global(chunk);
#pragma unroll
    for (int s = 0; s < long_rows_in_flight; ++s) {
      while (rows[s].active() && rows[s].accumulate_shared(chunk)) continue;
    }
#pragma unroll
    for (int s = 0; s < long_rows_in_flight; ++s) {
      if (rows[s].active()) rows[s].accumulate_global(chunk, global_word[s]);
    }
  }
}

/// Sweep by chunks of nearly equal weight, with one lane per short row and one warp per long row.
template <class T, bool forward>
__global__ void __launch_bounds__(long_rows_threads, 1)
    sweep_chunks_with_long_rows(const __grid_constant__ DeviceSweep<T> task,
                                const __grid_constant__ ChunkPlan plan) {
  if (!task.selects(Strategy::chunks)) return;
  trigger_dependent_launch();
  const EqualWork<forward> rows_of{task.rows, task.row_offsets, plan.work, gridDim.x / task.right_hand_sides};
  const Chunk<T, forward> chunk(task, plan, rows_of);
  __shared__ RowList list;
  prepare_rows(chunk, list);
  __syncthreads();
  const int long_rows = list.compact_long_rows(chunk.size());
  if (chunk.size() <= max_rows_one_per_lane) {
    poll_short_rows<1>(chunk, list);
  } else {
    poll_short_rows<2>(chunk, list);
  }
  poll_long_rows(chunk, list, long_rows);
}

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
/// A Gauss-Seidel sweep over a matrix with long rows: lanes follow its short rows, and warps the long ones.
///
/// A block has a multiprocessor to itself, and as much work as others. First its threads do for all of its
/// rows what needs no waiting. Then some warps follow the rows with few elements to wait for, a lane one or
/// two of them; the other warps, and those that have done with their short rows, take the long ones one after
/// another, each a few at a time, and stop at none. A lane goes as far in its share of a long row as values
/// have come, so from the last value's arrival to the publication it is one fma, the tree, a subtraction and
/// a multiplication or fma.
///
/// Long rows are taken in order, and by a warp whenever it has less of them in hand than it may; so the first
/// of a block's unfinished rows is always in somebody's hands, and whatever it waits for comes from blocks
/// that have started before.
#pragma once

#include "relaxation/gauss_seidel/cuda/chunks.cuh"

namespace echelon::gauss_seidel {

/// Of a block, and the most rows that its chunk may have: a thread opens one.
inline constexpr int long_rows_threads = 1024;
/// Work of a row, in nonzeros: chunks are equal in nonzeros and rows, so weighed.
inline constexpr int row_work = 14;
/// Up to so many rows a lane follows one of the short ones, and two in larger chunks. So there are always
/// warps for the long ones.
inline constexpr int most_rows_by_ones = 768;
/// Long rows of a warp that are followed at a time.
inline constexpr int long_in_hand = 2;

/// Chunks of equal work.
template <bool forward>
struct EqualWork {
  std::int64_t rows;  ///< of the matrix
  const std::int64_t* row_offsets;
  int work;  ///< of a chunk: a multiple of row_work
  unsigned chunks;

  /// All threads of the block.
  [[nodiscard]] __device__ RowRange operator()(unsigned number) const {
    const std::int64_t before = std::int64_t{work} * (forward ? number : chunks - 1 - number);
    const std::int64_t begin = row_after(before, 0, rows);
    const std::int64_t end = row_after(before + work, begin, min(begin + work / row_work, rows));
    return {static_cast<int>(forward ? begin : end - 1), static_cast<int>(end - begin)};
  }

 private:
  /// The first row in [begin, end], or end, before which there is so much work.
  [[nodiscard]] __device__ std::int64_t row_after(std::int64_t before, std::int64_t begin,
                                                  std::int64_t end) const {
    while (begin < end) {
      const std::int64_t stride = (end - begin + blockDim.x - 1) / blockDim.x;
      const std::int64_t probe = begin + (threadIdx.x + 1) * stride - 1;
      const int less = __syncthreads_count(probe < end && row_offsets[probe] + row_work * probe < before);
      begin = min(end, begin + less * stride);
      end = min(end, begin + stride - 1);
    }
    return begin;
  }
};

/// A row of a chunk, opened: what it waits for. Negative counts are of long rows, which warps take.
struct ListedRow {
  std::uint32_t element;  ///< WaitingRow's
  int left;
};

/// A block's rows in waiting, in shared memory.
struct ListedRows {
  static constexpr int words = long_rows_threads / warp_lanes;
  ListedRow rows[long_rows_threads];
  std::uint16_t long_rows[long_rows_threads];  ///< in order
  unsigned is_long[words];                     ///< a bit for each
  int taken;                                   ///< of the long rows

  /// Lists the long rows, and returns how many there are. All threads of the block.
  __device__ int list_long_rows(int size) {
    const int local = static_cast<int>(threadIdx.x);
    const int lane = local % warp_lanes;
    const bool here = local < size && rows[local].left < 0;
    const unsigned those = __ballot_sync(every_lane, here);
    if (lane == 0) is_long[local / warp_lanes] = those;
    if (local == 0) taken = 0;
    __syncthreads();
    const int many = __popc(is_long[lane]);
    const int before = __shfl_sync(every_lane, add_tree(lane < local / warp_lanes ? many : 0), 0);
    if (here) long_rows[before + __popc(those & ((1u << lane) - 1))] = static_cast<std::uint16_t>(local);
    const int all = __shfl_sync(every_lane, add_tree(many), 0);
    __syncthreads();
    return all;
  }

  /// The number of the next long row, from 0 on. All lanes of the warp.
  __device__ int take_number() {
    int number = 0;
    if (threadIdx.x % warp_lanes == 0) number = atomicAdd_block(&taken, 1);
    return __shfl_sync(every_lane, number, 0);
  }
};

/// Does for all rows of a chunk what needs no waiting. Neighbours go to different warps, since a warp takes
/// its long sums one after another. All threads of the block.
template <class T, bool forward>
__device__ void open_rows(const Chunk<T, forward>& chunk, ListedRows& listed) {
  const int thread = static_cast<int>(threadIdx.x);
  const int local = thread % warp_lanes * (long_rows_threads / warp_lanes) + thread / warp_lanes;
  WaitingRow<T> row;
  chunk.find(row, local);
  chunk.template open<true>(row, local);
  listed.rows[local] = {row.element, row.left};
}

/// Follows this warp's short rows to their end, so many a lane. All lanes of the warp.
template <int slots, class T, bool forward>
__device__ void follow_short_rows(const Chunk<T, forward>& chunk, const ListedRows& listed) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int first = (static_cast<int>(threadIdx.x) - lane) * slots + lane;
  if (first - lane >= chunk.size()) return;
  WaitingRow<T> rows[slots];
#pragma unroll
  for (int s = 0; s < slots; ++s) {
    const int local = first + s * warp_lanes;
    if (local >= chunk.size() || listed.rows[local].left <= 0) continue;
    rows[s].element = listed.rows[local].element;
    rows[s].left = listed.rows[local].left;
    chunk.fetch(rows[s], local);
  }
  follow_rows<false>(chunk, rows, first);
}

/// A long row in a warp's hands. Lane l adds up elements l, l + 32, ... of it, counted from the far end.
template <class T, bool forward>
class RowInHand {
 public:
  /// Whether there is one.
  [[nodiscard]] __device__ bool present() const { return local_ >= 0; }

  /// Takes this row in hand, and goes as far as values have come. All lanes of the warp.
  __device__ void take(const Chunk<T, forward>& chunk, int local, const ListedRow& listed) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    local_ = local;
    share_ = {};
    share_.element = listed.element + static_cast<unsigned>(lane * Chunk<T, forward>::step);
    share_.left = (-listed.left - lane + warp_lanes - 1) / warp_lanes;
    run(chunk);
    finish(chunk);
  }

  /// The value of another block that this lane waits for, or unpublished.
  [[nodiscard]] __device__ Word<T> look_far(const Chunk<T, forward>& chunk) const {
    return share_.left > 0 && share_.source < 0 ? chunk.exchange().look_far(share_.source) : unpublished<T>;
  }
  /// Takes what look_far returned, and publishes the row if that was all. All lanes of the warp.
  __device__ void take_far(const Chunk<T, forward>& chunk, Word<T> word) {
    const bool came = word != unpublished<T>;
    if (came) step_on(chunk, word);
    if (!__any_sync(every_lane, came)) return;
    if (__any_sync(every_lane, came && share_.left > 0)) run(chunk);
    finish(chunk);
  }
  /// Takes values of this block that lanes wait for, and publishes the row if that was all. Whether any had
  /// come. All lanes of the warp.
  __device__ bool take_near(const Chunk<T, forward>& chunk) {
    Word<T> word = unpublished<T>;
    if (share_.left > 0 && share_.source >= 0) word = chunk.exchange().look_near(share_.source);
    const bool came = word != unpublished<T>;
    if (came) step_on(chunk, word);
    if (!__any_sync(every_lane, came)) return false;
    finish(chunk);
    return true;
  }

 private:
  static constexpr int stride = Chunk<T, forward>::step * warp_lanes;

  __device__ void add(T coefficient, Word<T> word) {
    share_.sum = multiply_add(coefficient, to_value<T>(word), share_.sum);
    share_.element += static_cast<unsigned>(stride);
    --share_.left;
  }

  __device__ void step_on(const Chunk<T, forward>& chunk, Word<T> word) {
    add(share_.coefficient, word);
    if (share_.left > 0) chunk.fetch(share_, local_);
  }

  /// Goes on by several elements at a time, as long as all of a lane's have come. All lanes of the warp.
  __device__ void run(const Chunk<T, forward>& chunk) {
    constexpr int batch = 4;  // more cost registers that are not there
    bool all_came;
    do {
      WaitingRow<T> next[batch];
      Word<T> far[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        far[k] = unpublished<T>;
        if (k >= share_.left) continue;
        next[k].element = share_.element + static_cast<unsigned>(k * stride);
        chunk.fetch(next[k], local_);
        if (next[k].source < 0) far[k] = chunk.exchange().look_far(next[k].source);
      }
      all_came = share_.left > 0;
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (!all_came || share_.left == 0) continue;
        const Word<T> word = next[k].source < 0 ? far[k] : chunk.exchange().look_near(next[k].source);
        all_came = word != unpublished<T>;
        if (all_came) add(next[k].coefficient, word);
      }
    } while (__any_sync(every_lane, all_came && share_.left > 0));
    if (share_.left > 0) chunk.fetch(share_, local_);
  }

  /// Publishes the row if all has come. All lanes of the warp.
  __device__ void finish(const Chunk<T, forward>& chunk) {
    if (__any_sync(every_lane, share_.left > 0)) return;
    const T sum = add_tree(share_.sum);
    if (threadIdx.x % warp_lanes == 0) chunk.finish(local_, sum);
    __syncwarp();
    local_ = -1;
  }

  WaitingRow<T> share_;
  int local_ = -1;
};

/// Takes long rows and follows them, until none is left. All lanes of the warp.
template <class T, bool forward>
__device__ void follow_long_rows(const Chunk<T, forward>& chunk, ListedRows& listed, int all) {
  RowInHand<T, forward> rows[long_in_hand];
  bool more = true;
  for (;;) {
    bool present = false;
#pragma unroll
    for (int s = 0; s < long_in_hand; ++s) {
      if (!rows[s].present() && more) {
        const int number = listed.take_number();
        more = number < all;
        if (more) rows[s].take(chunk, listed.long_rows[number], listed.rows[listed.long_rows[number]]);
      }
      present = present || rows[s].present();
    }
    if (!present && !more) return;
    // Other blocks' values are asked for first, and taken when this block's have been followed up.
    Word<T> far[long_in_hand];
#pragma unroll
    for (int s = 0; s < long_in_hand; ++s) far[s] = rows[s].look_far(chunk);
#pragma unroll
    for (int s = 0; s < long_in_hand; ++s) {
      while (rows[s].present() && rows[s].take_near(chunk)) continue;
    }
#pragma unroll
    for (int s = 0; s < long_in_hand; ++s) {
      if (rows[s].present()) rows[s].take_far(chunk, far[s]);
    }
  }
}

/// Short rows by lanes, long ones by warps.
template <class T, bool forward>
__global__ void __launch_bounds__(long_rows_threads, 1)
    sweep_by_lanes_and_warps(const __grid_constant__ DeviceSweep<T> task,
                             const __grid_constant__ Shape shape) {
  if (!task.is_wanted(Way::chunks)) return;
  let_next_start();
  const EqualWork<forward> rows_of{task.rows, task.row_offsets, shape.work,
                                   gridDim.x / task.right_hand_sides};
  const Chunk<T, forward> chunk(task, shape, rows_of);
  __shared__ ListedRows listed;
  open_rows(chunk, listed);
  __syncthreads();
  const int long_rows = listed.list_long_rows(chunk.size());
  if (chunk.size() <= most_rows_by_ones) {
    follow_short_rows<1>(chunk, listed);
  } else {
    follow_short_rows<2>(chunk, listed);
  }
  follow_long_rows(chunk, listed, long_rows);
}

}  // namespace echelon::gauss_seidel

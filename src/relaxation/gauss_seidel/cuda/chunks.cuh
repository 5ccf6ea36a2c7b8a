// SPDX-License-Identifier: BSD-3-Clause
/// An exact Gauss-Seidel sweep in one launch: rows wait for rows.
///
/// Who waits. Rows are counted by position, in the order of the sweep; a block takes the next chunk of
/// positions by a ticket when it starts, so whatever a row waits for has a smaller position and belongs to a
/// block that has started: progress needs nothing beyond what CUDA promises. Within a block no barrier stands
/// between waiting and publishing. A warp looks at the rows it keeps, `slots` for each of its lanes, one
/// after another, and never stops at one that has to wait; so lanes may wait for lanes, and as many rows are
/// in flight as registers and shared memory hold. A row that would wait for itself or a later one, as
/// unsorted columns make it, becomes NaN instead.
///
/// What a row waits for. The value is the flag: x holds one kind of NaN wherever no value has been published,
/// and that kind is never published. One relaxed load and one relaxed store, and no fence on either side. x
/// is another vector than the old one, so a pattern need not be symmetric. Values of the own block come from
/// shared memory, where they are published too.
///
/// What does not wait (the old values' part, b, 1 / a_ii) is done before any waiting, and what a row waits
/// for next has its coefficient at hand: from the last value's arrival to the publication it is one fma, a
/// subtraction and a multiplication or fma.
///
/// Parts of more than 32 elements are summed by a whole warp. It may stop there until all is there, because
/// it does so for the first of its unfinished rows only: whatever that row waits for is in other warps'
/// hands. Where there are many such rows, gauss_seidel_warps.cuh has another way.
///
/// Bytes a forward sweep has to move: (4 + s) a nonzero, 8 + 3 s a row (offset, b, old and new x; s = sizeof
/// T), and s more to arm the vector again. Time is at least the larger of bytes / bandwidth and levels times
/// the time from one multiprocessor to another through the L2 cache.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

#include <cuda_pipeline.h>

#include <cstdint>

namespace echelon::gauss_seidel {

/// How rows are shared out.
struct Shape {
  int chunk;  ///< positions of a block, at most
  int room;   ///< nonzeros of a chunk for which there is shared memory; a chunk with more goes without
  int work;   ///< of a chunk, where chunks have equal work
};

/// Rows from this one on, in the order of the sweep.
struct RowRange {
  int first;
  int size;
};

/// Chunks of equal numbers of rows.
template <bool forward>
struct EqualRows {
  int rows;  ///< of the matrix
  int chunk;
  [[nodiscard]] __device__ RowRange operator()(unsigned number) const {
    const int first = static_cast<int>(number) * chunk;
    return {forward ? first : rows - 1 - first, min(chunk, rows - first)};
  }
};

/// A row that waits, as its lane knows it.
template <class T>
struct WaitingRow {
  T sum = 0;                  ///< of the elements whose values have come
  T coefficient = 0;          ///< of the element that is next
  std::uint32_t element = 0;  ///< its place, counted from the block's first nonzero
  int source = 0;             ///< its unknown's position, counted from the block's first
  int left = 0;               ///< elements to come, this one included; in a long row negative, all of them
};

/// What a block's shared memory holds for each row of its chunk. So many bytes that neighbours do not meet in
/// a bank. After the records come, when relaxing, HalfDone::kept of each row, and the staged nonzeros.
template <class T>
struct Record {
  Word<T> value;
  T rest;  ///< HalfDone's
  T scale;
};

template <class T>
__device__ Record<T>* records() {
  return reinterpret_cast<Record<T>*>(gauss_seidel_storage);
}

/// Where a block's values come from and go to. Positions are counted from its chunk's first, and negative
/// ones are of earlier blocks.
template <class T, bool forward>
struct Exchange {
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;

  int first_row;  ///< of the chunk
  T* x;           ///< that row's element

  [[nodiscard]] __device__ int row_at(int local) const { return first_row + (forward ? local : -local); }
  [[nodiscard]] __device__ int position_of(int row) const {
    return forward ? row - first_row : first_row - row;
  }
  /// A value of another block, which may not have come.
  [[nodiscard]] __device__ Word<T> look_far(int source) const {
    return Shared(*element(source)).load(cuda::memory_order_relaxed);
  }
  /// A value of this block.
  [[nodiscard]] __device__ Word<T> look_near(int source) const {
    return *const_cast<const volatile Word<T>*>(&records<T>()[source].value);
  }
  __device__ void publish(int local, T value) const {
    const Word<T> word = to_word(one_nan(value));
    *const_cast<volatile Word<T>*>(&records<T>()[local].value) = word;
    Shared(*element(local)).store(word, cuda::memory_order_relaxed);
  }

 private:
  [[nodiscard]] __device__ Word<T>* element(int local) const {
    return reinterpret_cast<Word<T>*>(forward ? x + local : x - local);
  }
};

/// Values of this sweep, for the row at `local`; those that cannot come are NaN.
template <class T, bool forward>
struct NewValues {
  Exchange<T, forward> exchange;
  int local;
  [[nodiscard]] __device__ Word<T> look(std::int32_t column) const {
    const int source = exchange.position_of(column);
    if (source >= local) return to_word(written_nan<T>);
    return source >= 0 ? exchange.look_near(source) : exchange.look_far(source);
  }
  [[nodiscard]] __device__ T wait(std::int32_t column, Word<T> seen) const {
    while (seen == unpublished<T>) seen = look(column);
    return to_value<T>(seen);
  }
};

/// A chunk of rows, and the block that sweeps over it.
template <class T, bool forward>
class Chunk {
 public:
  static constexpr int step = forward ? 1 : -1;  ///< along the part that waits, from its far end

  /// Takes the next ticket. All threads of the block.
  __device__ Chunk(const DeviceSweep<T>& task, const Shape& shape)
      : Chunk(task, shape, EqualRows<forward>{static_cast<int>(task.rows), shape.chunk}) {}
  /// `rows_of(n)` is the n-th chunk's RowRange. All threads of the block.
  template <class Rows>
  __device__ Chunk(const DeviceSweep<T>& task, const Shape& shape, const Rows& rows_of)
      : task_(task), shape_(shape) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) taken = atomicInc(task.tickets, gridDim.x - 1);
    for (int k = static_cast<int>(threadIdx.x); k < shape.chunk; k += static_cast<int>(blockDim.x)) {
      records<T>()[k].value = unpublished<T>;
    }
    __syncthreads();
    const unsigned ticket = __shfl_sync(every_lane, taken, 0);  // tells the compiler that it is uniform
    side_ = ticket % task.right_hand_sides;
    const RowRange range = rows_of(ticket / task.right_hand_sides);
    size_ = range.size;
    exchange_.first_row = range.first;
    exchange_.x = task.x + side_ * task.leading_x + exchange_.first_row;
    find_elements();
  }

  /// Rows; may be 0 where chunks have equal work.
  [[nodiscard]] __device__ int size() const { return size_; }
  [[nodiscard]] __device__ const Exchange<T, forward>& exchange() const { return exchange_; }

  /// Finds a row's elements: the first load of a long chain.
  __device__ void find(WaitingRow<T>& row, int local) const {
    if (local >= size_) return;
    const std::int64_t* offset = task_.row_offsets + exchange_.row_at(local);
    row.element = static_cast<std::uint32_t>(offset[0] - first_element_);
    row.left = static_cast<int>(offset[1] - offset[0]);
  }

  /// Whether a row that was found has a part that is not one chain.
  [[nodiscard]] __device__ bool is_long(const WaitingRow<T>& row, int local) const {
    if (row.left <= chain_limit) return false;
    const RowParts parts = split(row, local);
    return parts.lower_part().count > chain_limit || parts.upper_part().count > chain_limit;
  }

  /// Does for a row that was found all that needs no waiting. All lanes of the warp; `any_long`: a row of
  /// theirs is long.
  template <bool any_long>
  __device__ void open(WaitingRow<T>& row, int local) const {
    const bool present = local < size_;
    RowParts parts{};
    Part known{};
    T sum = 0;
    if (present) {
      parts = split(row, local);
      if (!knows_lower(local)) known = forward ? parts.upper_part() : parts.lower_part();
      if (!any_long || known.count <= chain_limit) sum = chain_of(known, old_values());
    }
    if constexpr (any_long) sum_long_known_parts(known, sum);
    row.left = 0;
    if (present && begin_row(parts, local, sum)) {
      wait_for(forward ? parts.lower_part() : parts.upper_part(), row, local);
    }
  }

  /// Reads the next element that a row waits for. One whose value cannot come makes the row NaN.
  __device__ void fetch(WaitingRow<T>& row, int local) const {
    const int source = exchange_.position_of(columns_[row.element]);
    const T coefficient = values_[row.element];
    row.coefficient = source < local ? coefficient : written_nan<T>;
    row.source = min(source, local - 1);
  }

  /// The value that a short row was waiting for.
  __device__ void take(WaitingRow<T>& row, int local, Word<T> word) const {
    asm volatile("" : "+r"(local));  // else what follows from it is kept in registers, for every slot
    row.sum = multiply_add(row.coefficient, to_value<T>(word), row.sum);
    row.element += static_cast<unsigned>(step);
    if (--row.left == 0) {
      finish(local, row.sum);
    } else {
      fetch(row, local);
    }
  }

  /// The part that a long row waits for, by a warp, which stops until it is there; and the row. All lanes of
  /// the warp.
  __device__ void finish_long(std::uint32_t element, int count, int local) const {
    const T sum =
        tree_by_warp(columns_, values_, Part{element, step, count}, NewValues<T, forward>{exchange_, local});
    if (threadIdx.x % warp_lanes == 0) finish(local, sum);
    __syncwarp();
  }

  /// Publishes the row, given the sum that it waited for.
  __device__ void finish(int local, T sum) const {
    T* lower = forward ? lower_sum(exchange_.row_at(local)) : nullptr;
    if (lower != nullptr) *lower = sum;
    const HalfDone<T> begun{records<T>()[local].rest, records<T>()[local].scale,
                            relaxed() ? *kept_at(local) : T{0}};
    exchange_.publish(local, task_.relaxation.finish(begun, sum));
  }

 private:
  [[nodiscard]] __device__ RowParts split(const WaitingRow<T>& row, int local) const {
    return split_row(columns_, row.element, std::int64_t{row.element} + row.left, exchange_.row_at(local));
  }

  /// The sum of a short part whose values are known.
  [[nodiscard]] __device__ T chain_of(const Part& part, const KnownValues<T>& x) const {
    T sum = 0;
    std::int64_t k = part.first;
    for (auto left = static_cast<int>(part.count); left > 0; --left, k -= step) {
      sum = multiply_add(values_[k], x.x[columns_[k]], sum);
    }
    return sum;
  }

  /// Rows load one thing after another; this brings what they load as far as the L2 cache at once.
  __device__ void prefetch(int lowest, std::int64_t count) const {
    prefetch_array(columns_, count);
    prefetch_array(values_, count);
    prefetch_array(task_.b + side_ * task_.leading_b + lowest, size_);
    prefetch_array(old_values().x + lowest, size_);
  }

  /// The chunk's nonzeros: in shared memory, brought there in one stream, if there is room.
  __device__ void find_elements() {
    const int lowest = forward ? exchange_.first_row : exchange_.row_at(size_ - 1);
    first_element_ = task_.row_offsets[lowest];
    const std::int64_t count = task_.row_offsets[lowest + size_] - first_element_;
    columns_ = task_.column_indices + first_element_;
    values_ = task_.values + first_element_;
    if (count > shape_.room) {
      prefetch(lowest, count);
      return;
    }
    T* values = kept_at(relaxed() ? shape_.chunk : 0);
    auto* columns = reinterpret_cast<std::int32_t*>(values + shape_.room);
    for (int k = static_cast<int>(threadIdx.x); k < static_cast<int>(count);
         k += static_cast<int>(blockDim.x)) {
      __pipeline_memcpy_async(columns + k, columns_ + k, sizeof(std::int32_t));
      __pipeline_memcpy_async(values + k, values_ + k, sizeof(T));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    columns_ = columns;
    values_ = values;
  }

  [[nodiscard]] __device__ bool relaxed() const { return task_.relaxation.omega != T{1}; }
  [[nodiscard]] __device__ bool knows_lower(int local) const {
    return !forward && lower_sum(exchange_.row_at(local)) != nullptr;
  }
  [[nodiscard]] __device__ T* kept_at(int local) const {
    return reinterpret_cast<T*>(records<T>() + shape_.chunk) + local;
  }
  [[nodiscard]] __device__ T* lower_sum(int i) const { return task_.lower_sum(side_, i); }
  [[nodiscard]] __device__ KnownValues<T> old_values() const {
    return {task_.old + side_ * task_.leading_old};
  }

  /// Notes what a row will need in the end, or, for want of a diagonal element, publishes its old value:
  /// false.
  [[nodiscard]] __device__ bool begin_row(const RowParts& parts, int local, T sum) const {
    const int i = exchange_.row_at(local);
    const T a_ii = parts.has_diagonal() ? values_[parts.diagonal] : T{0};
    if (a_ii == T{0}) {
      exchange_.publish(local, old_values().x[i]);
      if (task_.skipped != nullptr && side_ == 0) count_skipped(*task_.skipped, i);
      return false;
    }
    const HalfDone<T> begun =
        task_.relaxation.begin(task_.b[side_ * task_.leading_b + i], knows_lower(local) ? *lower_sum(i) : sum,
                               a_ii, relaxed() ? old_values().x[i] : T{0});
    records<T>()[local].rest = begun.rest;
    records<T>()[local].scale = begun.scale;
    if (relaxed()) *kept_at(local) = begun.kept;
    return true;
  }

  /// The lanes' sums of such parts as are long, each by the warp. All lanes of the warp.
  __device__ void sum_long_known_parts(const Part& known, T& sum) const {
    for (unsigned owners = __ballot_sync(every_lane, known.count > chain_limit); owners != 0;
         owners &= owners - 1) {
      const int owner = __ffs(static_cast<int>(owners)) - 1;
      const Part part{__shfl_sync(every_lane, known.first, owner), -step,
                      __shfl_sync(every_lane, known.count, owner)};
      const T total = tree_by_warp(columns_, values_, part, old_values());
      if (static_cast<int>(threadIdx.x) % warp_lanes == owner) sum = total;
    }
  }

  /// A row is ready to wait for this part. The first row of all has nothing to wait for.
  __device__ void wait_for(const Part& part, WaitingRow<T>& row, int local) const {
    const auto count = static_cast<int>(part.count);
    row.element = static_cast<std::uint32_t>(part.first);
    if (count == 0) {
      finish(local, T{0});
    } else if (exchange_.row_at(local) == (forward ? 0 : static_cast<int>(task_.rows) - 1)) {
      finish(local, written_nan<T>);
    } else {
      row.left = count <= chain_limit ? count : -count;
    }
  }

  const DeviceSweep<T>& task_;
  const Shape& shape_;
  Exchange<T, forward> exchange_;
  unsigned side_;  // the right-hand side
  int size_;
  std::int64_t first_element_;  // of the chunk
  const std::int32_t* columns_;
  const T* values_;
};

/// Registers of a thread with so many slots: the fewer, the more rows are in flight.
constexpr int registers_for(int slots) {
  return slots <= 2 ? 48 : 64;
}

/// The first of a warp's unfinished rows.
struct FirstRow {
  int slot;
  int lane;
  int left;  ///< WaitingRow's
  std::uint32_t element;
};

/// All lanes of the warp, which has unfinished rows.
template <class T, int slots>
__device__ FirstRow first_unfinished(const WaitingRow<T> (&rows)[slots]) {
  FirstRow first{};
#pragma unroll
  for (int s = slots - 1; s >= 0; --s) {
    const unsigned waiting = __ballot_sync(every_lane, rows[s].left != 0);
    if (waiting == 0) continue;
    first.slot = s;
    first.lane = __ffs(static_cast<int>(waiting)) - 1;
    first.left = __shfl_sync(every_lane, rows[s].left, first.lane);
    first.element = __shfl_sync(every_lane, rows[s].element, first.lane);
  }
  return first;
}

/// Follows a warp's short rows, until no row is left, or, where there are long ones, the first of those left
/// is one: true.
template <bool any_long, class T, bool forward, int slots>
__device__ bool follow_rows(const Chunk<T, forward>& chunk, WaitingRow<T> (&rows)[slots], int first) {
  for (;;) {
    // Other blocks' values are asked for first, and taken when this block's have been followed up.
    Word<T> far[slots];
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      far[s] =
          rows[s].left > 0 && rows[s].source < 0 ? chunk.exchange().look_far(rows[s].source) : unpublished<T>;
    }
    bool moved;
    do {
      moved = false;
#pragma unroll
      for (int s = 0; s < slots; ++s) {
        if (rows[s].left <= 0 || rows[s].source < 0) continue;
        const Word<T> word = chunk.exchange().look_near(rows[s].source);
        if (word == unpublished<T>) continue;
        chunk.take(rows[s], first + s * warp_lanes, word);
        moved = true;
      }
    } while (__any_sync(every_lane, moved));
    bool waiting = false;
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      if (far[s] != unpublished<T>) chunk.take(rows[s], first + s * warp_lanes, far[s]);
      waiting = waiting || rows[s].left != 0;
    }
    if (!__any_sync(every_lane, waiting)) return false;
    if (any_long && first_unfinished(rows).left < 0) return true;
  }
}

/// All of a warp's rows, once they are found.
template <bool any_long, class T, bool forward, int slots>
__device__ void sweep_rows(const Chunk<T, forward>& chunk, WaitingRow<T> (&rows)[slots], int first) {
#pragma unroll
  for (int s = 0; s < slots; ++s) chunk.template open<any_long>(rows[s], first + s * warp_lanes);
#pragma unroll
  for (int s = 0; s < slots; ++s) {
    if (rows[s].left > 0) chunk.fetch(rows[s], first + s * warp_lanes);
  }
  while (follow_rows<any_long>(chunk, rows, first)) {
    const FirstRow row = first_unfinished(rows);
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    chunk.finish_long(row.element, -row.left, first - lane + row.slot * warp_lanes + row.lane);
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      if (s == row.slot && lane == row.lane) rows[s].left = 0;
    }
  }
}

/// A lane for each row, `slots` rows for each lane. Warps without long rows have code of their own, which
/// keeps what they know of their rows in registers.
template <class T, bool forward, int slots>
__global__ void __maxnreg__(registers_for(slots))
    sweep_by_lanes(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ Shape shape) {
  if (!task.is_wanted(Way::chunks)) return;
  let_next_start();
  const Chunk<T, forward> chunk(task, shape);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int first = (static_cast<int>(threadIdx.x) - lane) * slots + lane;
  WaitingRow<T> rows[slots];
#pragma unroll
  for (int s = 0; s < slots; ++s) chunk.find(rows[s], first + s * warp_lanes);
  bool any_long = false;
#pragma unroll
  for (int s = 0; s < slots; ++s) any_long = any_long || chunk.is_long(rows[s], first + s * warp_lanes);
  if (__any_sync(every_lane, any_long)) {
    sweep_rows<true>(chunk, rows, first);
  } else {
    sweep_rows<false>(chunk, rows, first);
  }
}

}  // namespace echelon::gauss_seidel

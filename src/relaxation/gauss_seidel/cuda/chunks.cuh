// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweep by chunks of consecutive rows: exact, in one launch, one lane per row.
///
/// Scheduling. Positions number the rows in the order of the sweep. A block takes the next chunk of positions
/// from a ticket counter when it starts. A row depends only on smaller positions, so on chunks of blocks that
/// have started: the sweep terminates with any number of resident blocks, and needs no guarantee beyond those
/// of CUDA. Within a block there is no barrier between waiting and publishing. A warp polls its rows
/// (`rows_per_thread` for each lane) one after another and never blocks on one of them, so lanes may wait for
/// lanes of the same warp, and as many rows are in flight as registers and shared memory hold. A dependency
/// on the row itself or a later one, which unsorted columns cause, makes the row NaN.
///
/// Synchronisation. The value is the flag: x holds the NaN not_ready wherever no value has been published,
/// and that NaN is never published. A relaxed load and a relaxed store suffice, without a fence on either
/// side. x is another vector than the old one, so the pattern need not be symmetric. Values of the same chunk
/// are exchanged through shared memory.
///
/// Critical path. Everything that needs no waiting (the sum over old values, b, 1 / a_ii) is computed first,
/// and the coefficient of the element that a row waits for is loaded in advance. Between the arrival of the
/// last value and the publication there are one fma, a subtraction, and a multiplication or fma.
///
/// Parts of more than 32 elements are summed by a whole warp, which blocks until all values are ready. It
/// does so only for the first of its unfinished rows, all of whose dependencies belong to other warps, so
/// this cannot deadlock. For matrices with many such rows see long_rows.cuh.
///
/// Cost of a forward sweep: 4 + s bytes per nonzero and 8 + 3 s per row (offset, b, old and new x; s = sizeof
/// T), and s more per row to clear the old vector. The time is at least the larger of bytes / bandwidth and
/// number of levels times the latency from one multiprocessor to another through the L2 cache.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

#include <cuda_pipeline.h>

#include <cstdint>

namespace echelon::gauss_seidel {

/// Partition of the rows into chunks, one for each block.
struct ChunkPlan {
  int max_rows;         ///< capacity of a chunk
  int staged_elements;  ///< capacity of the shared-memory copy of a chunk's elements; a larger chunk reads
                        ///< them from global memory
  int work;  ///< weight of a chunk (see row_work), where chunks have equal weight instead of equal numbers of
             ///< rows
};

/// Consecutive rows in the order of the sweep, beginning with row `first`.
struct RowRange {
  int first;
  int size;
};

/// Partition into chunks of chunk_rows rows.
template <bool forward>
struct EqualRows {
  int rows;  ///< of the matrix
  int chunk_rows;
  [[nodiscard]] __device__ RowRange operator()(unsigned number) const {
    const int first = static_cast<int>(number) * chunk_rows;
    return {forward ? first : rows - 1 - first, min(chunk_rows, rows - first)};
  }
};

/// State of a row that waits for new values, kept in the registers of its lane.
template <class T>
struct WaitingRow {
  T partial_sum = 0;          ///< sum of the products whose values were ready
  T coefficient = 0;          ///< of the next element
  std::uint32_t element = 0;  ///< the next element, counted from the chunk's first nonzero
  int source = 0;     ///< position of the next element's unknown, counted from the chunk's first; negative in
                      ///< earlier chunks
  int remaining = 0;  ///< elements not yet added, the next one included; negated if the row is long
};

/// State of a row in shared memory. A record of three words makes the lanes of a warp hit different banks.
/// The records of a chunk are followed by PartialRow::weighted_old of each row, if omega != 1, and the copied
/// elements.
template <class T>
struct RowRecord {
  Word<T> value;
  T reduced_rhs;  ///< PartialRow::reduced_rhs
  T inverse_diagonal;
};

template <class T>
__device__ RowRecord<T>* records() {
  return reinterpret_cast<RowRecord<T>*>(gauss_seidel_storage);
}

/// Reads and publishes new values. Positions are counted from the first of the chunk; those of earlier chunks
/// are negative.
template <class T, bool forward>
struct ValueExchange {
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;

  int first_row;  ///< first row of the chunk
  T* x;           ///< its element of the new x

  [[nodiscard]] __device__ int row_at(int local) const { return first_row + (forward ? local : -local); }
  [[nodiscard]] __device__ int position_of(int row) const {
    return forward ? row - first_row : first_row - row;
  }
  /// Value of another chunk, or not_ready.
  [[nodiscard]] __device__ Word<T> load_global(int source) const {
    return Shared(*element(source)).load(cuda::memory_order_relaxed);
  }
  /// Value of this chunk, or not_ready.
  [[nodiscard]] __device__ Word<T> load_shared(int source) const {
    return *const_cast<const volatile Word<T>*>(&records<T>()[source].value);
  }
  __device__ void publish(int local, T value) const {
    const Word<T> word = to_word(canonical(value));
    *const_cast<volatile Word<T>*>(&records<T>()[local].value) = word;
    Shared(*element(local)).store(word, cuda::memory_order_relaxed);
  }

 private:
  [[nodiscard]] __device__ Word<T>* element(int local) const {
    return reinterpret_cast<Word<T>*>(forward ? x + local : x - local);
  }
};

/// New values for the row at `local`. Columns that the sweep reaches later read as NaN.
template <class T, bool forward>
struct NewValues {
  ValueExchange<T, forward> exchange;
  int local;
  [[nodiscard]] __device__ Word<T> load(std::int32_t column) const {
    const int source = exchange.position_of(column);
    if (source >= local) return to_word(canonical_nan<T>);
    return source >= 0 ? exchange.load_shared(source) : exchange.load_global(source);
  }
  [[nodiscard]] __device__ T await(std::int32_t column, Word<T> loaded) const {
    while (loaded == not_ready<T>) loaded = load(column);
    return to_value<T>(loaded);
  }
};

/// A chunk of rows, and the operations of the block that sweeps over it.
template <class T, bool forward>
class Chunk {
 public:
  static constexpr int step =
      forward ? 1 : -1;  ///< from the far end of the waiting part towards the diagonal

  /// Takes the next chunk of plan.max_rows rows. Block-collective.
  __device__ Chunk(const DeviceSweep<T>& task, const ChunkPlan& plan)
      : Chunk(task, plan, EqualRows<forward>{static_cast<int>(task.rows), plan.max_rows}) {}
  /// Takes the next chunk, number n of which has the rows rows_of(n). Block-collective.
  template <class Rows>
  __device__ Chunk(const DeviceSweep<T>& task, const ChunkPlan& plan, const Rows& rows_of)
      : task_(task), plan_(plan) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) taken = atomicInc(task.tickets, gridDim.x - 1);
    for (int k = static_cast<int>(threadIdx.x); k < plan.max_rows; k += static_cast<int>(blockDim.x)) {
      records<T>()[k].value = not_ready<T>;
    }
    __syncthreads();
    const unsigned ticket = __shfl_sync(full_warp, taken, 0);  // marks the value as uniform for the compiler
    rhs_ = ticket % task.right_hand_sides;
    const RowRange range = rows_of(ticket / task.right_hand_sides);
    size_ = range.size;
    exchange_.first_row = range.first;
    exchange_.x = task.x + rhs_ * task.leading_x + exchange_.first_row;
    stage_elements();
  }

  /// Number of rows; may be 0 if chunks have equal weight.
  [[nodiscard]] __device__ int size() const { return size_; }
  [[nodiscard]] __device__ const ValueExchange<T, forward>& exchange() const { return exchange_; }

  /// Loads the range of a row's elements: the first of a chain of dependent loads.
  __device__ void locate(WaitingRow<T>& row, int local) const {
    if (local >= size_) return;
    const std::int64_t* offset = task_.row_offsets + exchange_.row_at(local);
    row.element = static_cast<std::uint32_t>(offset[0] - first_element_);
    row.remaining = static_cast<int>(offset[1] - offset[0]);
  }

  /// True if a part of the row has more than chain_limit elements. The row has been located.
  [[nodiscard]] __device__ bool is_long(const WaitingRow<T>& row, int local) const {
    if (row.remaining <= chain_limit) return false;
    const RowSplit parts = split(row, local);
    return parts.lower_part().count > chain_limit || parts.upper_part().count > chain_limit;
  }

  /// Computes everything of a located row that needs no waiting. `with_long_rows`: a row of this warp may be
  /// long. Warp-collective.
  template <bool with_long_rows>
  __device__ void prepare(WaitingRow<T>& row, int local) const {
    const bool present = local < size_;
    RowSplit parts{};
    RowSide known{};
    T sum = 0;
    if (present) {
      parts = split(row, local);
      if (!has_lower_sum(local)) known = forward ? parts.upper_part() : parts.lower_part();
      if (!with_long_rows || known.count <= chain_limit) sum = known_chain(known, old_values());
    }
    if constexpr (with_long_rows) sum_long_known_parts(known, sum);
    row.remaining = 0;
    if (present && begin_row(parts, local, sum)) {
      start_waiting(forward ? parts.lower_part() : parts.upper_part(), row, local);
    }
  }

  /// Loads the next element that a row waits for. If its unknown comes later in the sweep, NaN replaces the
  /// coefficient.
  __device__ void load_next(WaitingRow<T>& row, int local) const {
    const int source = exchange_.position_of(columns_[row.element]);
    const T coefficient = values_[row.element];
    row.coefficient = source < local ? coefficient : canonical_nan<T>;
    row.source = min(source, local - 1);
  }

  /// Adds the product with the value that a short row was waiting for, and publishes the row if it was the
  /// last.
  __device__ void accumulate(WaitingRow<T>& row, int local, Word<T> word) const {
    asm volatile(""
                 : "+r"(local));  // keeps the compiler from holding values derived from `local` in registers
                                  // for every row of the lane
    row.partial_sum = multiply_add(row.coefficient, to_value<T>(word), row.partial_sum);
    row.element += static_cast<unsigned>(step);
    if (--row.remaining == 0) {
      finish(local, row.partial_sum);
    } else {
      load_next(row, local);
    }
  }

  /// Sums the waiting part of a long row, blocking until it is complete, and publishes the row.
  /// Warp-collective.
  __device__ void finish_long(std::uint32_t element, int count, int local) const {
    const T sum = long_part_sum(columns_, values_, RowSide{element, step, count},
                                NewValues<T, forward>{exchange_, local});
    if (threadIdx.x % warp_size == 0) finish(local, sum);
    __syncwarp();
  }

  /// Publishes the row, given the sum of its waiting part.
  __device__ void finish(int local, T sum) const {
    T* lower = forward ? lower_sum(exchange_.row_at(local)) : nullptr;
    if (lower != nullptr) *lower = sum;
    const PartialRow<T> partial_row{records<T>()[local].reduced_rhs, records<T>()[local].inverse_diagonal,
                                    relaxed() ? *weighted_old_at(local) : T{0}};
    exchange_.publish(local, task_.relaxation.finish(partial_row, sum));
  }

 private:
  [[nodiscard]] __device__ RowSplit split(const WaitingRow<T>& row, int local) const {
    return split_row(columns_, row.element, std::int64_t{row.element} + row.remaining,
                     exchange_.row_at(local));
  }

  /// Sum of a short part whose values are known.
  [[nodiscard]] __device__ T known_chain(const RowSide& part, const KnownValues<T>& x) const {
    T sum = 0;
    std::int64_t k = part.first;
    for (auto remaining = static_cast<int>(part.count); remaining > 0; --remaining, k -= step) {
      sum = multiply_add(values_[k], x.x[columns_[k]], sum);
    }
    return sum;
  }

  /// Prefetches everything that the rows will load into the L2 cache; each row by itself has a chain of
  /// dependent loads.
  __device__ void prefetch(int lowest, std::int64_t count) const {
    prefetch_array(columns_, count);
    prefetch_array(values_, count);
    prefetch_array(task_.b + rhs_ * task_.leading_b + lowest, size_);
    prefetch_array(old_values().x + lowest, size_);
  }

  /// Copies the chunk's elements to shared memory if they fit.
  __device__ void stage_elements() {
    const int lowest = forward ? exchange_.first_row : exchange_.row_at(size_ - 1);
    first_element_ = task_.row_offsets[lowest];
    const std::int64_t count = task_.row_offsets[lowest + size_] - first_element_;
    columns_ = task_.column_indices + first_element_;
    values_ = task_.values + first_element_;
    if (count > plan_.staged_elements) {
      prefetch(lowest, count);
      return;
    }
    T* values = weighted_old_at(relaxed() ? plan_.max_rows : 0);
    auto* columns = reinterpret_cast<std::int32_t*>(values + plan_.staged_elements);
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
  [[nodiscard]] __device__ bool has_lower_sum(int local) const {
    return !forward && lower_sum(exchange_.row_at(local)) != nullptr;
  }
  [[nodiscard]] __device__ T* weighted_old_at(int local) const {
    return reinterpret_cast<T*>(records<T>() + plan_.max_rows) + local;
  }
  [[nodiscard]] __device__ T* lower_sum(int i) const { return task_.lower_sum(rhs_, i); }
  [[nodiscard]] __device__ KnownValues<T> old_values() const {
    return {task_.old + rhs_ * task_.leading_old};
  }

  /// Computes the PartialRow of a row. If the diagonal element is missing or zero, publishes the old value
  /// instead and returns false.
  [[nodiscard]] __device__ bool begin_row(const RowSplit& parts, int local, T sum) const {
    const int i = exchange_.row_at(local);
    const T a_ii = parts.has_diagonal() ? values_[parts.diagonal] : T{0};
    if (a_ii == T{0}) {
      exchange_.publish(local, old_values().x[i]);
      if (task_.skipped != nullptr && rhs_ == 0) count_skipped(*task_.skipped, i);
      return false;
    }
    const PartialRow<T> partial_row = task_.relaxation.begin(task_.b[rhs_ * task_.leading_b + i],
                                                             has_lower_sum(local) ? *lower_sum(i) : sum, a_ii,
                                                             relaxed() ? old_values().x[i] : T{0});
    records<T>()[local].reduced_rhs = partial_row.reduced_rhs;
    records<T>()[local].inverse_diagonal = partial_row.inverse_diagonal;
    if (relaxed()) *weighted_old_at(local) = partial_row.weighted_old;
    return true;
  }

  /// Replaces the sums of those lanes whose known part is long, one after another. Warp-collective.
  __device__ void sum_long_known_parts(const RowSide& known, T& sum) const {
    for (unsigned owners = __ballot_sync(full_warp, known.count > chain_limit); owners != 0;
         owners &= owners - 1) {
      const int owner = __ffs(static_cast<int>(owners)) - 1;
      const RowSide part{__shfl_sync(full_warp, known.first, owner), -step,
                         __shfl_sync(full_warp, known.count, owner)};
      const T total = long_part_sum(columns_, values_, part, old_values());
      if (lane_id() == owner) sum = total;
    }
  }

  /// Starts to wait for a part. The first row of the sweep has nothing to wait for; a dependency there makes
  /// it NaN.
  __device__ void start_waiting(const RowSide& part, WaitingRow<T>& row, int local) const {
    const auto count = static_cast<int>(part.count);
    row.element = static_cast<std::uint32_t>(part.first);
    if (count == 0) {
      finish(local, T{0});
    } else if (exchange_.row_at(local) == (forward ? 0 : static_cast<int>(task_.rows) - 1)) {
      finish(local, canonical_nan<T>);
    } else {
      row.remaining = count <= chain_limit ? count : -count;
    }
  }

  const DeviceSweep<T>& task_;
  const ChunkPlan& plan_;
  ValueExchange<T, forward> exchange_;
  unsigned rhs_;  // right-hand side
  int size_;
  std::int64_t first_element_;  // of the chunk, in the matrix
  const std::int32_t* columns_;
  const T* values_;
};

/// Register limit per thread. The fewer registers, the more rows are in flight.
constexpr int register_limit(int rows_per_thread) {
  return rows_per_thread <= 2 ? 48 : 64;
}

/// The first unfinished row of a warp.
struct FirstUnfinished {
  int slot;
  int lane;
  int remaining;  ///< WaitingRow::remaining
  std::uint32_t element;
};

/// Finds it. The warp has unfinished rows. Warp-collective.
template <class T, int rows_per_thread>
__device__ FirstUnfinished first_unfinished(const WaitingRow<T> (&rows)[rows_per_thread]) {
  FirstUnfinished first{};
#pragma unroll
  for (int s = rows_per_thread - 1; s >= 0; --s) {
    const unsigned waiting = __ballot_sync(full_warp, rows[s].remaining != 0);
    if (waiting == 0) continue;
    first.slot = s;
    first.lane = __ffs(static_cast<int>(waiting)) - 1;
    first.remaining = __shfl_sync(full_warp, rows[s].remaining, first.lane);
    first.element = __shfl_sync(full_warp, rows[s].element, first.lane);
  }
  return first;
}

/// Polls a warp's rows until all are finished (returns false) or, if `with_long_rows`, until the first
/// unfinished one is long (returns true). Warp-collective.
template <bool with_long_rows, class T, bool forward, int rows_per_thread>
__device__ bool poll_rows(const Chunk<T, forward>& chunk, WaitingRow<T> (&rows)[rows_per_thread], int first) {
  for (;;) {
    // Loads from global memory are issued first and used after all progress within the chunk.
    Word<T> global_word[rows_per_thread];
#pragma unroll
    for (int s = 0; s < rows_per_thread; ++s) {
      global_word[s] = rows[s].remaining > 0 && rows[s].source < 0
                           ? chunk.exchange().load_global(rows[s].source)
                           : not_ready<T>;
    }
    bool advanced;
    do {
      advanced = false;
#pragma unroll
      for (int s = 0; s < rows_per_thread; ++s) {
        if (rows[s].remaining <= 0 || rows[s].source < 0) continue;
        const Word<T> word = chunk.exchange().load_shared(rows[s].source);
        if (word == not_ready<T>) continue;
        chunk.accumulate(rows[s], first + s * warp_size, word);
        advanced = true;
      }
    } while (__any_sync(full_warp, advanced));
    bool waiting = false;
#pragma unroll
    for (int s = 0; s < rows_per_thread; ++s) {
      if (global_word[s] != not_ready<T>) chunk.accumulate(rows[s], first + s * warp_size, global_word[s]);
      waiting = waiting || rows[s].remaining != 0;
    }
    if (!__any_sync(full_warp, waiting)) return false;
    if (with_long_rows && first_unfinished(rows).remaining < 0) return true;
  }
}

/// Computes all rows of a warp, which have been located. Warp-collective.
template <bool with_long_rows, class T, bool forward, int rows_per_thread>
__device__ void sweep_rows(const Chunk<T, forward>& chunk, WaitingRow<T> (&rows)[rows_per_thread],
                           int first) {
#pragma unroll
  for (int s = 0; s < rows_per_thread; ++s)
    chunk.template prepare<with_long_rows>(rows[s], first + s * warp_size);
#pragma unroll
  for (int s = 0; s < rows_per_thread; ++s) {
    if (rows[s].remaining > 0) chunk.load_next(rows[s], first + s * warp_size);
  }
  while (poll_rows<with_long_rows>(chunk, rows, first)) {
    const FirstUnfinished row = first_unfinished(rows);
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    chunk.finish_long(row.element, -row.remaining, first - lane + row.slot * warp_size + row.lane);
#pragma unroll
    for (int s = 0; s < rows_per_thread; ++s) {
      if (s == row.slot && lane == row.lane) rows[s].remaining = 0;
    }
  }
}

/// Sweep by chunks of equal numbers of rows. Warps without long rows run a separate instantiation, which
/// keeps the state of their rows in registers.
template <class T, bool forward, int rows_per_thread>
__global__ void __maxnreg__(register_limit(rows_per_thread))
    sweep_chunks(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ ChunkPlan plan) {
  if (!task.selects(Strategy::chunks)) return;
  trigger_dependent_launch();
  const Chunk<T, forward> chunk(task, plan);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int first = (static_cast<int>(threadIdx.x) - lane) * rows_per_thread + lane;
  WaitingRow<T> rows[rows_per_thread];
#pragma unroll
  for (int s = 0; s < rows_per_thread; ++s) chunk.locate(rows[s], first + s * warp_size);
  bool with_long_rows = false;
#pragma unroll
  for (int s = 0; s < rows_per_thread; ++s)
    with_long_rows = with_long_rows || chunk.is_long(rows[s], first + s * warp_size);
  if (__any_sync(full_warp, with_long_rows)) {
    sweep_rows<true>(chunk, rows, first);
  } else {
    sweep_rows<false>(chunk, rows, first);
  }
}

}  // namespace echelon::gauss_seidel

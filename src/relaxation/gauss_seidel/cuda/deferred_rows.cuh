// SPDX-License-Identifier: BSD-3-Clause
/// Rows that a region sweep has deferred, and the loop that finishes them.
///
/// A deferred row is stored with its partial sum and the source of its next value. Most wait for another
/// deferred row of the same region, whose value appears in shared memory. Each warp of the block polls its
/// share of the deferred rows in their order, as many as its list holds, and blocks on none. The smallest
/// unfinished row of all regions has all its values, so it is finished when its warp next polls it: the loop
/// terminates.
#pragma once

#include "relaxation/gauss_seidel/cuda/whole_row.cuh"

namespace echelon::gauss_seidel {

/// State of a row whose next value was missing: what has been added, and where the missing value will appear.
template <class T>
struct alignas(16) DeferredRow {
  T partial_sum;  ///< of the elements before `element`, counted from the far end
  T coefficient;  ///< of the missing element
  T reduced_rhs;  ///< PartialRow::reduced_rhs
  T inverse_diagonal;
  std::int32_t row;
  std::int32_t element;    ///< the missing element, in the matrix
  std::int32_t remaining;  ///< elements not yet added, the missing one included
  /// The missing value: an unknown if not negative; another deferred row of the region if negative (see
  /// DeferredStorage::source_of); or whole_row if a warp computes the row from the matrix alone.
  std::int32_t source;
};
inline constexpr std::int32_t whole_row = INT32_MIN;
/// The row waits for nothing: it is finished.
inline constexpr std::int32_t no_source = whole_row + 1;
/// The missing value is that of column_indices[element], which the sweep of a tile has not looked up.
inline constexpr std::int32_t unknown_source = INT32_MAX;

/// Partition of the rows into regions, one for each block.
template <class T>
struct RegionPlan {
  std::int64_t region_rows;  ///< a multiple of the tile size
  std::int64_t regions;
  int deferred_capacity;          ///< capacity for deferred rows of a region at any time
  DeferredRow<T>* deferred_rows;  ///< deferred_capacity rows for each region and right-hand side
};

/// deferred_mark + unknown_place: the row is deferred, but its index in the list is not known.
inline constexpr int unknown_place = 0x3ffffe;

/// Shared memory of a block while it finishes its deferred rows. It takes the place of RegionStorage.
template <class T>
struct DeferredStorage {
  static constexpr int value_capacity = 2304;  ///< deferred rows beyond these publish their values in x only
  static constexpr int list_capacity = 1728;   ///< entries of all warps' lists of polled rows
  Word<T> values[value_capacity];              ///< new values by index; not_ready before
  /// Lists of polled rows, one for each warp: sources and indices of deferred rows.
  std::int32_t sources[list_capacity];
  std::uint16_t indices[list_capacity];

  /// Encodes deferred row `index` of the region as a source, and decodes it.
  [[nodiscard]] static __device__ std::int32_t source_of(int index) { return -1 - index; }
  [[nodiscard]] static __device__ int index_of(std::int32_t source) { return -1 - source; }
};

/// Returns its argument. The shuffle stops the compiler from recomputing the value wherever it is used, so
/// that it stays in a register.
__device__ inline int keep_in_register(int value) {
  return __shfl_sync(full_warp, value, lane_id());
}

/// A region of rows, for one of the right-hand sides, and the block that sweeps over it. Uniform in the
/// block.
template <class T, bool forward>
struct SweptRegion {
  const DeviceSweep<T>& task;
  unsigned rhs;
  int first;  ///< position
  int end;
  Word<T>* x;
  const T* b;
  int rows;  ///< of the matrix
  const std::int32_t* columns;
  const T* values;
  DeferredRow<T>* deferred_rows;
  int deferred_capacity;

  /// Takes the next region from the ticket counter. Block-collective.
  __device__ SweptRegion(const DeviceSweep<T>& sweep, const RegionPlan<T>& plan)
      : task(sweep),
        rows(static_cast<int>(sweep.rows)),
        columns(sweep.column_indices),
        values(sweep.values),
        deferred_capacity(plan.deferred_capacity) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
      taken = atomicInc(task.tickets, gridDim.x - 1);
      deferred_count() = 0;
    }
    __syncthreads();
    const unsigned ticket = __shfl_sync(full_warp, taken, 0);
    rhs = ticket % task.right_hand_sides;
    const auto number = static_cast<std::int64_t>(ticket / task.right_hand_sides);
    first = static_cast<int>(min(task.rows, number * plan.region_rows));
    end = static_cast<int>(min(task.rows, (number + 1) * plan.region_rows));
    x = reinterpret_cast<Word<T>*>(task.x + rhs * task.leading_x);
    b = task.b + rhs * task.leading_b;
    deferred_rows = plan.deferred_rows + std::int64_t{ticket} * deferred_capacity;
  }

  [[nodiscard]] static __device__ int& deferred_count() {
    __shared__ int count;
    return count;
  }
  [[nodiscard]] __device__ int row_at(int position) const { return forward ? position : rows - 1 - position; }
  [[nodiscard]] __device__ const T* old() const { return task.old + rhs * task.leading_old; }
  /// PartialRow::weighted_old of row i.
  [[nodiscard]] __device__ T weighted_old(int i) const { return task.relaxation.one_minus_omega * old()[i]; }

  [[nodiscard]] __device__ Word<T> load(int column) const {
    return cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[column]).load(cuda::memory_order_relaxed);
  }
  /// True if the unknown belongs to this region or a later one.
  [[nodiscard]] __device__ bool contains(int column) const {
    return (forward ? column : rows - 1 - column) >= first;
  }
  /// Meaning of a word of x for this block: a value; deferred_mark plus an index within value_capacity, if
  /// the row belongs to this region; and not_ready in all other cases.
  [[nodiscard]] __device__ Word<T> interpret(Word<T> word, bool in_region) const {
    const bool is_listed =
        in_region && word - deferred_mark<T> < static_cast<Word<T>>(DeferredStorage<T>::value_capacity);
    return is_value<T>(word) || is_listed ? word : not_ready<T>;
  }
  [[nodiscard]] __device__ Word<T> load_value(int column) const { return interpret(load(column), false); }
  __device__ void publish(int row, Word<T> word) const {
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[row]).store(word, cuda::memory_order_relaxed);
  }
  __device__ void count_skipped_row(int i) const {
    if (task.skipped != nullptr && rhs == 0) count_skipped(*task.skipped, i);
  }
};

[[nodiscard]] __device__ inline unsigned lanemask_lt() {
  unsigned mask = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/// Index among the whole block's entries of entry p of this warp: groups of 32 entries go to the warps in
/// turn.
template <int warps>
__device__ int list_slot(int p) {
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  return (p / warp_size * warps + warp) * warp_size + p % warp_size;
}

/// Tries to compute the rows marked whole_row among the first `pending` entries of the warp's list.
/// Warp-collective.
template <class T, bool forward, int warps>
__device__ __noinline__ void try_whole_rows(const DeviceSweep<T>& task, unsigned rhs,
                                            const DeferredRow<T>* deferred_rows, int pending) {
  auto& storage = *reinterpret_cast<DeferredStorage<T>*>(gauss_seidel_storage);
  for (int p = 0; p < pending; ++p) {
    const int slot = list_slot<warps>(p);
    if (storage.sources[slot] != whole_row) continue;
    const int index = storage.indices[slot];
    const int row = deferred_rows[index].row;
    if (!try_finish_row<T, forward>(task, rhs, row) || threadIdx.x % warp_size != 0) continue;
    storage.sources[slot] = no_source;
    if (index >= DeferredStorage<T>::value_capacity) continue;
    const auto* const x = reinterpret_cast<const Word<T>*>(task.x + rhs * task.leading_x);
    storage.values[index] = *const_cast<const volatile Word<T>*>(x + row);
  }
  __syncwarp();
}

template <class T, bool forward, bool relaxes, int warps>
class DeferredRowFinisher {
  using Storage = DeferredStorage<T>;

 public:
  __device__ DeferredRowFinisher(const SweptRegion<T, forward>& region, Storage& storage)
      : region_(region), storage_(storage) {}

  /// Finishes all deferred rows and empties the list. Block-collective.
  __device__ void finish() {
    const int count = region_.deferred_count();
    for (int k = static_cast<int>(threadIdx.x); k < min(count, Storage::value_capacity);
         k += warps * warp_size) {
      storage_.values[k] = not_ready<T>;
    }
    __syncthreads();
    int pending = 0;  // entries in the warp's list
    int started = 0;  // deferred rows of the warp's share that have entered the list
    while (pending > 0 || list_slot<warps>(started) < count) {
      const int before = pending;
      const int started_before = started;
      bool has_whole = false;
      pending = 0;
      // Polls the entries of the list first; then, while the list has capacity, deferred rows that have not
      // entered it.
      for (int first = 0;; first += section) {
        const bool listed = first < before;
        if (!listed && (pending + section > list_capacity || list_slot<warps>(started) >= count)) break;
        Entry each[batch];
#pragma unroll
        for (int e = 0; e < batch; ++e) {
          const int p = e * warp_size + lane_id();
          each[e] = listed ? entry(first + p, before) : first_entry(started + p, count);
        }
        const int end = listed ? min(before, first + section) : pending + section;
        pending = process(each, pending, end, has_whole);
        if (!listed) started += section;
      }
      if (has_whole) {
        try_whole_rows<T, forward, warps>(region_.task, region_.rhs, region_.deferred_rows, pending);
      }
      if (pending == before && started == started_before) __nanosleep(100);
    }
    __syncthreads();
    if (threadIdx.x == 0) region_.deferred_count() = 0;
    __syncthreads();
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int batch = 4;  // loads in flight per lane
  static constexpr int section = batch * warp_size;
  static constexpr int list_capacity = Storage::list_capacity / (warps * warp_size) * warp_size;  // per warp
  // The 128 rows of a tile may be deferred in any order. A list that could only hold rows before the one that
  // they all need would never poll that one.
  static_assert(list_capacity >= 128 + section);

  /// An entry of the warp's list.
  struct Entry {
    std::int32_t source;
    int index;
  };

  [[nodiscard]] __device__ bool precedes(std::int32_t column, std::int32_t row) const {
    return forward ? column < row : column > row;
  }
  /// Value of a deferred row, which other rows of the region wait for.
  [[nodiscard]] __device__ volatile Word<T>& value_at(int index) const {
    return const_cast<volatile Word<T>&>(storage_.values[index]);
  }
  [[nodiscard]] __device__ Word<T> load_source(std::int32_t source) const {
    if (source >= 0) return region_.load_value(source);
    if (source <= no_source) return not_ready<T>;
    return value_at(Storage::index_of(source));
  }

  /// Entry p of the warp's list, which ends at `end`.
  [[nodiscard]] __device__ Entry entry(int p, int end) const {
    if (p >= end) return {no_source, 0};
    return {storage_.sources[list_slot<warps>(p)], storage_.indices[list_slot<warps>(p)]};
  }
  /// Appends the selected lanes' entries to the list at p and returns their number. Warp-collective.
  __device__ int append(int p, const Entry& entry, bool selected) const {
    const unsigned mask = __ballot_sync(full_warp, selected);
    if (selected) {
      const int slot = list_slot<warps>(p + __popc(mask & lanemask_lt()));
      storage_.sources[slot] = entry.source;
      storage_.indices[slot] = static_cast<std::uint16_t>(entry.index);
    }
    return __popc(mask);
  }

  /// Entry for deferred row p of the warp's share.
  [[nodiscard]] __device__ Entry first_entry(int p, int count) const {
    const int index = list_slot<warps>(p);
    return {index < count ? resolve_source(region_.deferred_rows[index]) : no_source, index};
  }
  [[nodiscard]] __device__ std::int32_t resolve_source(const DeferredRow<T>& row) const {
    if (row.source != unknown_source) return row.source;
    const std::int32_t column = region_.columns[row.element];
    return precedes(column, row.row) ? column : whole_row;
  }

  /// Polls one entry per lane and batch, advances those whose value is ready, and writes those that still
  /// wait to the list at `pending`; entries up to `end` may be overwritten. Returns the new length of the
  /// list. Warp-collective.
  __device__ int process(const Entry (&each)[batch], int pending, int end, bool& has_whole) const {
    Word<T> word[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) word[e] = load_source(each[e].source);
    __syncwarp();
    // Entries whose value is ready are compacted at the end, so that all lanes have one to advance.
    int ready = end;
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const bool ready_now = word[e] != not_ready<T>;
      pending += append(pending, each[e], !ready_now && each[e].source != no_source);
      ready -= __popc(__ballot_sync(full_warp, ready_now));
      append(ready, each[e], ready_now);
      has_whole = __any_sync(full_warp, each[e].source == whole_row) || has_whole;
    }
    __syncwarp();
    for (; ready < end; ready += warp_size) {
      Entry current = entry(ready + lane_id(), end);
      __syncwarp();
      if (current.source != no_source) current.source = advance(current);
      pending += append(pending, current, current.source != no_source);
    }
    __syncwarp();
    return pending;
  }

  /// Adds products as long as values are ready, the first of which is. Publishes the row and returns
  /// no_source, or stores its state and returns the source that it waits for.
  [[nodiscard]] __device__ std::int32_t advance(const Entry& entry) const {
    DeferredRow<T>& stored = region_.deferred_rows[entry.index];
    DeferredRow<T> row = stored;
    row.partial_sum = multiply_add(row.coefficient, to_value<T>(load_source(entry.source)), row.partial_sum);
    while (--row.remaining > 0) {
      row.element += step;
      const std::int32_t column = region_.columns[row.element];
      row.coefficient = region_.values[row.element];
      Word<T> word = to_word(canonical_nan<T>);
      if (precedes(column, row.row)) word = region_.interpret(region_.load(column), region_.contains(column));
      std::int32_t source = column;
      if (!is_value<T>(word) && word != not_ready<T>) {
        source = Storage::source_of(static_cast<int>(word - deferred_mark<T>));
        word = load_source(source);
      }
      if (word == not_ready<T>) {
        stored = row;
        return source;
      }
      row.partial_sum = multiply_add(row.coefficient, to_value<T>(word), row.partial_sum);
    }
    const T r = row.reduced_rhs - row.partial_sum;
    T value = r * row.inverse_diagonal;
    if constexpr (relaxes) value = multiply_add(r, row.inverse_diagonal, region_.weighted_old(row.row));
    const Word<T> result = to_word(canonical(value));
    if (entry.index < Storage::value_capacity) value_at(entry.index) = result;
    region_.publish(row.row, result);
    return no_source;
  }

  const SweptRegion<T, forward>& region_;
  Storage& storage_;
};

}  // namespace echelon::gauss_seidel

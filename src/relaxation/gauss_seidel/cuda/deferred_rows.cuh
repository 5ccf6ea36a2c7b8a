// SPDX-License-Identifier: BSD-3-Clause
/// What becomes of the rows that a block has left over while it walked through its region: its warps look at
/// them again and again until they are done.
///
/// Of a leftover is noted what it still needs. Most wait for others of their region: for these it is enough
/// to look at shared memory. A warp looks at as many of its leftovers as its list has room for, in their
/// order, and no leftover keeps it from looking at the others; so the smallest unfinished row of all is done
/// when its warp comes to it.
#pragma once

#include "relaxation/gauss_seidel/cuda/whole_row.cuh"

namespace echelon::gauss_seidel {

/// What a row still needs when a value was missing.
template <class T>
struct alignas(16) Leftover {
  T sum;          ///< of the elements taken
  T coefficient;  ///< of the element that is missing
  T rest;         ///< HalfDone's
  T scale;
  std::int32_t row;
  std::int32_t element;  ///< the missing one
  std::int32_t left;     ///< elements to take, with this one
  /// What is missing: an unknown; or, less than 0, another of the region's leftovers (marker_of); or
  /// whole_row: the whole row is to be done, by a warp.
  std::int32_t source;
};
inline constexpr std::int32_t whole_row = INT32_MIN;
/// It needs nothing any more.
inline constexpr std::int32_t no_source = whole_row + 1;
/// In place of an unknown, while walking: to be looked up.
inline constexpr std::int32_t unknown_source = INT32_MAX;

/// How rows are shared out among blocks.
template <class T>
struct Walk {
  std::int64_t rows_of_region;  ///< a multiple of a tile's
  std::int64_t regions;
  int room;                ///< leftovers that a region may have at a time
  Leftover<T>* leftovers;  ///< for each region and right-hand side
};

/// left_over plus this: it is not known which.
inline constexpr int somewhere = 0x3ffffe;

/// A block's shared memory while it goes through its leftovers.
template <class T>
struct LeftoverStorage {
  static constexpr int room = 2304;       ///< of others the values are looked for in memory
  static constexpr int list_room = 1728;  ///< for those that have been looked at and are not done
  Word<T> values[room];                   ///< of each place
  /// What they wait for, and their places: a list for each warp.
  std::int32_t sources[list_room];
  std::uint16_t places[list_room];

  /// Stands for another of the region's leftovers as what is missing.
  [[nodiscard]] static __device__ std::int32_t marker_of(int place) { return -1 - place; }
};

/// Of the thread. A value that came from another lane, as the compiler must think, is kept in a register, and
/// not computed anew wherever it is used.
__device__ inline int kept(int value) {
  return __shfl_sync(every_lane, value, static_cast<int>(threadIdx.x) % warp_lanes);
}

/// The region that a block walks through, for one of the right-hand sides. All threads of the block have it.
template <class T, bool forward>
struct Region {
  const DeviceSweep<T>& task;
  unsigned side;
  int first;  ///< position
  int end;
  Word<T>* x;
  const T* b;
  int rows;  ///< of the matrix
  const std::int32_t* columns;
  const T* values;
  Leftover<T>* leftovers;
  int room;  ///< for leftovers

  /// The next one.
  __device__ Region(const DeviceSweep<T>& sweep, const Walk<T>& walk)
      : task(sweep),
        rows(static_cast<int>(sweep.rows)),
        columns(sweep.column_indices),
        values(sweep.values),
        room(walk.room) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
      taken = atomicInc(task.tickets, gridDim.x - 1);
      leftover_count() = 0;
    }
    __syncthreads();
    const unsigned ticket = __shfl_sync(every_lane, taken, 0);
    side = ticket % task.right_hand_sides;
    const auto number = static_cast<std::int64_t>(ticket / task.right_hand_sides);
    first = static_cast<int>(min(task.rows, number * walk.rows_of_region));
    end = static_cast<int>(min(task.rows, (number + 1) * walk.rows_of_region));
    x = reinterpret_cast<Word<T>*>(task.x + side * task.leading_x);
    b = task.b + side * task.leading_b;
    leftovers = walk.leftovers + std::int64_t{ticket} * room;
  }

  [[nodiscard]] static __device__ int& leftover_count() {
    __shared__ int count;
    return count;
  }
  [[nodiscard]] __device__ int row_at(int position) const { return forward ? position : rows - 1 - position; }
  [[nodiscard]] __device__ const T* old() const { return task.old + side * task.leading_old; }
  /// HalfDone's.
  [[nodiscard]] __device__ T kept_of(int i) const { return task.relaxation.rest * old()[i]; }

  [[nodiscard]] __device__ Word<T> look(int column) const {
    return cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[column]).load(cuda::memory_order_relaxed);
  }
  /// Whether an unknown before the row at hand is of this region.
  [[nodiscard]] __device__ bool has(int column) const {
    return (forward ? column : rows - 1 - column) >= first;
  }
  /// What a word of the vector says: a value; or, of the region, left_over plus the place of a leftover that
  /// others find; or unpublished.
  [[nodiscard]] __device__ Word<T> known(Word<T> word, bool in_region) const {
    const bool finds = in_region && word - left_over<T> < static_cast<Word<T>>(LeftoverStorage<T>::room);
    return is_value<T>(word) || finds ? word : unpublished<T>;
  }
  [[nodiscard]] __device__ Word<T> look_for_value(int column) const { return known(look(column), false); }
  __device__ void publish(int row, Word<T> word) const {
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[row]).store(word, cuda::memory_order_relaxed);
  }
  __device__ void count_skipped_row(int i) const {
    if (task.skipped != nullptr && side == 0) count_skipped(*task.skipped, i);
  }
};

[[nodiscard]] __device__ inline unsigned lanes_below() {
  unsigned mask = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/// Where number p of a warp's list, or of its share of the leftovers, is among all of its block.
template <int warps>
__device__ int slot_of(int p) {
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  return (p / warp_lanes * warps + warp) * warp_lanes + p % warp_lanes;
}

/// Tries the whole rows in the warp's list, which has so many entries. All lanes.
template <class T, bool forward, int warps>
__device__ __noinline__ void try_whole_rows(const DeviceSweep<T>& task, unsigned side,
                                            const Leftover<T>* leftovers, int waiting) {
  auto& storage = *reinterpret_cast<LeftoverStorage<T>*>(gauss_seidel_storage);
  for (int p = 0; p < waiting; ++p) {
    const int slot = slot_of<warps>(p);
    if (storage.sources[slot] != whole_row) continue;
    const int place = storage.places[slot];
    const int row = leftovers[place].row;
    if (!try_row<T, forward>(task, side, row) || threadIdx.x % warp_lanes != 0) continue;
    storage.sources[slot] = no_source;
    if (place >= LeftoverStorage<T>::room) continue;
    const auto* const x = reinterpret_cast<const Word<T>*>(task.x + side * task.leading_x);
    storage.values[place] = *const_cast<const volatile Word<T>*>(x + row);
  }
  __syncwarp();
}

template <class T, bool forward, bool relaxes, int warps>
class Finisher {
  using Storage = LeftoverStorage<T>;

 public:
  __device__ Finisher(const Region<T, forward>& region, Storage& storage)
      : region_(region), storage_(storage) {}

  /// Goes through all leftovers until they are done; then there are none. All threads of the block.
  __device__ void finish() {
    const int count = region_.leftover_count();
    for (int k = static_cast<int>(threadIdx.x); k < min(count, Storage::room); k += warps * warp_lanes) {
      storage_.values[k] = unpublished<T>;
    }
    __syncthreads();
    int waiting = 0;  // in the warp's list
    int begun = 0;    // of the warp's share of the leftovers
    while (waiting > 0 || slot_of<warps>(begun) < count) {
      const int before = waiting;
      const int begun_before = begun;
      bool has_whole = false;
      waiting = 0;
      // First those in the list; then, as long as there is room, those that have not been looked at.
      for (int first = 0;; first += section) {
        const bool again = first < before;
        if (!again && (waiting + section > list_room || slot_of<warps>(begun) >= count)) break;
        Entry each[batch];
#pragma unroll
        for (int e = 0; e < batch; ++e) {
          const int p = e * warp_lanes + lane();
          each[e] = again ? entry(first + p, before) : first_entry(begun + p, count);
        }
        const int end = again ? min(before, first + section) : waiting + section;
        waiting = look_at(each, waiting, end, has_whole);
        if (!again) begun += section;
      }
      if (has_whole) {
        try_whole_rows<T, forward, warps>(region_.task, region_.side, region_.leftovers, waiting);
      }
      if (waiting == before && begun == begun_before) __nanosleep(100);
    }
    __syncthreads();
    if (threadIdx.x == 0) region_.leftover_count() = 0;
    __syncthreads();
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int batch = 4;  // looks under way for each lane
  static constexpr int section = batch * warp_lanes;
  static constexpr int list_room = Storage::list_room / (warps * warp_lanes) * warp_lanes;  // of a warp
  // The rows of a tile, 128, may be left over in any order. Were there only room for those that stand before
  // the one that they all need, nobody would look at that one.
  static_assert(list_room >= 128 + section);

  /// An entry of the warp's list.
  struct Entry {
    std::int32_t source;
    int place;
  };

  [[nodiscard]] static __device__ int lane() {
    return static_cast<int>(threadIdx.x) % warp_lanes;
  }
  [[nodiscard]] __device__ bool comes_before(std::int32_t column, std::int32_t row) const {
    return forward ? column < row : column > row;
  }
  /// Of a leftover that has found room, where others of the region look for its value.
  [[nodiscard]] __device__ volatile Word<T>& value_at(int place) const {
    return const_cast<volatile Word<T>&>(storage_.values[place]);
  }
  [[nodiscard]] __device__ Word<T> look_for(std::int32_t source) const {
    if (source >= 0) return region_.look_for_value(source);
    if (source <= no_source) return unpublished<T>;
    return value_at(Storage::marker_of(source));
  }

  /// Number p of the warp's list, which ends there.
  [[nodiscard]] __device__ Entry entry(int p, int end) const {
    if (p >= end) return {no_source, 0};
    return {storage_.sources[slot_of<warps>(p)], storage_.places[slot_of<warps>(p)]};
  }
  /// Puts the lanes' entries that are wanted into the list from p on; how many they are.
  __device__ int put(int p, const Entry& entry, bool wanted) const {
    const unsigned mask = __ballot_sync(every_lane, wanted);
    if (wanted) {
      const int slot = slot_of<warps>(p + __popc(mask & lanes_below()));
      storage_.sources[slot] = entry.source;
      storage_.places[slot] = static_cast<std::uint16_t>(entry.place);
    }
    return __popc(mask);
  }

  /// Number p of the warp's share of so many leftovers.
  [[nodiscard]] __device__ Entry first_entry(int p, int count) const {
    const int place = slot_of<warps>(p);
    return {place < count ? source_of(region_.leftovers[place]) : no_source, place};
  }
  [[nodiscard]] __device__ std::int32_t source_of(const Leftover<T>& leftover) const {
    if (leftover.source != unknown_source) return leftover.source;
    const std::int32_t column = region_.columns[leftover.element];
    return comes_before(column, leftover.row) ? column : whole_row;
  }

  /// Looks at entries of which those that stay go to the list from `stay` on, where there is room up to
  /// `end`; how many are in the list then.
  __device__ int look_at(const Entry (&each)[batch], int stay, int end, bool& has_whole) const {
    Word<T> word[batch];
#pragma unroll
    for (int e = 0; e < batch; ++e) word[e] = look_for(each[e].source);
    __syncwarp();
    // Those whose value has come go to the end of the room, so that they lie close together.
    int ready = end;
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      const bool comes = word[e] != unpublished<T>;
      stay += put(stay, each[e], !comes && each[e].source != no_source);
      ready -= __popc(__ballot_sync(every_lane, comes));
      put(ready, each[e], comes);
      has_whole = __any_sync(every_lane, each[e].source == whole_row) || has_whole;
    }
    __syncwarp();
    for (; ready < end; ready += warp_lanes) {
      Entry now = entry(ready + lane(), end);
      __syncwarp();
      if (now.source != no_source) now.source = go_on(now);
      stay += put(stay, now, now.source != no_source);
    }
    __syncwarp();
    return stay;
  }

  /// Takes the elements of a leftover whose values are there, of which one is; what it waits for then.
  [[nodiscard]] __device__ std::int32_t go_on(const Entry& entry) const {
    Leftover<T>& noted = region_.leftovers[entry.place];
    Leftover<T> rest = noted;
    rest.sum = multiply_add(rest.coefficient, to_value<T>(look_for(entry.source)), rest.sum);
    while (--rest.left > 0) {
      rest.element += step;
      const std::int32_t column = region_.columns[rest.element];
      rest.coefficient = region_.values[rest.element];
      Word<T> word = to_word(written_nan<T>);
      if (comes_before(column, rest.row)) word = region_.known(region_.look(column), region_.has(column));
      std::int32_t source = column;
      if (!is_value<T>(word) && word != unpublished<T>) {
        source = Storage::marker_of(static_cast<int>(word - left_over<T>));
        word = look_for(source);
      }
      if (word == unpublished<T>) {
        noted = rest;
        return source;
      }
      rest.sum = multiply_add(rest.coefficient, to_value<T>(word), rest.sum);
    }
    const T r = rest.rest - rest.sum;
    T value = r * rest.scale;
    if constexpr (relaxes) value = multiply_add(r, rest.scale, region_.kept_of(rest.row));
    const Word<T> result = to_word(one_nan(value));
    if (entry.place < Storage::room) value_at(entry.place) = result;
    region_.publish(rest.row, result);
    return no_source;
  }

  const Region<T, forward>& region_;
  Storage& storage_;
};

}  // namespace echelon::gauss_seidel

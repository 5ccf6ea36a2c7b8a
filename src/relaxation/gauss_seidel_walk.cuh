// SPDX-License-Identifier: BSD-3-Clause
/// A sweep over very many short rows: each block walks through a region of its own, a tile of rows at a time,
/// a thread for each row, and does not wait for other blocks. Rows for which a value of another region is
/// missing are left over, and with them those that need them. When a block has walked through its region it
/// looks at its leftovers again and again until they are done.
///
/// A row's neighbours are mostly near, so most values come from the block itself, through a ring in shared
/// memory that holds the latest rows. Within a tile rows wait for rows; there a row that is left over says
/// so, and nobody waits for what cannot come. The elements of the next two tiles are on their way while a
/// tile is at work, and values that the next needs from farther away than the ring goes are asked for.
///
/// Of a leftover is noted what it still needs. Most wait for others of their region: for these it is enough
/// to look at shared memory.
///
/// Why it cannot hang: regions are given out by ticket, in their order, so whatever a row waits for is of a
/// region whose block has started, or comes before it in the same region. Within a tile the first unfinished
/// row never waits: what it needs is there, or it is left over. And no leftover keeps a block from looking at
/// the others, so the smallest unfinished row of all is done when its block comes to it.
#pragma once

#include "relaxation/gauss_seidel_kernel.cuh"
#include "relaxation/gauss_seidel_whole_row.cuh"

namespace echelon::gauss_seidel {

/// What a row still needs when a value was missing.
template <class T>
struct alignas(16) Leftover {
  T sum;          ///< of the elements taken
  T coefficient;  ///< of the element that is missing
  T rest;
  T scale;
  T next_coefficient;  ///< of the element after it
  std::int32_t row;
  std::int32_t element;  ///< the missing one's place, counted from the region's first
  std::int32_t next;     ///< the unknown of the element after it; the row itself: there is none
  /// What is missing: an unknown; or, less than 0, another of the region's leftovers (marker_of); or
  /// whole_row: the whole row is to be done, by a warp.
  std::int32_t source;
};
inline constexpr std::int32_t whole_row = INT32_MIN;

/// How rows are shared out among blocks.
template <class T>
struct Walk {
  std::int64_t rows_of_region;  ///< a multiple of a tile's
  std::int64_t regions;
  int room;                ///< leftovers that a region may have at a time
  Leftover<T>* leftovers;  ///< for each region and right-hand side
};

/// In place of a value: the row is left over; plus its place among the leftovers.
template <class T>
inline constexpr Word<T> left_over = unpublished<T> & ~Word<T>{0x3fffff};
/// Plus this instead: it is not known which.
inline constexpr int somewhere = 0x3ffffe;

template <class T>
ECHELON_ANYWHERE bool is_value(Word<T> word) {
  return word < left_over<T>;
}

/// How blocks walk.
template <class T>
struct Gait {
  static constexpr int threads = sizeof(T) == 4 ? 256 : 512;  ///< of a block, and rows of a tile
  static constexpr int blocks = sizeof(T) == 4 ? 4 : 2;       ///< that are to fit onto a multiprocessor
  static constexpr int ring = 4 * threads;                    ///< rows whose values are at hand; a power of 2
  static constexpr int sections = 4;                          ///< elements of a tile for each thread, at most
  static constexpr int room = sections * threads;  ///< elements of a tile; a tile with more is left over
  static constexpr int least_room = 3 * threads;   ///< for leftovers
};

/// A block's shared memory while it walks.
template <class T>
struct WalkStorage {
  T values[2][Gait<T>::room];              ///< of this tile and the next
  std::int32_t columns[3][Gait<T>::room];  ///< and of the one after it
  /// Of the latest rows; of elements farther away, of this tile and the next; and one that is NaN.
  Word<T> words[Gait<T>::ring + 2 * Gait<T>::room + 1];
  std::uint16_t places[2][Gait<T>::room];  ///< for each element, where in words: bytes
};

/// And when it looks at its leftovers: as many of them as find room; the others stay where they are noted.
template <class T>
struct LeftoverStorage {
  static constexpr int room = sizeof(WalkStorage<T>) / (sizeof(T) + 6) / Gait<T>::threads * Gait<T>::threads;
  Word<T> values[room];        ///< of each place
  std::int32_t sources[room];  ///< what those that are not done wait for, a list for each warp
  std::uint16_t places[room];  ///< theirs
};

/// The compiler shall keep these, and not compute them anew wherever they are used.
template <class P>
__device__ P* kept(P* pointer) {
  asm("" : "+l"(pointer));
  return pointer;
}
__device__ inline int kept(int value) {
  asm("" : "+r"(value));
  return value;
}

/// Of a row that may have old values to take, how they sum up, and where it has its diagonal.
template <class T>
struct KnownPart {
  T sum;
  int diagonal;  ///< element; -1: there is none, or it is zero
};

/// The row's elements lie from `first` to `last` in the order of the sweep.
template <class T, bool forward>
__device__ __noinline__ KnownPart<T> known_part(const std::int32_t* columns, const T* values, const T* old,
                                                int first, int last, int i) {
  constexpr int step = forward ? 1 : -1;
  T sum = 0;
  int k = last;
  for (int left = (last - first) * step; left >= 0; --left, k -= step) {
    const std::int32_t column = columns[k];
    if (column == i && values[k] != T{0}) return {sum, k};
    if (forward ? column <= i : column >= i) break;
    sum = multiply_add(values[k], old[column], sum);
  }
  return {sum, -1};
}

template <class T, bool forward>
class Walker {
 public:
  __device__ Walker(const DeviceSweep<T>& task, const Walk<T>& walk)
      : task_(task), walk_(walk), storage_(*reinterpret_cast<WalkStorage<T>*>(gauss_seidel_storage)) {
    __shared__ unsigned taken;
    if (threadIdx.x == 0) {
      taken = atomicInc(task.tickets, gridDim.x - 1);
      leftover_count() = 0;
    }
    __syncthreads();
    const unsigned ticket = __shfl_sync(every_lane, taken, 0);
    side_ = ticket % task.right_hand_sides;
    const auto region = static_cast<std::int64_t>(ticket / task.right_hand_sides);
    first_ = static_cast<int>(min(task.rows, region * walk.rows_of_region));
    end_ = static_cast<int>(min(task.rows, (region + 1) * walk.rows_of_region));
    leftovers_ = walk.leftovers + std::int64_t{ticket} * walk.room;
    x_ = kept(reinterpret_cast<Word<T>*>(task.x + side_ * task.leading_x));
    b_ = kept(task.b + side_ * task.leading_b);
    base_ = first_ < end_ ? task.row_offsets[forward ? first_ : row_at(end_ - 1)] & ~std::int64_t{3} : 0;
    columns_ = task.column_indices + base_;
    values_ = task.values + base_;
    brought_end_ = static_cast<int>(min(task.row_offsets[task.rows] - base_, std::int64_t{INT32_MAX}));
  }

  __device__ void walk() {
    while (first_ < end_) {
      first_ = walk_on();
      finish_leftovers();
    }
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int threads = Gait<T>::threads;
  static constexpr int sections = Gait<T>::sections;
  static constexpr int ring = Gait<T>::ring;
  static constexpr int room = Gait<T>::room;
  using Finish = LeftoverStorage<T>;
  static constexpr std::int32_t done = whole_row + 1;  // in place of a source

  /// A row's elements, counted from base_, and b.
  struct Extent {
    int begin;
    int end;
    T b;
  };
  /// Where a tile's elements begin and end.
  struct Offsets {
    std::int64_t begin;
    std::int64_t end;
  };
  /// A tile's elements, from a multiple of 4 on; none where there are more than there is room for.
  struct Tile {
    int base;
    int count;
  };
  /// What was looked for ahead; near where an element is not farther away than the ring goes.
  struct FarWords {
    Word<T> word[sections];
  };
  static constexpr Word<T> near = left_over<T>;

  [[nodiscard]] static __device__ int number() { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] static __device__ int lane() { return static_cast<int>(threadIdx.x) % warp_lanes; }
  [[nodiscard]] static __device__ unsigned lanes_below() {
    unsigned mask = 0;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
  }
  [[nodiscard]] static __device__ int& leftover_count() {
    __shared__ int count;
    return count;
  }
  [[nodiscard]] __device__ int row_at(int position) const {
    return forward ? position : static_cast<int>(task_.rows) - 1 - position;
  }
  [[nodiscard]] __device__ const T* old() const { return task_.old + side_ * task_.leading_old; }
  [[nodiscard]] static __device__ int ring_place(int row) {
    return static_cast<int>(static_cast<unsigned>(row) % ring);
  }
  [[nodiscard]] static __device__ int far_place(int half, int k) { return ring + half * room + k; }
  [[nodiscard]] static __device__ std::uint16_t offset_of(int place) {
    return static_cast<std::uint16_t>(place * sizeof(T));
  }
  static constexpr int nan_place = ring + 2 * room;
  [[nodiscard]] __device__ Word<T> word_at_offset(unsigned offset) const {
    return *reinterpret_cast<const volatile Word<T>*>(reinterpret_cast<const unsigned char*>(storage_.words) +
                                                      offset);
  }
  [[nodiscard]] __device__ volatile Word<T>& word_at(int place) const {
    return const_cast<volatile Word<T>&>(storage_.words[place]);
  }

  [[nodiscard]] __device__ Extent extent(int position) const {
    const int i = row_at(min(position, end_ - 1));
    const std::int64_t* const offsets = task_.row_offsets + i;
    return {static_cast<int>(offsets[0] - base_), static_cast<int>(offsets[1] - base_), b_[i]};
  }

  [[nodiscard]] __device__ Offsets offsets_at(int position) const {
    if (position >= end_) return {base_, base_};
    const int last = min(position + threads, end_) - 1;
    return {task_.row_offsets[row_at(forward ? position : last)],
            task_.row_offsets[row_at(forward ? last : position) + 1]};
  }
  [[nodiscard]] __device__ Tile tile_of(const Offsets& offsets) const {
    const int begin = static_cast<int>(offsets.begin - base_) & ~3;
    const int count = static_cast<int>(offsets.end - base_) - begin;
    return {begin, count <= room ? count : 0};
  }

  /// Sends for a tile's elements.
  template <class V>
  __device__ void bring(const Tile& tile, const V* from, V* to) {
    const int k = 4 * number();
    if (k >= tile.count) return;
    constexpr int piece = 16 / sizeof(V);
    from += tile.base + k;
    if (tile.base + k + 4 <= brought_end_) {
#pragma unroll
      for (int p = 0; p < 4; p += piece) __pipeline_memcpy_async(to + k + p, from + p, 16);
    } else {
      for (int p = 0; k + p < tile.count; ++p) to[k + p] = from[p];
    }
  }

  [[nodiscard]] __device__ Word<T> look(int column) const {
    return cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x_[column]).load(cuda::memory_order_relaxed);
  }
  __device__ void publish(int row, Word<T> word) const {
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x_[row]).store(word, cuda::memory_order_relaxed);
  }

  /// Notes where a tile's elements' words are, or will be, and asks for the values of those that are farther
  /// away than the ring goes.
  [[nodiscard]] __device__ FarWords ask(const Tile& tile, int tile_first, const std::int32_t* columns,
                                        int half) {
    FarWords far;
    // The slots of the next tile's rows are cleared by then.
    const int in_ring = max(tile_first + 2 * threads - ring, first_);
#pragma unroll
    for (int e = 0; e < sections; ++e) {
      const int k = number() + e * threads;
      far.word[e] = near;
      if (k >= tile.count) continue;
      const std::int32_t column = columns[k];
      // Towards the diagonal columns come nearer to the row; where not, the row must not wait.
      const std::int32_t beside = columns[min(max(k + step, 0), room - 1)];
      const bool comes = forward ? column < beside : column > beside;
      const bool is_far = row_at(column) < in_ring && comes;
      const int near_place = comes ? ring_place(column) : nan_place;
      storage_.places[half][k] = offset_of(is_far ? far_place(half, k) : near_place);
      if (is_far) far.word[e] = look(column);
    }
    return far;
  }
  __device__ void keep(const FarWords& far, int half) {
#pragma unroll
    for (int e = 0; e < sections; ++e) {
      if (far.word[e] == near) continue;
      storage_.words[far_place(half, number() + e * threads)] =
          far.word[e] == unpublished<T> ? left_over<T> + somewhere : far.word[e];
    }
  }

  /// Until the region or the room for leftovers ends; the position then.
  __device__ int walk_on() {
    for (int k = number(); k < ring; k += threads) storage_.words[k] = unpublished<T>;
    if (threadIdx.x == 0) storage_.words[nan_place] = to_word(written_nan<T>);
    Tile here = tile_of(offsets_at(first_));
    Tile next = tile_of(offsets_at(first_ + threads));
    Offsets after = offsets_at(first_ + 2 * threads);
    bring(here, columns_, storage_.columns[0]);
    bring(here, values_, storage_.values[0]);
    bring(next, columns_, storage_.columns[1]);
    __pipeline_commit();
    Extent row = extent(first_ + number());
    __pipeline_wait_prior(0);
    __syncthreads();
    keep(ask(here, first_, storage_.columns[0], 0), 0);
    __shared__ int known_leftovers[2];
    if (threadIdx.x == 0) known_leftovers[0] = known_leftovers[1] = 0;
    __syncthreads();
    int third = 0;  // of the columns' buffers
    int tile_first = first_;
    for (int half = 0;; half ^= 1) {
      const int next_third = third == 2 ? 0 : third + 1;
      const int free_third = next_third == 2 ? 0 : next_third + 1;
      const Tile last = tile_of(after);
      bring(last, columns_, storage_.columns[free_third]);
      bring(next, values_, storage_.values[half ^ 1]);
      __pipeline_commit();
      after = offsets_at(tile_first + 3 * threads);
      const FarWords far = ask(next, tile_first + threads, storage_.columns[next_third], half ^ 1);
      const Extent next_row = extent(tile_first + threads + number());
      if (threadIdx.x == 0) known_leftovers[half] = *const_cast<volatile int*>(&leftover_count());
      word_at(ring_place(row_at(tile_first + threads + number()))) = unpublished<T>;
      sweep_row(row, here, tile_first + number(), half, storage_.columns[third]);
      keep(far, half ^ 1);
      __pipeline_wait_prior(0);
      __syncthreads();
      tile_first += threads;
      if (tile_first >= end_ || known_leftovers[half] + 2 * threads > walk_.room) return tile_first;
      here = next;
      next = last;
      row = next_row;
      third = next_third;
    }
  }

  /// HalfDone's, or what may be added in its place where nothing is: -0 changes nothing.
  [[nodiscard]] __device__ T kept_of(int i) const {
    return task_.relaxation.omega == T{1} ? -T{0} : task_.relaxation.rest * old()[i];
  }
  [[nodiscard]] __device__ HalfDone<T> begin(T b, T known, T a_ii, int i) const {
    HalfDone<T> half = task_.relaxation.begin(b, known, a_ii, T{0});
    half.kept = kept_of(i);
    return half;
  }
  [[nodiscard]] static __device__ Word<T> finished(const HalfDone<T>& half, T sum) {
    return to_word(one_nan(multiply_add(half.rest - sum, half.scale, half.kept)));
  }

  /// Does for a row what needs no waiting, and finds its diagonal; how many elements are to be taken, -1 if
  /// the row keeps its x.
  __device__ int open(const Extent& row, int i, int k, int& diagonal, HalfDone<T>& opened,
                      const std::int32_t* columns, const T* values) const {
    T a_ii = values[diagonal];
    T known = 0;
    if (columns[diagonal] != i || a_ii == T{0}) {
      const KnownPart<T> part = known_part<T, forward>(columns, values, old(), k, diagonal, i);
      known = part.sum;
      diagonal = part.diagonal;
      a_ii = diagonal < 0 ? T{1} : values[diagonal];
    }
    opened = begin(row.b, known, a_ii, i);
    return diagonal < 0 ? -1 : (diagonal - k) * step;
  }

  /// Does all that can be done of the tile's rows. All threads.
  __device__ void sweep_row(const Extent& row, const Tile& tile, int position, int half,
                            const std::int32_t* columns) {
    const T* const values = storage_.values[half];
    const std::uint16_t* const places = storage_.places[half];
    const bool present = position < end_;
    const int i = kept(row_at(position));
    const bool is_long = row.end - row.begin > chain_limit || tile.count == 0;
    const int k = (forward ? row.begin : row.end - 1) - tile.base;
    int diagonal = (forward ? row.end - 1 : row.begin) - tile.base;
    HalfDone<T> opened{};
    int left = -1;  // elements to take
    Word<T> result = unpublished<T>;
    if (present && !is_long && row.end > row.begin) {
      left = open(row, i, k, diagonal, opened, columns, values);
    }
    if (present && !is_long && left < 0) {
      if (task_.skipped != nullptr && side_ == 0) count_skipped(*task_.skipped, i);
      result = to_word(one_nan(old()[i]));
      word_at(ring_place(i)) = result;
    }
    const T* value = values + k;
    const std::uint16_t* place = places + k;
    unsigned offset = 0;
    T coefficient = 0;
    if (left > 0) {
      offset = *place;
      coefficient = *value;
    }
    T sum = 0;
    int aside = present && is_long ? set_aside(i) : -1;
    Word<T> missing = 0;
    for (;;) {
      if (left == 0) {
        result = finished(opened, sum);
        word_at(ring_place(i)) = result;
        left = -1;
      }
      if (!__any_sync(every_lane, left > 0)) break;
      const Word<T> word = word_at_offset(offset);
      if (left > 0 && is_value<T>(word)) {
        sum = multiply_add(coefficient, to_value<T>(word), sum);
        --left;
        value += step;
        place += step;
        offset = *place;
        coefficient = *value;
      }
      if (left > 0 && !is_value<T>(word) && word != unpublished<T>) {
        missing = word;
        aside = set_aside(i);
        left = -1;
      }
    }
    if (result != unpublished<T>) publish(i, result);
    if (aside < 0) return;
    Leftover<T> rest{sum, T{0}, opened.rest, opened.scale, T{0}, i, 0, i, whole_row};
    if (!is_long) note(rest, static_cast<int>(value - values), diagonal, missing, columns, values);
    rest.element += tile.base;
    leftovers_[aside] = rest;
  }

  /// What a row lacks from element k on, whose value is `missing`.
  static __device__ void note(Leftover<T>& rest, int k, int diagonal, Word<T> missing,
                              const std::int32_t* columns, const T* values) {
    const int place = static_cast<int>(missing - left_over<T>);
    rest.source = place < Finish::room ? marker_of(place) : columns[k];
    rest.element = k;
    rest.coefficient = values[k];
    if (k + step == diagonal) return;
    rest.next = columns[k + step];
    rest.next_coefficient = values[k + step];
  }

  /// Stands for another of the region's leftovers as what is missing.
  [[nodiscard]] static __device__ std::int32_t marker_of(int place) {
    return -1 - place;
  }

  /// Notes that a row is left over; its place among the leftovers.
  [[nodiscard]] __device__ int set_aside(int i) {
    const int place = atomicAdd(&leftover_count(), 1);
    word_at(ring_place(i)) = left_over<T> + static_cast<Word<T>>(place);
    return place;
  }

  /// Looks at all leftovers until they are done. All threads of the block, whose walking is over.
  __device__ void finish_leftovers() {
    const int count = leftover_count();
    Finish& storage = *reinterpret_cast<Finish*>(gauss_seidel_storage);
    int waiting = 0;  // in the warp's list
    for (int k = number(); k - lane() < min(count, Finish::room); k += threads) {
      const int here = min(warp_lanes, min(count, Finish::room) - (k - lane()));
      waiting += here;
      if (lane() >= here) continue;
      storage.sources[k] = leftovers_[k].source;
      storage.places[k] = static_cast<std::uint16_t>(k);
      storage.values[k] = unpublished<T>;
    }
    __syncthreads();
    int beyond = Finish::room + number() - lane();
    while (waiting > 0 || beyond < count) {
      const int before = waiting;
      waiting = look_again(storage, waiting);
      if (beyond < count) beyond = look_beyond(storage, beyond, count);
      if (waiting == before) __nanosleep(100);
    }
    __syncthreads();
    if (threadIdx.x == 0) leftover_count() = 0;
    __syncthreads();
  }

  /// Of a leftover that has found room, where others of the region look for its value.
  [[nodiscard]] static __device__ volatile Word<T>& value_at(Finish& storage, int place) {
    return const_cast<volatile Word<T>&>(storage.values[place]);
  }

  [[nodiscard]] static __device__ Word<T> look_for(Finish& storage, std::int32_t source) {
    if (source == whole_row || source == done) return unpublished<T>;
    return value_at(storage, marker_of(source));
  }

  /// Where number p of the warp's list is.
  [[nodiscard]] static __device__ int slot_of(int p) {
    return p / warp_lanes * threads + (number() - lane()) + p % warp_lanes;
  }

  /// Looks at the warp's list; how many are still in it.
  __device__ int look_again(Finish& storage, int waiting) {
    int stay = 0;
    std::int32_t next_source = done;
    Word<T> next_word = unpublished<T>;
    if (lane() < waiting) {
      next_source = storage.sources[slot_of(lane())];
      if (next_source >= 0) next_word = look(next_source);
    }
    for (int p = lane(); p - lane() < waiting; p += warp_lanes) {
      std::int32_t source = next_source;
      Word<T> word = next_word;
      const int place = p < waiting ? storage.places[slot_of(p)] : 0;
      next_source = done;
      next_word = unpublished<T>;
      if (p + warp_lanes < waiting) {
        next_source = storage.sources[slot_of(p + warp_lanes)];
        if (next_source >= 0) next_word = look(next_source);
      }
      if (source < 0) word = look_for(storage, source);
      if (word != unpublished<T>) source = go_on(storage, place, word);
      const bool is_whole = source == whole_row;
      if (__any_sync(every_lane, is_whole) && finish_whole_rows(storage, place, is_whole)) source = done;
      const unsigned mask = __ballot_sync(every_lane, source != done);
      __syncwarp();
      if (source != done) {
        const int to = slot_of(stay + __popc(mask & lanes_below()));
        storage.sources[to] = source;
        storage.places[to] = static_cast<std::uint16_t>(place);
      }
      stay += __popc(mask);
    }
    __syncwarp();
    return stay;
  }

  /// The same for leftovers that have found no room, by a warp, from the first on that is not done; which is
  /// that afterwards.
  __device__ int look_beyond(Finish& storage, int first, int count) {
    int unfinished = count;
    for (int m = first; m < count; m += threads) {
      const int k = m + lane();
      std::int32_t source = k < count ? leftovers_[k].source : done;
      const Word<T> word = source >= 0 ? look(source) : look_for(storage, source);
      if (word != unpublished<T>) source = go_on(storage, k, word);
      const bool is_whole = source == whole_row;
      if (__any_sync(every_lane, is_whole) && finish_whole_rows(storage, k, is_whole)) source = done;
      if (k < count) leftovers_[k].source = source;
      if (unfinished == count && __any_sync(every_lane, source != done)) unfinished = m;
    }
    return unfinished;
  }

  /// A value for a row, which is NaN when it cannot come.
  [[nodiscard]] __device__ Word<T> look_before(std::int32_t column, std::int32_t row) const {
    return (forward ? column < row : column > row) ? look(column) : to_word(written_nan<T>);
  }

  /// Takes a leftover's elements while their values are there; what it waits for then, or done.
  [[nodiscard]] __device__ std::int32_t go_on(Finish& storage, int place, Word<T> word) const {
    Leftover<T> rest = leftovers_[place];
    rest.sum = multiply_add(rest.coefficient, to_value<T>(word), rest.sum);
    if (rest.next == rest.row) return give(storage, place, rest);
    return take_more(storage, place, look_before(rest.next, rest.row), rest);
  }

  /// With the word of its next element. (As one loop with go_on it gave wrong results in double with
  /// CUDA 13.0, and right ones with -Xptxas -O1; the cause is not proven. The tests find it.)
  [[nodiscard]] __device__ std::int32_t take_more(Finish& storage, int place, Word<T> word,
                                                  Leftover<T>& rest) const {
    for (;;) {
      const std::int32_t source = rest.next;
      rest.coefficient = rest.next_coefficient;
      rest.element += step;
      rest.next = columns_[rest.element + step];
      rest.next_coefficient = values_[rest.element + step];
      if (word == unpublished<T>) {
        leftovers_[place] = rest;
        return source;
      }
      rest.sum = multiply_add(rest.coefficient, to_value<T>(word), rest.sum);
      if (rest.next == rest.row) return give(storage, place, rest);
      word = look_before(rest.next, rest.row);
    }
  }

  /// Publishes a leftover's value.
  __device__ std::int32_t give(Finish& storage, int place, const Leftover<T>& rest) const {
    const Word<T> word = finished({rest.rest, rest.scale, kept_of(rest.row)}, rest.sum);
    if (place < Finish::room) value_at(storage, place) = word;
    publish(rest.row, word);
    return done;
  }

  /// Rows that are done by the warp, if all that they need is there; whether the lane's is.
  __device__ bool finish_whole_rows(Finish& storage, int place, bool is_whole) const {
    const int row = is_whole ? leftovers_[place].row : 0;
    bool is_done = false;
    for (unsigned owners = __ballot_sync(every_lane, is_whole); owners != 0; owners &= owners - 1) {
      const int owner = __ffs(static_cast<int>(owners)) - 1;
      const bool there = try_row<T, forward>(task_, side_, __shfl_sync(every_lane, row, owner));
      if (!there || lane() != owner) continue;
      if (place < Finish::room) value_at(storage, place) = look(row);
      is_done = true;
    }
    return is_done;
  }

  const DeviceSweep<T>& task_;
  const Walk<T>& walk_;
  WalkStorage<T>& storage_;
  unsigned side_;
  int first_;  // position of the region
  int end_;
  Word<T>* x_;
  const T* b_;
  std::int64_t base_;  // the region's first element
  const std::int32_t* columns_;
  const T* values_;
  int brought_end_;  // the matrix's end, counted from base_
  Leftover<T>* leftovers_;
};

template <class T, bool forward>
__global__ void __launch_bounds__(Gait<T>::threads, Gait<T>::blocks)
    sweep_by_walking(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ Walk<T> walk) {
  if (!task.is_wanted(Way::walk)) return;
  Walker<T, forward> walker(task, walk);
  walker.walk();
}

}  // namespace echelon::gauss_seidel

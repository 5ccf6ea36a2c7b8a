// SPDX-License-Identifier: BSD-3-Clause
/// A sweep over very many short rows: each block walks through a region of its own and does not wait for
/// other blocks. Rows for which a value of another region is missing are left over, and with them those that
/// need them; what becomes of these is in gauss_seidel_leftovers.cuh.
///
/// The warps of a block take tiles of the region in turn, a few rows for each lane. What can be done for a
/// row by itself a warp does while others have their turn: elements are brought to shared memory, b, the
/// reciprocal of the diagonal, where the row's values will be found, and rows that wait for nothing at all.
/// When its turn comes, all rows before the tile are done or left over, and what remains are rows that wait
/// for rows of the same tile, in the same warp: each lane takes one after another of the tile's rows, and one
/// element at a time. Then it is the next warp's turn.
///
/// A row's neighbours are mostly near, so most values come from the block itself, through a ring in shared
/// memory that holds the latest rows. Those from farther away are asked for before the turn.
///
/// Why it cannot hang: regions are given out by ticket, in their order, so whatever a row waits for is of a
/// region whose block has started, or comes before it in the same region. Turns go round in the order of the
/// tiles. Within a tile the first unfinished row never waits: what it needs is there, or it is left over.
#pragma once

#include "relaxation/gauss_seidel/cuda/deferred_rows.cuh"

#include <cuda_pipeline.h>

namespace echelon::gauss_seidel {

/// How blocks walk.
template <class T>
struct Gait {
  static constexpr int warps = 3;                        ///< of a block
  static constexpr int blocks = sizeof(T) == 4 ? 9 : 6;  ///< that are to fit onto a multiprocessor
  static constexpr int threads = warps * warp_lanes;
  static constexpr int slots = 4;                     ///< rows of a tile for each lane
  static constexpr int tile = slots * warp_lanes;     ///< rows
  static constexpr int ring = 1024;                   ///< rows whose values are kept; a power of 2
  static constexpr int window = ring - warps * tile;  ///< before a tile, that are sure to be there
  static constexpr int room = 3 * tile;               ///< elements of a tile; one with more is left over
  static constexpr int far_room = 2 * tile;           ///< values from farther away, likewise
  static constexpr int least_room = 16 * tile;        ///< for leftovers
};

/// What a warp knows of its tile.
template <class T>
struct TileStorage {
  /// Columns; then, for each element, where among the block's words its value is or will be: bytes.
  /// After them a place in the ring, for lanes that have no row.
  alignas(16) std::int32_t places[Gait<T>::room + 4];
  alignas(16) T values[Gait<T>::room + 4];  ///< in place of a diagonal element, omega / a_ii
  T rests[Gait<T>::tile];                   ///< b; then HalfDone::rest
  /// Elements before a row, and after the last; then rows with elements to take, packed, and after them none.
  std::int32_t boundaries[Gait<T>::tile + 2 * warp_lanes];
};

/// A block's shared memory while it walks. When relaxing, HalfDone::kept of each warp's rows comes after it.
template <class T>
struct WalkStorage {
  static constexpr int far_words = Gait<T>::ring;
  static constexpr int nan_word = far_words + Gait<T>::warps * Gait<T>::far_room;
  TileStorage<T> tiles[Gait<T>::warps];
  /// Of the latest rows, by position; from farther away, each warp's (columns, before they are asked for);
  /// and one that is NaN.
  Word<T> words[nan_word + 2];
  int end;  ///< of the walk: where there was no more room for leftovers
};
static_assert(sizeof(LeftoverStorage<float>) <= sizeof(WalkStorage<float>) &&
              sizeof(LeftoverStorage<double>) <= sizeof(WalkStorage<double>));

/// Bytes of shared memory that a block needs.
template <class T>
constexpr std::size_t walk_bytes(bool relaxes) {
  return sizeof(WalkStorage<T>) + (relaxes ? sizeof(T) * Gait<T>::warps * Gait<T>::tile : 0);
}

/// Warps of a block that take turns, one after another. They meet, two at a time, at barriers; the one whose
/// turn is over does not stop there. The barriers' numbers are constants: a block that may use any of them
/// has them all, and a multiprocessor has few.
template <int warps, int w = 0>
__device__ void wait_for_turn(int warp) {
  if (warp == w) asm volatile("barrier.cta.sync %0, %1;" ::"n"(w + 1), "n"(2 * warp_lanes) : "memory");
  if constexpr (w + 1 < warps) wait_for_turn<warps, w + 1>(warp);
}
template <int warps, int w = 0>
__device__ void give_turn(int warp) {
  if constexpr (w == 0) __syncwarp();
  constexpr int next = (w + 1) % warps;
  if (warp == w) asm volatile("barrier.cta.arrive %0, %1;" ::"n"(next + 1), "n"(2 * warp_lanes) : "memory");
  if constexpr (w + 1 < warps) give_turn<warps, w + 1>(warp);
}

/// Of a row that may have old values to take, how they sum up, and where it has its diagonal.
template <class T>
struct KnownPart {
  T sum;
  int diagonal;  ///< element; -1: there is none, or it is zero
};

/// The row's elements lie from `first` on, in the order of the sweep.
template <class T, bool forward>
__device__ __noinline__ KnownPart<T> known_part(const std::int32_t* columns, const T* values, const T* old,
                                                int first, int count, int i) {
  constexpr int step = forward ? 1 : -1;
  T sum = 0;
  int k = first + (count - 1) * step;
  for (int left = count; left > 0; --left, k -= step) {
    const std::int32_t column = columns[k];
    if (column == i && values[k] != T{0}) return {sum, k};
    if (forward ? column <= i : column >= i) break;
    sum = multiply_add(values[k], old[column], sum);
  }
  return {sum, -1};
}

template <class T, bool forward, bool relaxes>
class Walker {
 public:
  __device__ Walker(const Region<T, forward>& region, WalkStorage<T>& storage)
      : region_(region),
        storage_(storage),
        lane_(kept(static_cast<int>(threadIdx.x) % warp_lanes)),
        warp_(kept(static_cast<int>(threadIdx.x) / warp_lanes)),
        tile_(storage.tiles[warp_]),
        nonzeros_(static_cast<int>(region.task.row_offsets[region.task.rows])) {}

  /// From a position on until the region or the room for leftovers ends; the position then. All threads of
  /// the block.
  __device__ int walk(int first) {
    first_ = first;
    if (lane_ == 0) tile_.places[room] = 0;
    if (threadIdx.x == 0) {
      storage_.words[WalkStorage<T>::nan_word] = to_word(written_nan<T>);
      storage_.end = region_.end;
    }
    __syncthreads();
    int position = first + warp_ * tile;
    bring(position, range_at(position));
    while (position < region_.end) {
      const int next = position + Gait<T>::warps * tile;
      const Range range = range_at(next);
      __pipeline_wait_prior(0);
      __syncwarp();
      prepare(position);
      if (position != first) wait_for_turn<Gait<T>::warps>(warp_);
      if (!has_room(position)) break;
      sweep_rows(position);
      if (position + tile < region_.end) give_turn<Gait<T>::warps>(warp_);
      bring(next, range);
      publish_rows(position);
      position = next;
    }
    __syncthreads();
    const int end = storage_.end;
    __syncthreads();  // leftovers will lie where it was
    return end;
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int tile = Gait<T>::tile;
  static constexpr int slots = Gait<T>::slots;
  static constexpr int room = Gait<T>::room;
  static constexpr int word_bytes = sizeof(T);
  static constexpr int section = 4 * warp_lanes;  // elements, four for each lane
  static constexpr int sections = room / section;
  static_assert(4 * sections <= 32);

  /// A tile's elements.
  struct Range {
    int begin;
    int end;
    [[nodiscard]] __device__ int base() const { return begin & ~3; }
    [[nodiscard]] __device__ int count() const { return end - base(); }
    [[nodiscard]] __device__ bool fits() const { return count() <= room; }
  };

  /// A row's place in its tile, the first of its elements to be taken, and how many there are. In one word.
  struct Waiting {
    int local;
    int element;
    int left;
    [[nodiscard]] ECHELON_ANYWHERE constexpr std::int32_t packed() const {
      return local << 16 | left << 10 | element;
    }
    static __device__ Waiting unpacked(std::int32_t word) {
      return {word >> 16, word & 0x3ff, word >> 10 & 0x3f};
    }
  };
  static_assert(room < 1 << 10 && chain_limit < 1 << 6);
  static constexpr Waiting no_row{0, room, 0};

  [[nodiscard]] __device__ T& kept_at(int local) const {
    return reinterpret_cast<T*>(&storage_ + 1)[warp_ * tile + local];
  }
  /// What is in shared memory, read here and not where the compiler thinks that it is wanted.
  [[nodiscard]] static __device__ T now(const T& value) { return *const_cast<const volatile T*>(&value); }
  /// Of the row at a position.
  [[nodiscard]] static __device__ int ring_place(int position) {
    return static_cast<int>(static_cast<unsigned>(position) % Gait<T>::ring) * word_bytes;
  }
  static constexpr int nan_place = WalkStorage<T>::nan_word * word_bytes;
  [[nodiscard]] __device__ int far_place(int slot) const {
    return (WalkStorage<T>::far_words + warp_ * Gait<T>::far_room + slot) * word_bytes;
  }
  [[nodiscard]] __device__ volatile Word<T>& word_at(int place) const {
    return *reinterpret_cast<volatile Word<T>*>(reinterpret_cast<unsigned char*>(storage_.words) + place);
  }

  [[nodiscard]] __device__ Range range_at(int position) const {
    if (position >= region_.end) return {0, 0};
    const int last = min(position + tile, region_.end) - 1;
    const std::int64_t* const offsets = region_.task.row_offsets;
    return {static_cast<int>(offsets[region_.row_at(forward ? position : last)]),
            static_cast<int>(offsets[region_.row_at(forward ? last : position) + 1])};
  }

  /// Sends for all that is to be known of the tile at a position.
  __device__ void bring(int position, const Range& range) {
    range_ = range;
    if (position >= region_.end) return;
    // Of offsets the lower halves are enough.
    const std::int64_t* const offsets =
        region_.task.row_offsets + (region_.row_at(position) + (forward ? 0 : 1)) + lane_ * step;
    const T* const b = region_.b + region_.row_at(position) + lane_ * step;
    const int rows = region_.end - position;
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      constexpr int lanes = warp_lanes;
      const int local = lane_ + s * lanes;
      if (local <= rows) __pipeline_memcpy_async(tile_.boundaries + local, offsets + s * lanes * step, 4);
      if (local < rows) __pipeline_memcpy_async(tile_.rests + local, b + s * lanes * step, sizeof(T));
    }
    if (lane_ == 0 && rows >= tile) {
      __pipeline_memcpy_async(tile_.boundaries + tile, offsets + tile * step, 4);
    }
    if (range.fits() && range.end + 4 <= nonzeros_) {
#pragma unroll
      for (int s = 0; s < sections; ++s) {
        const int k = 4 * lane_ + s * section;
        if (k < range.count()) bring_four(k);
      }
    } else if (range.fits()) {
      // To the end of the last four, which are looked at together.
#pragma unroll 1
      for (int k = lane_; k < (range.count() + 3) / 4 * 4; k += warp_lanes) {
        const int element = min(range.base() + k, range.end - 1);
        tile_.places[k] = region_.columns[element];
        tile_.values[k] = region_.values[element];
      }
    }
    __pipeline_commit();
  }
  __device__ void bring_four(int k) {
    const std::int32_t* const columns = region_.columns + range_.base();
    const T* const values = region_.values + range_.base();
    __pipeline_memcpy_async(tile_.places + k, columns + k, 16);
    constexpr int piece = 16 / sizeof(T);
#pragma unroll
    for (int p = 0; p < 4; p += piece) __pipeline_memcpy_async(tile_.values + k + p, values + k + p, 16);
  }

  /// Does all that needs no turn.
  __device__ void prepare(int position) {
    constexpr int at_once = 2;  // looks under way for each lane
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      word_at(ring_place(position) + (lane_ + s * warp_lanes) * word_bytes) = unpublished<T>;
    }
    fits_ = range_.fits();
    const int far = fits_ ? find_places(position) : 0;
    fits_ = fits_ && far <= Gait<T>::far_room;
    FarWord word[at_once];
#pragma unroll
    for (int s = 0; s < at_once; ++s) word[s] = look_far(lane_ + s * warp_lanes, far);
    open_rows(position);
#pragma unroll
    for (int s = 0; s < at_once; ++s) note_far(lane_ + s * warp_lanes, far, word[s]);
    for (int slot = lane_ + at_once * warp_lanes; slot < far; slot += warp_lanes) {
      note_far(slot, far, look_far(slot, far));
    }
    __syncwarp();
  }
  /// What was found in the place of an unknown that is far away.
  struct FarWord {
    Word<T> word;
    bool in_region;
  };
  [[nodiscard]] __device__ FarWord look_far(int slot, int far) const {
    if (slot >= min(far, Gait<T>::far_room)) return {};
    const auto column = static_cast<std::int32_t>(word_at(far_place(slot)));
    return {region_.look(column), region_.has(column)};
  }
  __device__ void note_far(int slot, int far, const FarWord& found) const {
    if (slot >= min(far, Gait<T>::far_room)) return;
    const Word<T> word = region_.known(found.word, found.in_region);
    word_at(far_place(slot)) = word == unpublished<T> ? left_over<T> + somewhere : word;
  }

  /// Finds out where the elements' values will be; how many are not in the ring.
  __device__ int find_places(int position) {
    // Columns are counted along the sweep, from the first whose value is sure to be in the ring.
    const int edge = max(position - Gait<T>::window, first_);
    const int edge_row = region_.row_at(edge);
    const int limit = position + tile - edge;
    unsigned is_far = 0;
#pragma unroll
    for (int s = 0; s < sections; ++s) {
      const int k = 4 * lane_ + s * section;
      if (k >= range_.count()) break;
      int4& four = *reinterpret_cast<int4*>(tile_.places + k);
      const int4 column = four;
      int4 place;
      is_far |= find_place(column.x, edge, edge_row, limit, place.x) << (4 * s) |
                find_place(column.y, edge, edge_row, limit, place.y) << (4 * s + 1) |
                find_place(column.z, edge, edge_row, limit, place.z) << (4 * s + 2) |
                find_place(column.w, edge, edge_row, limit, place.w) << (4 * s + 3);
      four = place;
    }
    int far = 0;
    for (unsigned mask = 0; (mask = __ballot_sync(every_lane, is_far != 0)) != 0; far += __popc(mask)) {
      const int slot = far + __popc(mask & lanes_below());
      if (is_far == 0) continue;
      const int n = __ffs(static_cast<int>(is_far)) - 1;
      is_far &= is_far - 1;
      std::int32_t& place = tile_.places[4 * lane_ + n / 4 * section + n % 4];
      if (slot < Gait<T>::far_room) word_at(far_place(slot)) = static_cast<Word<T>>(place);
      place = far_place(slot);
    }
    __syncwarp();
    return far;
  }
  /// A column's place in the ring, or that of the NaN where the sweep comes to it later. 1 if it lies before
  /// the edge: then it stays as it is.
  static __device__ unsigned find_place(std::int32_t column, int edge, int edge_row, int limit, int& place) {
    const int distance = (column - edge_row) * step;
    const int in_ring = distance < limit ? ring_place(edge + distance) : nan_place;
    place = distance < 0 ? column : in_ring;
    return distance < 0 ? 1u : 0u;
  }

  /// Opens the rows, finishes those that have nothing to wait for, and lists the others.
  __device__ void open_rows(int position) {
    int waiting = 0;
    is_whole_ = 0;
#pragma unroll 1
    for (int s = 0; s < slots; ++s) {
      const int local = lane_ + s * warp_lanes;
      const int from = tile_.boundaries[local];
      const int elements = (tile_.boundaries[local + 1] - from) * step;
      Waiting row{local, (forward ? from : from - 1) - range_.base(), 0};
      if (position + local < region_.end) {
        if (fits_ && elements <= chain_limit) {
          open_row(position, elements, row);
        } else {
          is_whole_ |= 1u << s;
        }
      }
      __syncwarp();
      const unsigned mask = __ballot_sync(every_lane, row.left > 0);
      if (row.left > 0) tile_.boundaries[waiting + __popc(mask & lanes_below())] = row.packed();
      waiting += __popc(mask);
    }
    __syncwarp();
    tile_.boundaries[waiting + lane_] = tile_.boundaries[waiting + warp_lanes + lane_] = no_row.packed();
  }

  __device__ void open_row(int position, int elements, Waiting& row) {
    row.left = elements - 1;
    const int own_place = ring_place(position) + row.local * word_bytes;
    const int diagonal = row.element + row.left * step;
    T a_ii = 0;
    if (elements > 0 && tile_.places[diagonal] == own_place) a_ii = tile_.values[diagonal];
    if (a_ii == T{0}) {
      // It has old values to take, or keeps its x.
      const int i = region_.row_at(position + row.local);
      const int first = row.element + range_.base();
      const KnownPart<T> known =
          known_part<T, forward>(region_.columns, region_.values, region_.old(), first, elements, i);
      if (known.diagonal < 0) {
        region_.count_skipped_row(i);
        word_at(own_place) = to_word(one_nan(region_.old()[i]));
        row.left = 0;
        return;
      }
      tile_.rests[row.local] -= known.sum;
      row.left = (known.diagonal - first) * step;
      a_ii = region_.values[known.diagonal];
    }
    T scale = T{1} / a_ii;
    if constexpr (relaxes) scale *= region_.task.relaxation.omega;
    if constexpr (relaxes) kept_at(row.local) = region_.kept_of(region_.row_at(position + row.local));
    if (row.left == 0) {
      word_at(own_place) = finished(row.local, tile_.rests[row.local], scale, T{0});
    } else {
      tile_.values[row.element + row.left * step] = scale;
    }
  }
  [[nodiscard]] __device__ Word<T> finished(int local, T rest, T scale, T sum) const {
    const T r = rest - sum;
    if constexpr (relaxes) return to_word(one_nan(multiply_add(r, scale, kept_at(local))));
    return to_word(one_nan(r * scale));
  }

  /// Whether all rows of the tile may be left over; ends the walk, for all warps, if not. In the warp's turn.
  __device__ bool has_room(int position) {
    const int end = *const_cast<volatile int*>(&storage_.end);
    const bool ends = position >= end || region_.leftover_count() + tile > region_.room;
    if (!ends) return true;
    __syncwarp();
    if (position < end && lane_ == 0) *const_cast<volatile int*>(&storage_.end) = position;
    // The others, too, wait for their turn once more.
    const int last = min(position, end) + (Gait<T>::warps - 1) * tile;
    if (position < last && position + tile < region_.end) give_turn<Gait<T>::warps>(warp_);
    return false;
  }

  /// Finishes the rows that wait, or leaves them over. In the warp's turn.
  __device__ void sweep_rows(int position) {
    if (__any_sync(every_lane, is_whole_ != 0)) leave_whole_rows(position);
    const std::int32_t* next = tile_.boundaries + lane_;
    Waiting row = Waiting::unpacked(*next);
    std::int32_t coming = next[warp_lanes];
    T sum = 0;
    for (;;) {
      // Each lane does the same, as long as nothing is missing, whether its row moves or not.
      const Word<T> word = word_at(tile_.places[row.element]);
      const T coefficient = now(tile_.values[row.element]);
      const T scale = now(tile_.values[row.element + step]);  // its, if this is the row's last element
      const bool waits = row.left > 0;
      const bool takes = waits && is_value<T>(word);
      const bool leaves = waits && !takes && word != unpublished<T>;
      const bool finishes = takes && row.left == 1;
      const T with = multiply_add(coefficient, to_value<T>(word), sum);
      const Word<T> result = finished(row.local, now(tile_.rests[row.local]), scale, with);
      if (finishes) word_at(ring_place(position) + row.local * word_bytes) = result;
      if (leaves) leave(position, row, sum, word);
      sum = takes ? with : sum;
      row.element += takes ? step : 0;
      row.left -= takes ? 1 : 0;
      if (finishes || leaves) {
        next += warp_lanes;
        row = Waiting::unpacked(coming);
        coming = next[warp_lanes];
        sum = 0;
      }
      if (__any_sync(every_lane, takes || leaves)) continue;
      if (!__any_sync(every_lane, waits)) break;
      // Columns are not sorted: rows wait for later ones, and become NaN.
      if (waits) tile_.places[row.element] = nan_place;
    }
    __syncwarp();
  }

  /// Leaves a row over for which a value is missing.
  __device__ void leave(int position, const Waiting& row, T sum, Word<T> missing) {
    constexpr int ring_bytes = Gait<T>::ring * word_bytes;
    const auto marked = static_cast<int>(missing - left_over<T>);
    const int place = tile_.places[row.element];
    const int ahead = (ring_place(position) + row.local * word_bytes - place) & (ring_bytes - 1);
    std::int32_t source = unknown_source;
    if (marked < LeftoverStorage<T>::room) source = LeftoverStorage<T>::marker_of(marked);
    // Of a later row, when columns are not sorted.
    if (place < ring_bytes && ahead >= (Gait<T>::window + tile) * word_bytes) source = whole_row;
    leave(
        position, row.local,
        {sum, tile_.values[row.element], tile_.rests[row.local], tile_.values[row.element + row.left * step],
         region_.row_at(position + row.local), row.element + range_.base(), row.left, source});
  }
  __device__ void leave(int position, int local, const Leftover<T>& leftover) {
    const int place = atomicAdd(&region_.leftover_count(), 1);
    word_at(ring_place(position) + local * word_bytes) = left_over<T> + static_cast<Word<T>>(place);
    region_.leftovers[place] = leftover;
  }
  __device__ void leave_whole_rows(int position) {
    for (int s = 0; s < slots; ++s) {
      const int local = lane_ + s * warp_lanes;
      if ((is_whole_ >> s & 1) == 0) continue;
      leave(position, local, {T{0}, T{0}, T{0}, T{0}, region_.row_at(position + local), 0, 0, whole_row});
    }
    __syncwarp();
  }

  /// Tells the other blocks; and this one, which rows are left over.
  __device__ void publish_rows(int position) const {
    const int rows = region_.end - position;
    const int first_row = region_.row_at(position) + lane_ * step;
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      const Word<T> word = word_at(ring_place(position) + (lane_ + s * warp_lanes) * word_bytes);
      if (lane_ + s * warp_lanes < rows) region_.publish(first_row + s * warp_lanes * step, word);
    }
  }

  const Region<T, forward>& region_;
  WalkStorage<T>& storage_;
  int lane_;
  int warp_;
  TileStorage<T>& tile_;
  int nonzeros_;
  int first_ = 0;  // position where the walk began
  Range range_{};
  bool fits_ = false;
  unsigned is_whole_ = 0;  // of the lane's rows, those that are left over as they are
};

template <class T, bool forward, bool relaxes>
__global__ void __launch_bounds__(Gait<T>::threads, Gait<T>::blocks)
    sweep_by_walking(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ Walk<T> walk) {
  if (!task.is_wanted(Way::walk)) return;
  const Region<T, forward> region(task, walk);
  Walker<T, forward, relaxes> walker(region, *reinterpret_cast<WalkStorage<T>*>(gauss_seidel_storage));
  Finisher<T, forward, relaxes, Gait<T>::warps> finisher(
      region, *reinterpret_cast<LeftoverStorage<T>*>(gauss_seidel_storage));
  for (int position = region.first; position < region.end;) {
    position = walker.walk(position);
    finisher.finish();
  }
}

}  // namespace echelon::gauss_seidel

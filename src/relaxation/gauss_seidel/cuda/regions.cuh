// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweep by regions, for tens of millions of short rows: each block sweeps over one large region
/// and never waits for other blocks. Rows that need a value of another region which is not ready are
/// deferred, and so are the rows that depend on them; deferred_rows.cuh finishes them.
///
/// The warps of a block take the tiles of the region in cyclic order. Each tile has two phases. Preparation
/// overlaps with the work of the other warps: elements are copied to shared memory, each column is replaced
/// by the location of its value in shared memory, diagonals are inverted, and rows without dependencies are
/// finished. The second phase needs the token, which the warps pass in the order of the tiles: all rows
/// before the tile are finished or deferred by then, so the remaining rows depend on rows of the same tile
/// and warp only. Each lane takes several of them one after another, one element per step.
///
/// Most dependencies are near, so their values come from a ring in shared memory with the latest rows of the
/// region. Values from farther away are loaded in the preparation.
///
/// Termination: regions are taken in order from a ticket counter, so a row depends only on rows of regions
/// whose block has started and on earlier rows of its own region. The token follows the order of the tiles.
/// Within a tile the first unfinished row never waits: its values are ready, or it is deferred.
#pragma once

#include "relaxation/gauss_seidel/cuda/deferred_rows.cuh"

#include <cuda_pipeline.h>

namespace echelon::gauss_seidel {

/// Sizes that region sweeps use. Measured on 51.8 million rows in float on an H200: 1.71 ms; 2 or 4 warps per
/// block take 1.81 and 1.75 ms, room for 64 values from outside the ring 9.7 ms.
template <class T>
struct RegionSweepConfig {
  static constexpr int warps = 3;                        ///< per block
  static constexpr int blocks = sizeof(T) == 4 ? 9 : 6;  ///< resident blocks per multiprocessor
  static constexpr int threads = warps * warp_size;
  static constexpr int rows_per_lane = 4;                      ///< rows of a tile per lane
  static constexpr int tile_rows = rows_per_lane * warp_size;  ///< rows of a tile
  static constexpr int ring_rows = 1024;  ///< latest rows whose values the ring holds; a power of 2
  static constexpr int ring_window =
      ring_rows - warps * tile_rows;                   ///< rows before a tile that are certainly in the ring
  static constexpr int tile_elements = 3 * tile_rows;  ///< capacity for elements; a larger tile is deferred
  static constexpr int far_values = 2 * tile_rows;  ///< capacity for values from outside the ring; likewise
  static constexpr int min_deferred = 16 * tile_rows;  ///< smallest capacity of a region for deferred rows
};

/// State of one tile in shared memory.
template <class T>
struct TileStorage {
  using Config = RegionSweepConfig<T>;
  /// Columns of the elements; after resolve_locations() byte offsets into RegionStorage::words, where the
  /// values are or will be. The entry after the last is a valid offset, for lanes without a row.
  alignas(16) std::int32_t locations[Config::tile_elements + 4];
  /// Values; a prepared row has its inverse diagonal in place of a_ii.
  alignas(16) T values[Config::tile_elements + 4];
  T reduced_rhs[Config::tile_rows];  ///< b; in a prepared row PartialRow::reduced_rhs
  /// Row offsets; in a prepared tile packed TileRows that have elements to add, followed by entries without
  /// any.
  std::int32_t offsets[Config::tile_rows + 2 * warp_size];
};

/// Shared memory of a block during the sweep. If omega != 1, PartialRow::weighted_old of each warp's tile
/// follows.
template <class T>
struct RegionStorage {
  using Config = RegionSweepConfig<T>;
  static constexpr int far_words = Config::ring_rows;
  static constexpr int nan_word = far_words + Config::warps * Config::far_values;
  TileStorage<T> tiles[Config::warps];
  /// Values of the latest rows, by position modulo ring_rows; values from outside the ring, far_values for
  /// each warp (their columns until they are loaded); and one NaN.
  Word<T> words[nan_word + 2];
  int end;  ///< position where the sweep ends, which is before the region's end if deferred rows fill their
            ///< capacity
};
static_assert(sizeof(DeferredStorage<float>) <= sizeof(RegionStorage<float>) &&
              sizeof(DeferredStorage<double>) <= sizeof(RegionStorage<double>));

/// Shared memory of a block in bytes, which must also hold DeferredStorage.
template <class T>
constexpr std::size_t region_shared_bytes(bool relaxes) {
  return sizeof(RegionStorage<T>) +
         (relaxes ? sizeof(T) * RegionSweepConfig<T>::warps * RegionSweepConfig<T>::tile_rows : 0);
}

/// Token of a block's warps, passed in cyclic order. Warp w waits at named barrier w + 1, at which the
/// previous warp arrives without waiting. Barrier numbers are compile-time constants: with computed numbers a
/// block would reserve all 16 barriers, of which a multiprocessor has few.
template <int warps, int w = 0>
__device__ void wait_for_token(int warp) {
  if (warp == w) asm volatile("barrier.cta.sync %0, %1;" ::"n"(w + 1), "n"(2 * warp_size) : "memory");
  if constexpr (w + 1 < warps) wait_for_token<warps, w + 1>(warp);
}
template <int warps, int w = 0>
__device__ void pass_token(int warp) {
  if constexpr (w == 0) __syncwarp();
  constexpr int next = (w + 1) % warps;
  if (warp == w) asm volatile("barrier.cta.arrive %0, %1;" ::"n"(next + 1), "n"(2 * warp_size) : "memory");
  if constexpr (w + 1 < warps) pass_token<warps, w + 1>(warp);
}

/// Sum over the old values of a row, and the element of its diagonal.
template <class T>
struct KnownSum {
  T sum;
  int diagonal;  ///< element in the matrix; -1 if it is missing or zero
};

/// Sums the elements after the diagonal in the order of the sweep. The row's elements begin at `first`, in
/// that order.
template <class T, bool forward>
__device__ __noinline__ KnownSum<T> sum_known_elements(const std::int32_t* columns, const T* values,
                                                       const T* old, int first, int count, int i) {
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
class RegionSweeper {
  using Config = RegionSweepConfig<T>;

 public:
  __device__ RegionSweeper(const SweptRegion<T, forward>& region, RegionStorage<T>& storage)
      : region_(region),
        storage_(storage),
        lane_(keep_in_register(lane_id())),
        warp_(keep_in_register(static_cast<int>(threadIdx.x) / warp_size)),
        tile_(storage.tiles[warp_]),
        nonzeros_(static_cast<int>(region.task.row_offsets[region.task.rows])) {}

  /// Sweeps from position `first` on until the region ends or deferred rows fill their capacity. Returns the
  /// position there. Block-collective.
  __device__ int sweep(int first) {
    first_ = first;
    if (lane_ == 0) tile_.locations[tile_elements] = 0;
    if (threadIdx.x == 0) {
      storage_.words[RegionStorage<T>::nan_word] = to_word(canonical_nan<T>);
      storage_.end = region_.end;
    }
    __syncthreads();
    int position = first + warp_ * tile_rows;
    prefetch_tile(position, range_at(position));
    while (position < region_.end) {
      const int next = position + Config::warps * tile_rows;
      const Range range = range_at(next);
      __pipeline_wait_prior(0);
      __syncwarp();
      prepare_tile(position);
      if (position != first) wait_for_token<Config::warps>(warp_);
      if (!has_deferred_capacity(position)) break;
      sweep_rows(position);
      if (position + tile_rows < region_.end) pass_token<Config::warps>(warp_);
      prefetch_tile(next, range);
      publish_rows(position);
      position = next;
    }
    __syncthreads();
    const int end = storage_.end;
    __syncthreads();  // DeferredStorage takes the place of RegionStorage
    return end;
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int tile_rows = Config::tile_rows;
  static constexpr int rows_per_lane = Config::rows_per_lane;
  static constexpr int tile_elements = Config::tile_elements;
  static constexpr int word_bytes = sizeof(T);
  static constexpr int section = 4 * warp_size;  // elements that a warp copies at a time, four per lane
  static constexpr int sections = tile_elements / section;
  static_assert(4 * sections <= 32);

  /// Elements of a tile, in the matrix. Copies begin at a multiple of four elements.
  struct Range {
    int begin;
    int end;
    [[nodiscard]] __device__ int base() const { return begin & ~3; }
    [[nodiscard]] __device__ int count() const { return end - base(); }
    [[nodiscard]] __device__ bool fits() const { return count() <= tile_elements; }
  };

  /// A row with elements to add: index in its tile, first of these elements, and their number. Packed into
  /// one word.
  struct TileRow {
    int local;
    int element;
    int remaining;
    [[nodiscard]] ECHELON_ANYWHERE constexpr std::int32_t packed() const {
      return local << 16 | remaining << 10 | element;
    }
    static __device__ TileRow unpacked(std::int32_t word) {
      return {word >> 16, word & 0x3ff, word >> 10 & 0x3f};
    }
  };
  static_assert(tile_elements < 1 << 10 && chain_limit < 1 << 6);
  static constexpr TileRow no_row{0, tile_elements, 0};

  [[nodiscard]] __device__ T& weighted_old_at(int local) const {
    return reinterpret_cast<T*>(&storage_ + 1)[warp_ * tile_rows + local];
  }
  /// Loads from shared memory here, not where the compiler would move the load.
  [[nodiscard]] static __device__ T load_volatile(const T& value) {
    return *const_cast<const volatile T*>(&value);
  }
  /// Byte offset in RegionStorage::words of the row at a position.
  [[nodiscard]] static __device__ int ring_offset(int position) {
    return static_cast<int>(static_cast<unsigned>(position) % Config::ring_rows) * word_bytes;
  }
  static constexpr int nan_offset = RegionStorage<T>::nan_word * word_bytes;
  [[nodiscard]] __device__ int far_offset(int slot) const {
    return (RegionStorage<T>::far_words + warp_ * Config::far_values + slot) * word_bytes;
  }
  [[nodiscard]] __device__ volatile Word<T>& word_at(int offset) const {
    return *reinterpret_cast<volatile Word<T>*>(reinterpret_cast<unsigned char*>(storage_.words) + offset);
  }

  [[nodiscard]] __device__ Range range_at(int position) const {
    if (position >= region_.end) return {0, 0};
    const int last = min(position + tile_rows, region_.end) - 1;
    const std::int64_t* const offsets = region_.task.row_offsets;
    return {static_cast<int>(offsets[region_.row_at(forward ? position : last)]),
            static_cast<int>(offsets[region_.row_at(forward ? last : position) + 1])};
  }

  /// Starts to copy the offsets, right-hand sides and elements of a tile to shared memory.
  __device__ void prefetch_tile(int position, const Range& range) {
    range_ = range;
    if (position >= region_.end) return;
    // Nonzeros fit into 32 bits, so the lower halves of the offsets suffice.
    const std::int64_t* const offsets =
        region_.task.row_offsets + (region_.row_at(position) + (forward ? 0 : 1)) + lane_ * step;
    const T* const b = region_.b + region_.row_at(position) + lane_ * step;
    const int rows = region_.end - position;
#pragma unroll
    for (int s = 0; s < rows_per_lane; ++s) {
      constexpr int lanes = warp_size;
      const int local = lane_ + s * lanes;
      if (local <= rows) __pipeline_memcpy_async(tile_.offsets + local, offsets + s * lanes * step, 4);
      if (local < rows) __pipeline_memcpy_async(tile_.reduced_rhs + local, b + s * lanes * step, sizeof(T));
    }
    if (lane_ == 0 && rows >= tile_rows) {
      __pipeline_memcpy_async(tile_.offsets + tile_rows, offsets + tile_rows * step, 4);
    }
    if (range.fits() && range.end + 4 <= nonzeros_) {
#pragma unroll
      for (int s = 0; s < sections; ++s) {
        const int k = 4 * lane_ + s * section;
        if (k < range.count()) copy_four(k);
      }
    } else if (range.fits()) {
      // Complete groups of four are needed, since resolve_locations() reads four at a time.
#pragma unroll 1
      for (int k = lane_; k < (range.count() + 3) / 4 * 4; k += warp_size) {
        const int element = min(range.base() + k, range.end - 1);
        tile_.locations[k] = region_.columns[element];
        tile_.values[k] = region_.values[element];
      }
    }
    __pipeline_commit();
  }
  __device__ void copy_four(int k) {
    const std::int32_t* const columns = region_.columns + range_.base();
    const T* const values = region_.values + range_.base();
    __pipeline_memcpy_async(tile_.locations + k, columns + k, 16);
    constexpr int piece = 16 / sizeof(T);
#pragma unroll
    for (int p = 0; p < 4; p += piece) __pipeline_memcpy_async(tile_.values + k + p, values + k + p, 16);
  }

  /// Performs all work on a tile that needs no token.
  __device__ void prepare_tile(int position) {
    constexpr int loads_in_flight = 2;  // per lane
#pragma unroll
    for (int s = 0; s < rows_per_lane; ++s) {
      word_at(ring_offset(position) + (lane_ + s * warp_size) * word_bytes) = not_ready<T>;
    }
    fits_ = range_.fits();
    const int far = fits_ ? resolve_locations(position) : 0;
    fits_ = fits_ && far <= Config::far_values;
    FarWord word[loads_in_flight];
#pragma unroll
    for (int s = 0; s < loads_in_flight; ++s) word[s] = load_far(lane_ + s * warp_size, far);
    prepare_rows(position);
#pragma unroll
    for (int s = 0; s < loads_in_flight; ++s) store_far(lane_ + s * warp_size, far, word[s]);
    for (int slot = lane_ + loads_in_flight * warp_size; slot < far; slot += warp_size) {
      store_far(slot, far, load_far(slot, far));
    }
    __syncwarp();
  }
  /// Word of x outside the ring, and whether its row belongs to the region.
  struct FarWord {
    Word<T> word;
    bool in_region;
  };
  [[nodiscard]] __device__ FarWord load_far(int slot, int far) const {
    if (slot >= min(far, Config::far_values)) return {};
    const auto column = static_cast<std::int32_t>(word_at(far_offset(slot)));
    return {region_.load(column), region_.contains(column)};
  }
  __device__ void store_far(int slot, int far, const FarWord& found) const {
    if (slot >= min(far, Config::far_values)) return;
    const Word<T> word = region_.interpret(found.word, found.in_region);
    word_at(far_offset(slot)) = word == not_ready<T> ? deferred_mark<T> + unknown_place : word;
  }

  /// Replaces columns by locations and returns the number of values from outside the ring.
  __device__ int resolve_locations(int position) {
    // Distances count along the sweep from the first row that is certainly in the ring.
    const int window_begin = max(position - Config::ring_window, first_);
    const int window_row = region_.row_at(window_begin);
    const int limit = position + tile_rows - window_begin;
    unsigned far_mask = 0;
#pragma unroll
    for (int s = 0; s < sections; ++s) {
      const int k = 4 * lane_ + s * section;
      if (k >= range_.count()) break;
      int4& four = *reinterpret_cast<int4*>(tile_.locations + k);
      const int4 column = four;
      int4 location;
      far_mask |= resolve_location(column.x, window_begin, window_row, limit, location.x) << (4 * s) |
                  resolve_location(column.y, window_begin, window_row, limit, location.y) << (4 * s + 1) |
                  resolve_location(column.z, window_begin, window_row, limit, location.z) << (4 * s + 2) |
                  resolve_location(column.w, window_begin, window_row, limit, location.w) << (4 * s + 3);
      four = location;
    }
    int far = 0;
    for (unsigned mask = 0; (mask = __ballot_sync(full_warp, far_mask != 0)) != 0; far += __popc(mask)) {
      const int slot = far + __popc(mask & lanemask_lt());
      if (far_mask == 0) continue;
      const int n = __ffs(static_cast<int>(far_mask)) - 1;
      far_mask &= far_mask - 1;
      std::int32_t& location = tile_.locations[4 * lane_ + n / 4 * section + n % 4];
      if (slot < Config::far_values) word_at(far_offset(slot)) = static_cast<Word<T>>(location);
      location = far_offset(slot);
    }
    __syncwarp();
    return far;
  }
  /// Location of a column in the ring, or of the NaN if the sweep reaches it later. Returns 1 if the column
  /// lies before the window; `location` is then the column itself.
  static __device__ unsigned resolve_location(std::int32_t column, int window_begin, int window_row,
                                              int limit, int& location) {
    const int distance = (column - window_row) * step;
    const int in_ring = distance < limit ? ring_offset(window_begin + distance) : nan_offset;
    location = distance < 0 ? column : in_ring;
    return distance < 0 ? 1u : 0u;
  }

  /// Prepares the rows, finishes those without dependencies, and lists the others.
  __device__ void prepare_rows(int position) {
    int waiting = 0;
    whole_rows_ = 0;
#pragma unroll 1
    for (int s = 0; s < rows_per_lane; ++s) {
      const int local = lane_ + s * warp_size;
      const int from = tile_.offsets[local];
      const int elements = (tile_.offsets[local + 1] - from) * step;
      TileRow row{local, (forward ? from : from - 1) - range_.base(), 0};
      if (position + local < region_.end) {
        if (fits_ && elements <= chain_limit) {
          prepare_row(position, elements, row);
        } else {
          whole_rows_ |= 1u << s;
        }
      }
      __syncwarp();
      const unsigned mask = __ballot_sync(full_warp, row.remaining > 0);
      if (row.remaining > 0) tile_.offsets[waiting + __popc(mask & lanemask_lt())] = row.packed();
      waiting += __popc(mask);
    }
    __syncwarp();
    tile_.offsets[waiting + lane_] = tile_.offsets[waiting + warp_size + lane_] = no_row.packed();
  }

  __device__ void prepare_row(int position, int elements, TileRow& row) {
    row.remaining = elements - 1;
    const int own_offset = ring_offset(position) + row.local * word_bytes;
    const int diagonal = row.element + row.remaining * step;
    T a_ii = 0;
    if (elements > 0 && tile_.locations[diagonal] == own_offset) a_ii = tile_.values[diagonal];
    if (a_ii == T{0}) {
      // The row has elements after its diagonal, or no diagonal element.
      const int i = region_.row_at(position + row.local);
      const int first = row.element + range_.base();
      const KnownSum<T> known =
          sum_known_elements<T, forward>(region_.columns, region_.values, region_.old(), first, elements, i);
      if (known.diagonal < 0) {
        region_.count_skipped_row(i);
        word_at(own_offset) = to_word(canonical(region_.old()[i]));
        row.remaining = 0;
        return;
      }
      tile_.reduced_rhs[row.local] -= known.sum;
      row.remaining = (known.diagonal - first) * step;
      a_ii = region_.values[known.diagonal];
    }
    T inverse_diagonal = T{1} / a_ii;
    if constexpr (relaxes) inverse_diagonal *= region_.task.relaxation.omega;
    if constexpr (relaxes)
      weighted_old_at(row.local) = region_.weighted_old(region_.row_at(position + row.local));
    if (row.remaining == 0) {
      word_at(own_offset) = finish_value(row.local, tile_.reduced_rhs[row.local], inverse_diagonal, T{0});
    } else {
      tile_.values[row.element + row.remaining * step] = inverse_diagonal;
    }
  }
  [[nodiscard]] __device__ Word<T> finish_value(int local, T reduced_rhs, T inverse_diagonal, T sum) const {
    const T r = reduced_rhs - sum;
    if constexpr (relaxes)
      return to_word(canonical(multiply_add(r, inverse_diagonal, weighted_old_at(local))));
    return to_word(canonical(r * inverse_diagonal));
  }

  /// Returns whether all rows of the tile may be deferred; ends the sweep of all warps otherwise. With the
  /// token.
  __device__ bool has_deferred_capacity(int position) {
    const int end = *const_cast<volatile int*>(&storage_.end);
    const bool ends = position >= end || region_.deferred_count() + tile_rows > region_.deferred_capacity;
    if (!ends) return true;
    __syncwarp();
    if (position < end && lane_ == 0) *const_cast<volatile int*>(&storage_.end) = position;
    // The warps with later tiles still wait for the token once.
    const int last = min(position, end) + (Config::warps - 1) * tile_rows;
    if (position < last && position + tile_rows < region_.end) pass_token<Config::warps>(warp_);
    return false;
  }

  /// Finishes or defers the rows that have elements to add. With the token.
  __device__ void sweep_rows(int position) {
    if (__any_sync(full_warp, whole_rows_ != 0)) defer_whole_rows(position);
    const std::int32_t* next = tile_.offsets + lane_;
    TileRow row = TileRow::unpacked(*next);
    std::int32_t next_packed = next[warp_size];
    T sum = 0;
    for (;;) {
      // All lanes execute the same instructions, whether their row advances or not, unless a row is deferred.
      const Word<T> word = word_at(tile_.locations[row.element]);
      const T coefficient = load_volatile(tile_.values[row.element]);
      const T inverse_diagonal =
          load_volatile(tile_.values[row.element + step]);  // valid if this is the row's last element
      const bool waits = row.remaining > 0;
      const bool takes = waits && is_value<T>(word);
      const bool defers = waits && !takes && word != not_ready<T>;
      const bool finishes = takes && row.remaining == 1;
      const T new_sum = multiply_add(coefficient, to_value<T>(word), sum);
      const Word<T> result =
          finish_value(row.local, load_volatile(tile_.reduced_rhs[row.local]), inverse_diagonal, new_sum);
      if (finishes) word_at(ring_offset(position) + row.local * word_bytes) = result;
      if (defers) defer(position, row, sum, word);
      sum = takes ? new_sum : sum;
      row.element += takes ? step : 0;
      row.remaining -= takes ? 1 : 0;
      if (finishes || defers) {
        next += warp_size;
        row = TileRow::unpacked(next_packed);
        next_packed = next[warp_size];
        sum = 0;
      }
      if (__any_sync(full_warp, takes || defers)) continue;
      if (!__any_sync(full_warp, waits)) break;
      // All rows wait for later rows, which only unsorted columns cause. They become NaN.
      if (waits) tile_.locations[row.element] = nan_offset;
    }
    __syncwarp();
  }

  /// Defers a row because of a missing value.
  __device__ void defer(int position, const TileRow& row, T sum, Word<T> missing) {
    constexpr int ring_bytes = Config::ring_rows * word_bytes;
    const auto marked = static_cast<int>(missing - deferred_mark<T>);
    const int location = tile_.locations[row.element];
    const int ahead = (ring_offset(position) + row.local * word_bytes - location) & (ring_bytes - 1);
    std::int32_t source = unknown_source;
    if (marked < DeferredStorage<T>::value_capacity) source = DeferredStorage<T>::source_of(marked);
    // The location is that of a later row: columns are unsorted.
    if (location < ring_bytes && ahead >= (Config::ring_window + tile_rows) * word_bytes) source = whole_row;
    defer(position, row.local,
          {.partial_sum = sum,
           .coefficient = tile_.values[row.element],
           .reduced_rhs = tile_.reduced_rhs[row.local],
           .inverse_diagonal = tile_.values[row.element + row.remaining * step],
           .row = region_.row_at(position + row.local),
           .element = row.element + range_.base(),
           .remaining = row.remaining,
           .source = source});
  }
  __device__ void defer(int position, int local, const DeferredRow<T>& row) {
    const int index = atomicAdd(&region_.deferred_count(), 1);
    word_at(ring_offset(position) + local * word_bytes) = deferred_mark<T> + static_cast<Word<T>>(index);
    region_.deferred_rows[index] = row;
  }
  __device__ void defer_whole_rows(int position) {
    for (int s = 0; s < rows_per_lane; ++s) {
      const int local = lane_ + s * warp_size;
      if ((whole_rows_ >> s & 1) == 0) continue;
      defer(position, local, {.row = region_.row_at(position + local), .source = whole_row});
    }
    __syncwarp();
  }

  /// Publishes the tile's values in x, and for this block which rows are deferred.
  __device__ void publish_rows(int position) const {
    const int rows = region_.end - position;
    const int first_row = region_.row_at(position) + lane_ * step;
#pragma unroll
    for (int s = 0; s < rows_per_lane; ++s) {
      const Word<T> word = word_at(ring_offset(position) + (lane_ + s * warp_size) * word_bytes);
      if (lane_ + s * warp_size < rows) region_.publish(first_row + s * warp_size * step, word);
    }
  }

  const SweptRegion<T, forward>& region_;
  RegionStorage<T>& storage_;
  int lane_;
  int warp_;
  TileStorage<T>& tile_;
  int nonzeros_;
  int first_ = 0;  // position where this call of sweep() began
  Range range_{};
  bool fits_ = false;
  unsigned whole_rows_ = 0;  // bit s: row s of this lane's is deferred as a whole
};

template <class T, bool forward, bool relaxes>
__global__ void __launch_bounds__(RegionSweepConfig<T>::threads, RegionSweepConfig<T>::blocks)
    sweep_regions(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ RegionPlan<T> plan) {
  if (!task.selects(Strategy::regions)) return;
  const SweptRegion<T, forward> region(task, plan);
  RegionSweeper<T, forward, relaxes> sweeper(region,
                                             *reinterpret_cast<RegionStorage<T>*>(gauss_seidel_storage));
  DeferredRowFinisher<T, forward, relaxes, RegionSweepConfig<T>::warps> finisher(
      region, *reinterpret_cast<DeferredStorage<T>*>(gauss_seidel_storage));
  for (int position = region.first; position < region.end;) {
    position = sweeper.sweep(position);
    finisher.finish();
  }
}

}  // namespace echelon::gauss_seidel

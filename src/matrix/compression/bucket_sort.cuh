// SPDX-License-Identifier: BSD-3-Clause
/// Compression on a GPU in two passes over the entries: the first scatters them to buckets of consecutive
/// rows, the second sorts each bucket in the shared memory of a multiprocessor.
///
/// A radix sort needs a pass for every 8 bits of row and column. The first pass here has tens of thousands of
/// buckets: the ends of the buckets stay in the L2 cache, which combines single entries to whole cache lines.
/// The order of entries within a bucket depends on timing; the second pass sorts by keys that are all
/// different, so that the result does not.
/// Memory movement per entry of a double: 4 + 16 + 16 bytes in the first pass, 16 + 12 in the second; 28 of
/// these 64 are input and result.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/lower_bound.hpp"
#include "matrix/compression/radix.hpp"

#include <cub/block/block_scan.cuh>
#include <cuda/functional>

#include <cstdint>

namespace echelon::bucket_sort {

/// An entry in a bucket. The key consists of the row within the bucket, the column and, if entries may be
/// repeated, the number of the entry, from high bits to low.
template <class T>
struct alignas(16) PackedEntry {
  std::uint64_t key;
  T value;
};

using radix_compression::bits_below;

struct Plan {
  static constexpr std::int64_t most_buckets = 28 * 1024;  ///< two blocks' counters fit into shared memory
  static constexpr int most_row_bits = 12;                 ///< counters of rows, there too
  static constexpr std::int64_t most_entries = INT32_MAX;
  static constexpr std::int64_t most_capacity = 8 * 1024;  ///< entries that fit into a block's shared memory

  int row_bits = 0;  ///< a bucket has 2^row_bits rows
  int column_bits = 0;
  int number_bits = 0;
  std::int64_t buckets = 0;
  int capacity = 0;  ///< entries of the largest bucket

  /// Chooses buckets of 1000 to 2000 entries on average, or larger ones if these were too many.
  Plan(std::int64_t rows, std::int64_t columns, std::int64_t entries, bool numbered)
      : column_bits(bits_below(columns)), number_bits(numbered ? bits_below(entries) : 0) {
    while (row_bits < most_row_bits &&
           (buckets_of(rows, row_bits) > most_buckets || entries / buckets_of(rows, row_bits + 1) < 2048)) {
      ++row_bits;
    }
    buckets = buckets_of(rows, row_bits);
  }

  static std::int64_t buckets_of(std::int64_t rows, int bits) {
    return std::max<std::int64_t>((rows + (std::int64_t{1} << bits) - 1) >> bits, 1);
  }

  /// True if the bucket counters fit into shared memory, the keys into 64 bits, and average buckets into
  /// shared memory.
  [[nodiscard]] bool works(std::int64_t entries) const {
    return entries <= most_entries && buckets <= most_buckets && row_bits + column_bits + number_bits < 64 &&
           entries / buckets <= most_capacity;
  }
};

inline constexpr int scatter_block = 512;
inline constexpr int scatter_items = 8;  ///< entries that a thread loads before it uses the first
inline constexpr int tile_size = scatter_block * scatter_items;
inline constexpr int sort_block = 512;

/// counts[b] += the number of entries of bucket b. Shared memory: 4 bytes per bucket. Reads the rows once.
static __global__ void __launch_bounds__(scatter_block)
    count_buckets(std::int64_t count, const std::int32_t* __restrict__ rows, int row_bits, int buckets,
                  unsigned long long* counts) {
  extern __shared__ unsigned local[];
  for (int b = static_cast<int>(threadIdx.x); b < buckets; b += scatter_block) local[b] = 0;
  __syncthreads();
  const std::int64_t stride = std::int64_t{gridDim.x} * tile_size;
  for (std::int64_t tile = std::int64_t{blockIdx.x} * tile_size; tile < count; tile += stride) {
    std::int32_t row[scatter_items];
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      const std::int64_t k = tile + i * scatter_block + threadIdx.x;
      row[i] = k < count ? rows[k] : -1;
    }
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] >= 0) atomicAdd(&local[row[i] >> row_bits], 1u);
    }
  }
  __syncthreads();
  for (int b = static_cast<int>(threadIdx.x); b < buckets; b += scatter_block) {
    if (local[b] > 0) atomicAdd(&counts[b], static_cast<unsigned long long>(local[b]));
  }
}

/// Loads the columns of entries threadIdx.x, threadIdx.x + scatter_block, ... of a tile.
template <class T>
__device__ void load_columns(const CooEntries<T>& entries, const std::int32_t*, std::int64_t tile,
                             std::int32_t (&column)[scatter_items]) {
#pragma unroll
  for (int i = 0; i < scatter_items; ++i) {
    const std::int64_t k = tile * tile_size + i * scatter_block + threadIdx.x;
    column[i] = k < entries.count ? entries.columns[k] : 0;
  }
}

/// Finds the rows of a Csr in which the entries are stored: every row writes its number to a mark at its
/// first entry, and the maximum of the marks up to an entry, an inclusive scan, is the entry's row.
template <class T>
__device__ void load_columns(const TransposedEntries<T>& entries, const std::int32_t* tile_rows,
                             std::int64_t tile, std::int32_t (&column)[scatter_items]) {
  using Scan = cub::BlockScan<std::int32_t, scatter_block>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ std::int32_t marks[tile_size];
  const std::int32_t first = tile_rows[tile];
  const std::int32_t last = tile_rows[tile + 1];
  const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < scatter_items; ++i) marks[i * scatter_block + thread] = first;
  __syncthreads();
  for (std::int64_t row = first + std::int64_t{1} + thread; row <= last; row += scatter_block) {
    const std::int64_t place = entries.offsets[row] - tile * tile_size;
    if (place < tile_size) atomicMax(&marks[place], static_cast<std::int32_t>(row));
  }
  __syncthreads();
  std::int32_t mark[scatter_items];
#pragma unroll
  for (int i = 0; i < scatter_items; ++i) mark[i] = marks[thread * scatter_items + i];
  Scan(storage).InclusiveScan(mark, mark, cuda::maximum<>());
#pragma unroll
  for (int i = 0; i < scatter_items; ++i) marks[thread * scatter_items + i] = mark[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < scatter_items; ++i) column[i] = marks[i * scatter_block + thread];
  __syncthreads();
}

/// Stores an entry in one write of 16 bytes, so that the L2 cache need not merge partial ones.
template <class T>
__device__ void store(std::uint64_t key, T value, PackedEntry<T>* target) {
  uint4 bits{};
  const PackedEntry<T> packed{key, value};
  memcpy(&bits, &packed, sizeof key + sizeof value);
  *reinterpret_cast<uint4*>(target) = bits;
}

/// tile_rows[t] = the row of a Csr in which tile t begins.
template <class T>
struct FindTileRow {
  TransposedEntries<T> entries;
  std::int32_t* tile_rows;
  ECHELON_ANYWHERE void operator()(std::int64_t tile) const {
    const std::int64_t next = lower_bound(entries.offsets, 0, entries.offset_count, tile * tile_size + 1);
    tile_rows[tile] = static_cast<std::int32_t>(next - 1);
  }
};

/// Scatters entries to their buckets. A block processes one tile at a time: it counts the tile's entries in
/// each bucket, reserves as many places there by one atomic addition per bucket, and writes the entries.
/// Shared memory: 4 bytes per bucket. Reads each entry once and writes 16 bytes for it.
template <class Entries, class T = typename Entries::Value>
__global__ void __launch_bounds__(scatter_block, 2)
    fill_buckets(Entries entries, const std::int32_t* tile_rows, Plan plan, unsigned* next,
                 PackedEntry<T>* target) {
  extern __shared__ unsigned local[];
  for (int b = static_cast<int>(threadIdx.x); b < plan.buckets; b += scatter_block) local[b] = 0;
  __syncthreads();
  const std::int64_t tiles = (entries.count + tile_size - 1) / tile_size;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    std::int32_t row[scatter_items];
    std::int32_t column[scatter_items];
    T value[scatter_items];
    unsigned rank[scatter_items];
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      const std::int64_t k = tile * tile_size + i * scatter_block + threadIdx.x;
      row[i] = k < entries.count ? entries.rows[k] : -1;
      value[i] = k < entries.count ? entries.values[k] : T{0};
    }
    load_columns(entries, tile_rows, tile, column);
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] >= 0) rank[i] = atomicAdd(&local[row[i] >> plan.row_bits], 1u);
    }
    __syncthreads();
    unsigned first[scatter_items];
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] >= 0 && rank[i] == 0) {
        const int bucket = row[i] >> plan.row_bits;
        first[i] = atomicAdd(&next[bucket], local[bucket]);
      }
    }
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] >= 0 && rank[i] == 0) local[row[i] >> plan.row_bits] = first[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] < 0) continue;
      const std::int64_t k = tile * tile_size + i * scatter_block + threadIdx.x;
      const std::uint64_t local_row = static_cast<std::uint64_t>(row[i]) & ((1ull << plan.row_bits) - 1);
      std::uint64_t key = local_row << plan.column_bits | static_cast<std::uint64_t>(column[i]);
      if (plan.number_bits > 0) key = key << plan.number_bits | static_cast<std::uint64_t>(k);
      store(key, value[i], target + local[row[i] >> plan.row_bits] + rank[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      if (row[i] >= 0 && rank[i] == 0) local[row[i] >> plan.row_bits] = 0;
    }
    __syncthreads();
  }
}

/// Shared memory in which a block sorts a bucket: keys and their entries' positions in the bucket, grouped by
/// row and sorted.
struct BucketMemory {
  std::uint64_t* keys;  ///< grouped by row
  std::uint64_t* sorted_keys;
  unsigned* row_begins;  ///< for each row of the bucket, and the end of the last
  unsigned* row_ends;
  std::uint16_t* sources;
  std::uint16_t* sorted_sources;

  static std::size_t bytes(const Plan& plan) {
    return static_cast<std::size_t>(plan.capacity) * 20 + (std::size_t{8} << plan.row_bits) + 16;
  }
  __device__ BucketMemory(unsigned char* memory, const Plan& plan)
      : keys(reinterpret_cast<std::uint64_t*>(memory)),
        sorted_keys(keys + plan.capacity),
        row_begins(reinterpret_cast<unsigned*>(sorted_keys + plan.capacity)),
        row_ends(row_begins + (1 << plan.row_bits) + 1),
        sources(reinterpret_cast<std::uint16_t*>(row_ends + (1 << plan.row_bits) + 1)),
        sorted_sources(sources + plan.capacity) {}
};

using BlockScan = cub::BlockScan<unsigned, sort_block>;

/// before + the exclusive prefix sum of `count` over the block's threads; adds the total to `before`.
static __device__ unsigned exclusive_sum(unsigned count, unsigned& before) {
  __shared__ typename BlockScan::TempStorage storage;
  unsigned sum = 0;
  unsigned total = 0;
  BlockScan(storage).ExclusiveSum(count, sum, total);
  __syncthreads();
  sum += before;
  before += total;
  return sum;
}

/// Replaces counts[0, n) by their exclusive prefix sums and counts[n] by the total. Returns the largest
/// count.
static __device__ unsigned scan_counts(int n, unsigned* counts) {
  __shared__ unsigned longest;
  if (threadIdx.x == 0) longest = 0;
  unsigned before = 0;
  unsigned largest = 0;
  for (int first = 0; first < n; first += sort_block) {
    const int i = first + static_cast<int>(threadIdx.x);
    const unsigned count = i < n ? counts[i] : 0;
    const unsigned sum = exclusive_sum(count, before);
    if (i < n) counts[i] = sum;
    largest = max(largest, count);
  }
  if (threadIdx.x == 0) counts[n] = before;
  largest = LogicalWarp<>::all_reduce(largest, Maximum());
  if (lane_id() == 0) atomicMax(&longest, largest);
  __syncthreads();
  return longest;
}

/// Sorts n keys with their sources by Batcher's bitonic network, in the form in which every comparison puts
/// the smaller key first: keys missing up to the next power of two count as infinite and need not be stored.
static __device__ void sort_bitonic(int n, std::uint64_t* keys, std::uint16_t* sources) {
  const auto compare = [=](int low, int high) {
    if (high >= n || keys[low] <= keys[high]) return;
    const std::uint64_t key = keys[low];
    keys[low] = keys[high];
    keys[high] = key;
    const std::uint16_t source = sources[low];
    sources[low] = sources[high];
    sources[high] = source;
  };
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    for (int pair = static_cast<int>(threadIdx.x); pair < n; pair += sort_block) {
      const int begin = pair / half * 2 * half;
      compare(begin + pair % half, begin + 2 * half - 1 - pair % half);
    }
    for (int distance = half / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int pair = static_cast<int>(threadIdx.x); pair < n; pair += sort_block) {
        const int low = pair / distance * 2 * distance + pair % distance;
        compare(low, low + distance);
      }
    }
  }
  __syncthreads();
}

/// Output of sorted buckets. A bucket without repeated entries fills the range of its entries; in a bucket
/// with repeated entries the sums fill the beginning of the range, and close_gaps() removes the rest.
template <class T>
struct Sorted {
  std::int64_t rows;
  std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  std::int64_t* sizes;  ///< of the buckets, repeated entries counted once
};

/// Writes a bucket with sorted keys, summing repeated entries in the order of their numbers.
template <class T>
__device__ void write_sums(const BucketMemory& work, const Plan& plan, const PackedEntry<T>* bucket, int n,
                           std::int64_t begin, std::int64_t b, const Sorted<T>& result) {
  const int key_bits = plan.column_bits + plan.number_bits;
  const std::uint64_t column_mask = (std::uint64_t{1} << plan.column_bits) - 1;
  const std::int64_t first_row = b << plan.row_bits;
  const auto place_of = [&](int p) { return work.sorted_keys[p] >> plan.number_bits; };
  const auto row_of = [&](int p) {
    if (p < 0) return std::int64_t{-1};
    return p < n ? static_cast<std::int64_t>(work.sorted_keys[p] >> key_bits)
                 : std::int64_t{1} << plan.row_bits;
  };
  unsigned before = 0;
  for (int first = 0; first <= n; first += sort_block) {  // p = n writes the offsets of empty rows at the end
    const int p = first + static_cast<int>(threadIdx.x);
    const bool is_first = p < n && (p == 0 || place_of(p) != place_of(p - 1));
    const unsigned index = exclusive_sum(is_first ? 1 : 0, before);
    if (p <= n) {
      for (std::int64_t row = row_of(p - 1) + 1; row <= row_of(p); ++row) {
        if (row < std::int64_t{1} << plan.row_bits && first_row + row < result.rows) {
          result.offsets[first_row + row] = begin + index;
        }
      }
    }
    if (!is_first) continue;
    T sum = bucket[work.sorted_sources[p]].value;
    for (int next = p + 1; next < n && place_of(next) == place_of(p); ++next) {
      sum += bucket[work.sorted_sources[next]].value;
    }
    result.columns[begin + index] = static_cast<std::int32_t>(place_of(p) & column_mask);
    result.values[begin + index] = sum;
  }
  if (threadIdx.x == 0) result.sizes[b] = before;
}

/// Groups a bucket's keys by row. Returns the length of the longest row.
template <class T>
__device__ unsigned group_by_row(const BucketMemory& work, const Plan& plan, const PackedEntry<T>* bucket,
                                 int n) {
  const int row_count = 1 << plan.row_bits;
  const int key_bits = plan.column_bits + plan.number_bits;  // less the row's
  for (int r = static_cast<int>(threadIdx.x); r < row_count; r += sort_block) work.row_begins[r] = 0;
  __syncthreads();
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < n; e += sort_block) {
    atomicAdd(&work.row_begins[bucket[e].key >> key_bits], 1u);
  }
  __syncthreads();
  const unsigned longest = scan_counts(row_count, work.row_begins);
  for (int r = static_cast<int>(threadIdx.x); r < row_count; r += sort_block) {
    work.row_ends[r] = work.row_begins[r];
  }
  __syncthreads();
#pragma unroll 4
  for (int e = static_cast<int>(threadIdx.x); e < n; e += sort_block) {
    const std::uint64_t key = bucket[e].key;
    const unsigned place = atomicAdd(&work.row_ends[key >> key_bits], 1u);
    work.keys[place] = key;
    work.sources[place] = static_cast<std::uint16_t>(e);
  }
  __syncthreads();
  return longest;
}

/// Sorts each row by counting: a key's position in its row is the number of smaller keys there.
static __device__ void sort_rows_by_counting(const BucketMemory& work, const Plan& plan, int n) {
  const int key_bits = plan.column_bits + plan.number_bits;
  for (int p = static_cast<int>(threadIdx.x); p < n; p += sort_block) {
    const std::uint64_t key = work.keys[p];
    const unsigned end = work.row_ends[key >> key_bits];
    unsigned place = work.row_begins[key >> key_bits];
    for (unsigned other = place; other < end; ++other) place += work.keys[other] < key ? 1 : 0;
    work.sorted_keys[place] = key;
    work.sorted_sources[place] = work.sources[p];
  }
  __syncthreads();
}

/// Sorts one bucket per block: by counting if all rows are short, otherwise by a bitonic network. Reads 16
/// bytes per entry and writes column and value.
template <class T>
__global__ void __launch_bounds__(sort_block)
    sort_buckets(const PackedEntry<T>* __restrict__ entries, const std::int64_t* __restrict__ begins,
                 Plan plan, Sorted<T> result) {
  constexpr unsigned longest_to_count = 96;
  extern __shared__ __align__(16) unsigned char memory[];
  BucketMemory work(memory, plan);
  const std::int64_t b = blockIdx.x;
  const std::int64_t begin = begins[b];
  const int n = static_cast<int>(begins[b + 1] - begin);
  const PackedEntry<T>* bucket = entries + begin;
  const std::int64_t first_row = b << plan.row_bits;
  if (group_by_row(work, plan, bucket, n) <= longest_to_count) {
    sort_rows_by_counting(work, plan, n);
  } else {
    sort_bitonic(n, work.keys, work.sources);
    work.sorted_keys = work.keys;
    work.sorted_sources = work.sources;
  }
  const std::uint64_t column_mask = (std::uint64_t{1} << plan.column_bits) - 1;
  bool repeated = false;
  for (int p = static_cast<int>(threadIdx.x); p < n; p += sort_block) {
    const std::uint64_t place = work.sorted_keys[p] >> plan.number_bits;
    repeated = repeated || (p > 0 && work.sorted_keys[p - 1] >> plan.number_bits == place);
    result.columns[begin + p] = static_cast<std::int32_t>(place & column_mask);
    result.values[begin + p] = bucket[work.sorted_sources[p]].value;
  }
  if (__syncthreads_or(repeated ? 1 : 0) != 0) {
    write_sums(work, plan, bucket, n, begin, b, result);
    return;
  }
  for (int r = static_cast<int>(threadIdx.x); r < 1 << plan.row_bits; r += sort_block) {
    if (first_row + r < result.rows) result.offsets[first_row + r] = begin + work.row_begins[r];
  }
  if (threadIdx.x == 0) result.sizes[b] = n;
}

/// Moves buckets together that summing made smaller, one bucket per block.
template <class T>
__global__ void __launch_bounds__(sort_block)
    close_gaps(const std::int64_t* __restrict__ old_begins, const std::int64_t* __restrict__ begins,
               int row_bits, Sorted<T> from, std::int32_t* columns, T* values) {
  const std::int64_t b = blockIdx.x;
  const std::int64_t old_begin = old_begins[b];
  const std::int64_t begin = begins[b];
  const std::int64_t n = begins[b + 1] - begin;
  const std::int64_t end_row = min((b + 1) << row_bits, from.rows);
  for (std::int64_t k = threadIdx.x; k < n; k += sort_block) {
    columns[begin + k] = from.columns[old_begin + k];
    values[begin + k] = from.values[old_begin + k];
  }
  for (std::int64_t row = (b << row_bits) + threadIdx.x; row < end_row; row += sort_block) {
    from.offsets[row] += begin - old_begin;
  }
}

}  // namespace echelon::bucket_sort

// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: rows are sorted into bins by the thread group and the memory that
/// they need.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "backend/rounded.hpp"

#include <echelon/matrix/csr.hpp>

#include <array>
#include <cstdint>

namespace echelon::product_kernels {

using cuda_kernels::block_size;

/// A sparse matrix in a GPU's memory, for kernels. The rows of a right factor may have room for further
/// elements: row i ends at row_ends[i], of a Csr at row_offsets[i + 1].
template <class T>
struct View {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t nonzeros;
  const std::int64_t* row_offsets;
  const std::int64_t* row_ends;
  const std::int32_t* column_indices;
  const T* values;
};

template <class T>
View<T> view_of(const Csr<T>& A) {
  return {A.rows(),
          A.columns(),
          A.nonzeros(),
          A.row_offsets().data(),
          A.row_offsets().data() + 1,
          A.column_indices().data(),
          A.values().data()};
}

/// How a row of C is computed: merged by a thread, in a hash table by 8 threads, a warp with a small or a
/// large table, or a block, or in windows of columns.
enum Bin : std::uint8_t {
  by_thread,
  by_few,
  by_small_warp,
  by_warp,
  by_block,
  by_windows,
  bins,
  nothing_to_do = bins
};

/// Longest row of A for which a thread merges rows of B, all of whose next elements are in registers.
inline constexpr int most_merged = 8;

/// Room for the elements of a row that are not counted is a multiple of this.
inline constexpr std::int64_t room_multiple = 4;

/// A row of A longer than this is computed in windows by several blocks: a group processes its elements one
/// after another.
inline constexpr std::int64_t max_group_row = 1024;

/// Consecutive threads that compute a row together, and the slots of its hash table, at most half of which
/// are used.
template <int lanes_, int slots_>
struct HashGroup {
  static constexpr int lanes = lanes_;
  static constexpr int slots = slots_;
  static constexpr int capacity = slots / 2;
  static constexpr int groups = block_size / lanes;  ///< in a block

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ static int number() { return static_cast<int>(threadIdx.x) / lanes; }
  /// Mask of the group's threads in this warp.
  using InWarp = LogicalWarp<(lanes < warp_size ? lanes : warp_size)>;
  __device__ static unsigned mask() {
    if constexpr (lanes >= warp_size) return full_warp;
    return ((1U << (lanes % warp_size)) - 1) << (threadIdx.x % warp_size / lanes * lanes);
  }
  template <class V>
  __device__ static V from(int lane, V value) {
    return __shfl_sync(mask(), value, lane, lanes);
  }
  __device__ static void sync() {
    if constexpr (lanes > warp_size) {
      __syncthreads();
    } else {
      __syncwarp(mask());
    }
  }
};

// Tables for counting hold no sums and can have more slots.
using CountByFew = HashGroup<8, 128>;
using CountByWarp = HashGroup<32, 2048>;
using CountByBlock = HashGroup<block_size, 16384>;
using FillByFew = HashGroup<8, 64>;
using FillBySmallWarp = HashGroup<32, 128>;
using FillByWarp = HashGroup<32, 512>;
using FillByBlock = HashGroup<block_size, 4096>;

template <class Few, class Warp, class Block>
ECHELON_ANYWHERE std::uint8_t bin_for(std::int64_t factors, std::int64_t elements) {
  if (factors > max_group_row) return by_windows;
  if (elements <= Few::capacity) return by_few;
  if (elements <= Warp::capacity) return by_warp;
  return elements <= Block::capacity ? by_block : by_windows;
}

/// Rows that are not counted but get room for more elements than they may have.
struct UncountedRows {
  std::int64_t products = 1;  ///< rows of at most this many products have room for all of these
  std::int64_t elements = 0;  ///< other rows have room for this many elements; 0: they are counted
  /// Whether the room of a row is the same for more products.
  [[nodiscard]] ECHELON_ANYWHERE bool suffices(std::int64_t row_products) const {
    return elements > 0 && row_products > products && row_products >= elements;
  }
  /// A row to be computed in windows has no further room, since its end is not written.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t room(std::int64_t row_products) const {
    const bool is_limited = row_products > products && elements > 0 && elements < row_products;
    const std::int64_t most = is_limited ? elements : row_products;
    if (products <= 1 || most > FillByBlock::capacity) return most;
    return (most + room_multiple - 1) / room_multiple * room_multiple;
  }
};

/// Where rows of C end that have room for more elements; null if they have none. `overflow` becomes 1 if a
/// row has more elements than room.
struct RowEnds {
  std::int64_t* ends;
  unsigned* overflow;
};

/// The bin for counting row i, by its number of products. A row of A with one element needs no counting: row
/// i of C has the length of that row of B.
template <class T>
struct BinByProducts {
  View<T> A;
  View<T> B;
  UncountedRows uncounted;
  std::int64_t* counts;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t begin = A.row_offsets[i];
    const std::int64_t size = A.row_offsets[i + 1] - begin;
    std::int64_t products = 0;
    if (size <= max_group_row) {
      for (std::int64_t k = begin; k < begin + size && !uncounted.suffices(products); ++k) {
        const std::int32_t j = A.column_indices[k];
        products += B.row_ends[j] - B.row_offsets[j];
      }
    }
    const bool is_uncounted = products <= uncounted.products || uncounted.elements > 0;
    const bool is_known = size <= max_group_row && (size <= 1 || is_uncounted);
    counts[i] = is_known ? uncounted.room(products) : 0;
    return is_known ? nothing_to_do : bin_for<CountByFew, CountByWarp, CountByBlock>(size, products);
  }
};

/// The bin for computing row i, by its number of elements.
template <class T>
struct BinByElements {
  View<T> A;
  const std::int64_t* offsets;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t elements = offsets[i + 1] - offsets[i];
    if (elements == 0) return nothing_to_do;
    const std::int64_t factors = A.row_offsets[i + 1] - A.row_offsets[i];
    const std::uint8_t bin = bin_for<FillByFew, FillByWarp, FillByBlock>(factors, elements);
    return bin == by_warp && elements <= FillBySmallWarp::capacity ? std::uint8_t{by_small_warp} : bin;
  }
};

/// The bin for computing row i, where a thread may merge rows of at most `most_elements` elements.
template <class T>
struct BinWithMerging {
  BinByElements<T> by_elements;
  std::int64_t most_elements;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t* const factors = by_elements.A.row_offsets + i;
    const std::int64_t elements = by_elements.offsets[i + 1] - by_elements.offsets[i];
    const bool is_merged =
        elements > 0 && elements <= most_elements && factors[1] - factors[0] <= most_merged;
    return is_merged ? std::uint8_t{by_thread} : by_elements(i);
  }
};

/// Writes the bin of every row, and adds the bins' sizes to `sizes`.
template <class F>
__global__ void __launch_bounds__(block_size)
    find_bins(std::int64_t rows, F bin_of, std::uint8_t* row_bins, unsigned* sizes) {
  __shared__ unsigned found[bins + 1];
  if (threadIdx.x <= bins) found[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i < rows) {
    const std::uint8_t bin = bin_of(i);
    row_bins[i] = bin;
    atomicAdd(&found[bin], 1U);
  }
  __syncthreads();
  if (threadIdx.x < bins && found[threadIdx.x] > 0) atomicAdd(sizes + threadIdx.x, found[threadIdx.x]);
}

/// Writes the rows of each bin from list[next[bin]] on. Their order depends on timing; no result depends on
/// it.
static __global__ void __launch_bounds__(block_size)
    list_rows(std::int64_t rows, const std::uint8_t* row_bins, unsigned* next, unsigned* list) {
  __shared__ unsigned found[bins + 1];
  __shared__ unsigned start[bins];
  if (threadIdx.x <= bins) found[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  const std::uint8_t bin = i < rows ? row_bins[i] : std::uint8_t{nothing_to_do};
  const unsigned place = atomicAdd(&found[bin], 1U);
  __syncthreads();
  if (threadIdx.x < bins && found[threadIdx.x] > 0) {
    start[threadIdx.x] = atomicAdd(next + threadIdx.x, found[threadIdx.x]);
  }
  __syncthreads();
  if (bin < bins) list[start[bin] + place] = static_cast<unsigned>(i);
}

/// The rows of C sorted by bin.
struct BinnedRows {
  Array<unsigned> rows;
  std::array<unsigned, bins> sizes{};

  [[nodiscard]] const unsigned* begin(Bin bin) const {
    const unsigned* first = rows.data();
    for (int b = 0; b < bin; ++b) first += sizes[static_cast<std::size_t>(b)];
    return first;
  }
  [[nodiscard]] unsigned size(Bin bin) const { return sizes[bin]; }
};

inline unsigned blocks_for(std::int64_t n, std::int64_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

/// Launches a kernel for `rows` rows with `memory` bytes of shared memory per group.
template <class Group, class Kernel, class... Arguments>
void launch(Kernel kernel, std::size_t memory, unsigned rows, Arguments... arguments) {
  if (rows == 0) return;
  const std::size_t bytes = memory * Group::groups;
  allow_shared_memory(kernel);
  kernel<<<blocks_for(rows, Group::groups), block_size, bytes, stream()>>>(rows, arguments...);
  check(cudaGetLastError());
}

/// Synchronises.
template <class F>
BinnedRows bin_rows(Cuda& backend, std::int64_t rows, F bin_of) {
  BinnedRows binned{Array<unsigned>(backend.device(), rows), {}};
  if (rows == 0) return binned;
  Array<std::uint8_t> row_bins(backend.device(), rows);
  Array<unsigned> sizes(backend.device(), bins);
  backend.fill(bins, 0U, sizes.data());
  const unsigned blocks = blocks_for(rows, block_size);
  find_bins<<<blocks, block_size, 0, stream()>>>(rows, bin_of, row_bins.data(), sizes.data());
  check(cudaGetLastError());
  binned.sizes = backend.read(reinterpret_cast<const std::array<unsigned, bins>*>(sizes.data()));
  if (binned.sizes == std::array<unsigned, bins>{}) return binned;
  std::array<unsigned, bins> next{};
  for (std::size_t b = 1; b < bins; ++b) next[b] = next[b - 1] + binned.sizes[b - 1];
  backend.write(next, reinterpret_cast<std::array<unsigned, bins>*>(sizes.data()));
  list_rows<<<blocks, block_size, 0, stream()>>>(rows, row_bins.data(), sizes.data(), binned.rows.data());
  check(cudaGetLastError());
  return binned;
}

}  // namespace echelon::product_kernels

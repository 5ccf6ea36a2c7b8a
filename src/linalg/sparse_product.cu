// SPDX-License-Identifier: BSD-3-Clause
// Row by row, as on the host. A team of threads makes a row: it goes through the products in order, a thread
// a product, and adds them to a hash table in shared memory; of products that meet in an element the earlier
// one is added first. Hence every c_ij is summed in ascending k and nothing depends on timing. The more
// elements a row has, the larger its team and table; rows too long for any table, or with too many factors
// for one team to go through, are cut into windows of columns, each of which is dense in the shared memory of
// a block. Bytes: A once and the offsets of C twice; rows of B once a row of A that uses them, from the L2
// cache when neighbouring rows share them; C once.
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/lower_bound.hpp"
#include "backend/sides.hpp"
#include "linalg/sparse_product.hpp"

#include <echelon/error.hpp>

#include <cub/block/block_scan.cuh>
#include <cuda/std/limits>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using cuda_kernels::block_size;
using cuda_kernels::warp_size;

/// A matrix in a GPU's memory.
template <class T>
struct View {
  std::int64_t rows;
  std::int64_t columns;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
};

template <class T>
View<T> view_of(const Csr<T>& A) {
  return {A.rows(), A.columns(), A.row_offsets().data(), A.column_indices().data(), A.values().data()};
}

__device__ double product(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ float product(float a, float b) {
  return __fmul_rn(a, b);
}
/// Not to be fused with the product, which the host rounds, too.
__device__ double sum(double a, double b) {
  return __dadd_rn(a, b);
}
__device__ float sum(float a, float b) {
  return __fadd_rn(a, b);
}

/// How a row is made.
enum Bin : std::uint8_t { by_few, by_warp, by_block, by_windows, bins, nothing_to_do = bins };

/// A factor row longer than this is cut up: a team goes through it step by step.
constexpr std::int64_t longest_for_team = 1024;

/// Threads that make a row together, and the slots of its table, which is at most half full.
template <int lanes_, int slots_>
struct Team {
  static constexpr int lanes = lanes_;
  static constexpr int slots = slots_;
  static constexpr int capacity = slots / 2;
  static constexpr int teams = block_size / lanes;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ static int number() { return static_cast<int>(threadIdx.x) / lanes; }
  /// The team's threads within this warp.
  __device__ static unsigned mask() {
    if constexpr (lanes >= warp_size) return 0xffffffffU;
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

// What counts has only columns in its tables, which may be larger then.
using CountByFew = Team<8, 128>;
using CountByWarp = Team<32, 2048>;
using CountByBlock = Team<block_size, 16384>;
using FillByFew = Team<8, 64>;
using FillByWarp = Team<32, 512>;
using FillByBlock = Team<block_size, 4096>;

template <class Few, class Warp, class Block>
ECHELON_ANYWHERE std::uint8_t bin_for(std::int64_t factors, std::int64_t elements) {
  if (factors > longest_for_team) return by_windows;
  if (elements <= Few::capacity) return by_few;
  if (elements <= Warp::capacity) return by_warp;
  return elements <= Block::capacity ? by_block : by_windows;
}

/// The bin for counting row i: from the products that it makes. A row with one factor has as many elements
/// as the row of B.
template <class T>
struct BinByProducts {
  View<T> A;
  View<T> B;
  std::int64_t* counts;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t begin = A.row_offsets[i];
    const std::int64_t size = A.row_offsets[i + 1] - begin;
    std::int64_t products = 0;
    if (size <= longest_for_team) {
      for (std::int64_t k = begin; k < begin + size; ++k) {
        const std::int32_t j = A.column_indices[k];
        products += B.row_offsets[j + 1] - B.row_offsets[j];
      }
    }
    const bool is_known = size <= longest_for_team && (size <= 1 || products <= 1);
    counts[i] = is_known ? products : 0;
    return is_known ? nothing_to_do : bin_for<CountByFew, CountByWarp, CountByBlock>(size, products);
  }
};

/// The bin for filling row i in: from its elements.
template <class T>
struct BinByElements {
  View<T> A;
  const std::int64_t* offsets;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t elements = offsets[i + 1] - offsets[i];
    if (elements == 0) return nothing_to_do;
    return bin_for<FillByFew, FillByWarp, FillByBlock>(A.row_offsets[i + 1] - A.row_offsets[i], elements);
  }
};

/// Finds the bin of every row, and how many each has.
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

/// Writes the rows of each bin behind `next[bin]`. Their order depends on timing; nothing depends on it.
__global__ void __launch_bounds__(block_size)
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

/// The rows of a matrix by the way in which they are made.
struct Binned {
  Array<unsigned> rows;
  std::array<unsigned, bins> sizes{};

  [[nodiscard]] const unsigned* begin(Bin bin) const {
    const unsigned* first = rows.data();
    for (int b = 0; b < bin; ++b) first += sizes[static_cast<std::size_t>(b)];
    return first;
  }
  [[nodiscard]] unsigned size(Bin bin) const { return sizes[bin]; }
};

unsigned blocks_for(std::int64_t n, std::int64_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

/// Synchronises.
template <class F>
Binned bin_rows(Cuda& backend, std::int64_t rows, F bin_of) {
  Binned binned{Array<unsigned>(backend.device(), rows), {}};
  if (rows == 0) return binned;
  Array<std::uint8_t> row_bins(backend.device(), rows);
  Array<unsigned> sizes(backend.device(), bins);
  backend.fill(bins, 0U, sizes.data());
  const unsigned blocks = blocks_for(rows, block_size);
  find_bins<<<blocks, block_size, 0, stream()>>>(rows, bin_of, row_bins.data(), sizes.data());
  check(cudaGetLastError());
  binned.sizes = backend.read(reinterpret_cast<const std::array<unsigned, bins>*>(sizes.data()));
  std::array<unsigned, bins> next{};
  for (std::size_t b = 1; b < bins; ++b) next[b] = next[b - 1] + binned.sizes[b - 1];
  backend.write(next, reinterpret_cast<std::array<unsigned, bins>*>(sizes.data()));
  list_rows<<<blocks, block_size, 0, stream()>>>(rows, row_bins.data(), sizes.data(), binned.rows.data());
  check(cudaGetLastError());
  return binned;
}

constexpr std::int32_t no_column = -1;

/// Open addressing in shared memory.
template <class Group>
struct Table {
  std::int32_t* columns;

  __device__ static unsigned home(std::int32_t column) {
    return static_cast<unsigned>(column) * 2654435769U >> (32 - __popc(Group::slots - 1));
  }
  __device__ static unsigned next(unsigned slot) { return (slot + 1) & (Group::slots - 1); }

  __device__ void clear() const {
    auto* fours = reinterpret_cast<int4*>(columns);
    for (int s = Group::lane(); s < Group::slots / 4; s += Group::lanes) {
      fours[s] = {no_column, no_column, no_column, no_column};
    }
  }
  /// The column's slot, taken if there was none.
  __device__ unsigned claim(std::int32_t column, bool& is_new) const {
    for (unsigned slot = home(column);; slot = next(slot)) {
      std::int32_t held = columns[slot];
      if (held == no_column) held = atomicCAS(columns + slot, no_column, column);
      is_new = held == no_column;
      if (is_new || held == column) return slot;
    }
  }
  /// The column's slot, or a free one.
  __device__ unsigned find(std::int32_t column) const {
    unsigned slot = home(column);
    while (columns[slot] != column && columns[slot] != no_column) slot = next(slot);
    return slot;
  }
};

/// take(is_product, element of B, value of A, turn of the row of B, turns) for the products of row i, by
/// ascending elements of A. A team within a warp takes as many products at a time as it has lanes, whatever
/// the lengths of the rows of B.
template <class Group, class T, class Take>
__device__ void for_products(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += Group::lanes) {
    std::int64_t begin = 0;  // of the row of B that this lane's element of A names
    int size = 0;
    T factor{};
    if (k + Group::lane() < end) {
      const std::int32_t row = A.column_indices[k + Group::lane()];
      begin = B.row_offsets[row];
      size = static_cast<int>(B.row_offsets[row + 1] - begin);
      factor = A.values[k + Group::lane()];
    }
    int stop = size;  // of its products among those of all lanes
    for (int delta = 1; delta < Group::lanes; delta *= 2) {
      const int before = __shfl_up_sync(Group::mask(), stop, delta, Group::lanes);
      if (Group::lane() >= delta) stop += before;
    }
    const int products = Group::from(Group::lanes - 1, stop);
    for (int first = 0; first < products; first += Group::lanes) {
      const int p = first + Group::lane();
      int owner = 0;  // the lane whose product it is: as many stop at or before it
      for (int step = Group::lanes / 2; step > 0; step /= 2) {
        if (Group::from(owner + step - 1, stop) <= p) owner += step;
      }
      const std::int64_t e = Group::from(owner, begin - (stop - size)) + p;
      const int owner_before = __shfl_up_sync(Group::mask(), owner, 1, Group::lanes);
      const bool is_first = Group::lane() == 0 || owner != owner_before;
      const unsigned firsts = __ballot_sync(Group::mask(), is_first) & Group::mask();
      const int turn = __popc(firsts & ((2U << (threadIdx.x % warp_size)) - 1)) - 1;
      take(p < products, e, Group::from(owner, factor), turn, __popc(firsts));
    }
  }
}

/// The same for a team of several warps: a row of B at a time.
template <class Group, class T, class Take>
requires(Group::lanes > warp_size) __device__
    void for_products(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  for (std::int64_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
    const std::int32_t row = A.column_indices[k];
    const std::int64_t end = B.row_offsets[row + 1];
    for (std::int64_t e = B.row_offsets[row] + Group::lane(); e < end; e += Group::lanes) {
      take(true, e, A.values[k], 0, 1);
    }
    Group::sync();
  }
}

/// take(element of B) for the products of row i, in any order, by a team within a warp: a lane takes all of a
/// row of B where these rows are of about one length, which needs no searching.
template <class Group, class T, class Take>
__device__ void take_in_any_order(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += Group::lanes) {
    std::int64_t begin = 0;
    int size = 0;
    if (k + Group::lane() < end) {
      const std::int32_t row = A.column_indices[k + Group::lane()];
      begin = B.row_offsets[row];
      size = static_cast<int>(B.row_offsets[row + 1] - begin);
    }
    int longest = size;
    int products = size;
    for (int delta = 1; delta < Group::lanes; delta *= 2) {
      longest = max(longest, __shfl_xor_sync(Group::mask(), longest, delta));
      products += __shfl_xor_sync(Group::mask(), products, delta);
    }
    if (longest * Group::lanes <= 4 * products) {
      for (int e = 0; e < size; ++e) take(begin + e);
      continue;
    }
    for (int lane = 0; lane < Group::lanes; ++lane) {
      const std::int64_t first = Group::from(lane, begin);
      const int length = Group::from(lane, size);
      for (int e = Group::lane(); e < length; e += Group::lanes) take(first + e);
    }
  }
}

/// Adds the lanes' terms to their slots. Where several have one slot, they come from different rows of B,
/// whose turns follow one another; a team of several warps has one row of B at a time.
template <class Group, class T>
__device__ void add_in_order(T* sums, bool is_term, int turn, int turns, unsigned slot, T term) {
  for (int t = 0; t < turns; ++t) {
    if (is_term && turn == t) sums[slot] = sum(sums[slot], term);
    if constexpr (Group::lanes <= warp_size) __syncwarp(Group::mask());
  }
}

extern __shared__ __align__(16) unsigned char shared_memory[];

/// Counts the elements of the rows in a list.
template <class Group, class T>
__global__ void __launch_bounds__(block_size)
    count_rows(unsigned size, const unsigned* list, View<T> A, View<T> B, unsigned long long* counts) {
  const unsigned entry = blockIdx.x * Group::teams + Group::number();
  if (entry >= size) return;  // whole teams
  const Table<Group> table{reinterpret_cast<std::int32_t*>(shared_memory) + Group::number() * Group::slots};
  table.clear();
  Group::sync();
  const std::int64_t i = list[entry];
  unsigned count = 0;
  const auto take = [&](std::int64_t e) {
    bool is_new = false;
    table.claim(B.column_indices[e], is_new);
    count += is_new ? 1 : 0;
  };
  if constexpr (Group::lanes > warp_size) {
    for_products<Group>(A, B, i, [&](bool, std::int64_t e, T, int, int) { take(e); });
  } else {
    take_in_any_order<Group>(A, B, i, take);
  }
  Group::sync();
  for (int delta = min(Group::lanes, warp_size) / 2; delta > 0; delta /= 2) {
    count += __shfl_xor_sync(Group::mask(), count, delta);
  }
  if (Group::lane() % warp_size == 0) atomicAdd(counts + i, static_cast<unsigned long long>(count));
}

/// Puts a short list in ascending order: a lane counts, for its few columns, how many are less.
template <class Group>
__device__ void sort_few(std::int32_t* list, int size) {
  constexpr int most = Group::capacity / Group::lanes;
  std::int32_t own[most];
  int rank[most] = {};
  for (int o = 0; o < most; ++o) {
    const int e = Group::lane() + o * Group::lanes;
    own[o] = e < size ? list[e] : no_column;
  }
  for (int e = 0; e < size; ++e) {
    const std::int32_t column = list[e];
#pragma unroll
    for (int o = 0; o < most; ++o) rank[o] += column < own[o] ? 1 : 0;
  }
  Group::sync();
  for (int o = 0; o < most; ++o) {
    if (own[o] != no_column) list[rank[o]] = own[o];
  }
  Group::sync();
}

/// The same for longer ones: bitonic, padded with the largest number to a power of two.
template <class Group>
__device__ void sort_many(std::int32_t* list, int size) {
  int padded = 1;
  while (padded < size) padded *= 2;
  for (int e = size + Group::lane(); e < padded; e += Group::lanes) {
    list[e] = cuda::std::numeric_limits<std::int32_t>::max();
  }
  Group::sync();
  for (int run = 2; run <= padded; run *= 2) {
    for (int stride = run / 2; stride > 0; stride /= 2) {
      for (int pair = Group::lane(); pair < padded / 2; pair += Group::lanes) {
        const int first = 2 * pair - (pair & (stride - 1));
        const std::int32_t a = list[first];
        const std::int32_t b = list[first + stride];
        if ((a > b) == ((first & run) == 0)) {
          list[first] = b;
          list[first + stride] = a;
        }
      }
      Group::sync();
    }
  }
}

/// What is made of a row whose number of elements is known.
enum class Make { columns, both, values };

template <class Group, class T>
struct FillMemory {
  alignas(16) std::int32_t columns[Group::slots];
  std::int32_t list[Group::capacity];
  T sums[Group::slots];
  int count;  // of the columns found; or whether there is one that is not expected
};

/// Puts the new columns behind those in the list.
template <class Group, class T>
__device__ void append(FillMemory<Group, T>& memory, bool is_new, std::int32_t column) {
  if constexpr (Group::lanes > warp_size) {
    if (is_new) memory.list[atomicAdd(&memory.count, 1)] = column;
  } else {
    const unsigned added = __ballot_sync(Group::mask(), is_new) & Group::mask();
    const int count = memory.count;
    const unsigned before = added & ((1U << (threadIdx.x % warp_size)) - 1);
    if (is_new) memory.list[count + __popc(before)] = column;
    __syncwarp(Group::mask());
    if (Group::lane() == 0) memory.count = count + __popc(added);
    __syncwarp(Group::mask());
  }
}

/// Fills the rows of a list in. `Make::values` finds the columns in C.
template <Make make, class Group, class T>
__global__ void __launch_bounds__(block_size)
    fill_rows(unsigned size, const unsigned* list, View<T> A, View<T> B, const std::int64_t* offsets,
              std::int32_t* columns, T* values) {
  const unsigned entry = blockIdx.x * Group::teams + Group::number();
  if (entry >= size) return;  // whole teams
  auto& memory = reinterpret_cast<FillMemory<Group, T>*>(shared_memory)[Group::number()];
  const Table<Group> table{memory.columns};
  table.clear();
  if (Group::lane() == 0) memory.count = 0;
  Group::sync();
  const std::int64_t i = list[entry];
  const std::int64_t begin = offsets[i];
  const int elements = static_cast<int>(offsets[i + 1] - begin);
  if constexpr (make == Make::values) {
    for (int e = Group::lane(); e < elements; e += Group::lanes) {
      bool is_new = false;
      memory.sums[table.claim(columns[begin + e], is_new)] = -T{0};
    }
    Group::sync();
  }
  for_products<Group>(A, B, i, [&](bool is_product, std::int64_t e, T factor, int turn, int turns) {
    const std::int32_t column = is_product ? B.column_indices[e] : no_column;
    unsigned slot = 0;
    if constexpr (make == Make::values) {
      if (is_product) slot = table.find(column);
      const bool is_stranger = is_product && memory.columns[slot] != column;
      if (is_stranger) atomicExch(&memory.count, 1);
      is_product = is_product && !is_stranger;
    } else {
      bool is_new = false;
      if (is_product) slot = table.claim(column, is_new);
      if (is_new) memory.sums[slot] = -T{0};  // what changes no sum, nor -0
      append(memory, is_new, column);
    }
    if constexpr (make != Make::columns) {
      const T term = is_product ? product(factor, B.values[e]) : T{0};
      add_in_order<Group>(memory.sums, is_product, turn, turns, slot, term);
    }
  });
  Group::sync();
  if constexpr (make != Make::values) {
    if constexpr (Group::capacity <= 4 * Group::lanes) {
      sort_few<Group>(memory.list, elements);
    } else {
      sort_many<Group>(memory.list, elements);
    }
  }
  for (int e = Group::lane(); e < elements; e += Group::lanes) {
    const std::int32_t column = make == Make::values ? columns[begin + e] : memory.list[e];
    if constexpr (make != Make::values) columns[begin + e] = column;
    if constexpr (make == Make::columns) continue;
    const bool is_known = make == Make::both || memory.count == 0;
    values[begin + e] =
        is_known ? memory.sums[table.find(column)] : cuda::std::numeric_limits<T>::quiet_NaN();
  }
}

constexpr int window = 2048;
constexpr int own_columns = window / block_size;
constexpr int tile = 1024;

/// Part of a row: dense in shared memory. Column c belongs to thread c % block_size, which alone touches it.
template <class T>
struct WindowMemory {
  T sums[window];
  std::int32_t tile_columns[tile];
  T tile_terms[tile];
  std::int64_t begins[block_size];  // of the parts of rows of B
  std::int64_t factors[block_size];
  int starts[block_size + 1];  // of these parts among all products
  typename cub::BlockScan<int, block_size>::TempStorage scan;
  unsigned present[window / warp_size];
};

/// Finds the parts within the window of the rows of B that factors [k, k + block_size) of a row name. Returns
/// how many products they make.
template <class T>
__device__ int find_parts(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t k,
                          std::int64_t end, std::int64_t first_column) {
  std::int64_t begin = 0;
  int size = 0;
  if (k + threadIdx.x < end) {
    const std::int32_t row = A.column_indices[k + threadIdx.x];
    const std::int64_t row_end = B.row_offsets[row + 1];
    begin = lower_bound(B.column_indices, B.row_offsets[row], row_end, first_column);
    size = static_cast<int>(
        lower_bound(B.column_indices, begin, min(row_end, begin + window), first_column + window) - begin);
  }
  int start = 0;
  int products = 0;
  cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(size, start, products);
  memory.begins[threadIdx.x] = begin;
  memory.starts[threadIdx.x] = start;
  if (threadIdx.x == 0) memory.starts[block_size] = products;
  __syncthreads();
  return products;
}

/// Brings products [first, first + tile) into the tile, in ascending factors.
template <bool with_terms, class T>
__device__ void stage(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t k, int first,
                      int products) {
  for (int p = static_cast<int>(threadIdx.x); p < min(tile, products - first); p += block_size) {
    int low = 0;  // the last part that starts at or before the product
    int high = block_size;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (memory.starts[middle] <= first + p ? low : high) = middle;
    }
    const std::int64_t e = memory.begins[low] + first + p - memory.starts[low];
    memory.tile_columns[p] = B.column_indices[e];
    if constexpr (with_terms) memory.tile_terms[p] = product(A.values[k + low], B.values[e]);
  }
  __syncthreads();
}

/// Adds up row i within the window: sums, and which of this thread's columns are present (bits of `own`).
template <bool with_terms, class T>
__device__ void make_window(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t i,
                            std::int64_t first_column, unsigned& own) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += block_size) {
    const int products = find_parts(memory, A, B, k, end, first_column);
    for (int first = 0; first < products; first += tile) {
      stage<with_terms>(memory, A, B, k, first, products);
      for (int p = 0; p < min(tile, products - first); ++p) {
        const auto column = static_cast<int>(memory.tile_columns[p] - first_column);
        if (column % block_size != static_cast<int>(threadIdx.x)) continue;
        own |= 1U << (column / block_size);
        if constexpr (with_terms) memory.sums[column] = sum(memory.sums[column], memory.tile_terms[p]);
      }
      __syncthreads();
    }
  }
}

/// Makes the rows of a list, a window at a time. `window_counts` has a number for each row and window.
template <class T>
__global__ void __launch_bounds__(block_size)
    count_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                  int* window_counts, unsigned long long* counts) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    unsigned own = 0;
    make_window<false>(memory, A, B, i, item % windows * window, own);
    int start = 0;
    int count = 0;
    cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(__popc(own), start, count);
    __syncthreads();
    if (threadIdx.x > 0) continue;
    if (window_counts != nullptr) window_counts[item] = count;
    if (counts != nullptr) atomicAdd(counts + i, static_cast<unsigned long long>(count));
  }
}

/// The elements of a row before the window.
template <class T>
__device__ std::int64_t count_before(WindowMemory<T>& memory, const int* window_counts,
                                     std::int64_t window_number) {
  int before = 0;
  for (std::int64_t w = threadIdx.x; w < window_number; w += block_size) before += window_counts[w];
  int start = 0;
  int total = 0;
  cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(before, start, total);
  __syncthreads();
  return total;
}

/// Writes the elements of a window from `target` on.
template <Make make, class T>
__device__ void write_window(WindowMemory<T>& memory, unsigned own, std::int64_t first_column,
                             std::int64_t target, std::int32_t* columns, T* values) {
  for (int s = 0; s < own_columns; ++s) {
    const unsigned word = __ballot_sync(0xffffffffU, (own >> s & 1) != 0);
    const int place = (s * block_size + static_cast<int>(threadIdx.x)) / warp_size;
    if (threadIdx.x % warp_size == 0) memory.present[place] = word;
  }
  __syncthreads();
  int before = 0;
  int next_word = 0;
  for (int s = 0; s < own_columns; ++s) {
    const int word = (s * block_size + static_cast<int>(threadIdx.x)) / warp_size;
    for (; next_word < word; ++next_word) before += __popc(memory.present[next_word]);
    if ((own >> s & 1) == 0) continue;
    const int below = __popc(memory.present[word] & ((1U << (threadIdx.x % warp_size)) - 1));
    const int column = s * block_size + static_cast<int>(threadIdx.x);
    columns[target + before + below] = static_cast<std::int32_t>(first_column + column);
    if constexpr (make == Make::both) values[target + before + below] = memory.sums[column];
  }
}

template <Make make, class T>
__global__ void __launch_bounds__(block_size)
    fill_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                 const int* window_counts, const std::int64_t* offsets, std::int32_t* columns, T* values) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    const std::int64_t number = item % windows;
    for (int s = 0; s < own_columns; ++s) memory.sums[s * block_size + static_cast<int>(threadIdx.x)] = -T{0};
    unsigned own = 0;
    make_window<make == Make::both>(memory, A, B, i, number * window, own);
    const std::int64_t target = offsets[i] + count_before(memory, window_counts + (item - number), number);
    write_window<make>(memory, own, number * window, target, columns, values);
    __syncthreads();
  }
}

/// Whether the columns found are those given.
template <class T>
__device__ bool are_expected(WindowMemory<T>& memory, unsigned own, std::int64_t first_column,
                             const std::int32_t* columns, std::int64_t size) {
  if (threadIdx.x < window / warp_size) memory.present[threadIdx.x] = 0;
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < size; e += block_size) {
    const auto column = static_cast<int>(columns[e] - first_column);
    atomicOr(&memory.present[column / warp_size], 1U << (column % warp_size));
  }
  __syncthreads();
  bool is_different = false;
  for (int s = 0; s < own_columns; ++s) {
    const int column = s * block_size + static_cast<int>(threadIdx.x);
    const bool is_present = (memory.present[column / warp_size] >> (column % warp_size) & 1) != 0;
    is_different = is_different || ((own >> s & 1) != 0) != is_present;
  }
  return __syncthreads_or(static_cast<int>(is_different)) == 0;
}

/// The values of rows whose columns are known.
template <class T>
__global__ void __launch_bounds__(block_size)
    update_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                   const std::int64_t* offsets, const std::int32_t* columns, T* values) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    const std::int64_t first_column = item % windows * window;
    for (int s = 0; s < own_columns; ++s) memory.sums[s * block_size + static_cast<int>(threadIdx.x)] = -T{0};
    unsigned own = 0;
    make_window<true>(memory, A, B, i, first_column, own);
    const std::int64_t begin = lower_bound(columns, offsets[i], offsets[i + 1], first_column);
    const std::int64_t end = lower_bound(columns, begin, offsets[i + 1], first_column + window);
    const bool is_known = are_expected(memory, own, first_column, columns + begin, end - begin);
    for (std::int64_t e = begin + threadIdx.x; e < end; e += block_size) {
      values[e] =
          is_known ? memory.sums[columns[e] - first_column] : cuda::std::numeric_limits<T>::quiet_NaN();
    }
    __syncthreads();
  }
}

/// A kernel with `memory` bytes of shared memory for each team.
template <class Group, class Kernel, class... Arguments>
void launch(Kernel kernel, std::size_t memory, unsigned rows, Arguments... arguments) {
  if (rows == 0) return;
  const std::size_t bytes = memory * Group::teams;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  kernel<<<blocks_for(rows, Group::teams), block_size, bytes, stream()>>>(rows, arguments...);
  check(cudaGetLastError());
}

/// Windows of all rows of a list: blocks take one after the other.
unsigned blocks_for_windows(std::int64_t items) {
  constexpr std::int64_t most = 1 << 14;
  return static_cast<unsigned>(std::min(items, most));
}

/// C = A B on a GPU: the pattern of C and how its rows are made.
template <class T>
class CudaProduct {
 public:
  /// Finds the pattern and, unless `values` is null, the values. Synchronises, twice for the sizes of the
  /// bins and once for that of C.
  CudaProduct(Cuda& backend, const View<T>& A, const View<T>& B, Array<T>* values)
      : windows_((B.columns + window - 1) / window), pattern_{A.rows, B.columns, {}, {}} {
    if (A.rows > std::numeric_limits<unsigned>::max()) {
      throw InvalidMatrix("a product of " + std::to_string(A.rows) + " rows: on a GPU at most 2^32 - 1");
    }
    pattern_.row_offsets = Array<std::int64_t>(backend.device(), A.rows + 1);
    std::int64_t* offsets = pattern_.row_offsets.data();
    count(backend, A, B, offsets);
    const std::int64_t nonzeros = backend.exclusive_scan(A.rows, offsets, offsets);
    pattern_.column_indices = Array<std::int32_t>(backend.device(), nonzeros);
    binned_ = bin_rows(backend, A.rows, BinByElements<T>{A, offsets});
    if (values == nullptr) {
      fill<Make::columns>(backend, A, B, nullptr);
    } else {
      *values = Array<T>(backend.device(), nonzeros);
      fill<Make::both>(backend, A, B, values->data());
    }
  }

  [[nodiscard]] typename ProductPlan<T>::Pattern& pattern() { return pattern_; }
  [[nodiscard]] const typename ProductPlan<T>::Pattern& pattern() const { return pattern_; }

  void update(const View<T>& A, const View<T>& B, T* values) {
    fill_tables<Make::values>(A, B, values);
    if (binned_.size(by_windows) == 0) return;
    const std::int64_t items = binned_.size(by_windows) * windows_;
    update_windows<<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned_.begin(by_windows), A, B, pattern_.row_offsets.data(),
        pattern_.column_indices.data(), values);
    check(cudaGetLastError());
  }

  /// Besides the pattern.
  [[nodiscard]] std::size_t bytes() const { return binned_.rows.bytes(); }

 private:
  void count(Cuda& backend, const View<T>& A, const View<T>& B, std::int64_t* counts) {
    const Binned binned = bin_rows(backend, A.rows, BinByProducts<T>{A, B, counts});
    auto* sums = reinterpret_cast<unsigned long long*>(counts);
    const auto launch_for = [&]<class Group>(Bin bin) {
      launch<Group>(count_rows<Group, T>, Group::slots * sizeof(std::int32_t), binned.size(bin),
                    binned.begin(bin), A, B, sums);
    };
    launch_for.template operator()<CountByFew>(by_few);
    launch_for.template operator()<CountByWarp>(by_warp);
    launch_for.template operator()<CountByBlock>(by_block);
    count_in_windows(binned, A, B, nullptr, sums);
  }

  void count_in_windows(const Binned& binned, const View<T>& A, const View<T>& B, int* window_counts,
                        unsigned long long* counts) {
    const std::int64_t items = binned.size(by_windows) * windows_;
    if (items == 0) return;
    count_windows<<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned.begin(by_windows), A, B, window_counts, counts);
    check(cudaGetLastError());
  }

  template <Make make>
  void fill(Cuda& backend, const View<T>& A, const View<T>& B, T* values) {
    fill_tables<make>(A, B, values);
    const std::int64_t items = binned_.size(by_windows) * windows_;
    if (items == 0) return;
    Array<int> window_counts(backend.device(), items);
    count_in_windows(binned_, A, B, window_counts.data(), nullptr);
    fill_windows<make><<<blocks_for_windows(items), block_size, 0, stream()>>>(
        items, windows_, binned_.begin(by_windows), A, B, window_counts.data(), pattern_.row_offsets.data(),
        pattern_.column_indices.data(), values);
    check(cudaGetLastError());
  }

  template <Make make>
  void fill_tables(const View<T>& A, const View<T>& B, T* values) {
    const auto launch_for = [&]<class Group>(Bin bin) {
      launch<Group>(fill_rows<make, Group, T>, sizeof(FillMemory<Group, T>), binned_.size(bin),
                    binned_.begin(bin), A, B, pattern_.row_offsets.data(), pattern_.column_indices.data(),
                    values);
    };
    launch_for.template operator()<FillByFew>(by_few);
    launch_for.template operator()<FillByWarp>(by_warp);
    launch_for.template operator()<FillByBlock>(by_block);
  }

  std::int64_t windows_;
  typename ProductPlan<T>::Pattern pattern_;
  Binned binned_;
};

/// The product of all factors but the last, step by step.
template <class T>
class CudaChain {
 public:
  CudaChain(Cuda& backend, Factors<T> factors) : view_(view_of(*factors[0])) {
    steps_.reserve(factors.size());
    for (const Csr<T>* factor : factors.subspan(1, factors.size() - 2)) {
      Array<T> values;
      CudaProduct<T> product(backend, view_, view_of(*factor), &values);
      steps_.push_back({std::move(product), std::move(values)});
      look_at(steps_.back());
    }
  }

  [[nodiscard]] const View<T>& view() const { return view_; }

  /// With new values of the factors.
  void update(Factors<T> factors) {
    view_ = view_of(*factors[0]);
    for (std::size_t f = 0; f < steps_.size(); ++f) {
      steps_[f].product.update(view_, view_of(*factors[f + 1]), steps_[f].values.data());
      look_at(steps_[f]);
    }
  }

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const Step& step : steps_) {
      const auto& pattern = step.product.pattern();
      total += step.product.bytes() + step.values.bytes() + pattern.row_offsets.bytes() +
               pattern.column_indices.bytes();
    }
    return total;
  }

 private:
  struct Step {
    CudaProduct<T> product;
    Array<T> values;
  };
  void look_at(const Step& step) {
    const auto& pattern = step.product.pattern();
    view_ = {pattern.rows, pattern.columns, pattern.row_offsets.data(), pattern.column_indices.data(),
             step.values.data()};
  }

  std::vector<Step> steps_;
  View<T> view_;
};

template <class T>
class CudaProductPlan final : public ProductPlan<T> {
 public:
  CudaProductPlan(Cuda& backend, Factors<T> factors)
      : ProductPlan<T>(shapes_of(factors)),
        left_(backend, factors),
        last_(backend, left_.view(), view_of(*factors.back()), nullptr) {}

  [[nodiscard]] const typename ProductPlan<T>::Pattern& pattern() const override { return last_.pattern(); }
  bool update(Factors<T> factors, T* values) override {
    const CurrentDevice current(factors[0]->device().id());
    left_.update(factors);
    last_.update(left_.view(), view_of(*factors.back()), values);
    return true;
  }
  [[nodiscard]] std::size_t more_bytes() const override { return left_.bytes() + last_.bytes(); }

 private:
  CudaChain<T> left_;
  CudaProduct<T> last_;
};

}  // namespace

template <class Side, class T>
std::unique_ptr<ProductPlan<T>> plan_product_on(Factors<T> factors) {
  const CurrentDevice current(factors[0]->device().id());
  Cuda backend(factors[0]->device());
  return std::make_unique<CudaProductPlan<T>>(backend, factors);
}

template <class Side, class T>
Csr<T> product_on(Factors<T> factors) {
  const CurrentDevice current(factors[0]->device().id());
  Cuda backend(factors[0]->device());
  const CudaChain<T> left(backend, factors);
  Array<T> values;
  CudaProduct<T> last(backend, left.view(), view_of(*factors.back()), &values);
  auto& pattern = last.pattern();
  return Csr<T>::unchecked(pattern.rows, pattern.columns, std::move(pattern.row_offsets),
                           std::move(pattern.column_indices), std::move(values));
}

template std::unique_ptr<ProductPlan<float>> plan_product_on<CudaSide>(Factors<float>);
template std::unique_ptr<ProductPlan<double>> plan_product_on<CudaSide>(Factors<double>);
template Csr<float> product_on<CudaSide>(Factors<float>);
template Csr<double> product_on<CudaSide>(Factors<double>);

}  // namespace echelon

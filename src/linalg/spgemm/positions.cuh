// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: values of a known pattern by stored positions of the operands.
#pragma once

#include "backend/backend.hpp"
#include "linalg/spgemm/hash_tables.cuh"

#include <cuda/std/limits>

#include <cstdint>

namespace echelon::product_kernels {

/// Consecutive rows of C whose products one block forms. The last row may be one without positions; it has no
/// part in the counts.
struct ProductTile {
  std::int64_t first_factor;   ///< index of the first element of A
  std::int64_t first_product;  ///< index of the first product
  std::int64_t first_element;  ///< index of the first element of C
  int products;
  int elements;
};

/// Positions of the operands of all products a_ik b_kj, sorted by the elements of C and then by k.
struct PositionsView {
  const ProductTile* tiles;
  const std::uint32_t* begins;  ///< for each element a_ik the index of the first element of row k of B
  /// For each product the position of a_ik in its tile, times 2^shift, plus the position of b_kj in its row.
  std::uint16_t* codes;
  std::uint16_t* starts;  ///< for each element of C its first product, counted from that of the tile
  int shift;
};

/// Products that a block forms at a time.
inline constexpr int terms_of_block = 8 * block_size;
/// Cost of a tile without its last row, where a product costs 1: what is left of terms_of_block is for the
/// last row.
inline constexpr std::int64_t cost_of_tile = terms_of_block * 7 / 8;

/// Longest row of B whose positions are stored.
inline constexpr std::int64_t longest_stored_row = 256;
/// Values of a code or a start.
inline constexpr std::int64_t numbered_by_16_bits = 65536;

/// Length of row i of B if its positions may be stored, otherwise 0.
struct StoredLength {
  const std::int64_t* row_offsets;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    const std::int64_t length = row_offsets[i + 1] - row_offsets[i];
    return {length <= longest_stored_row ? static_cast<double>(length) : 0};
  }
};

/// The bin for finding the positions of row i, or nothing_to_do if none are stored, its number of products, 0
/// if they are not stored, and its cost. Tiles are the rows between multiples of cost_of_tile in the prefix
/// sums of the costs. All but the last row of a tile have at most a quarter of the elements of A that codes
/// can number, and the last one at most three quarters; with them it has at most three quarters of the
/// products that a start can number. A row without positions is the last of its tile.
template <class T>
struct BinByPositions {
  View<T> A;
  View<T> B;
  const std::int64_t* offsets;
  int shift;
  std::int64_t* products;
  std::int64_t* costs;

  __device__ std::uint8_t operator()(std::int64_t i) const {
    static_assert(cost_of_tile <= numbered_by_16_bits / 4);
    const std::int64_t numbered = numbered_by_16_bits >> shift;
    const std::int64_t cost_of_factor = (4 * cost_of_tile + numbered - 1) / numbered;
    const std::int64_t elements = offsets[i + 1] - offsets[i];
    const std::int64_t factors = A.row_offsets[i + 1] - A.row_offsets[i];
    const bool may_fit = elements <= FillByBlock::capacity && 4 * factors <= 3 * numbered;
    const std::int64_t total = may_fit ? count_products(i) : too_many;
    const bool is_stored = total != too_many;
    products[i] = is_stored ? total : 0;
    costs[i] = is_stored ? max(total, factors * cost_of_factor) : cost_of_tile;
    if (!is_stored || elements == 0) return nothing_to_do;
    if (elements <= FillByFew::capacity) return by_few;
    return elements <= FillByWarp::capacity ? by_warp : by_block;
  }

 private:
  static constexpr std::int64_t too_many = -1;

  /// The products of row i, `too_many` if one is with a row of B that is too long.
  [[nodiscard]] __device__ std::int64_t count_products(std::int64_t i) const {
    std::int64_t total = 0;
    for (std::int64_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
      const std::int32_t row = A.column_indices[k];
      const std::int64_t length = B.row_offsets[row + 1] - B.row_offsets[row];
      if (length > std::int64_t{1} << shift) return too_many;
      total += length;
    }
    return total;
  }
};

/// The bin for computing row i without positions: nothing_to_do if they are stored.
template <class T>
struct BinOfOthers {
  BinByElements<T> by_elements;
  const std::int64_t* product_offsets;
  __device__ std::uint8_t operator()(std::int64_t i) const {
    return product_offsets[i + 1] > product_offsets[i] ? std::uint8_t{nothing_to_do} : by_elements(i);
  }
};

/// Writes tile t, from prefix sums over the rows.
struct MakeTile {
  std::int64_t rows;
  const std::int64_t* costs;
  const std::int64_t* factors;
  const std::int64_t* products;
  const std::int64_t* elements;
  ProductTile* tiles;

  __device__ void operator()(std::int64_t t) const {
    const std::int64_t begin = first_row(t * cost_of_tile);
    std::int64_t end = first_row((t + 1) * cost_of_tile);
    if (end > begin && products[end] == products[end - 1]) --end;  // a row without positions
    tiles[t] = {factors[begin], products[begin], elements[begin],
                static_cast<int>(products[end] - products[begin]),
                static_cast<int>(elements[end] - elements[begin])};
  }

 private:
  /// The first row before which the costs reach `cost`.
  [[nodiscard]] __device__ std::int64_t first_row(std::int64_t cost) const {
    std::int64_t low = 0;
    std::int64_t high = rows;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (costs[middle] < cost) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// A sum of 64-bit numbers, modulo 2^64.
struct WrappingSum {
  unsigned long long value = 0;
  friend ECHELON_ANYWHERE WrappingSum combine(WrappingSum a, WrappingSum b) { return {a.value + b.value}; }
};

/// Blocks that find a checksum: few, since each of them adds to the same number.
inline constexpr unsigned checking_blocks = 528;

/// This thread's part of the sum of the elements of an array, each times a number that is hashed from its
/// index and `salt`.
template <class V>
__device__ unsigned long long sum_hashed(const V* elements, std::int64_t size, std::uint32_t salt) {
  unsigned long long sum = 0;
  constexpr std::int64_t stride = std::int64_t{checking_blocks} * block_size;
#pragma unroll 4
  for (std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x; i < size; i += stride) {
    std::uint32_t hash = (static_cast<std::uint32_t>(i) ^ salt) * 0x9e3779b1U;
    hash = (hash ^ hash >> 15) * 0x85ebca77U;
    hash = (hash ^ hash >> 13) | 1U;
    sum += static_cast<unsigned long long>(hash) * (static_cast<std::uint32_t>(elements[i]) + 1U);
  }
  return sum;
}

/// Adds the checksum of the patterns of A and B to `sum`, by the first `checking_blocks` of the grid.
/// Memory movement: the offsets and columns of A and B once.
template <class T>
__device__ void add_checksum(const View<T>& A, const View<T>& B, WrappingSum* sum) {
  unsigned long long own = sum_hashed(A.column_indices, A.nonzeros, 0x10000000U);
  own += sum_hashed(B.column_indices, B.nonzeros, 0x20000000U);
  own += sum_hashed(A.row_offsets, A.rows, 0x30000000U);
  own += sum_hashed(B.row_offsets, B.rows, 0x40000000U);
  const WrappingSum of_block = cuda_kernels::combine_block(WrappingSum{own});
  if (threadIdx.x == 0) atomicAdd(&sum->value, of_block.value);
}

template <class T>
__global__ void __launch_bounds__(block_size) find_checksum(View<T> A, View<T> B, WrappingSum* sum) {
  add_checksum(A, B, sum);
}

/// Makes all values NaN if the checksums differ.
template <class T>
__global__ void __launch_bounds__(block_size)
    invalidate_unless_equal(const WrappingSum* found, WrappingSum expected, std::int64_t size, T* values) {
  if (found->value == expected.value) return;
  cuda_kernels::for_each_in_row(
      size, [&](std::int64_t e) { values[e] = cuda::std::numeric_limits<T>::quiet_NaN(); });
}

/// Writes where the row of B begins for each element of A.
template <class T>
struct FindRowBegins {
  View<T> A;
  View<T> B;
  std::uint32_t* begins;
  __device__ void operator()(std::int64_t k) const {
    begins[k] = static_cast<std::uint32_t>(B.row_offsets[A.column_indices[k]]);
  }
};

template <class Group>
struct PositionsMemory {
  alignas(16) std::int32_t columns[Group::slots];
  std::uint16_t elements[Group::slots];  // of the row of C, for each slot
  int next[Group::capacity];             // number of products, then place of the next one, for each element
};

/// Replaces counts by their exclusive prefix sums.
template <class Group>
__device__ void scan_counts(int* counts, int size) {
  constexpr int lanes = Group::InWarp::lanes;
  if (Group::lane() < lanes) {
    const int own = (size + lanes - 1) / lanes;
    const int first = min(Group::lane() * own, size);
    const int last = min(first + own, size);
    int total = 0;
    for (int e = first; e < last; ++e) total += counts[e];
    int stop = total;
    for (int delta = 1; delta < lanes; delta *= 2) {
      const int before = __shfl_up_sync(Group::mask(), stop, delta, lanes);
      if (Group::lane() >= delta) stop += before;
    }
    int start = stop - total;
    for (int e = first; e < last; ++e) {
      const int count = counts[e];
      counts[e] = start;
      start += count;
    }
  }
  Group::sync();
}

/// Prefix sums over the rows, which say where the products of a row are stored.
struct ProductRows {
  const std::int64_t* costs;
  const std::int64_t* products;
};

/// Writes the positions of the products of the rows in a list, one group per row, for known columns of C.
/// Memory movement: as for the columns of C, which are read, and twice the columns of B; the positions once.
template <class Group, class T>
__global__ void __launch_bounds__(block_size)
    find_positions(unsigned size, const unsigned* list, View<T> A, View<T> B, const std::int64_t* offsets,
                   const std::int32_t* columns, ProductRows rows, PositionsView positions) {
  const unsigned entry = blockIdx.x * Group::groups + Group::number();
  if (entry >= size) return;  // whole groups return
  auto& memory = reinterpret_cast<PositionsMemory<Group>*>(shared_memory)[Group::number()];
  const HashTable<Group> table{memory.columns};
  table.clear();
  Group::sync();
  const std::int64_t i = list[entry];
  const std::int64_t begin = offsets[i];
  const int elements = static_cast<int>(offsets[i + 1] - begin);
  for (int e = Group::lane(); e < elements; e += Group::lanes) {
    bool is_new = false;
    memory.elements[table.claim(columns[begin + e], is_new)] = static_cast<std::uint16_t>(e);
    memory.next[e] = 0;
  }
  Group::sync();
  const auto element_of = [&](std::int64_t b) { return memory.elements[table.find(B.column_indices[b])]; };
  for_products<Group>(A, B, i, [&](const ProductTerm<T>& term) {
    if (term.exists) atomicAdd(&memory.next[element_of(term.b)], 1);
  });
  Group::sync();
  scan_counts<Group>(memory.next, elements);
  const ProductTile tile = positions.tiles[rows.costs[i] / cost_of_tile];
  const auto before = static_cast<int>(rows.products[i] - tile.first_product);
  for (int e = Group::lane(); e < elements; e += Group::lanes) {
    positions.starts[begin + e] = static_cast<std::uint16_t>(before + memory.next[e]);
  }
  Group::sync();
  std::uint16_t* const codes = positions.codes + rows.products[i];
  for_products<Group>(A, B, i, [&](const ProductTerm<T>& term) {
    int element = 0;
    std::int64_t code = 0;
    if (term.exists) {
      element = element_of(term.b);
      code = (term.a - tile.first_factor) << positions.shift;
      code += term.b - B.row_offsets[A.column_indices[term.a]];
    }
    for (int t = 0; t < term.orders; ++t) {
      if (term.exists && term.order == t) codes[memory.next[element]++] = static_cast<std::uint16_t>(code);
      if constexpr (Group::lanes <= warp_size) __syncwarp(Group::mask());
    }
  });
}

/// Writes the products [first, last) of a tile to `terms`. A thread issues the loads of all its products
/// before it needs the first of them.
template <class T>
__device__ void form_terms(const ProductTile& tile, const View<T>& A, const View<T>& B,
                           const PositionsView& positions, int first, int last, T* terms) {
  constexpr int own = terms_of_block / block_size;
  const std::uint16_t* const codes = positions.codes + tile.first_product;
  const std::uint32_t* const begins = positions.begins + tile.first_factor;
  const T* const factors = A.values + tile.first_factor;
  const unsigned low = (1U << positions.shift) - 1;
  unsigned code[own];
  T right[own];
#pragma unroll
  for (int o = 0; o < own; ++o) {
    const int p = first + static_cast<int>(threadIdx.x) + o * block_size;
    code[o] = p < last ? codes[p] : 0;
  }
#pragma unroll
  for (int o = 0; o < own; ++o) {
    const int p = first + static_cast<int>(threadIdx.x) + o * block_size;
    if (p >= last) continue;
    right[o] = B.values[begins[code[o] >> positions.shift] + (code[o] & low)];
  }
#pragma unroll
  for (int o = 0; o < own; ++o) {
    const int p = first + static_cast<int>(threadIdx.x) + o * block_size;
    if (p < last) terms[p - first] = rounded_product(factors[code[o] >> positions.shift], right[o]);
  }
}

/// The products of an element of C, counted from the first one of its tile.
struct ProductRange {
  std::uint16_t start = 0;
  std::uint16_t stop = 0;
  ProductRange() = default;
  /// The products of element e of the tile, none beyond the last.
  __device__ ProductRange(const ProductTile& tile, const std::uint16_t* starts, int e) {
    if (e >= tile.elements) return;
    start = starts[e];
    stop = e + 1 < tile.elements ? starts[e + 1] : static_cast<std::uint16_t>(tile.products);
  }
};

/// Elements of C of a thread whose ranges are loaded before the products are formed.
inline constexpr int ranges_loaded = 4;

/// Adds those of the products [first, last) of a tile, in `terms`, that belong to an element of C.
template <class T>
__device__ void add_to_element(const ProductRange& range, int first, int last, const T* terms, T* value) {
  const int begin = max(int{range.start}, first);
  const int end = min(int{range.stop}, last);
  if (begin >= end) return;
  T sum = begin > range.start ? *value : -T{0};  // the neutral element of addition, also for -0
  for (int p = begin; p < end; ++p) sum = rounded_sum(sum, terms[p - first]);
  *value = sum;
}

/// Adds the products [first, last) of a tile, in `terms`, to the elements of C. A thread has the same
/// elements at every call; `ranges` belong to the first of them.
template <class T>
__device__ void add_terms(const ProductTile& tile, const std::uint16_t* starts,
                          const ProductRange (&ranges)[ranges_loaded], int first, int last, const T* terms,
                          T* values) {
  const int own = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int o = 0; o < ranges_loaded; ++o) {
    add_to_element(ranges[o], first, last, terms, values + own + o * block_size);
  }
  for (int e = own + ranges_loaded * block_size; e < tile.elements; e += block_size) {
    add_to_element(ProductRange(tile, starts, e), first, last, terms, values + e);
  }
}

/// Adds the checksum of the operands' patterns to `checksum` by the first `checking_blocks` of the grid, and
/// computes the values of the rows of C that have positions by one block per tile after those.
/// Memory movement: A and its beginnings of rows of B once, two bytes for each product and each element of C,
/// the elements of B from the cache where nearby products share them, the values of C once, and the patterns
/// of A and B once. Registers suffice for five blocks at once on a multiprocessor in double, and for six in
/// float, without a spill.
template <class T>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 6)
    gather_tiles(View<T> A, View<T> B, PositionsView positions, WrappingSum* checksum, T* values) {
  __shared__ T terms[terms_of_block];
  if (blockIdx.x < checking_blocks) {
    add_checksum(A, B, checksum);
    return;
  }
  const ProductTile tile = positions.tiles[blockIdx.x - checking_blocks];
  const std::uint16_t* const starts = positions.starts + tile.first_element;
  values += tile.first_element;
  ProductRange ranges[ranges_loaded];
#pragma unroll
  for (int o = 0; o < ranges_loaded; ++o) {
    ranges[o] = ProductRange(tile, starts, static_cast<int>(threadIdx.x) + o * block_size);
  }
  for (int first = 0; first < tile.products; first += terms_of_block) {
    const int last = min(first + terms_of_block, tile.products);
    form_terms(tile, A, B, positions, first, last, terms);
    __syncthreads();
    add_terms(tile, starts, ranges, first, last, terms, values);
    if (last < tile.products) __syncthreads();
  }
}

}  // namespace echelon::product_kernels

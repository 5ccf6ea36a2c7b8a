// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: values of a known pattern by stored positions of the operands.
#pragma once

#include "backend/backend.hpp"
#include "linalg/spgemm/hash_tables.cuh"

#include <cuda/std/limits>

#include <cstdint>

namespace echelon::product_kernels {

/// Positions of the operands of all products a_ik b_kj, sorted by the elements of C and then by k. A row of
/// C has them if they fit into 16 bits; other rows have no products here.
struct PositionsView {
  const std::int64_t* offsets;  ///< index of each row's first product
  /// For each product the position of a_ik in its row, times 2^shift, plus the position of b_kj in its row.
  std::uint16_t* codes;
  std::uint16_t* starts;  ///< for each element of C its first product, counted from that of the row
  int shift;
};

/// Longest row of B whose positions are stored.
inline constexpr std::int64_t longest_stored_row = 256;
/// Least products of a row of C whose positions are stored: a search takes as long for shorter rows, for
/// which both wait for loads that depend on each other.
inline constexpr std::int64_t least_stored_products = 32;
/// Most products of a row of C whose positions are stored.
inline constexpr std::int64_t most_stored_products = 65535;

/// Most elements of a row of A that a group keeps in shared memory.
template <class Group>
inline constexpr int gathered_factors = 4 * Group::lanes;
/// Products of a row that a group keeps in shared memory at a time.
template <class Group>
inline constexpr int gathered_terms = 8 * Group::lanes;

/// Length of row i of B if its positions may be stored, otherwise 0.
struct StoredLength {
  const std::int64_t* row_offsets;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    const std::int64_t length = row_offsets[i + 1] - row_offsets[i];
    return {length <= longest_stored_row ? static_cast<double>(length) : 0};
  }
};

/// The bin for computing row i by positions, or nothing_to_do if they are not stored, and its number of
/// products, 0 if they are not stored.
template <class T>
struct BinByPositions {
  View<T> A;
  View<T> B;
  const std::int64_t* offsets;
  int shift;
  std::int64_t* products;

  __device__ std::uint8_t operator()(std::int64_t i) const {
    const std::int64_t begin = A.row_offsets[i];
    const std::int64_t size = A.row_offsets[i + 1] - begin;
    const std::int64_t elements = offsets[i + 1] - offsets[i];
    products[i] = 0;
    if (size > gathered_factors<FillByBlock> || size > (most_stored_products + 1) >> shift)
      return nothing_to_do;
    if (elements == 0 || elements > FillByBlock::capacity) return nothing_to_do;
    std::int64_t total = 0;
    for (std::int64_t k = begin; k < begin + size; ++k) {
      const std::int32_t row = A.column_indices[k];
      const std::int64_t length = B.row_offsets[row + 1] - B.row_offsets[row];
      if (length > std::int64_t{1} << shift) return nothing_to_do;
      total += length;
    }
    if (total < least_stored_products || total > most_stored_products) return nothing_to_do;
    products[i] = total;
    if (size <= gathered_factors<FillByFew> && elements <= FillByFew::capacity) return by_few;
    return size <= gathered_factors<FillByWarp> && elements <= FillByWarp::capacity ? by_warp : by_block;
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

/// A sum of 64-bit numbers, modulo 2^64.
struct Checksum {
  std::uint64_t value = 0;
  friend ECHELON_ANYWHERE Checksum combine(Checksum a, Checksum b) { return {a.value + b.value}; }
};

/// Terms of the checksum of the patterns of A and B: each offset and each column, times a number that is
/// hashed from its index.
template <class T>
struct PatternTerm {
  View<T> A;
  View<T> B;

  [[nodiscard]] std::int64_t count() const { return A.rows + A.nonzeros + B.rows + B.nonzeros; }

  __device__ Checksum operator()(std::int64_t i) const {
    auto hash = static_cast<std::uint32_t>(i) * 0x9e3779b1U;
    hash = (hash ^ hash >> 15) * 0x85ebca77U;
    hash = (hash ^ hash >> 13) | 1U;
    return {static_cast<std::uint64_t>(hash) * (element(i) + 1U)};
  }

 private:
  [[nodiscard]] __device__ std::uint32_t element(std::int64_t i) const {
    if (i < A.nonzeros) return static_cast<std::uint32_t>(A.column_indices[i]);
    i -= A.nonzeros;
    if (i < B.nonzeros) return static_cast<std::uint32_t>(B.column_indices[i]);
    i -= B.nonzeros;
    return static_cast<std::uint32_t>(i < A.rows ? A.row_offsets[i] : B.row_offsets[i - A.rows]);
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

/// Writes the positions of the products of the rows in a list, one group per row, for known columns of C.
/// Memory movement: as for the columns of C, which are read, and twice the columns of B; the positions once.
template <class Group, class T>
__global__ void __launch_bounds__(block_size)
    find_positions(unsigned size, const unsigned* list, View<T> A, View<T> B, const std::int64_t* offsets,
                   const std::int32_t* columns, PositionsView positions) {
  const unsigned entry = blockIdx.x * Group::groups + Group::number();
  if (entry >= size) return;  // whole groups return
  auto& memory = reinterpret_cast<PositionsMemory<Group>*>(shared_memory)[Group::number()];
  const Table<Group> table{memory.columns};
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
  for (int e = Group::lane(); e < elements; e += Group::lanes) {
    positions.starts[begin + e] = static_cast<std::uint16_t>(memory.next[e]);
  }
  Group::sync();
  std::uint16_t* const codes = positions.codes + positions.offsets[i];
  for_products<Group>(A, B, i, [&](const ProductTerm<T>& term) {
    int element = 0;
    std::int64_t code = 0;
    if (term.exists) {
      element = element_of(term.b);
      code = (term.a - A.row_offsets[i]) << positions.shift;
      code += term.b - B.row_offsets[A.column_indices[term.a]];
    }
    for (int t = 0; t < term.orders; ++t) {
      if (term.exists && term.order == t) codes[memory.next[element]++] = static_cast<std::uint16_t>(code);
      if constexpr (Group::lanes <= warp_size) __syncwarp(Group::mask());
    }
  });
}

template <class Group, class T>
struct GatherMemory {
  T factors[gathered_factors<Group>];            // the row of A
  T terms[gathered_terms<Group>];                // products
  std::int64_t begins[gathered_factors<Group>];  // of the rows of B
};

/// Sums of the products of `Group::lanes` consecutive elements of a row of C, one per lane, from its products
/// [start, stop). Together the lanes have the products [begin, end), counted from the first of the row.
template <class Group, class T>
__device__ T gather_sum(GatherMemory<Group, T>& memory, const T* b_values, const std::uint16_t* codes,
                        int shift, int begin, int end, int start, int stop) {
  const unsigned low = (1U << shift) - 1;
  T result = -T{0};  // the neutral element of addition, also for -0
  for (int first = begin; first < end; first += gathered_terms<Group>) {
    const int last = min(first + gathered_terms<Group>, end);
    constexpr int batch = 4;  // products of a lane whose loads are issued together
    for (int p = first + Group::lane(); p < last; p += batch * Group::lanes) {
      T terms[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (p + b * Group::lanes >= last) break;
        const unsigned code = codes[p + b * Group::lanes];
        const unsigned k = code >> shift;
        terms[b] = rounded_product(memory.factors[k], b_values[memory.begins[k] + (code & low)]);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (p + b * Group::lanes < last) memory.terms[p - first + b * Group::lanes] = terms[b];
      }
    }
    Group::sync();
    for (int p = max(start, first); p < min(stop, last); ++p)
      result = rounded_sum(result, memory.terms[p - first]);
    Group::sync();
  }
  return result;
}

/// Computes the values of the rows of C in a list by stored positions, one group per row; NaN if the patterns
/// of the operands do not have the `expected` checksum.
/// Memory movement: a row of A once, two bytes for each product and each element of C, the elements of B from
/// the cache where nearby products share them, and the values of C once.
template <class Group, class T>
__global__ void __launch_bounds__(block_size)
    gather_rows(unsigned size, const unsigned* list, View<T> A, View<T> B, const std::int64_t* offsets,
                PositionsView positions, const Checksum* found, Checksum expected, T* values) {
  const unsigned entry = blockIdx.x * Group::groups + Group::number();
  if (entry >= size) return;  // whole groups return
  auto& memory = reinterpret_cast<GatherMemory<Group, T>*>(shared_memory)[Group::number()];
  const std::int64_t i = list[entry];
  const std::int64_t c_begin = offsets[i];
  const int elements = static_cast<int>(offsets[i + 1] - c_begin);
  if (found->value != expected.value) {
    for (int e = Group::lane(); e < elements; e += Group::lanes) {
      values[c_begin + e] = cuda::std::numeric_limits<T>::quiet_NaN();
    }
    return;
  }
  const std::int64_t a_begin = A.row_offsets[i];
  const int factors = static_cast<int>(A.row_offsets[i + 1] - a_begin);
  for (int k = Group::lane(); k < factors; k += Group::lanes) {
    memory.factors[k] = A.values[a_begin + k];
    memory.begins[k] = B.row_offsets[A.column_indices[a_begin + k]];
  }
  Group::sync();
  const std::int64_t first_product = positions.offsets[i];
  const int products = static_cast<int>(positions.offsets[i + 1] - first_product);
  const std::uint16_t* const starts = positions.starts + c_begin;
  const auto start_of = [&](int e) { return e < elements ? int{starts[e]} : products; };
  for (int e = 0; e < elements; e += Group::lanes) {
    const int own = e + Group::lane();
    const T value =
        gather_sum<Group>(memory, B.values, positions.codes + first_product, positions.shift, start_of(e),
                          start_of(e + Group::lanes), start_of(own), start_of(own + 1));
    if (own < elements) values[c_begin + own] = value;
  }
}

}  // namespace echelon::product_kernels

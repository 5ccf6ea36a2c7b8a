// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: rows that a group of threads computes in a hash table in shared
/// memory.
#pragma once

#include "linalg/spgemm/bins.cuh"

#include <cuda/std/limits>

namespace echelon::product_kernels {

inline constexpr std::int32_t no_column = -1;

/// Hash table of columns in shared memory: open addressing with linear probing, multiplicative hashing
/// (Knuth, The Art of Computer Programming 3, section 6.4).
template <class Group>
struct HashTable {
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
  /// The slot of `column`, which is inserted if absent.
  __device__ unsigned claim(std::int32_t column, bool& is_new) const {
    for (unsigned slot = home(column);; slot = next(slot)) {
      std::int32_t held = columns[slot];
      if (held == no_column) held = atomicCAS(columns + slot, no_column, column);
      is_new = held == no_column;
      if (is_new || held == column) return slot;
    }
  }
  /// The slot of `column`, or the empty slot where it would be inserted.
  __device__ unsigned find(std::int32_t column) const {
    unsigned slot = home(column);
    while (columns[slot] != column && columns[slot] != no_column) slot = next(slot);
    return slot;
  }
};

/// A lane's product a_ik b_kj in a batch of products.
template <class T>
struct ProductTerm {
  bool exists;     ///< false in lanes beyond the last product
  std::int64_t a;  ///< index of the element of A
  std::int64_t b;  ///< index of the element of B
  T factor;        ///< the element of A
  int order;       ///< number of the row of B in the batch, from 0: terms are added to C in this order
  int orders;      ///< rows of B in the batch
};

/// take(ProductTerm) for the products of row i, by ascending elements of A. A group within a warp processes
/// as many products at a time as it has lanes, whatever the lengths of the rows of B: a prefix sum over the
/// rows' lengths assigns the products to the lanes.
template <class Group, class T, class Take>
__device__ void for_products(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += Group::lanes) {
    std::int64_t begin = 0;  // of the row of B for this lane's element of A
    int size = 0;
    T factor{};
    if (k + Group::lane() < end) {
      const std::int32_t row = A.column_indices[k + Group::lane()];
      begin = B.row_offsets[row];
      size = static_cast<int>(B.row_ends[row] - begin);
      factor = A.values[k + Group::lane()];
    }
    int stop = size;  // end of this row's products among those of all lanes: inclusive prefix sum
    for (int delta = 1; delta < Group::lanes; delta *= 2) {
      const int before = __shfl_up_sync(Group::mask(), stop, delta, Group::lanes);
      if (Group::lane() >= delta) stop += before;
    }
    const int products = Group::from(Group::lanes - 1, stop);
    for (int first = 0; first < products; first += Group::lanes) {
      const int p = first + Group::lane();
      int owner = 0;  // lane of the row that product p belongs to: the number of rows that end at or before p
      for (int step = Group::lanes / 2; step > 0; step /= 2) {
        if (Group::from(owner + step - 1, stop) <= p) owner += step;
      }
      const std::int64_t e = Group::from(owner, begin - (stop - size)) + p;
      const int owner_before = __shfl_up_sync(Group::mask(), owner, 1, Group::lanes);
      const bool is_first = Group::lane() == 0 || owner != owner_before;
      const unsigned firsts = __ballot_sync(Group::mask(), is_first) & Group::mask();
      const int order = __popc(firsts & ((2U << (threadIdx.x % warp_size)) - 1)) - 1;
      take(ProductTerm<T>{p < products, k + owner, e, Group::from(owner, factor), order, __popc(firsts)});
    }
  }
}

/// Calls take() as above in a group of several warps, for one row of B at a time.
template <class Group, class T, class Take>
requires(Group::lanes > warp_size) __device__
    void for_products(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  for (std::int64_t k = A.row_offsets[i]; k < A.row_offsets[i + 1]; ++k) {
    const std::int32_t row = A.column_indices[k];
    const std::int64_t end = B.row_ends[row];
    for (std::int64_t e = B.row_offsets[row] + Group::lane(); e < end; e += Group::lanes) {
      take(ProductTerm<T>{true, k, e, A.values[k], 0, 1});
    }
    Group::sync();
  }
}

/// take(element of B) for the products of row i, in any order, by a group within a warp. If the rows of B
/// have about the same length, each lane processes one of them, which needs no prefix sum.
template <class Group, class T, class Take>
__device__ void take_in_any_order(const View<T>& A, const View<T>& B, std::int64_t i, Take take) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += Group::lanes) {
    std::int64_t begin = 0;
    int size = 0;
    if (k + Group::lane() < end) {
      const std::int32_t row = A.column_indices[k + Group::lane()];
      begin = B.row_offsets[row];
      size = static_cast<int>(B.row_ends[row] - begin);
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

/// Adds the lanes' terms to their slots in ascending order of the rows of B. Terms for the same slot come
/// from different rows of B, hence have different `order`; a group of several warps processes one row at a
/// time.
template <class Group, class T>
__device__ void add_in_order(T* sums, bool is_term, int order, int orders, unsigned slot, T term) {
  for (int t = 0; t < orders; ++t) {
    if (is_term && order == t) sums[slot] = rounded_sum(sums[slot], term);
    if constexpr (Group::lanes <= warp_size) __syncwarp(Group::mask());
  }
}

extern __shared__ __align__(16) unsigned char shared_memory[];

/// counts[i] += the number of elements of row i of C, for the rows i in a list, one group per row.
/// Memory movement: the columns of A and of the rows of B that A refers to; the table stays in shared memory.
template <class Group, class T>
__global__ void __launch_bounds__(block_size)
    count_rows(unsigned size, const unsigned* list, View<T> A, View<T> B, unsigned long long* counts) {
  const unsigned entry = blockIdx.x * Group::groups + Group::number();
  if (entry >= size) return;  // whole groups return
  const HashTable<Group> table{reinterpret_cast<std::int32_t*>(shared_memory) +
                               Group::number() * Group::slots};
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
    for_products<Group>(A, B, i, [&](const ProductTerm<T>& term) { take(term.b); });
  } else {
    take_in_any_order<Group>(A, B, i, take);
  }
  Group::sync();
  count = Group::InWarp::all_reduce(count, Plus(), Group::mask());
  if (Group::lane() % warp_size == 0) atomicAdd(counts + i, static_cast<unsigned long long>(count));
}

/// Sorts a short list in ascending order by rank: each lane counts the smaller columns for its own few.
template <class Group>
__device__ void sort_few(std::int32_t* list, int size) {
  constexpr int max_own = Group::capacity / Group::lanes;
  std::int32_t own[max_own];
  int rank[max_own] = {};
  for (int o = 0; o < max_own; ++o) {
    const int e = Group::lane() + o * Group::lanes;
    own[o] = e < size ? list[e] : no_column;
  }
  for (int e = 0; e < size; ++e) {
    const std::int32_t column = list[e];
#pragma unroll
    for (int o = 0; o < max_own; ++o) rank[o] += column < own[o] ? 1 : 0;
  }
  Group::sync();
  for (int o = 0; o < max_own; ++o) {
    if (own[o] != no_column) list[rank[o]] = own[o];
  }
  Group::sync();
}

/// Sorts a long list in ascending order by a bitonic network, padded with the largest number to a power of
/// two.
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

/// Parts of C to compute, given the number of elements of each row.
enum class Compute { columns, both, values };

template <class Group, class T>
struct FillMemory {
  alignas(16) std::int32_t columns[Group::slots];
  std::int32_t list[Group::capacity];
  T sums[Group::slots];
  int count;  // columns found; for Compute::values 1 if a column is not in the pattern of C, else 0
};

/// Appends the lanes' new columns to the list.
template <class Group, class T>
__device__ void append(FillMemory<Group, T>& memory, bool is_new, std::int32_t column) {
  if constexpr (Group::lanes > warp_size) {
    const int place = is_new ? atomicAdd(&memory.count, 1) : Group::capacity;
    if (place < Group::capacity) memory.list[place] = column;
  } else {
    const unsigned added = __ballot_sync(Group::mask(), is_new) & Group::mask();
    const int count = memory.count;
    const int place = count + __popc(added & lanes_before(lane_id()));
    if (is_new && place < Group::capacity) memory.list[place] = column;
    __syncwarp(Group::mask());
    if (Group::lane() == 0) memory.count = count + __popc(added);
    __syncwarp(Group::mask());
  }
}

/// Computes the rows of C in a list, one group per row. Compute::values reads the columns of C and writes NaN
/// for a row with a product outside them. The others write the rows' ends, if there are any, and leave a row
/// without enough room empty. Memory movement: a row of A once, the rows of B that it refers to once, from
/// the L2 cache where nearby rows of A share them, and the row of C once.
template <Compute compute, class Group, class T>
__global__ void __launch_bounds__(block_size)
    fill_rows(unsigned size, const unsigned* list, View<T> A, View<T> B, const std::int64_t* offsets,
              RowEnds ends, std::int32_t* columns, T* values) {
  const unsigned entry = blockIdx.x * Group::groups + Group::number();
  if (entry >= size) return;  // whole groups return
  auto& memory = reinterpret_cast<FillMemory<Group, T>*>(shared_memory)[Group::number()];
  const HashTable<Group> table{memory.columns};
  table.clear();
  if (Group::lane() == 0) memory.count = 0;
  Group::sync();
  const std::int64_t i = list[entry];
  const std::int64_t begin = offsets[i];
  int elements = static_cast<int>(offsets[i + 1] - begin);
  if constexpr (compute == Compute::values) {
    for (int e = Group::lane(); e < elements; e += Group::lanes) {
      bool is_new = false;
      memory.sums[table.claim(columns[begin + e], is_new)] = -T{0};
    }
    Group::sync();
  }
  for_products<Group>(A, B, i, [&](const ProductTerm<T>& found) {
    bool is_product = found.exists;
    if constexpr (compute != Compute::values) is_product = is_product && memory.count <= elements;
    const std::int32_t column = is_product ? B.column_indices[found.b] : no_column;
    unsigned slot = 0;
    if constexpr (compute == Compute::values) {
      if (is_product) slot = table.find(column);
      const bool is_unexpected = is_product && memory.columns[slot] != column;
      if (is_unexpected) atomicExch(&memory.count, 1);
      is_product = is_product && !is_unexpected;
    } else {
      bool is_new = false;
      if (is_product) slot = table.claim(column, is_new);
      if (is_new) memory.sums[slot] = -T{0};  // the neutral element of addition, also for -0
      append(memory, is_new, column);
    }
    if constexpr (compute != Compute::columns) {
      const T term = is_product ? rounded_product(found.factor, B.values[found.b]) : T{0};
      add_in_order<Group>(memory.sums, is_product, found.order, found.orders, slot, term);
    }
  });
  Group::sync();
  if constexpr (compute != Compute::values) {
    if (ends.ends != nullptr) {
      const bool has_room = memory.count <= elements;
      elements = has_room ? memory.count : 0;
      if (Group::lane() == 0) ends.ends[i] = begin + elements;
      if (Group::lane() == 0 && !has_room) *ends.overflow = 1;
    }
    if constexpr (Group::capacity <= 4 * Group::lanes) {
      sort_few<Group>(memory.list, elements);
    } else {
      sort_many<Group>(memory.list, elements);
    }
  }
  for (int e = Group::lane(); e < elements; e += Group::lanes) {
    const std::int32_t column = compute == Compute::values ? columns[begin + e] : memory.list[e];
    if constexpr (compute != Compute::values) columns[begin + e] = column;
    if constexpr (compute == Compute::columns) continue;
    const bool is_known = compute == Compute::both || memory.count == 0;
    values[begin + e] =
        is_known ? memory.sums[table.find(column)] : cuda::std::numeric_limits<T>::quiet_NaN();
  }
}

}  // namespace echelon::product_kernels

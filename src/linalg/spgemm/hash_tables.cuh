// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: rows that a team of threads makes in a hash table in shared memory.
#pragma once

#include "linalg/spgemm/bins.cuh"

#include <cuda/std/limits>

namespace echelon::product_kernels {

inline constexpr std::int32_t no_column = -1;

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
  count = Group::InWarp::all_reduce(count, Plus(), Group::mask());
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
    const unsigned before = added & lanes_before(lane_id());
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

}  // namespace echelon::product_kernels

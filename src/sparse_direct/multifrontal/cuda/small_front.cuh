// SPDX-License-Identifier: BSD-3-Clause
/// Assembly and elimination of a front that fits into the shared memory of one thread block.
#pragma once

#include "backend/cuda/flags.cuh"
#include "dense/tiles/product.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <cuda_pipeline.h>

#include <cmath>

namespace echelon::sparse_direct::gpu {

/// Columns that are eliminated one by one before the rest of the front is updated by their product.
inline constexpr int small_block = 8;

/// A front in shared memory, column-major. For Cholesky only the lower triangle is used.
template <class T>
struct SharedFront {
  T* elements;
  int leading;
  int rows;
  int pivots;
  __device__ T& operator()(int i, int j) const { return elements[i + j * leading]; }
};

/// Starts to copy the front's elements of A to shared memory, and zeroes the rest.
template <class T, FactorKind kind>
__device__ void load_front(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  const T* const panel = arrays.factor + front.panel;
  const T* const row_panel = arrays.factor + front.row_panel;
  const int border = F.rows - F.pivots;
  for (int j = warp_id(); j < F.pivots; j += block_warps()) {
    const T* const column = panel + j * F.rows;
    for (int i = lane_id(); i < F.rows; i += warp_size)
      __pipeline_memcpy_async(&F(i, j), &column[i], sizeof(T));
  }
  if constexpr (kind == FactorKind::lu) {
    for (int i = warp_id(); i < F.pivots; i += block_warps()) {
      const T* const row = row_panel + i * border;
      for (int j = lane_id(); j < border; j += warp_size)
        __pipeline_memcpy_async(&F(i, F.pivots + j), &row[j], sizeof(T));
    }
  }
  __pipeline_commit();
  for (int j = F.pivots + warp_id(); j < F.rows; j += block_warps()) {
    for (int i = F.pivots + lane_id(); i < F.rows; i += warp_size) F(i, j) = T{};
  }
}

/// The update matrix of a child.
struct ChildUpdate {
  std::int64_t border;
  std::int64_t update;
  int order;
};

/// Rows and columns of a front that several children have: bit c of a word stands for child c.
struct ChildMaps {
  static constexpr int capacity = warp_size;
  static constexpr int most_rows = small_orders[small_classes - 1];
  ChildUpdate children[capacity];
  unsigned children_of_row[most_rows];
  unsigned children_of_column[most_rows];
  std::uint8_t row[capacity][most_rows];     ///< of the child's update matrix, for each row of the front
  std::uint8_t column[capacity][most_rows];  ///< likewise; not used if rows and columns are the same
};

/// Sets the maps of `count` children from number `first` on. All children of front `number` are factored, and
/// its elements have arrived, afterwards.
template <class T, FactorKind kind>
__device__ void map_children(const FactorArrays<T>& arrays, int number, const Front& front, int first,
                             int count, ChildMaps& maps) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) {
    const Front& child = arrays.fronts[arrays.children[first + thread]];
    maps.children[thread] = {child.border, child.update, child.rows - child.pivots};
  }
  for (int i = thread; i < front.rows; i += static_cast<int>(blockDim.x))
    maps.children_of_row[i] = maps.children_of_column[i] = 0;
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int c = warp_id(); c < count; c += block_warps()) {
    const ChildUpdate& child = maps.children[c];
    for (int j = lane_id(); j < child.order; j += warp_size) {
      const int row = arrays.relative_rows[child.border + j];
      const int column = kind == FactorKind::lu ? arrays.relative[child.border + j] : row;
      maps.row[c][row] = static_cast<std::uint8_t>(j);
      if (kind == FactorKind::lu) maps.column[c][column] = static_cast<std::uint8_t>(j);
      atomicOr(&maps.children_of_row[row], 1U << c);
      atomicOr(&maps.children_of_column[column], 1U << c);
    }
  }
  if (thread == 0)
    await_count(arrays.finished_children + number, static_cast<unsigned>(front.awaited_children));
  __syncthreads();
}

/// Adds the elements of the mapped children in a column of the front, by a warp. Those of `together` children
/// in `slots` rows of each lane are loaded before the first is added; children are added one after the other.
template <FactorKind kind, int together, int slots, class T>
__device__ void add_to_column(const FactorArrays<T>& arrays, const ChildMaps& maps, int column,
                              const SharedFront<T>& F) {
  unsigned rest = maps.children_of_column[column];
  while (rest != 0) {
    const T* source[together];
    const std::uint8_t* row[together];
    unsigned bit[together];
#pragma unroll
    for (int k = 0; k < together; ++k) {
      bit[k] = rest & -rest;
      rest ^= bit[k];
      const int c = max(__ffs(static_cast<int>(bit[k])) - 1, 0);
      const ChildUpdate& child = maps.children[c];
      const int j = (kind == FactorKind::lu ? maps.column : maps.row)[c][column];
      row[k] = maps.row[c];
      source[k] = arrays.stack + child.update + j * child.order;
    }
    const int top = kind == FactorKind::cholesky ? column : 0;
    for (int first = top + lane_id(); first < F.rows; first += slots * warp_size) {
      T values[slots][together];
#pragma unroll
      for (int t = 0; t < slots; ++t) {
        const int i = first + t * warp_size;
        const unsigned present = i < F.rows ? maps.children_of_row[i] : 0;
#pragma unroll
        for (int k = 0; k < together; ++k)
          values[t][k] = (present & bit[k]) != 0 ? source[k][row[k][i]] : T{};
      }
#pragma unroll
      for (int t = 0; t < slots; ++t) {
        const int i = first + t * warp_size;
        if (i >= F.rows) break;
        T sum = F(i, column);
#pragma unroll
        for (int k = 0; k < together; ++k) sum += values[t][k];
        F(i, column) = sum;
      }
    }
  }
}

/// Adds the update matrices of the children to the front's elements. Each column of the front is that of one
/// warp, which adds the children one after the other, so that the sums are always the same.
template <class T, FactorKind kind>
__device__ void add_children(const FactorArrays<T>& arrays, int number, const Front& front,
                             const SharedFront<T>& F) {
  __shared__ ChildMaps maps;
  for (int first = front.child_begin; first < front.child_end; first += ChildMaps::capacity) {
    const int count = min(ChildMaps::capacity, front.child_end - first);
    map_children<T, kind>(arrays, number, front, first, count, maps);
    for (int column = warp_id(); column < F.rows; column += block_warps()) {
      if (F.rows <= warp_size) {
        add_to_column<kind, 8, 1>(arrays, maps, column, F);
      } else {
        add_to_column<kind, 2, 4>(arrays, maps, column, F);
      }
    }
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// Factors the diagonal block of columns p, ..., p + width - 1 with the pivots on its diagonal, by a warp,
/// and stores the reciprocals of the diagonal.
template <class T, FactorKind kind>
__device__ void factor_diagonal(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F,
                                int p, T* reciprocals) {
  const int width = min(small_block, front.pivots - p);
  constexpr bool lower = kind == FactorKind::cholesky;
  const int lane = lane_id();
  T row[small_block];
#pragma unroll
  for (int c = 0; c < small_block; ++c)
    row[c] = lane < width && (lower ? c <= lane : c < width) ? F(p + lane, p + c) : T{};
  int failed = width;
  T reciprocal{};
  if constexpr (lower) {
    failed = factor_in_registers(row, width, reciprocal);
  } else {
    Real<T> multiplier = 0;
    failed = factor_lu_in_registers(row, width, multiplier, reciprocal);
    record_multiplier(arrays, multiplier);
  }
  if (lane == 0 && failed < width) record_failure(arrays, front.first + p + failed);
#pragma unroll
  for (int c = 0; c < small_block; ++c) {
    if (lane < width && (lower ? c <= lane : c < width)) F(p + lane, p + c) = row[c];
  }
  if (lane < width) reciprocals[lane] = reciprocal;
}

/// Completes L in columns p, ..., p + width - 1 below a factored diagonal block, and for LU the rows of U to
/// the right: one row or column for each thread. `multiplier`: raised to the thread's largest |element| of L.
template <class T, FactorKind kind>
__device__ void solve_beside(const SharedFront<T>& F, int p, int width, const T* reciprocals,
                             Real<T>& multiplier) {
  constexpr bool has_right = kind == FactorKind::lu;
  constexpr int sides = has_right ? 2 : 1;
  const bool is_row = warp_id() % sides == 0;
  const int rest = F.rows - p - width;
  for (int t = warp_id() / sides * warp_size + lane_id(); t < rest; t += block_warps() / sides * warp_size) {
    const int k = p + width + t;
    T x[small_block];
#pragma unroll
    for (int c = 0; c < small_block; ++c) {
      if (c >= width) break;
      T& element = is_row ? F(k, p + c) : F(p + c, k);
      T sum = element;
#pragma unroll
      for (int q = 0; q < c; ++q)
        sum -= x[q] * (has_right && is_row ? F(p + q, p + c) : mirrored<kind>(F(p + c, p + q)));
      x[c] = is_row ? sum * reciprocals[c] : sum;
      if (has_right && is_row) multiplier = fmax(multiplier, cabs1(x[c]));
      element = x[c];
    }
  }
  __syncthreads();
}

/// The largest element of column c among the rows that may become pivots; found by the first warp.
template <class T>
__device__ LargestInColumn<T> largest_in_column(const SharedFront<T>& F, int c) {
  LargestInColumn<T> largest{-1, c};
  for (int i = c + lane_id(); i < F.pivots; i += warp_size) {
    const Real<T> magnitude = cabs1(F(i, c));
    if (magnitude > largest.magnitude) largest = {magnitude, i};
  }
  largest.reduce_warp();
  return largest;
}

/// Eliminates columns p, ..., p + width - 1 in the rows that may become pivots, with the largest element of
/// each column as its pivot. Only the first warp works, since its lanes need no barrier of the block.
template <class T>
__device__ void factor_pivotal_rows(const FactorArrays<T>& arrays, const Front& front,
                                    const SharedFront<T>& F, int p, int width, int* order, int* exchanges) {
  const int lane = lane_id();
  Real<T> multiplier = 0;
  for (int c = p; c < p + width; ++c) {
    const LargestInColumn<T> largest = largest_in_column(F, c);
    const int row = pivot_row(arrays, largest, c, F(c, c));
    __syncwarp();  // all lanes have read the column
    if (lane == 0) {
      if (!(largest.magnitude > 0)) record_failure(arrays, front.first + c);
      exchanges[c - p] = row;
      const int other = order[c];
      order[c] = order[row];
      order[row] = other;
    }
    if (row != c && lane < width) {
      const T element = F(c, p + lane);
      F(c, p + lane) = F(row, p + lane);
      F(row, p + lane) = element;
    }
    __syncwarp();
    const T reciprocal = T{1} / F(c, c);
    for (int i = c + 1 + lane; i < F.pivots; i += warp_size) {
      const T element = F(i, c) * reciprocal;
      F(i, c) = element;
      multiplier = fmax(multiplier, cabs1(element));
      for (int j = c + 1; j < p + width; ++j) F(i, j) -= element * F(c, j);
    }
    __syncwarp();
  }
  record_multiplier(arrays, multiplier);
}

/// Applies the exchanges to the columns outside p, ..., p + width - 1, and completes the rows of U to the
/// right of these and the rows of L below the pivots: one column or row for each thread.
template <class T>
__device__ void solve_rows_and_columns(const FactorArrays<T>& arrays, const SharedFront<T>& F, int p,
                                       int width, const int* exchanges) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int j = thread; j < F.rows; j += threads) {
    if (j >= p && j < p + width) continue;
    for (int c = 0; c < width; ++c) {
      const T element = F(p + c, j);
      F(p + c, j) = F(exchanges[c], j);
      F(exchanges[c], j) = element;
    }
    if (j < p) continue;
    for (int c = 1; c < width; ++c) {
      T sum = F(p + c, j);
      for (int q = 0; q < c; ++q) sum -= F(p + c, p + q) * F(p + q, j);
      F(p + c, j) = sum;
    }
  }
  Real<T> multiplier = 0;
  for (int i = F.pivots + thread; i < F.rows; i += threads) {
    for (int c = 0; c < width; ++c) {
      T sum = F(i, p + c);
      for (int q = 0; q < c; ++q) sum -= F(i, p + q) * F(p + q, p + c);
      sum /= F(p + c, p + c);
      F(i, p + c) = sum;
      multiplier = fmax(multiplier, cabs1(sum));
    }
  }
  record_multiplier(arrays, multiplier);
  __syncthreads();
}

/// Block of a front: rows [row, row_end) and columns [column, column_end).
struct FrontBlock {
  int row;
  int row_end;
  int column;
  int column_end;
};

/// Subtracts the product of columns [p, end) and rows [p, end) from the tile of `block` with its first
/// element at (first_row, first_column), by a warp; for Cholesky only on and below the diagonal. Rows and
/// columns outside the block are copies of the last ones, which are not stored.
template <class T, FactorKind kind>
__device__ void update_tile(const SharedFront<T>& F, int p, int end, const FrontBlock& block, int first_row,
                            int first_column) {
  constexpr bool lower = kind == FactorKind::cholesky;
  const auto row = [&](int i) { return min(first_row + i, block.row_end - 1); };
  const auto column = [&](int j) { return min(first_column + j, block.column_end - 1); };
  tiles::SmallProduct<T> product;
  product.load([&](int i, int j) { return F(row(i), column(j)); });
  product.add(
      T{-1}, [&](int i, int q) { return p + q < end ? F(row(i), p + q) : T{}; },
      [&](int q, int j) {
        if (p + q >= end) return T{};
        return lower ? mirrored<kind>(F(column(j), p + q)) : F(p + q, column(j));
      },
      end - p);
  __syncwarp();  // the copies have been read
  product.for_each([&](int i, int j, T value) {
    i += first_row;
    j += first_column;
    if (i < block.row_end && j < block.column_end && (!lower || i >= j)) F(i, j) = value;
  });
}

/// Subtracts the product of columns [p, end) and rows [p, end) from a block of the front, by `warps` warps,
/// of which the calling one has number `warp`.
template <class T, FactorKind kind>
__device__ void update_block(const SharedFront<T>& F, int p, int end, const FrontBlock& block, int warp,
                             int warps) {
  constexpr int size = tiles::SmallProduct<T>::size;
  const int rows = (block.row_end - block.row + size - 1) / size;
  const int columns = (block.column_end - block.column + size - 1) / size;
  for (int tile = warp; tile < rows * columns; tile += warps) {
    const int row = block.row + tile % rows * size;
    const int column = block.column + tile / rows * size;
    if (kind == FactorKind::cholesky && row + size <= column) continue;
    update_tile<T, kind>(F, p, end, block, row, column);
  }
}

/// Subtracts the product of the eliminated columns from all others.
template <class T, FactorKind kind>
__device__ void update_rest(const SharedFront<T>& F, int p, int width) {
  const int begin = p + width;
  update_block<T, kind>(F, p, begin, {begin, F.rows, begin, F.rows}, warp_id(), block_warps());
  __syncthreads();
}

/// Subtracts the product of columns [p, end) from the diagonal block of the next step, by a warp.
template <class T, FactorKind kind>
__device__ void update_diagonal_block(const SharedFront<T>& F, int p, int end, int order) {
  for (int e = lane_id(); e < small_block * small_block; e += warp_size) {
    const int i = end + e % small_block;
    const int j = end + e / small_block;
    if (i >= end + order || j >= end + order) continue;
    T sum{};
#pragma unroll
    for (int q = p; q < p + small_block; ++q)
      multiply_add(sum, F(i, q), kind == FactorKind::cholesky ? mirrored<kind>(F(j, q)) : F(q, j));
    F(i, j) -= sum;
  }
  __syncwarp();
}

/// Subtracts the product of the eliminated columns from the other pivots' columns and rows. The first warp
/// does so for the next diagonal block, and factors it while the others go on.
template <class T, FactorKind kind>
__device__ void update_and_factor(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F,
                                  int p, int width, T* reciprocals) {
  const int begin = p + width;
  if (begin == F.pivots) return;
  const int order = min(small_block, F.pivots - begin);
  if (warp_id() == 0) {
    update_diagonal_block<T, kind>(F, p, begin, order);
    factor_diagonal<T, kind>(arrays, front, F, begin, reciprocals);
  } else {
    const int warp = warp_id() - 1;
    const int warps = block_warps() - 1;
    const int rest = begin + order;
    update_block<T, kind>(F, p, begin, {rest, F.rows, begin, F.pivots}, warp, warps);
    if (kind == FactorKind::lu) {
      update_block<T, kind>(F, p, begin, {begin, rest, rest, F.rows}, warps - 1 - warp, warps);
      update_block<T, kind>(F, p, begin, {rest, F.pivots, F.pivots, F.rows}, warps - 1 - warp, warps);
    }
  }
  __syncthreads();
}

/// Eliminates the pivots of an LU factorisation, and records their order.
template <class T>
__device__ void eliminate_with_exchanges(const FactorArrays<T>& arrays, const Front& front,
                                         const SharedFront<T>& F) {
  __shared__ int order[small_orders[small_classes - 1]];
  __shared__ int exchanges[small_block];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < front.pivots; i += threads) order[i] = i;
  __syncthreads();
  for (int p = 0; p < front.pivots; p += small_block) {
    const int width = min(small_block, front.pivots - p);
    if (warp_id() == 0) factor_pivotal_rows(arrays, front, F, p, width, order, exchanges);
    __syncthreads();
    solve_rows_and_columns(arrays, F, p, width, exchanges);
    update_rest<T, FactorKind::lu>(F, p, width);
  }
  for (int i = thread; i < front.pivots; i += threads) arrays.position[front.first + order[i]] = i;
}

/// Eliminates the pivots in their order.
template <class T, FactorKind kind>
__device__ void eliminate_on_diagonal(const FactorArrays<T>& arrays, const Front& front,
                                      const SharedFront<T>& F) {
  __shared__ T reciprocals[small_block];
  Real<T> multiplier = 0;
  if (warp_id() == 0 && front.pivots > 0) factor_diagonal<T, kind>(arrays, front, F, 0, reciprocals);
  __syncthreads();
  for (int p = 0; p < front.pivots; p += small_block) {
    const int width = min(small_block, front.pivots - p);
    solve_beside<T, kind>(F, p, width, reciprocals, multiplier);
    update_and_factor<T, kind>(arrays, front, F, p, width, reciprocals);
  }
  if (kind == FactorKind::lu) record_multiplier(arrays, multiplier);
  update_block<T, kind>(F, 0, F.pivots, {F.pivots, F.rows, F.pivots, F.rows}, warp_id(), block_warps());
  __syncthreads();
}

template <class T, FactorKind kind>
__device__ void store_front(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  constexpr bool lower = kind == FactorKind::cholesky;
  T* const panel = arrays.factor + front.panel;
  T* const row_panel = arrays.factor + front.row_panel;
  T* const update = arrays.stack + front.update;
  const int border = F.rows - F.pivots;
  for (int j = warp_id(); j < F.pivots; j += block_warps()) {
    T* const column = panel + j * F.rows;
#pragma unroll 4
    for (int i = (lower ? j : 0) + lane_id(); i < F.rows; i += warp_size) column[i] = F(i, j);
  }
  for (int j = warp_id(); j < border; j += block_warps()) {
    T* const column = update + j * border;
#pragma unroll 4
    for (int i = (lower ? j : 0) + lane_id(); i < border; i += warp_size)
      column[i] = F(F.pivots + i, F.pivots + j);
  }
  if constexpr (kind == FactorKind::lu) {
    for (int i = warp_id(); i < F.pivots; i += block_warps()) {
      T* const row = row_panel + i * border;
#pragma unroll 4
      for (int j = lane_id(); j < border; j += warp_size) row[j] = F(i, F.pivots + j);
    }
  }
}

/// Most threads of a block that factors a small front.
inline constexpr int small_front_threads_limit = 512;

/// Fronts that one kernel factors, children before their parents.
struct SmallFrontList {
  const std::int32_t* fronts;
  unsigned count;
  unsigned* next;  ///< the first that no block has taken
};

/// The signals of a front that may be factored while those of other levels are. Update matrices are stored
/// where those of two levels before were, which the fronts of the level before have to have read.
template <class T>
class FrontSignals {
 public:
  __device__ FrontSignals(const FactorArrays<T>& arrays, const Front& front)
      : arrays_(arrays), front_(front), is_last_(threadIdx.x == blockDim.x - 1) {}

  /// After the block has read the update matrices of the children. One thread of the last warp signals, while
  /// the first warp factors a diagonal block.
  __device__ void children_read() {
    if (!is_last_) return;
    release_count(arrays_.assembled + front_.level);
    may_store_ = front_.awaited_assemblies == 0 || load_acquire(level_before()) >= awaited();
  }
  /// Before the update matrix is stored.
  __device__ void await_space() const {
    if (front_.awaited_assemblies == 0) return;
    if (is_last_ && !may_store_) await_count(level_before(), awaited());
    __syncthreads();
  }
  /// After all has been stored.
  __device__ void factored() const {
    __syncthreads();
    if (threadIdx.x == 0 && front_.parent >= 0) release_count(arrays_.finished_children + front_.parent);
  }

 private:
  __device__ const unsigned* level_before() const { return arrays_.assembled + front_.level - 1; }
  __device__ unsigned awaited() const { return static_cast<unsigned>(front_.awaited_assemblies); }

  const FactorArrays<T>& arrays_;
  const Front& front_;
  bool is_last_;
  bool may_store_ = false;
};

/// Factors the fronts of a list, a block one after the other; dynamic shared memory of leading * (largest
/// order) elements.
template <class T, FactorKind kind, PivotChoice choice>
__global__ void __launch_bounds__(small_front_threads_limit)
    factor_small_fronts(FactorArrays<T> arrays, SmallFrontList list, int leading) {
  extern __shared__ __align__(16) unsigned char storage[];
  for_each_ticket(list.count, list.next, [&](unsigned ticket) {
    const int number = list.fronts[ticket];
    const Front front = arrays.fronts[number];
    const SharedFront<T> F{reinterpret_cast<T*>(storage), leading, front.rows, front.pivots};
    FrontSignals<T> signals(arrays, front);
    load_front<T, kind>(arrays, front, F);
    add_children<T, kind>(arrays, number, front, F);
    signals.children_read();
    if constexpr (choice == PivotChoice::largest) {
      eliminate_with_exchanges(arrays, front, F);
    } else {
      eliminate_on_diagonal<T, kind>(arrays, front, F);
    }
    signals.await_space();
    store_front<T, kind>(arrays, front, F);
    signals.factored();
  });
}

}  // namespace echelon::sparse_direct::gpu

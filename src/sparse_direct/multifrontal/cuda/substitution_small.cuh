// SPDX-License-Identifier: BSD-3-Clause
/// Substitutions for small fronts, a warp for each: lane l holds rows l, l + 32, ...
#pragma once

#include "sparse_direct/multifrontal/cuda/substitution_arrays.cuh"

namespace echelon::sparse_direct::gpu {

/// Shared memory of a warp, by rows of its front.
template <class T>
struct SmallScratch {
  T rows[substitution_warps][small_orders[small_classes - 1]];
};

/// A small front with up to 32 * slots rows. All lanes of a warp call its functions.
template <class T, TriangularFactor factor, Direction direction, int slots>
class SmallFront {
  /// Columns whose elements are loaded together, before the first is needed.
  static constexpr int together = (slots == 1   ? 16
                                   : slots == 2 ? 8
                                   : slots == 3 ? 4
                                                : 3) /
                                  (is_complex<T> ? 2 : 1);

 public:
  __device__ SmallFront(const SubstitutionArrays<T>& arrays, int place, SubstitutionKind kind, T* scratch)
      : arrays_(arrays),
        front_(arrays.fronts[arrays.order[place]]),
        triangle_{arrays.factor + front_.panel, front_.rows},
        border_(arrays.border(front_, factor)),
        position_(kind.exchange ? arrays.position + front_.first : nullptr),
        unit_diagonal_(kind.unit_diagonal),
        scratch_(scratch) {}

  __device__ __forceinline__ void forward() const {
    T v[slots];
    gather(v);
#pragma unroll
    for (int k = 0; k < slots; ++k) {
      if (k * warp_size < front_.pivots) solve_forward(k, v);
    }
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      const int i = row(j);
      if (i < front_.pivots) {
        arrays_.y[front_.first + i] = v[j];
      } else if (i < front_.rows) {
        arrays_.V[front_.vector + i] = v[j];
      }
    }
    if (front_.rows == front_.pivots) return;
    __syncwarp();
    if (lane_id() == 0)
      release_count(arrays_.counters + front_.parent_counters + FrontCounters::contributions);
  }

  __device__ __forceinline__ void backward() const {
    T v[slots];
    subtract_border(v);
#pragma unroll
    for (int k = slots - 1; k >= 0; --k) {
      if (k * warp_size < front_.pivots) solve_backward(k, v);
    }
    store_solution(v);
    if (front_.child_begin == front_.child_end) return;
    __syncwarp();
    if (lane_id() == 0) release_count(arrays_.counters + front_.counters + FrontCounters::solved);
  }

 private:
  __device__ static int row(int slot) {
    return slot * warp_size + lane_id();
  }
  __device__ int place(int i) const {
    return position_ != nullptr && i < front_.pivots ? position_[i] : i;
  }
  __device__ __forceinline__ T element(int i, int c) const {
    return i < front_.pivots ? triangle_(i, c)
                             : border_.elements[i - front_.pivots + std::int64_t{c} * border_.leading];
  }
  /// End of the pivots of slot k.
  __device__ int end(int k) const {
    return min(front_.pivots, (k + 1) * warp_size);
  }
  __device__ __forceinline__ T reciprocal(int k) const {
    if (unit_diagonal_ || row(k) >= front_.pivots) return T{1};
    return T{1} / triangle_(row(k), row(k));
  }

  /// Computes v = the right-hand side at the pivots, after row exchanges if `exchange` is set, plus the
  /// children's contributions.
  __device__ __forceinline__ void gather(T (&v)[slots]) const {
    for (int i = lane_id(); i < front_.rows; i += warp_size) {
      scratch_[place(i)] = i < front_.pivots ? arrays_.x[front_.first + i] : T{};
    }
    __syncwarp();
    if (front_.child_begin < front_.child_end) add_contributions();
#pragma unroll
    for (int j = 0; j < slots; ++j) v[j] = row(j) < front_.rows ? scratch_[row(j)] : T{};
  }

  /// Adds the children's contributions; lane l reads the place of that of the l-th of 32 children.
  __device__ void add_contributions() const {
    bool waits = true;
    for (int first = front_.child_begin; first < front_.child_end; first += warp_size) {
      const int child = arrays_.children[min(first + lane_id(), front_.child_end - 1)];
      const Contribution own(arrays_.fronts[child]);
      if (waits && lane_id() == 0) {
        await_count(arrays_.counters + front_.counters + FrontCounters::contributions,
                    static_cast<unsigned>(front_.awaited_contributions));
      }
      waits = false;
      __syncwarp();
      const int children = min(warp_size, front_.child_end - first);
      for (int k = 0; k < children; k += contributions_together) add_contributions(own, k, children);
    }
  }

  /// Adds the contributions of children begin, begin + 1, ... of those that lanes hold; they are loaded
  /// together.
  __device__ __forceinline__ void add_contributions(const Contribution& own, int begin, int children) const {
    const T* values[contributions_together];
    const std::int32_t* rows[contributions_together];
    int count[contributions_together];
    int longest = 0;
#pragma unroll
    for (int k = 0; k < contributions_together; ++k) {
      values[k] = arrays_.V + __shfl_sync(full_warp, own.vector, (begin + k) % warp_size);
      rows[k] = arrays_.relative + __shfl_sync(full_warp, own.relative, (begin + k) % warp_size);
      count[k] = begin + k < children ? __shfl_sync(full_warp, own.count, begin + k) : 0;
      longest = max(longest, count[k]);
    }
    for (int first = 0; first < longest; first += warp_size) {
      const int i = first + lane_id();
      int places[contributions_together];
      T elements[contributions_together];
#pragma unroll
      for (int k = 0; k < contributions_together; ++k) {
        places[k] = i < count[k] ? place(rows[k][i]) : -1;
        elements[k] = i < count[k] ? values[k][i] : T{};
      }
#pragma unroll
      for (int k = 0; k < contributions_together; ++k) {
        if (places[k] >= 0) scratch_[places[k]] += elements[k];
        __syncwarp();
      }
    }
  }

  /// Eliminates the pivots of slot k from the rows below them.
  __device__ __forceinline__ void solve_forward(int k, T (&v)[slots]) const {
    const T scale = reciprocal(k);
    const int last = end(k);
    for (int first = k * warp_size; first < last; first += together) {
      T e[together][slots];
#pragma unroll
      for (int u = 0; u < together; ++u) {
#pragma unroll
        for (int j = 0; j < slots; ++j) {
          const bool below = first + u < last && row(j) > first + u && row(j) < front_.rows;
          e[u][j] = below ? element(row(j), first + u) : T{};
        }
      }
#pragma unroll
      for (int u = 0; u < together; ++u) {
        if (first + u >= last) break;
        eliminate(k, first + u, scale, e[u], v);
      }
    }
  }

  /// Eliminates the pivots of slot k from those before them.
  __device__ __forceinline__ void solve_backward(int k, T (&v)[slots]) const {
    const T scale = reciprocal(k);
    const int begin = k * warp_size;
    for (int last = end(k) - 1; last >= begin; last -= together) {
      T e[together][slots];
#pragma unroll
      for (int u = 0; u < together; ++u) {
#pragma unroll
        for (int j = 0; j < slots; ++j) {
          const bool before = last - u >= begin && row(j) < last - u;
          e[u][j] = before ? triangle_(row(j), last - u) : T{};
        }
      }
#pragma unroll
      for (int u = 0; u < together; ++u) {
        if (last - u < begin) break;
        eliminate(k, last - u, scale, e[u], v);
      }
    }
  }

  /// Solves for pivot c of slot k, and subtracts the product with its column e.
  __device__ __forceinline__ void eliminate(int k, int c, T scale, const T (&e)[slots], T (&v)[slots]) const {
    T own{};  // v[k], with k a constant in the unrolled loops of the callers
#pragma unroll
    for (int j = 0; j < slots; ++j) own = j == k ? v[j] : own;
    own *= scale;
    const T solved = LogicalWarp<>::shuffle(own, c - k * warp_size);
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      v[j] = row(j) == c ? solved : v[j] - e[j] * solved;
    }
  }

  /// Computes v = the right-hand side at the pivots minus the products with the border.
  __device__ __forceinline__ void subtract_border(T (&v)[slots]) const {
    const int count = front_.rows - front_.pivots;
    std::int32_t rows[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      rows[j] = row(j) < count ? arrays_.border_rows[front_.border + row(j)] : 0;
      v[j] = row(j) < front_.pivots ? arrays_.y[front_.first + row(j)] : T{};
    }
    if (count == 0) return;
    if (lane_id() == 0) {
      await_count(arrays_.counters + front_.parent_counters + FrontCounters::solved,
                  static_cast<unsigned>(front_.awaited_solutions));
    }
    __syncwarp();
    T x[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) x[j] = row(j) < count ? arrays_.x[rows[j]] : T{};
    for (int first = 0; first < front_.pivots; first += together) {
      T sums[together];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const T* const column =
            border_.elements + std::int64_t{min(first + u, front_.pivots - 1)} * border_.leading;
        sums[u] = T{};
#pragma unroll
        for (int j = 0; j < slots; ++j) {
          if (row(j) < count) multiply_add(sums[u], column[row(j)], x[j]);
        }
      }
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const T sum = LogicalWarp<>::all_reduce(sums[u], Plus());
#pragma unroll
        for (int j = 0; j < slots; ++j) {
          if (row(j) == first + u && first + u < front_.pivots) v[j] -= sum;
        }
      }
    }
  }

  __device__ __forceinline__ void store_solution(const T (&v)[slots]) const {
    T* const x = arrays_.x + front_.first;
    if (position_ == nullptr) {
#pragma unroll
      for (int j = 0; j < slots; ++j) {
        if (row(j) < front_.pivots) x[row(j)] = v[j];
      }
      return;
    }
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      if (row(j) < front_.pivots) scratch_[row(j)] = v[j];
    }
    __syncwarp();
    for (int i = lane_id(); i < front_.pivots; i += warp_size) x[i] = scratch_[position_[i]];
  }

  const SubstitutionArrays<T>& arrays_;
  Front front_;
  Triangle<T, factor, direction> triangle_;
  Border<T> border_;
  const std::int32_t* position_;
  bool unit_diagonal_;
  T* scratch_;
};

/// Fronts of a task, one for each warp of the block.
template <class T, TriangularFactor factor, Direction direction>
class SmallFronts {
 public:
  __device__ SmallFronts(const SubstitutionArrays<T>& arrays, const SubstitutionTask& task,
                         SubstitutionKind kind, SmallScratch<T>& scratch)
      : arrays_(arrays), task_(task), kind_(kind), scratch_(scratch) {}

  __device__ void substitute() const {
    if (warp_id() >= task_.count) return;
    switch (task_.part) {
      case 0:
        return substitute<small_orders[0] / warp_size>();
      case 1:
        return substitute<small_orders[1] / warp_size>();
      case 2:
        return substitute<small_orders[2] / warp_size>();
      default:
        return substitute<small_orders[3] / warp_size>();
    }
  }

 private:
  template <int slots>
  __device__ void substitute() const {
    const SmallFront<T, factor, direction, slots> front(arrays_, task_.place + warp_id(), kind_,
                                                        scratch_.rows[warp_id()]);
    if constexpr (direction == Direction::forward) {
      front.forward();
    } else {
      front.backward();
    }
  }

  const SubstitutionArrays<T>& arrays_;
  const SubstitutionTask& task_;
  SubstitutionKind kind_;
  SmallScratch<T>& scratch_;
};

}  // namespace echelon::sparse_direct::gpu

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
                                                : 2) /
                                  (is_complex<T> ? 2 : 1);
  /// Contributions to a row whose places are loaded before the children have finished.
  static constexpr int early_contributions = slots == 1 ? 4 : slots == 2 ? 2 : 1;

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
    T scale[slots];
    T e[together][slots];
    load_reciprocals(scale);
    load_below(0, e);
    T v[slots];
    gather(v);
    for (int first = 0; first < front_.pivots; first += together) {
      if (first > 0) load_below(first, e);
#pragma unroll
      for (int u = 0; u < together; ++u) {
        if (first + u >= front_.pivots) break;
        eliminate(first + u, scale, e[u], v);
      }
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
    T scale[slots];
    load_reciprocals(scale);
    T v[slots];
    subtract_border(v);
    for (int last = front_.pivots - 1; last >= 0; last -= together) {
      T e[together][slots];
      load_above(last, e);
#pragma unroll
      for (int u = 0; u < together; ++u) {
        if (last - u < 0) break;
        eliminate(last - u, scale, e[u], v);
      }
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
  __device__ __forceinline__ void load_reciprocals(T (&scale)[slots]) const {
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      const bool is_one = unit_diagonal_ || row(j) >= front_.pivots;
      scale[j] = is_one ? T{1} : T{1} / triangle_(row(j), row(j));
    }
  }
  /// Elements below the diagonal in columns first, first + 1, ...; zero outside the front.
  __device__ __forceinline__ void load_below(int first, T (&e)[together][slots]) const {
#pragma unroll
    for (int u = 0; u < together; ++u) {
#pragma unroll
      for (int j = 0; j < slots; ++j) {
        const bool below = first + u < front_.pivots && row(j) > first + u && row(j) < front_.rows;
        e[u][j] = below ? element(row(j), first + u) : T{};
      }
    }
  }
  /// Elements above the diagonal in columns last, last - 1, ...; zero outside the front.
  __device__ __forceinline__ void load_above(int last, T (&e)[together][slots]) const {
#pragma unroll
    for (int u = 0; u < together; ++u) {
#pragma unroll
      for (int j = 0; j < slots; ++j) e[u][j] = row(j) < last - u ? triangle_(row(j), last - u) : T{};
    }
  }

  /// Computes v = the right-hand side at the pivots, after row exchanges if `exchange` is set, plus the
  /// children's contributions.
  __device__ __forceinline__ void gather(T (&v)[slots]) const {
    ContributionSum<T, early_contributions> contributions[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      v[j] = row(j) < front_.pivots ? arrays_.x[front_.first + row(j)] : T{};
      contributions[j].prepare(arrays_, front_, row(j));
    }
    const bool waits = front_.child_begin < front_.child_end;
    if (waits && lane_id() == 0) {
      await_count(arrays_.counters + front_.counters + FrontCounters::contributions,
                  static_cast<unsigned>(front_.awaited_contributions));
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < slots; ++j) contributions[j].add(arrays_, v[j]);
    if (position_ == nullptr) return;
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      if (row(j) < front_.rows) scratch_[place(row(j))] = v[j];
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < slots; ++j) v[j] = row(j) < front_.rows ? scratch_[row(j)] : T{};
  }

  /// Solves for pivot c, and subtracts the product with its column e.
  __device__ __forceinline__ void eliminate(int c, const T (&scale)[slots], const T (&e)[slots],
                                            T (&v)[slots]) const {
    T own{};  // of the slot of c
#pragma unroll
    for (int j = 0; j < slots; ++j) own = j == c / warp_size ? v[j] * scale[j] : own;
    const T solved = LogicalWarp<>::shuffle(own, c % warp_size);
#pragma unroll
    for (int j = 0; j < slots; ++j) {
      v[j] = row(j) == c ? solved : v[j] - e[j] * solved;
    }
  }

  /// Elements of the border in columns first, first + 1, ..., those of the last one for columns after it.
  __device__ __forceinline__ void load_border(int first, T (&e)[together][slots]) const {
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const T* const column =
          border_.elements + std::int64_t{min(first + u, front_.pivots - 1)} * border_.leading;
#pragma unroll
      for (int j = 0; j < slots; ++j) e[u][j] = row(j) < front_.rows - front_.pivots ? column[row(j)] : T{};
    }
  }

  /// Sum over the warp of element l % together, in lane l. Each step halves the number of sums.
  __device__ __forceinline__ static T sum_of_column(T (&values)[together]) {
#pragma unroll
    for (int d = together / 2; d > 0; d /= 2) {
      const bool upper = (lane_id() & d) != 0;
#pragma unroll
      for (int k = 0; k < d; ++k) {
        const T given = upper ? values[k] : values[k + d];
        values[k] = (upper ? values[k + d] : values[k]) + LogicalWarp<>::shuffle_xor(given, d);
      }
    }
    T sum = values[0];
#pragma unroll
    for (int d = together; d < warp_size; d *= 2) sum += LogicalWarp<>::shuffle_xor(sum, d);
    return sum;
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
    if (count == 0 || front_.pivots == 0) return;
    T e[together][slots];
    load_border(0, e);
    if (lane_id() == 0) {
      await_count(arrays_.counters + front_.parent_counters + FrontCounters::solved,
                  static_cast<unsigned>(front_.awaited_solutions));
    }
    __syncwarp();
    T x[slots];
#pragma unroll
    for (int j = 0; j < slots; ++j) x[j] = row(j) < count ? arrays_.x[rows[j]] : T{};
    for (int first = 0; first < front_.pivots; first += together) {
      if (first > 0) load_border(first, e);
      T products[together];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        products[u] = T{};
#pragma unroll
        for (int j = 0; j < slots; ++j) multiply_add(products[u], e[u][j], x[j]);
      }
      const T sum = sum_of_column(products);
#pragma unroll
      for (int j = 0; j < slots; ++j) {
        if (row(j) / together == first / together) v[j] -= sum;
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

// SPDX-License-Identifier: BSD-3-Clause
/// Search for the pivot of a column by one warp, or by a thread group within one.
#pragma once

#include "dense/batched/thread_group.cuh"
#include "dense/panels/magnitude_bits.hpp"
#include "dense/panels/panel.hpp"

#include <cmath>

namespace echelon::batch_kernels {

template <class T>
struct alignas(16) Pivot {
  T reciprocal;
  int row;
  int position;  ///< of the row before the exchange; negative: the pivot was rejected
};

/// Positions and scale factors of the rows of a lane. Rows are neither moved nor divided by their pivots
/// until the end.
template <class T, int rows_per_lane, int lanes>
class RowPlaces {
 public:
  __device__ explicit RowPlaces(LaneRows<lanes> rows) : rows_(rows) {}
  __device__ void start() {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      position_[r] = rows_[r];
      scale_[r] = 1;
    }
  }

  [[nodiscard]] __device__ int row(int r) const {
    return rows_[r];
  }
  [[nodiscard]] __device__ int position(int r) const {
    return position_[r];
  }  ///< positions after the exchanges of the eliminated columns
  [[nodiscard]] __device__ T scale(int r) const {
    return scale_[r];
  }  ///< factors by which the rows are still to be multiplied
  [[nodiscard]] __device__ bool has_pivot(int r) const {
    return position_[r] < rank_;
  }
  [[nodiscard]] __device__ bool is_eligible(int r) const {
    return !has_pivot(r) && position_[r] < rows_.n;
  }

  /// Exchanges the pivot row with the row at its position.
  __device__ void exchange(const Pivot<T>& pivot) {
    if (pivot.position < 0) return;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (position_[r] == rank_) position_[r] = pivot.position;
      if (rows_[r] != pivot.row) continue;
      position_[r] = rank_;
      scale_[r] = pivot.reciprocal;
    }
    ++rank_;
  }

 private:
  LaneRows<lanes> rows_;
  int position_[rows_per_lane];
  T scale_[rows_per_lane];
  int rank_ = 0;
};

/// The first column whose pivot was rejected, and the first whose pivot is not finite; -1: none.
struct RejectedColumns {
  int dependent, overflow;
};

template <class T, int size, int lanes, int warps>
class PivotSearch {
  static constexpr int rows_per_lane = size / lanes;
  using Group = ThreadGroup<lanes, warps>;
  using Places = RowPlaces<T, rows_per_lane, lanes>;
  using Elements = Column<T, rows_per_lane, lanes>;

  /// Candidate for the pivot, from a lane or a group; magnitudes are the upper halves of magnitude_bits.
  struct Candidate {
    std::uint32_t magnitude = 0;
    T value = 1;
    int row = 0;
    int position = 0;
  };

 public:
  struct Found {
    Pivot<T> pivot;  ///< row and position are valid in the lane that holds the pivot
    bool holds;
  };

  __device__ void set_tolerance(double tolerance) {
    const T rounded = static_cast<T>(tolerance);
    const auto one = static_cast<int>(upper_half(magnitude_bits(T{1})));
    const int digit = static_cast<int>(upper_half(magnitude_bits(T{2}))) - one;
    tolerance_ = static_cast<double>(rounded);
    clear_distance_ = static_cast<int>(upper_half(magnitude_bits(rounded))) - one + digit / 4;
  }

  /// Finds the largest element of column j in the rows without a pivot, the upper of equal ones.
  __device__ Found find(int j, const Elements& column, const Places& places,
                        RejectedColumns& rejected_columns) const {
    Candidate own;
    std::uint32_t second = 0;
    std::uint32_t above = 0;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const std::uint32_t magnitude = places.is_eligible(r) ? upper_half(magnitude_bits(column[r])) : 0U;
      const std::uint32_t scaled =
          places.has_pivot(r) ? upper_half(magnitude_bits(column[r] * places.scale(r))) : 0U;
      const bool better = magnitude > own.magnitude;
      second = larger(second, better ? own.magnitude : magnitude);
      above = larger(above, scaled);
      replace_if(better, {magnitude, column[r], places.row(r), places.position(r)}, own);
    }
    const std::uint32_t largest = Group::largest(own.magnitude);
    above = Group::largest(above);
    T reciprocal =
        compute_here(T{1} / own.value);  // before the search is complete: used if this lane holds the pivot
    unsigned holder = Group::ballot(own.magnitude == largest);
    const bool tie = second == largest || __popc(holder) != 1;
    if (__all_sync(full_warp, !tie && is_clear(largest, above))) {
      reciprocal = from_holder(holder, reciprocal);
    } else {
      own = break_ties(column, places, largest);
      holder = Group::ballot(own.magnitude > 0);
      const T pivot = from_holder(holder, own.value);
      const bool accepted =
          accepts(j, fabs(static_cast<double>(pivot)),
                  static_cast<double>(magnitude_from<T>(std::uint64_t{above} << 32U)), rejected_columns);
      if (!accepted) own.position = -1;
      reciprocal = accepted ? T{1} / pivot : T{0};
    }
    return {{reciprocal, own.row, own.position}, (holder >> (threadIdx.x % warp_size)) % 2 != 0};
  }

 private:
  static __device__ void replace_if(bool condition, const Candidate& candidate, Candidate& best) {
    best.magnitude = select(condition, candidate.magnitude, best.magnitude);
    best.value = select(condition, candidate.value, best.value);
    best.row = select(condition, candidate.row, best.row);
    best.position = select(condition, candidate.position, best.position);
  }
  static __device__ T from_holder(unsigned holder, T value) {
    return __shfl_sync(full_warp, value, __ffs(static_cast<int>(holder)) - 1);
  }

  /// The largest of the elements with the largest upper half, the upper of equal ones. Only the lane that
  /// holds it returns a magnitude other than 0.
  static __device__ Candidate break_ties(const Elements& column, const Places& places,
                                         std::uint32_t largest) {
    std::uint32_t lower = 0;
    std::uint32_t height = 0;
    const auto competes = [&](int r) {
      return places.is_eligible(r) && upper_half(magnitude_bits(column[r])) == largest;
    };
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (competes(r)) lower = larger(lower, lower_half(magnitude_bits(column[r])));
    }
    lower = Group::largest(lower);
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const bool best = competes(r) && lower_half(magnitude_bits(column[r])) == lower;
      if (best) height = larger(height, static_cast<std::uint32_t>(size - places.position(r)));
    }
    height = Group::largest(height);
    Candidate best;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const bool here =
          places.is_eligible(r) && static_cast<std::uint32_t>(size - places.position(r)) == height;
      replace_if(here, {1, column[r], places.row(r), places.position(r)}, best);
    }
    return best;
  }

  /// Whether a pivot is certainly accepted. The bits of a number approximate its logarithm to less than a
  /// tenth of a binary digit from above.
  [[nodiscard]] __device__ bool is_clear(std::uint32_t pivot, std::uint32_t above) const {
    const std::uint32_t one = upper_half(magnitude_bits(T{1}));
    const std::uint32_t smallest_normal = upper_half(magnitude_bits(T{2})) - one;
    const std::uint32_t half_of_largest = 2 * one;
    const auto distance = static_cast<int>(pivot) - static_cast<int>(larger(above, one));
    return pivot >= smallest_normal && pivot < half_of_largest && above < half_of_largest &&
           distance > clear_distance_;
  }
  __device__ bool accepts(int j, double pivot, double above, RejectedColumns& rejected_columns) const {
    const PivotStatus status = assess_pivot(pivot, above, tolerance_).status;
    if (status == PivotStatus::accepted) return true;
    int& first = status == PivotStatus::overflow ? rejected_columns.overflow : rejected_columns.dependent;
    if (static_cast<int>(threadIdx.x) % lanes == 0 && first < 0) first = j;
    return false;
  }

  double tolerance_ = 0;
  int clear_distance_ = 0;  // between the logarithms of a pivot and of the elements above
};

}  // namespace echelon::batch_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// The search for the pivot of a column by one warp, or by a team that is a part of one.
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
  int position;  ///< of the row, before; negative: the pivot was not accepted
};

/// Where the rows of a lane belong: they do not move, nor are they scaled by their pivots before the end.
template <class T, int down, int lanes>
class RowPlaces {
 public:
  __device__ explicit RowPlaces(LaneRows<lanes> rows) : rows_(rows) {}
  __device__ void start() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      position_[r] = rows_[r];
      scale_[r] = 1;
    }
  }

  [[nodiscard]] __device__ int row(int r) const {
    return rows_[r];
  }
  [[nodiscard]] __device__ int position(int r) const {
    return position_[r];
  }  ///< by the exchanges so far
  [[nodiscard]] __device__ T scale(int r) const {
    return scale_[r];
  }  ///< still to be multiplied with
  [[nodiscard]] __device__ bool has_pivot(int r) const {
    return position_[r] < rank_;
  }
  [[nodiscard]] __device__ bool waits_for_pivot(int r) const {
    return !has_pivot(r) && position_[r] < rows_.n;
  }

  /// The pivot row, with the one where it belongs.
  __device__ void exchange(const Pivot<T>& pivot) {
    if (pivot.position < 0) return;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (position_[r] == rank_) position_[r] = pivot.position;
      if (rows_[r] != pivot.row) continue;
      position_[r] = rank_;
      scale_[r] = pivot.reciprocal;
    }
    ++rank_;
  }

 private:
  LaneRows<lanes> rows_;
  int position_[down];
  T scale_[down];
  int rank_ = 0;
};

/// The first column without a pivot, and with one that is not finite; or -1.
struct Refused {
  int rejected, overflow;
};

template <class T, int size, int lanes, int warps>
class PivotSearch {
  static constexpr int down = size / lanes;
  using Threads = TeamThreads<lanes, warps>;
  using Places = RowPlaces<T, down, lanes>;
  using Elements = Column<T, down, lanes>;

  /// Of a lane, or of a warp: by the upper halves of magnitude_bits.
  struct Candidate {
    std::uint32_t magnitude = 0;
    T value = 1;
    int row = 0;
    int position = 0;
  };

 public:
  struct Found {
    Pivot<T> pivot;  ///< with row and position in the lane that holds it
    bool holds;
  };

  __device__ void set_tolerance(double tolerance) {
    const T rounded = static_cast<T>(tolerance);
    const auto one = static_cast<int>(upper_half(magnitude_bits(T{1})));
    const int digit = static_cast<int>(upper_half(magnitude_bits(T{2}))) - one;
    tolerance_ = static_cast<double>(rounded);
    clear_distance_ = static_cast<int>(upper_half(magnitude_bits(rounded))) - one + digit / 4;
  }

  /// The largest element of column j in the rows that wait for a pivot; the upper one of equals.
  __device__ Found find(int j, const Elements& column, const Places& places, Refused& refused) const {
    Candidate own;
    std::uint32_t second = 0;
    std::uint32_t above = 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const std::uint32_t magnitude = places.waits_for_pivot(r) ? upper_half(magnitude_bits(column[r])) : 0U;
      const std::uint32_t scaled =
          places.has_pivot(r) ? upper_half(magnitude_bits(column[r] * places.scale(r))) : 0U;
      const bool better = magnitude > own.magnitude;
      second = larger(second, better ? own.magnitude : magnitude);
      above = larger(above, scaled);
      choose(better, {magnitude, column[r], places.row(r), places.position(r)}, own);
    }
    const std::uint32_t largest = Threads::largest(own.magnitude);
    above = Threads::largest(above);
    T reciprocal = now(T{1} / own.value);  // early: it is that of the pivot if the pivot is here
    unsigned holder = Threads::ballot(own.magnitude == largest);
    const bool tie = second == largest || __popc(holder) != 1;
    if (__all_sync(full_warp, !tie && is_clear(largest, above))) {
      reciprocal = of_holder(holder, reciprocal);
    } else {
      own = break_ties(column, places, largest);
      holder = Threads::ballot(own.magnitude > 0);
      const T pivot = of_holder(holder, own.value);
      const bool accepted =
          accepts(j, fabs(static_cast<double>(pivot)),
                  static_cast<double>(magnitude_from<T>(std::uint64_t{above} << 32U)), refused);
      if (!accepted) own.position = -1;
      reciprocal = accepted ? T{1} / pivot : T{0};
    }
    return {{reciprocal, own.row, own.position}, (holder >> (threadIdx.x % warp_size)) % 2 != 0};
  }

 private:
  static __device__ void choose(bool other, const Candidate& candidate, Candidate& best) {
    best.magnitude = either(other, candidate.magnitude, best.magnitude);
    best.value = either(other, candidate.value, best.value);
    best.row = either(other, candidate.row, best.row);
    best.position = either(other, candidate.position, best.position);
  }
  static __device__ T of_holder(unsigned holder, T value) {
    return __shfl_sync(full_warp, value, __ffs(static_cast<int>(holder)) - 1);
  }

  /// Of those of the largest upper half, the largest; the upper one of equals. In one lane of the team: in
  /// the others, its magnitude is 0.
  static __device__ Candidate break_ties(const Elements& column, const Places& places,
                                         std::uint32_t largest) {
    std::uint32_t lower = 0;
    std::uint32_t height = 0;
    const auto competes = [&](int r) {
      return places.waits_for_pivot(r) && upper_half(magnitude_bits(column[r])) == largest;
    };
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (competes(r)) lower = larger(lower, lower_half(magnitude_bits(column[r])));
    }
    lower = Threads::largest(lower);
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const bool best = competes(r) && lower_half(magnitude_bits(column[r])) == lower;
      if (best) height = larger(height, static_cast<std::uint32_t>(size - places.position(r)));
    }
    height = Threads::largest(height);
    Candidate best;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const bool here =
          places.waits_for_pivot(r) && static_cast<std::uint32_t>(size - places.position(r)) == height;
      choose(here, {1, column[r], places.row(r), places.position(r)}, best);
    }
    return best;
  }

  /// Whether a pivot is accepted without a doubt. The bits of a number are about its logarithm: it is less
  /// than a tenth of a binary digit larger.
  [[nodiscard]] __device__ bool is_clear(std::uint32_t pivot, std::uint32_t above) const {
    const std::uint32_t one = upper_half(magnitude_bits(T{1}));
    const std::uint32_t smallest_normal = upper_half(magnitude_bits(T{2})) - one;
    const std::uint32_t half_of_largest = 2 * one;
    const auto distance = static_cast<int>(pivot) - static_cast<int>(larger(above, one));
    return pivot >= smallest_normal && pivot < half_of_largest && above < half_of_largest &&
           distance > clear_distance_;
  }
  __device__ bool accepts(int j, double pivot, double above, Refused& refused) const {
    const PivotVerdict verdict = judge_pivot(pivot, above, tolerance_).verdict;
    if (verdict == PivotVerdict::accepted) return true;
    int& first = verdict == PivotVerdict::overflow ? refused.overflow : refused.rejected;
    if (static_cast<int>(threadIdx.x) % lanes == 0 && first < 0) first = j;
    return false;
  }

  double tolerance_ = 0;
  int clear_distance_ = 0;  // of a pivot's logarithm, from that of the elements above
};

}  // namespace echelon::batch_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// Small matrices of a batch, each eliminated in the registers of a team of threads.
///
///   a lane holds        row l, l + lanes, ... of the columns of its warp;
///   a warp holds        column w, w + warps, ...; or several matrices of at most 16 rows.
///
/// So one warp finds the pivot of a column, alone. It makes known which row it is in and what every row is
/// multiplied with, and this is all that the warps wait for. Then each warp copies what it has of the pivot
/// row to shared memory, for itself, and updates its columns: the next one first, so that the search for its
/// pivot goes on while the others are at work.
///
/// Rows do not move: each knows where it belongs by now. Nor are they scaled by their pivots before the end.
/// The columns move: when each warp has eliminated one, all are written one register further, so that the
/// next one is always in the first, and the indices are constants.
///
/// For solving, the columns that are done are dropped, but the factors stay in shared memory: right-hand
/// sides go through the same steps afterwards.
#pragma once

#include "elimination/batched.hpp"
#include "elimination/magnitude_bits.hpp"

#include <cmath>

namespace echelon::batch_kernels {

inline constexpr unsigned full_warp = 0xffffffffU;
inline constexpr int warp_size = 32;

template <class T>
struct BatchJob {
  T* a;  ///< read only for solving
  std::int64_t leading, stride, count;
  int n;
  double tolerance;
  T* b;  ///< the right-hand sides, then the solutions
  std::int64_t b_leading, b_stride, b_columns;
  std::int64_t refine;
  BatchOutcome* outcomes;
};

enum class Task { invert, solve };

__device__ inline std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a > b ? a : b;
}
/// Of so many neighbours.
template <int lanes>
__device__ unsigned largest_of_lanes(unsigned value) {
#pragma unroll
  for (int delta = lanes / 2; delta > 0; delta /= 2) {
    value = larger(value, __shfl_xor_sync(full_warp, value, delta));
  }
  return value;
}
__device__ inline unsigned largest_of_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return largest_of_lanes<warp_size>(value);
#else
  return __reduce_max_sync(full_warp, value);
#endif
}
/// By value: the elements of an array stay in registers.
template <class V>
__device__ V either(bool condition, V yes, V no) {
  return condition ? yes : no;
}

/// A number that the compiler computes here, neither earlier nor later, nor takes from where it was before.
__device__ inline int now(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
__device__ inline float now(float x) {
  asm volatile("" : "+f"(x));
  return x;
}
__device__ inline double now(double x) {
  asm volatile("" : "+d"(x));
  return x;
}

/// `size`: the most rows, and columns.
template <class T, int size, int warps, Task task>
class Team {
  static constexpr int lanes = size < warp_size ? size : warp_size;
  static constexpr int teams_of_warp = warp_size / lanes;
  static constexpr int down = size / lanes;    // rows of a lane
  static constexpr int across = size / warps;  // columns of a warp
  static constexpr int in_pack = 16 / static_cast<int>(sizeof(T));
  static constexpr int kept = task == Task::solve ? size : 2;  // columns of factors: one is read, one made
  static constexpr int at_a_time = 8;                          // steps of right-hand sides
  static_assert(across % in_pack == 0 && (warps == 1 || teams_of_warp == 1));

  /// What a lane has of a column.
  struct Column {
    T elements[down];
    __device__ T& operator[](int r) { return elements[r]; }
    __device__ const T& operator[](int r) const { return elements[r]; }
  };
  struct alignas(16) Pack {
    T elements[in_pack];
  };
  struct alignas(16) Pivot {
    T reciprocal;
    int row;
    int position;  ///< of the row, before; negative: the pivot was not accepted
  };
  struct SharedMembers {
    Pivot pivots[kept];
    T factors[kept][size];
    Pack rows[2][warps][across / in_pack];
    double sums[warps][size];
    T x[size];
    int origins[size];       // of the rows by position
    int rejected, overflow;  // the first column without a pivot, with one that is not finite; or -1
  };
  // Where teams share a warp, what they read at a time is in different banks.
  static constexpr int banks = 128;
  static constexpr int part_of_banks = lanes * static_cast<int>(sizeof(T)) % banks;
  static constexpr int to_full_banks = banks - static_cast<int>(sizeof(SharedMembers)) % banks;

 public:
  static constexpr int threads = lanes * warps;
  static constexpr int teams_of_block = warps == 1 ? 4 * teams_of_warp : 1;
  static constexpr int threads_of_block = teams_of_block * threads;
  static constexpr int registers = down * across * static_cast<int>(sizeof(T)) / 4 + 64;
  static constexpr int blocks_at_once = 65536 / (threads_of_block * registers);

  struct Shared : SharedMembers {
    unsigned char padding[to_full_banks + (part_of_banks > 0 ? part_of_banks : 16)];
  };

  __device__ Team(const BatchJob<T>& job, Shared& shared)
      : job_(job),
        shared_(shared),
        matrix_(std::int64_t{blockIdx.x} * teams_of_block + static_cast<int>(threadIdx.x) / threads),
        exists_(matrix_ < job.count),
        a_(job.a + (exists_ ? matrix_ : 0) * job.stride),
        warp_(static_cast<int>(threadIdx.x) % threads / lanes),
        lane_(static_cast<int>(threadIdx.x) % lanes) {}

  __device__ void run() {
    load();
    set_tolerance(job_.tolerance * norm_inf());
    if constexpr (task == Task::solve) add_empty_steps();
    eliminate_all();
    const bool good = finish();
    if constexpr (task == Task::invert) {
      store_inverse(good);
    } else {
      if (job_.refine > 0) load();
      T* b = job_.b + (exists_ ? matrix_ : 0) * job_.b_stride;
      for (std::int64_t k = 0; k < job_.b_columns; ++k) solve(b + k * job_.b_leading, good);
    }
  }

 private:
  [[nodiscard]] __device__ int row_of(int r) const { return lane_ + r * lanes; }
  [[nodiscard]] __device__ bool is_inside(int r) const { return row_of(r) < job_.n; }
  [[nodiscard]] __device__ bool has_pivot(int r) const { return position_[r] < rank_; }
  [[nodiscard]] __device__ bool waits_for_pivot(int r) const {
    return !has_pivot(r) && position_[r] < job_.n;
  }

  static __device__ void barrier() {
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  // Those threads of a warp that are in one team.
  static __device__ int first_of_team() { return static_cast<int>(threadIdx.x) % warp_size / lanes * lanes; }
  static __device__ unsigned ballot_of_team(bool condition) {
    return __ballot_sync(full_warp, condition) & ((full_warp >> (warp_size - lanes)) << first_of_team());
  }
  static __device__ unsigned largest_of_team(unsigned value) {
    if constexpr (teams_of_warp <= 2) {
      unsigned largest = 0;
#pragma unroll
      for (int team = 0; team < teams_of_warp; ++team) {
        const bool own = first_of_team() == team * lanes;
        const unsigned of_these = largest_of_warp(own ? value : 0U);
        if (own) largest = of_these;
      }
      return largest;
    } else {
      return largest_of_lanes<lanes>(value);
    }
  }

  __device__ void load() {
    const int first = now(warp_);
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const int column = c * warps + first;
      const T* a = a_ + column * job_.leading;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        element_[r][c] = row_of(r) == column ? T{1} : T{0};
        if (exists_ && is_inside(r) && column < job_.n) element_[r][c] = a[row_of(r)];
      }
    }
  }

  /// Of what was loaded.
  __device__ double norm_inf() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      double sum = 0;
#pragma unroll
      for (int c = 0; c < across; ++c) sum += fabs(static_cast<double>(element_[r][c]));
      shared_.sums[warp_][row_of(r)] = sum;
    }
    barrier();
    std::uint64_t most = 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const std::uint64_t bits = magnitude_bits(sum_of_warps(row_of(r)));
      if (is_inside(r) && bits > most) most = bits;
    }
    const unsigned upper = largest_of_team(upper_half(most));
    const unsigned lower = largest_of_team(upper_half(most) == upper ? lower_half(most) : 0U);
    return magnitude_from<double>(std::uint64_t{upper} << 32U | lower);
  }
  [[nodiscard]] __device__ double sum_of_warps(int row) const {
    double sum = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) sum += shared_.sums[w][row];
    return sum;
  }

  __device__ void eliminate_all() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      position_[r] = row_of(r);
      scale_[r] = 1;
    }
    if (warp_ == 0 && lane_ == 0) shared_.rejected = shared_.overflow = -1;
    if (finds_pivot(0)) find_pivot(0, first_column());
    eliminate_from<across>(0);
  }

  /// For solving, only `width` of a warp's columns are updated, and half of these as soon as they are enough.
  template <int width>
  __device__ void eliminate_from(int j) {
    constexpr bool narrows = task == Task::solve && width / 2 >= in_pack && width * 2 > across;
    const int rounds_left = narrows ? width / 2 : 0;
#pragma unroll 1
    for (; j < job_.n && columns_left(j) > rounds_left; ++j) {
      wait_for_pivot(j);
      if (j % warps == warps - 1) {
        eliminate<true, width>(j);
      } else {
        eliminate<false, width>(j);
      }
    }
    if constexpr (narrows) eliminate_from<width / 2>(j);
  }

  /// This warp.
  [[nodiscard]] __device__ bool finds_pivot(int j) const {
    return warps == 1 || warp_ == j % warps;
  }

  // The warp that finds a pivot does not wait for the others. It finds none before it has waited once, so
  // that two barriers and two columns of factors are enough.
  __device__ void arrive(int j) const {
    __syncwarp();
    if constexpr (warps > 1) {
      if (j % 2 == 0) {
        asm volatile("bar.arrive 1, %0;" ::"n"(threads) : "memory");
      } else {
        asm volatile("bar.arrive 2, %0;" ::"n"(threads) : "memory");
      }
    }
  }
  __device__ void wait_for_pivot(int j) const {
    if constexpr (warps > 1) {
      if (finds_pivot(j)) return;
      if (j % 2 == 0) {
        asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
      } else {
        asm volatile("bar.sync 2, %0;" ::"n"(threads) : "memory");
      }
    }
  }

  [[nodiscard]] __device__ Column first_column() const {
    Column column;
#pragma unroll
    for (int r = 0; r < down; ++r) column[r] = element_[r][0];
    return column;
  }

  /// Of a lane, or of a warp: by the upper halves of magnitude_bits.
  struct Candidate {
    std::uint32_t magnitude = 0;
    T value = 1;
    int row = 0;
    int position = 0;
  };

  /// Makes known the pivot of column j, and what the rows are multiplied with.
  __device__ void find_pivot(int j, const Column& column) {
    Candidate own;
    std::uint32_t second = 0;
    std::uint32_t above = 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const std::uint32_t magnitude = waits_for_pivot(r) ? upper_half(magnitude_bits(column[r])) : 0U;
      const std::uint32_t scaled = has_pivot(r) ? upper_half(magnitude_bits(column[r] * scale_[r])) : 0U;
      const bool better = magnitude > own.magnitude;
      second = larger(second, better ? own.magnitude : magnitude);
      above = larger(above, scaled);
      choose(better, {magnitude, column[r], row_of(r), position_[r]}, own);
    }
    const std::uint32_t largest = largest_of_team(own.magnitude);
    above = largest_of_team(above);
    T reciprocal = now(T{1} / own.value);  // early: it is that of the pivot if the pivot is here
    unsigned holder = ballot_of_team(own.magnitude == largest);
    const bool tie = second == largest || __popc(holder) != 1;
    if (__all_sync(full_warp, !tie && is_clear(largest, above))) {
      reciprocal = of_holder(holder, reciprocal);
    } else {
      own = break_ties(column, largest);
      holder = ballot_of_team(own.magnitude > 0);
      const T pivot = of_holder(holder, own.value);
      const bool accepted = accepts(j, fabs(static_cast<double>(pivot)),
                                    static_cast<double>(magnitude_from<T>(std::uint64_t{above} << 32U)));
      if (!accepted) own.position = -1;
      reciprocal = accepted ? T{1} / pivot : T{0};
    }
    announce(j, column, own, reciprocal, (holder >> (threadIdx.x % warp_size)) % 2 != 0);
    arrive(j);
  }

  static __device__ void choose(bool other, const Candidate& candidate, Candidate& best) {
    best.magnitude = either(other, candidate.magnitude, best.magnitude);
    best.value = either(other, candidate.value, best.value);
    best.row = either(other, candidate.row, best.row);
    best.position = either(other, candidate.position, best.position);
  }
  static __device__ T of_holder(unsigned holder, T value) {
    return __shfl_sync(full_warp, value, __ffs(static_cast<int>(holder)) - 1);
  }

  /// Where the reciprocal is 0, the column stays as it is.
  __device__ void announce(int j, const Column& column, const Candidate& own, T reciprocal, bool holds) {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const T factor = column[r] * reciprocal;
      shared_.factors[j % kept][row_of(r)] = factor;
      if (task == Task::solve && is_inside(r)) nothing_ += T{0} * factor;
    }
    if (!holds) return;
    shared_.factors[j % kept][own.row] = 0;
    shared_.pivots[j % kept] = {reciprocal, own.row, own.position};
  }

  /// Of those of the largest upper half, the largest; the upper one of equals. In one lane of the team: in
  /// the others, its magnitude is 0.
  __device__ Candidate break_ties(const Column& column, std::uint32_t largest) const {
    std::uint32_t lower = 0;
    std::uint32_t height = 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (competes(r, column[r], largest)) lower = larger(lower, lower_half(magnitude_bits(column[r])));
    }
    lower = largest_of_team(lower);
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const bool best = competes(r, column[r], largest) && lower_half(magnitude_bits(column[r])) == lower;
      if (best) height = larger(height, static_cast<std::uint32_t>(size - position_[r]));
    }
    height = largest_of_team(height);
    Candidate best;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const bool here = waits_for_pivot(r) && static_cast<std::uint32_t>(size - position_[r]) == height;
      choose(here, {1, column[r], row_of(r), position_[r]}, best);
    }
    return best;
  }
  [[nodiscard]] __device__ bool competes(int r, T element, std::uint32_t largest) const {
    return waits_for_pivot(r) && upper_half(magnitude_bits(element)) == largest;
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
  __device__ void set_tolerance(double tolerance) {
    const T rounded = static_cast<T>(tolerance);
    const auto one = static_cast<int>(upper_half(magnitude_bits(T{1})));
    const int digit = static_cast<int>(upper_half(magnitude_bits(T{2}))) - one;
    tolerance_ = static_cast<double>(rounded);
    clear_distance_ = static_cast<int>(upper_half(magnitude_bits(rounded))) - one + digit / 4;
  }

  __device__ bool accepts(int j, double pivot, double above) {
    const PivotVerdict verdict = judge_pivot(pivot, above, tolerance_).verdict;
    if (verdict == PivotVerdict::accepted) return true;
    int& first = verdict == PivotVerdict::overflow ? shared_.overflow : shared_.rejected;
    if (lane_ == 0 && first < 0) first = j;
    return false;
  }

  /// With the pivot row w, every other row becomes a - f w: f is x / pivot for an element x of column j, and
  /// 0 where there is no pivot. Of the inverse, column j becomes -f, and 1 in the pivot row.
  template <bool moves, int width>
  __device__ void eliminate(int j) {
    constexpr int shift = moves ? 1 : 0;
    const Pivot pivot = shared_.pivots[j % kept];
    Column f;
#pragma unroll
    for (int r = 0; r < down; ++r) f[r] = shared_.factors[j % kept][row_of(r)];
    exchange(pivot);
    const bool finds_next = j + 1 < job_.n && finds_pivot(j + 1);
    if constexpr (warps > 1) {
      if (finds_next) find_pivot(j + 1, updated<shift>(pivot.row, f));
    }
    Pack* row = shared_.rows[j % 2][warp_];
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (row_of(r) == pivot.row) copy_row(r, row);
    }
    __syncwarp();
    Column done = update<shift, width>(row, f);
    if constexpr (task == Task::invert) {
#pragma unroll
      for (int r = 0; r < down; ++r) {
        if (warp_ == j % warps) done[r] = row_of(r) == pivot.row ? T{1} : -f[r];
        element_[r][moves ? across - 1 : 0] = done[r];
      }
    }
    if constexpr (warps == 1) {
      if (finds_next) find_pivot(j + 1, first_column());
    }
  }

  /// Returns the first column.
  template <int shift, int width>
  __device__ Column update(const Pack* row, const Column& f) {
    Column first;
#pragma unroll
    for (int p = 0; p < width / in_pack; ++p) {
      const Pack w = row[p];
#pragma unroll
      for (int e = 0; e < in_pack; ++e) {
        const int c = p * in_pack + e;
#pragma unroll
        for (int r = 0; r < down; ++r) {
          const T sum = element_[r][c] - f[r] * w.elements[e];
          if (c == 0) first[r] = sum;
          if (c >= shift) element_[r][c - shift] = sum;
        }
      }
    }
    return first;
  }

  /// Column c, ahead of the others.
  template <int c>
  [[nodiscard]] __device__ Column updated(int pivot_row, const Column& f) const {
    T w = element_[0][c];
#pragma unroll
    for (int r = 1; r < down; ++r) w = either(pivot_row / lanes == r, element_[r][c], w);
    w = __shfl_sync(full_warp, w, pivot_row, lanes);
    Column column;
#pragma unroll
    for (int r = 0; r < down; ++r) column[r] = element_[r][c] - f[r] * w;
    return column;
  }

  /// Of this warp, from the first register on.
  [[nodiscard]] __device__ int columns_left(int j) const {
    return (job_.n - j / warps * warps + warps - 1) / warps;
  }

  __device__ void copy_row(int r, Pack* row) const {
#pragma unroll
    for (int p = 0; p < across / in_pack; ++p) {
      Pack pack;
#pragma unroll
      for (int e = 0; e < in_pack; ++e) pack.elements[e] = element_[r][p * in_pack + e];
      row[p] = pack;
    }
  }

  /// The pivot row, with the one where it belongs.
  __device__ void exchange(const Pivot& pivot) {
    if (pivot.position < 0) return;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (position_[r] == rank_) position_[r] = pivot.position;
      if (row_of(r) != pivot.row) continue;
      position_[r] = rank_;
      scale_[r] = pivot.reciprocal;
    }
    ++rank_;
  }

  /// Tells the outcome. Whether it is a good one.
  __device__ bool finish() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (!is_inside(r)) continue;
      if (warp_ == 0) shared_.origins[position_[r]] = row_of(r);
      nothing_ += T{0} * scale_[r];
      if constexpr (task == Task::invert) {
#pragma unroll
        for (int c = 0; c < across; ++c) {
          element_[r][c] *= scale_[r];
          nothing_ += T{0} * element_[r][c];
        }
      }
    }
    bool finite = ballot_of_team(nothing_ != 0) == 0;
    if constexpr (warps > 1) finite = __syncthreads_and(finite ? 1 : 0) != 0;
    barrier();
    EliminationState state;
    state.overflow_column = shared_.overflow;
    state.rank = shared_.rejected < 0 ? job_.n : 0;
    const BatchOutcome outcome = batch_outcome(state, job_.n, shared_.rejected, finite);
    if (warp_ == 0 && lane_ == 0 && exists_) job_.outcomes[matrix_] = outcome;
    return outcome.status == Status::direct;
  }

  /// The inverse's columns are those of the rows where they were pivot rows.
  __device__ void store_inverse(bool good) const {
    if (!exists_) return;
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const int j = (c + job_.n / warps) % across * warps + warp_;
      if (j >= job_.n) continue;
      T* a = a_ + shared_.origins[j] * job_.leading;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        if (is_inside(r)) a[position_[r]] = good ? element_[r][c] : static_cast<T>(NAN);
      }
    }
  }

  /// By the first warp, which has the rows by position; the others help with the residual.
  __device__ void solve(T* b, bool good) {
    const bool leads = warp_ == 0;
    Column right;
#pragma unroll
    for (int r = 0; r < down; ++r) right[r] = leads && exists_ && is_inside(r) ? b[origin_of(r)] : T{0};
    Column x = right;
    if (leads) follow(x);
    for (std::int64_t step = 0; step < job_.refine; ++step) {
#pragma unroll
      for (int r = 0; r < down; ++r) {
        if (leads) shared_.x[row_of(r)] = x[r];
      }
      barrier();
      multiply();
      barrier();
      if (!leads) continue;
      Column correction;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        correction[r] = is_inside(r) ? right[r] - static_cast<T>(sum_of_warps(origin_of(r))) : T{0};
      }
      follow(correction);
#pragma unroll
      for (int r = 0; r < down; ++r) x[r] += correction[r];
    }
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (leads && exists_ && is_inside(r)) b[row_of(r)] = good ? x[r] : static_cast<T>(NAN);
    }
  }
  /// Of the row at a position.
  [[nodiscard]] __device__ int origin_of(int r) const {
    return is_inside(r) ? shared_.origins[row_of(r)] : 0;
  }

  /// Takes v through the steps of the elimination, some at a time.
  __device__ void follow(Column& v) const {
    int origin[down];
#pragma unroll
    for (int r = 0; r < down; ++r) origin[r] = origin_of(r);
#pragma unroll
    for (int q = 0; q < down; ++q) {
#pragma unroll 1
      for (int j = q * lanes; j < job_.n && j < (q + 1) * lanes; j += at_a_time) {
#pragma unroll
        for (int k = 0; k < at_a_time; ++k) {
          const T w = __shfl_sync(full_warp, v[q], j + k, lanes);
#pragma unroll
          for (int r = 0; r < down; ++r) v[r] -= shared_.factors[(j + k) % kept][origin[r]] * w;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (is_inside(r)) v[r] *= shared_.pivots[row_of(r) % kept].reciprocal;
    }
  }
  /// So that there may be some more steps than columns.
  __device__ void add_empty_steps() const {
    for (int j = job_.n + warp_; j < size && j < job_.n + at_a_time; j += warps) {
#pragma unroll
      for (int r = 0; r < down; ++r) shared_.factors[j % kept][row_of(r)] = 0;
    }
  }

  /// A x, in as many parts as there are warps.
  __device__ void multiply() const {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      T sum = 0;
#pragma unroll
      for (int c = 0; c < across; ++c) {
        const int column = c * warps + warp_;
        if (column < job_.n) sum += element_[r][c] * shared_.x[column];
      }
      shared_.sums[warp_][row_of(r)] = sum;
    }
  }

  const BatchJob<T>& job_;
  Shared& shared_;
  std::int64_t matrix_;
  bool exists_;
  T* a_;
  int warp_, lane_;
  double tolerance_ = 0;
  int clear_distance_ = 0;  // of a pivot's logarithm, from that of the elements above
  T element_[down][across];
  int position_[down];  // of the row, by the exchanges so far
  T scale_[down];       // by which the row is still to be multiplied
  int rank_ = 0;
  T nothing_ = 0;  // not when something overflowed
};

template <class T, int size, int warps, Task task>
__global__ void __launch_bounds__(Team<T, size, warps, task>::threads_of_block,
                                  Team<T, size, warps, task>::blocks_at_once)
    treat_batch(const BatchJob<T> job) {
  using Kind = Team<T, size, warps, task>;
  extern __shared__ double2 batch_shared[];
  Kind(job, reinterpret_cast<typename Kind::Shared*>(batch_shared)[threadIdx.x / Kind::threads]).run();
}

}  // namespace echelon::batch_kernels

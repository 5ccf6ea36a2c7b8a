// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of the small matrices of a batch, each in the registers of a thread group.
///
/// One warp finds the pivot of a column and signals its row and the factors of all rows; the warps wait for
/// nothing else. Each warp then copies its part of the pivot row to shared memory and updates its columns:
/// the next one first, so that the search for its pivot overlaps with the updates of the other warps.
///
/// A solve drops eliminated columns. The first right-hand side is an additional column of the first warp. The
/// factors stay in shared memory, and the elimination steps are applied to the other right-hand sides and to
/// the residuals afterwards.
#pragma once

#include "dense/batched/operations.hpp"
#include "dense/batched/pivot_search.cuh"
#include "dense/batched/register_matrix.cuh"

#include <cmath>

namespace echelon::batch_kernels {

template <class T>
struct BatchJob {
  T* a;  ///< for solving, read only
  std::int64_t leading, stride, count;
  int n;
  double tolerance;
  T* b = nullptr;  ///< the right-hand sides, replaced by the solutions
  std::int64_t b_leading = 0, b_stride = 0, b_columns = 0;
  std::int64_t refine = 0;  ///< refinement steps
  BatchOutcome* outcomes;
};

enum class Task { invert, solve };

/// Elimination of one matrix with at most `size` rows by one thread group.
template <class T, int size, int warps, Task task>
class GroupElimination {
  static constexpr int lanes = size < warp_size ? size : warp_size;
  using Threads = ThreadGroup<lanes, warps>;
  using Matrix = RegisterMatrix<T, size, lanes, warps>;
  using Elements = typename Matrix::Elements;
  using Search = PivotSearch<T, size, lanes, warps>;
  static constexpr int rows_per_lane = Matrix::rows_per_lane;
  static constexpr int columns_per_warp = Matrix::columns_per_warp;
  static constexpr int slots = warps > 1 ? warps : 2;                      // for signals
  static constexpr int factor_slots = task == Task::solve ? size : slots;  // for columns of factors
  static constexpr int steps_at_once = 8;  // of the application to right-hand sides

  struct SharedMembers {
    Pivot<T> pivots[factor_slots];
    T factors[factor_slots][size];
    typename Matrix::Row rows[2][warps];
    double sums[warps][size];
    T x[size];
    int origins[size];  // row at each position
    RejectedColumns rejected_columns;
    WarpSignal signals[slots];
  };
  // Padding that puts simultaneous reads of the groups of a warp into different banks.
  static constexpr int banks = 128;
  static constexpr int part_of_banks = lanes * static_cast<int>(sizeof(T)) % banks;
  static constexpr int to_full_banks = banks - static_cast<int>(sizeof(SharedMembers)) % banks;

 public:
  static constexpr int threads = Threads::count;
  static constexpr int groups_per_block = warps == 1 ? 4 * Threads::groups_per_warp : 1;
  static constexpr int threads_per_block = groups_per_block * threads;
  static constexpr int registers = rows_per_lane * columns_per_warp * static_cast<int>(sizeof(T)) / 4 + 64;
  static constexpr int blocks_per_multiprocessor = 65536 / (threads_per_block * registers);

  struct Shared : SharedMembers {
    unsigned char padding[to_full_banks + (part_of_banks > 0 ? part_of_banks : 16)];
  };

  __device__ GroupElimination(const BatchJob<T>& job, Shared& shared)
      : job_(job),
        shared_(shared),
        number_(std::int64_t{blockIdx.x} * groups_per_block + static_cast<int>(threadIdx.x) / threads),
        exists_(number_ < job.count),
        a_(job.a + (exists_ ? number_ : 0) * job.stride),
        warp_(static_cast<int>(threadIdx.x) % threads / lanes),
        lane_(static_cast<int>(threadIdx.x) % lanes),
        rows_{lane_, job.n},
        matrix_(rows_, warp_),
        places_(rows_) {}

  __device__ void run() {
    if (warps > 1 && threadIdx.x == 0) {
      for (WarpSignal& signal : shared_.signals) signal.init();
    }
    matrix_.load(a_, job_.leading, exists_);
    search_.set_tolerance(job_.tolerance * norm_inf());
    if constexpr (task == Task::solve) {
      add_empty_steps();
      load_first_rhs();
    }
    eliminate_all();
    const bool regular = store_outcome();
    if constexpr (task == Task::invert) {
      store_inverse(regular);
    } else {
      if (job_.refine > 0) matrix_.load(a_, job_.leading, exists_);
      for (std::int64_t k = 0; k < job_.b_columns; ++k) solve(k, regular);
    }
  }

 private:
  /// ||A||_inf of the loaded matrix.
  __device__ double norm_inf() {
    matrix_.add_magnitudes(shared_.sums[warp_]);
    Threads::barrier();
    std::uint64_t most = 0;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const std::uint64_t bits = magnitude_bits(sum_of_warps(rows_[r]));
      if (rows_.has(r) && bits > most) most = bits;
    }
    const unsigned upper = Threads::largest(upper_half(most));
    const unsigned lower = Threads::largest(upper_half(most) == upper ? lower_half(most) : 0U);
    return magnitude_from<double>(std::uint64_t{upper} << 32U | lower);
  }
  [[nodiscard]] __device__ double sum_of_warps(int row) const {
    double sum = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) sum += shared_.sums[w][row];
    return sum;
  }

  __device__ void eliminate_all() {
    places_.start();
    if (warp_ == 0 && lane_ == 0) shared_.rejected_columns = {-1, -1};
    if (finds_pivot(0)) find_pivot(0, matrix_.template column<0>());
    eliminate_from<columns_per_warp>(0);
  }

  /// Eliminates from column j on. For solving, only `width` columns of each warp are updated, and half as
  /// many as soon as no more remain.
  template <int width>
  __device__ void eliminate_from(int j) {
    constexpr bool narrows =
        task == Task::solve && width / 2 >= Matrix::least_width && width * 2 > columns_per_warp;
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
  /// The columns of this warp that are not eliminated.
  [[nodiscard]] __device__ int columns_left(int j) const {
    return (job_.n - j / warps * warps + warps - 1) / warps;
  }

  /// Whether this warp finds the pivot of column j.
  [[nodiscard]] __device__ bool finds_pivot(int j) const {
    return warps == 1 || warp_ == j % warps;
  }

  // A warp has seen the signal of column j - 1 before it signals column j. By then every warp has signalled
  // one of the last `warps` columns, and has completed the columns before these: their slots are free.
  __device__ void signal_pivot(int j) const {
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      shared_.signals[j % slots].signal(j / slots);
    }
  }
  __device__ void wait_for_pivot(int j) const {
    if (!finds_pivot(j)) shared_.signals[j % slots].wait(j / slots);
  }

  /// Finds the pivot of column j, stores it with the factors of the rows, and signals. The factors of a
  /// rejected pivot are 0.
  __device__ void find_pivot(int j, const Elements& column) {
    const auto [pivot, holds] = search_.find(j, column, places_, shared_.rejected_columns);
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      const T factor = column[r] * pivot.reciprocal;
      shared_.factors[j % factor_slots][rows_[r]] = factor;
      if (task == Task::solve && rows_.has(r)) overflow_check_ += T{0} * factor;
    }
    if (holds) {
      shared_.factors[j % factor_slots][pivot.row] = 0;
      shared_.pivots[j % factor_slots] = pivot;
    }
    signal_pivot(j);
  }

  /// Replaces every row a but the pivot row w by a - f w, where f is the element of column j over the pivot,
  /// or 0 without a pivot. For the inverse, column j becomes -f, and 1 in the pivot row.
  template <bool moves, int width>
  __device__ void eliminate(int j) {
    const Pivot<T> pivot = shared_.pivots[j % factor_slots];
    Elements f;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) f[r] = shared_.factors[j % factor_slots][rows_[r]];
    places_.exchange(pivot);
    const bool finds_next = j + 1 < job_.n && finds_pivot(j + 1);
    if constexpr (warps > 1) {
      const Elements next = matrix_.template column < moves ? 1 : 0 > ();
      if (finds_next) find_pivot(j + 1, next.eliminated(pivot.row, f));
    }
    typename Matrix::Row& row = shared_.rows[j % 2][warp_];
    matrix_.copy_row(pivot.row, row);
    __syncwarp();
    Elements done = matrix_.template update<moves, width>(row, f);
    if constexpr (task == Task::invert) {
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) {
        if (warp_ == j % warps) done[r] = rows_[r] == pivot.row ? T{1} : -f[r];
        matrix_.template replace_eliminated<moves>(r, done[r]);
      }
    } else if (is_first_warp()) {
      first_rhs_ = first_rhs_.eliminated(pivot.row, f);
    }
    if constexpr (warps == 1) {
      if (finds_next) find_pivot(j + 1, matrix_.template column<0>());
    }
  }

  /// Stores the outcome; returns whether the matrix is regular.
  __device__ bool store_outcome() {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (!rows_.has(r)) continue;
      if (warp_ == 0) shared_.origins[places_.position(r)] = rows_[r];
      overflow_check_ += T{0} * places_.scale(r);
      if constexpr (task == Task::invert) {
        matrix_.scale_row(r, places_.scale(r));
#pragma unroll
        for (int c = 0; c < columns_per_warp; ++c) overflow_check_ += T{0} * matrix_.at(r, c);
      }
    }
    bool finite = Threads::ballot(overflow_check_ != 0) == 0;
    if constexpr (warps > 1) finite = __syncthreads_and(finite ? 1 : 0) != 0;
    Threads::barrier();
    EliminationState state;
    state.overflow_column = shared_.rejected_columns.overflow;
    state.rank = shared_.rejected_columns.dependent < 0 ? job_.n : 0;
    const BatchOutcome outcome = batch_outcome(state, job_.n, shared_.rejected_columns.dependent, finite);
    if (warp_ == 0 && lane_ == 0 && exists_) job_.outcomes[number_] = outcome;
    return outcome.status == Status::direct;
  }

  /// Stores the inverse: undoing the row exchanges permutes its columns.
  __device__ void store_inverse(bool regular) const {
    if (!exists_) return;
#pragma unroll
    for (int c = 0; c < columns_per_warp; ++c) {
      const int j = (c + job_.n / warps) % columns_per_warp * warps + warp_;
      if (j >= job_.n) continue;
      T* a = a_ + shared_.origins[j] * job_.leading;
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) {
        if (rows_.has(r)) a[places_.position(r)] = regular ? matrix_.at(r, c) : static_cast<T>(NAN);
      }
    }
  }

  [[nodiscard]] __device__ bool is_first_warp() const {
    return warp_ == 0;
  }
  [[nodiscard]] __device__ T* right_hand_side(std::int64_t k) const {
    return job_.b + (exists_ ? number_ : 0) * job_.b_stride + k * job_.b_leading;
  }
  __device__ void load_first_rhs() {
    const bool has_one = is_first_warp() && exists_ && job_.b_columns > 0;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      first_rhs_[r] = has_one && rows_.has(r) ? right_hand_side(0)[rows_[r]] : T{0};
    }
  }

  /// Solves for right-hand side k by the first warp, which holds the rows in the order of positions; the
  /// other warps take part in the residuals.
  __device__ void solve(std::int64_t k, bool regular) {
    T* b = right_hand_side(k);
    Elements rhs;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r)
      rhs[r] = is_first_warp() && exists_ && rows_.has(r) ? b[origin_of(r)] : T{0};
    Elements x = rhs;
    if (is_first_warp() && k == 0) {
      order_first_rhs(x);
    } else if (is_first_warp()) {
      apply_steps(x);
    }
    for (std::int64_t step = 0; step < job_.refine; ++step) {
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) {
        if (is_first_warp()) shared_.x[rows_[r]] = x[r];
      }
      Threads::barrier();
      matrix_.multiply(shared_.x, shared_.sums[warp_]);
      Threads::barrier();
      if (!is_first_warp()) continue;
      Elements correction;
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) {
        correction[r] = rows_.has(r) ? rhs[r] - static_cast<T>(sum_of_warps(origin_of(r))) : T{0};
      }
      apply_steps(correction);
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) x[r] += correction[r];
    }
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (is_first_warp() && exists_ && rows_.has(r)) b[rows_[r]] = regular ? x[r] : static_cast<T>(NAN);
    }
  }
  /// Computes x = the eliminated first right-hand side in the order of positions, divided by the pivots.
  __device__ void order_first_rhs(Elements& x) const {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (rows_.has(r)) shared_.x[places_.position(r)] = first_rhs_[r] * places_.scale(r);
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (rows_.has(r)) x[r] = shared_.x[rows_[r]];
    }
  }
  /// The row at the position of register r.
  [[nodiscard]] __device__ int origin_of(int r) const {
    return rows_.has(r) ? shared_.origins[rows_[r]] : 0;
  }

  /// Applies the steps of the elimination to v, steps_at_once of them in each iteration.
  __device__ void apply_steps(Elements& v) const {
    int origin[rows_per_lane];
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) origin[r] = origin_of(r);
#pragma unroll
    for (int q = 0; q < rows_per_lane; ++q) {
#pragma unroll 1
      for (int j = q * lanes; j < job_.n && j < (q + 1) * lanes; j += steps_at_once) {
#pragma unroll
        for (int k = 0; k < steps_at_once; ++k) {
          const T w = __shfl_sync(full_warp, v[q], j + k, lanes);
#pragma unroll
          for (int r = 0; r < rows_per_lane; ++r)
            v[r] -= shared_.factors[(j + k) % factor_slots][origin[r]] * w;
        }
      }
    }
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (rows_.has(r)) v[r] *= shared_.pivots[rows_[r] % factor_slots].reciprocal;
    }
  }
  /// Pads the factors with zeros to a multiple of steps_at_once.
  __device__ void add_empty_steps() const {
    for (int j = job_.n + warp_; j < size && j < job_.n + steps_at_once; j += warps) {
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) shared_.factors[j % factor_slots][rows_[r]] = 0;
    }
  }

  const BatchJob<T>& job_;
  Shared& shared_;
  std::int64_t number_;
  bool exists_;
  T* a_;
  int warp_, lane_;
  LaneRows<lanes> rows_;
  Matrix matrix_;
  RowPlaces<T, rows_per_lane, lanes> places_;
  Search search_;
  Elements first_rhs_;    // for solving
  T overflow_check_ = 0;  // sum of 0 x over all results x: NaN if one is not finite
};

template <class T, int size, int warps, Task task>
__global__ void __launch_bounds__(GroupElimination<T, size, warps, task>::threads_per_block,
                                  GroupElimination<T, size, warps, task>::blocks_per_multiprocessor)
    eliminate_batch(const BatchJob<T> job) {
  using Group = GroupElimination<T, size, warps, task>;
  extern __shared__ double2 batch_shared[];
  Group(job, reinterpret_cast<typename Group::Shared*>(batch_shared)[threadIdx.x / Group::threads]).run();
}

}  // namespace echelon::batch_kernels

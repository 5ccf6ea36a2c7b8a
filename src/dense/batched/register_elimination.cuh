// SPDX-License-Identifier: BSD-3-Clause
/// Small matrices of a batch, each eliminated in the registers of a team of threads.
///
/// One warp finds the pivot of a column, alone. It makes known which row it is in and what every row is
/// multiplied with, and this is all that the warps wait for. Then each warp copies what it has of the pivot
/// row to shared memory, for itself, and updates its columns: the next one first, so that the search for its
/// pivot goes on while the others are at work.
///
/// For solving, the columns that are done are dropped. The first right-hand side is one more column, of the
/// first warp; the factors stay in shared memory, and the other right-hand sides and the residuals go through
/// the same steps afterwards.
#pragma once

#include "dense/batched/operations.hpp"
#include "dense/batched/register_matrix.cuh"
#include "dense/batched/pivot_search.cuh"

#include <cmath>

namespace echelon::batch_kernels {

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

/// `size`: the most rows, and columns.
template <class T, int size, int warps, Task task>
class Team {
  static constexpr int lanes = size < warp_size ? size : warp_size;
  using Threads = TeamThreads<lanes, warps>;
  using Matrix = RegisterMatrix<T, size, lanes, warps>;
  using Elements = typename Matrix::Elements;
  using Search = PivotSearch<T, size, lanes, warps>;
  static constexpr int down = Matrix::down;
  static constexpr int across = Matrix::across;
  static constexpr int slots = warps > 1 ? warps : 2;              // of announcements
  static constexpr int kept = task == Task::solve ? size : slots;  // columns of factors
  static constexpr int at_a_time = 8;                              // steps of right-hand sides

  struct SharedMembers {
    Pivot<T> pivots[kept];
    T factors[kept][size];
    typename Matrix::Row rows[2][warps];
    double sums[warps][size];
    T x[size];
    int origins[size];  // of the rows by position
    Refused refused;
    Announcement announced[slots];
  };
  // Where teams share a warp, what they read at a time is in different banks.
  static constexpr int banks = 128;
  static constexpr int part_of_banks = lanes * static_cast<int>(sizeof(T)) % banks;
  static constexpr int to_full_banks = banks - static_cast<int>(sizeof(SharedMembers)) % banks;

 public:
  static constexpr int threads = Threads::count;
  static constexpr int teams_of_block = warps == 1 ? 4 * Threads::teams_of_warp : 1;
  static constexpr int threads_of_block = teams_of_block * threads;
  static constexpr int registers = down * across * static_cast<int>(sizeof(T)) / 4 + 64;
  static constexpr int blocks_at_once = 65536 / (threads_of_block * registers);

  struct Shared : SharedMembers {
    unsigned char padding[to_full_banks + (part_of_banks > 0 ? part_of_banks : 16)];
  };

  __device__ Team(const BatchJob<T>& job, Shared& shared)
      : job_(job),
        shared_(shared),
        number_(std::int64_t{blockIdx.x} * teams_of_block + static_cast<int>(threadIdx.x) / threads),
        exists_(number_ < job.count),
        a_(job.a + (exists_ ? number_ : 0) * job.stride),
        warp_(static_cast<int>(threadIdx.x) % threads / lanes),
        lane_(static_cast<int>(threadIdx.x) % lanes),
        rows_{lane_, job.n},
        matrix_(rows_, warp_),
        places_(rows_) {}

  __device__ void run() {
    if (warps > 1 && threadIdx.x == 0) {
      for (Announcement& announcement : shared_.announced) announcement.prepare();
    }
    matrix_.load(a_, job_.leading, exists_);
    search_.set_tolerance(job_.tolerance * norm_inf());
    if constexpr (task == Task::solve) {
      add_empty_steps();
      load_first_right();
    }
    eliminate_all();
    const bool good = finish();
    if constexpr (task == Task::invert) {
      store_inverse(good);
    } else {
      if (job_.refine > 0) matrix_.load(a_, job_.leading, exists_);
      for (std::int64_t k = 0; k < job_.b_columns; ++k) solve(k, good);
    }
  }

 private:
  /// Of what was loaded.
  __device__ double norm_inf() {
    matrix_.add_magnitudes(shared_.sums[warp_]);
    Threads::barrier();
    std::uint64_t most = 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
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
    if (warp_ == 0 && lane_ == 0) shared_.refused = {-1, -1};
    if (finds_pivot(0)) find_pivot(0, matrix_.template column<0>());
    eliminate_from<across>(0);
  }

  /// For solving, only `width` of a warp's columns are updated, and half of these as soon as they are enough.
  template <int width>
  __device__ void eliminate_from(int j) {
    constexpr bool narrows = task == Task::solve && width / 2 >= Matrix::least_width && width * 2 > across;
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
  /// Of this warp, from the first register on.
  [[nodiscard]] __device__ int columns_left(int j) const {
    return (job_.n - j / warps * warps + warps - 1) / warps;
  }

  /// This warp.
  [[nodiscard]] __device__ bool finds_pivot(int j) const {
    return warps == 1 || warp_ == j % warps;
  }

  // A warp has been told of column j - 1 before it announces column j. So by then every warp has announced
  // one of the last columns, as many as there are warps, and is done with those before: their places are
  // free.
  __device__ void announce(int j) const {
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      shared_.announced[j % slots].make(j / slots);
    }
  }
  __device__ void wait_for_pivot(int j) const {
    if (!finds_pivot(j)) shared_.announced[j % slots].wait(j / slots);
  }

  /// Makes known the pivot of column j, and what the rows are multiplied with: where the pivot was not
  /// accepted, with 0.
  __device__ void find_pivot(int j, const Elements& column) {
    const auto [pivot, holds] = search_.find(j, column, places_, shared_.refused);
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const T factor = column[r] * pivot.reciprocal;
      shared_.factors[j % kept][rows_[r]] = factor;
      if (task == Task::solve && rows_.has(r)) nothing_ += T{0} * factor;
    }
    if (holds) {
      shared_.factors[j % kept][pivot.row] = 0;
      shared_.pivots[j % kept] = pivot;
    }
    announce(j);
  }

  /// With the pivot row w, every other row becomes a - f w: f is x / pivot for an element x of column j, and
  /// 0 where there is no pivot. Of the inverse, column j becomes -f, and 1 in the pivot row.
  template <bool moves, int width>
  __device__ void eliminate(int j) {
    const Pivot<T> pivot = shared_.pivots[j % kept];
    Elements f;
#pragma unroll
    for (int r = 0; r < down; ++r) f[r] = shared_.factors[j % kept][rows_[r]];
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
      for (int r = 0; r < down; ++r) {
        if (warp_ == j % warps) done[r] = rows_[r] == pivot.row ? T{1} : -f[r];
        matrix_.template replace_done<moves>(r, done[r]);
      }
    } else if (leads()) {
      first_right_ = first_right_.eliminated(pivot.row, f);
    }
    if constexpr (warps == 1) {
      if (finds_next) find_pivot(j + 1, matrix_.template column<0>());
    }
  }

  /// Tells the outcome. Whether it is a good one.
  __device__ bool finish() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (!rows_.has(r)) continue;
      if (warp_ == 0) shared_.origins[places_.position(r)] = rows_[r];
      nothing_ += T{0} * places_.scale(r);
      if constexpr (task == Task::invert) {
        matrix_.scale_row(r, places_.scale(r));
#pragma unroll
        for (int c = 0; c < across; ++c) nothing_ += T{0} * matrix_.at(r, c);
      }
    }
    bool finite = Threads::ballot(nothing_ != 0) == 0;
    if constexpr (warps > 1) finite = __syncthreads_and(finite ? 1 : 0) != 0;
    Threads::barrier();
    EliminationState state;
    state.overflow_column = shared_.refused.overflow;
    state.rank = shared_.refused.rejected < 0 ? job_.n : 0;
    const BatchOutcome outcome = batch_outcome(state, job_.n, shared_.refused.rejected, finite);
    if (warp_ == 0 && lane_ == 0 && exists_) job_.outcomes[number_] = outcome;
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
        if (rows_.has(r)) a[places_.position(r)] = good ? matrix_.at(r, c) : static_cast<T>(NAN);
      }
    }
  }

  [[nodiscard]] __device__ bool leads() const {
    return warp_ == 0;
  }
  [[nodiscard]] __device__ T* right_hand_side(std::int64_t k) const {
    return job_.b + (exists_ ? number_ : 0) * job_.b_stride + k * job_.b_leading;
  }
  __device__ void load_first_right() {
    const bool has_one = leads() && exists_ && job_.b_columns > 0;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      first_right_[r] = has_one && rows_.has(r) ? right_hand_side(0)[rows_[r]] : T{0};
    }
  }

  /// By the first warp, which has the rows by position; the others help with the residual.
  __device__ void solve(std::int64_t k, bool good) {
    T* b = right_hand_side(k);
    Elements right;
#pragma unroll
    for (int r = 0; r < down; ++r) right[r] = leads() && exists_ && rows_.has(r) ? b[origin_of(r)] : T{0};
    Elements x = right;
    if (leads() && k == 0) {
      put_first_right_in_order(x);
    } else if (leads()) {
      follow(x);
    }
    for (std::int64_t step = 0; step < job_.refine; ++step) {
#pragma unroll
      for (int r = 0; r < down; ++r) {
        if (leads()) shared_.x[rows_[r]] = x[r];
      }
      Threads::barrier();
      matrix_.multiply(shared_.x, shared_.sums[warp_]);
      Threads::barrier();
      if (!leads()) continue;
      Elements correction;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        correction[r] = rows_.has(r) ? right[r] - static_cast<T>(sum_of_warps(origin_of(r))) : T{0};
      }
      follow(correction);
#pragma unroll
      for (int r = 0; r < down; ++r) x[r] += correction[r];
    }
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (leads() && exists_ && rows_.has(r)) b[rows_[r]] = good ? x[r] : static_cast<T>(NAN);
    }
  }
  /// By position, and divided by the pivots.
  __device__ void put_first_right_in_order(Elements& x) const {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (rows_.has(r)) shared_.x[places_.position(r)] = first_right_[r] * places_.scale(r);
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (rows_.has(r)) x[r] = shared_.x[rows_[r]];
    }
  }
  /// Of the row at a position.
  [[nodiscard]] __device__ int origin_of(int r) const {
    return rows_.has(r) ? shared_.origins[rows_[r]] : 0;
  }

  /// Takes v through the steps of the elimination, some at a time.
  __device__ void follow(Elements& v) const {
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
      if (rows_.has(r)) v[r] *= shared_.pivots[rows_[r] % kept].reciprocal;
    }
  }
  /// So that there may be some more steps than columns.
  __device__ void add_empty_steps() const {
    for (int j = job_.n + warp_; j < size && j < job_.n + at_a_time; j += warps) {
#pragma unroll
      for (int r = 0; r < down; ++r) shared_.factors[j % kept][rows_[r]] = 0;
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
  RowPlaces<T, down, lanes> places_;
  Search search_;
  Elements first_right_;  // for solving
  T nothing_ = 0;         // not when something overflowed
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

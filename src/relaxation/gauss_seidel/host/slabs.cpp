// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over grids on several cores by slabs of planes, with the bits of the serial sweep.
//
// Schedule. Rows are numbered in the order of the sweep. A plane is the number of consecutive rows between a
// row and its neighbour in the previous plane. Each plane is cut into slabs of consecutive rows, one for each
// thread. Thread t computes its slabs of planes 0, 1, … in place, and starts one when thread t - 1 has
// finished its slab of the same plane: the threads work on successive planes, as in a pipeline. Nearly all
// values that a row needs were computed by the same thread and are in its cache; only the first rows of a
// slab need values of another thread.
//
// When thread t starts its slab of a plane, the following values are final for this slab, new
// behind the sweep and old ahead of it, and remain so until it is done:
//   - the slab's own plane, since slabs of a plane are started one after another;
//   - the previous plane up to the end of the thread's own slab, for the same reason;
//   - the next plane from the thread's own slab on, since no thread is further.
// A row that needs no other values, as nearly all rows do, is computed as in the serial sweep. For other rows
// the thread checks every value: a new one is ready when its thread says so, and old ones are saved in a ring
// buffer, with an announcement, before they are overwritten. The pattern therefore need not be symmetric. The
// ring holds a few planes; a place is reused when the last thread has finished its plane, and thus all
// earlier rows.
//
// A thread announces its progress every few rows. No deadlock: a row only waits for earlier rows, and a row
// that waits for one of these few rows comes after all of them.
#include "relaxation/gauss_seidel/host/slabs.hpp"

#include "backend/host/host.hpp"
#include "relaxation/gauss_seidel/host/backoff.hpp"
#include "relaxation/gauss_seidel/host/fma.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

namespace echelon::gauss_seidel {

namespace {

/// True if planes may have this size: their first rows do not depend on the second half of the previous
/// plane, and rows in their middle depend on nothing before the previous plane.
template <SweepDirection direction, class T>
bool is_plane_size(const HalfSweep<T>& half, std::int64_t plane) {
  const std::int64_t planes = half.rows / plane;
  for (std::int64_t quarter = 1; quarter <= 3; ++quarter) {
    const std::int64_t first = planes * quarter / 4 * plane;
    const std::int64_t nearest = dependency_reach<direction>(half, first).nearest;
    if (nearest != 0 && 2 * nearest < plane) return false;
    if (dependency_reach<direction>(half, first + plane / 2).farthest > plane + plane / 2) return false;
  }
  return true;
}

/// Rows of a line and of a plane; 0 if the matrix is no grid.
struct GridStrides {
  std::int64_t line = 0;
  std::int64_t plane = 0;
};

/// The first row of a line has its farthest dependency one plane back, or with diagonal neighbours one plane
/// and a line.
template <SweepDirection direction, class T>
GridStrides find_grid(const HalfSweep<T>& half) {
  constexpr std::int64_t max_line = 1 << 14;
  if (half.rows == 0) return {};
  const std::int64_t middle = half.rows / 2;
  // A line is no longer than a plane, which limits the search in matrices that are one long chain.
  const std::int64_t two_planes = 2 * (dependency_reach<direction>(half, middle).farthest + 1);
  const std::int64_t limit = middle + std::min({2 * max_line, half.rows / 4, two_planes});
  const std::int64_t first = next_line_start<direction>(half, middle, limit);
  const std::int64_t second = next_line_start<direction>(half, first + 1, limit);
  if (second >= limit) return {};
  const std::int64_t line = second - first;
  const std::int64_t farthest = dependency_reach<direction>(half, first).farthest;
  for (const std::int64_t plane : {farthest, farthest - line}) {
    if (plane > 0 && is_plane_size<direction>(half, plane)) return {line, plane};
  }
  return {};
}

/// Progress of a thread. Two cache lines each, since the processor may fetch lines in pairs.
struct alignas(128) SlabProgress {
  std::int64_t done = 0;   ///< its rows before this one are computed
  std::int64_t saved = 0;  ///< planes whose old values are saved
};

template <class T>
struct Shared {
  HalfSweep<T> half;
  std::int64_t plane;
  std::int64_t slab;
  std::int64_t threads;
  T* ring;                 ///< one for each right-hand side
  std::int64_t length;     ///< of one ring, in elements: a few planes
  SlabProgress* progress;  ///< one for each thread
};

/// Numbers of elements of a row left and right of the plane.
struct ColumnCounts {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

/// Columns whose values are final for the current slab: three ranges in the order of the matrix.
struct ReadyColumns {
  std::int64_t left_begin;
  std::int64_t left_end;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t right_begin;
  std::int64_t right_end;

  [[nodiscard]] bool contains(std::int64_t j) const {
    return (j >= begin && j < end) || (j >= left_begin && j < left_end) ||
           (j >= right_begin && j < right_end);
  }
  /// True if all columns of a row are among them. Columns ascend, so six of them decide, once the numbers of
  /// elements on either side of the plane are known; these usually equal those of the previous row.
  [[nodiscard]] bool contains_row(const std::int32_t* first, const std::int32_t* last,
                                  ColumnCounts& counts) const {
    if (contains_parts(first, last, counts)) [[likely]]
      return true;
    counts.left = std::lower_bound(first, last, begin) - first;
    counts.right = last - std::lower_bound(first, last, end);
    return contains_parts(first, last, counts);
  }

 private:
  [[nodiscard]] bool contains_parts(const std::int32_t* first, const std::int32_t* last,
                                    ColumnCounts counts) const {
    const auto [left, right] = counts;
    if (last - first <= left + right)
      return false;  // rows without elements in the plane take the general path
    return first[left] >= begin && last[-1 - right] < end &&
           (left == 0 || (*first >= left_begin && first[left - 1] < left_end)) &&
           (right == 0 || (last[-right] >= right_begin && last[-1] < right_end));
  }
};

/// The part of one thread. `single`: there is one right-hand side.
template <SweepDirection direction, bool single, class T>
class SlabWorker {
 public:
  SlabWorker(const Shared<T>& shared, std::int64_t thread)
      : shared_(shared), thread_(thread), own_(shared.progress[thread]) {}

  SkippedRows run() {
    for (std::int64_t plane = 0; plane * shared_.plane < shared_.half.rows; ++plane) {
      wait_for_slab(plane);
      save_old_values(plane);
      with_fused_multiply_add([&] { sweep_rows(ready_columns(plane), begin(plane), end(plane)); });
      publish(end(plane));
    }
    return skipped_;
  }

 private:
  using Values = std::array<T, single ? 1 : max_columns>;

  /// The thread that computes a row.
  [[nodiscard]] std::int64_t owner(std::int64_t row) const { return row % shared_.plane / shared_.slab; }
  /// First row of this thread's slab of a plane.
  [[nodiscard]] std::int64_t begin(std::int64_t plane) const {
    return std::min(plane * shared_.plane + thread_ * shared_.slab, shared_.half.rows);
  }
  [[nodiscard]] std::int64_t end(std::int64_t plane) const {
    const std::int64_t in_plane = std::min((thread_ + 1) * shared_.slab, shared_.plane);
    return std::min(plane * shared_.plane + in_plane, shared_.half.rows);
  }
  [[nodiscard]] std::int64_t columns() const { return single ? 1 : shared_.half.right_hand_sides; }
  [[nodiscard]] std::int64_t matrix_row(std::int64_t row) const {
    return sweep_position<direction>(row, shared_.half.rows);
  }

  void publish(std::int64_t row) {
    std::atomic_ref<std::int64_t>(own_.done).store(row, std::memory_order_release);
  }

  [[nodiscard]] std::int64_t done(std::int64_t thread) const {
    return std::atomic_ref<std::int64_t>(shared_.progress[thread].done).load(std::memory_order_acquire);
  }

  /// Waits until a thread has computed its rows before `row`. `seen` caches its last known progress, since
  /// frequent polling slows that thread down.
  void wait_for(std::int64_t thread, std::int64_t row, std::int64_t& seen) const {
    if (seen < row) seen = done(thread);
    for (Backoff backoff; seen < row; seen = done(thread)) backoff.wait();
  }

  /// Waits until the previous thread has finished its slab of the plane and the place in the ring is free.
  void wait_for_slab(std::int64_t plane) {
    if (thread_ > 0) wait_for(thread_ - 1, begin(plane), last_seen_previous_);
    wait_for(shared_.threads - 1, (plane + 1) * shared_.plane - shared_.length, last_seen_last_);
  }

  /// Saves the slab's old values and announces that before they are overwritten.
  void save_old_values(std::int64_t plane) {
    const HalfSweep<T>& half = shared_.half;
    for (std::int64_t c = 0; c < columns(); ++c) {
      const T* x = half.x + c * half.leading_x;
      T* ring = shared_.ring + c * shared_.length + begin(plane) % shared_.length;
      for (std::int64_t row = begin(plane); row < end(plane); ++row) *ring++ = x[matrix_row(row)];
    }
    std::atomic_ref<std::int64_t>(own_.saved).store(plane + 1, std::memory_order_release);
  }

  /// `next_done`: rows that the next thread has computed.
  [[nodiscard]] ReadyColumns ready_columns(std::int64_t plane, std::int64_t next_done = 0) const {
    const std::int64_t size = shared_.plane;
    const std::int64_t rows = shared_.half.rows;
    const std::int64_t before = std::max<std::int64_t>(plane - 1, 0);
    const std::int64_t own_end = plane > 0 ? end(before) : 0;
    const std::int64_t next_end = std::min(own_end + shared_.slab, plane * size);
    const ReadyColumns columns{.left_begin = before * size,
                               .left_end = std::max(own_end, std::min(next_done, next_end)),
                               .begin = plane * size,
                               .end = std::min((plane + 1) * size, rows),
                               .right_begin = begin(plane + 1),
                               .right_end = std::min((plane + 2) * size, rows)};
    if constexpr (direction == SweepDirection::forward) return columns;
    return {.left_begin = rows - columns.right_end,
            .left_end = rows - columns.right_begin,
            .begin = rows - columns.end,
            .end = rows - columns.begin,
            .right_begin = rows - columns.left_end,
            .right_end = rows - columns.left_begin};
  }

  void sweep_rows(ReadyColumns ready, std::int64_t row, const std::int64_t end) {
    constexpr std::int64_t rows_between_reports = 64;
    // A local copy; the compiler would reload members after every store to x.
    const HalfSweep<T> half = shared_.half;
    if (row == end) return;
    Values previous = values_before(ready, row);
    ColumnCounts counts;
    while (row < end) {
      const std::int64_t stop = std::min(row + rows_between_reports, end);
      for (; row < stop; ++row) {
        const std::int64_t i = sweep_position<direction>(row, half.rows);
        const std::int32_t* first = half.column_indices + half.row_offsets[i];
        const std::int32_t* last = half.column_indices + half.row_offsets[i + 1];
        if (ready.contains_row(first, last, counts)) [[likely]] {
          for (std::int64_t c = 0; c < (single ? 1 : half.right_hand_sides); ++c) {
            const ReadX<T> x{half.x + c * half.leading_x};
            compute(half, i, c, previous, x, x);
          }
        } else {
          previous = compute_waiting(ready, row, previous);
          ready = ready_columns_now(row);
        }
      }
      publish(row);
    }
  }

  /// Values of the row before a slab, if they are ready.
  [[nodiscard]] Values values_before(const ReadyColumns& ready, std::int64_t row) const {
    const HalfSweep<T>& half = shared_.half;
    Values values{};
    if (row == 0 || !ready.contains(matrix_row(row - 1))) return values;
    for (std::int64_t c = 0; c < columns(); ++c) {
      values[static_cast<std::size_t>(c)] = half.x[matrix_row(row - 1) + c * half.leading_x];
    }
    return values;
  }

  template <class NewX, class OldX>
  void compute(const HalfSweep<T>& half, std::int64_t i, std::int64_t c, Values& previous, const NewX& new_x,
               const OldX& old_x) {
    bool skip = false;
    T& value = previous[static_cast<std::size_t>(c)];
    const RowSums<T> sums = sums_of_row<direction>(half, i, value, new_x, old_x);
    value = relax_row<direction>(half.relax, sums, half.b[i + c * half.leading_b], i, old_x, skip);
    std::atomic_ref<T>(half.x[i + c * half.leading_x]).store(value, std::memory_order_release);
    if (skip && c == 0) [[unlikely]]
      skipped_ = combine(skipped_, SkippedRows{1, i});
  }

  /// New values; waits for those of other threads.
  struct NewX {
    const SlabWorker* worker;
    const ReadyColumns* ready;
    const T* x;
    T operator()(std::int64_t j) const {
      if (!ready->contains(j)) {
        const std::int64_t row = worker->matrix_row(j);
        const std::int64_t owner = worker->owner(row);
        std::int64_t seen = 0;
        if (owner != worker->thread_) worker->wait_for(owner, row + 1, seen);
      }
      return x[j];
    }
  };

  /// Old values, from x or from the ring.
  struct OldX {
    const SlabWorker* worker;
    const ReadyColumns* ready;
    T* x;
    const T* ring;
    std::int64_t near_begin;  ///< rows in [near_begin, near_end) ...
    std::int64_t near_end;    ///< ... are known to be saved
    std::int64_t near_base;   ///< row at the beginning of the ring
    T operator()(std::int64_t j) const {
      if (ready->contains(j)) return x[j];
      const Shared<T>& shared = worker->shared_;
      const std::int64_t row = worker->matrix_row(j);
      if (row >= near_begin && row < near_end) return ring[row - near_base];
      const T value = std::atomic_ref<T>(x[j]).load(std::memory_order_acquire);
      const std::atomic_ref<std::int64_t> saved(shared.progress[worker->owner(row)].saved);
      const bool overwritten = saved.load(std::memory_order_acquire) > row / shared.plane;
      return overwritten ? ring[row % shared.length] : value;
    }
  };

  /// Outside the loop over rows, whose code is better without it. Parameters by value stay in registers.
  [[gnu::noinline]] Values compute_waiting(ReadyColumns ready, std::int64_t row, Values previous) {
    const HalfSweep<T>& half = shared_.half;
    const std::int64_t i = matrix_row(row);
    const std::int64_t plane = row / shared_.plane;
    const bool first = row > 0 && row == plane * shared_.plane;
    const bool needs_adjacent = first && dependency_reach<direction>(half, row).nearest == 1;
    // The previous thread's slab of the next plane: with diagonal neighbours, all first rows of a slab need
    // it.
    const std::int64_t near_end = (plane + 1) * shared_.plane + thread_ * shared_.slab;
    const std::int64_t near_size = previous_has_saved(plane + 1) ? shared_.slab : 0;
    const std::int64_t near_base = near_end / shared_.length * shared_.length;
    for (std::int64_t c = 0; c < columns(); ++c) {
      T* const x = half.x + c * half.leading_x;
      const NewX new_x{this, &ready, x};
      const T* ring = shared_.ring + c * shared_.length;
      const OldX old_x{.worker = this,
                       .ready = &ready,
                       .x = x,
                       .ring = ring,
                       .near_begin = near_end - near_size,
                       .near_end = near_end,
                       .near_base = near_base};
      if (needs_adjacent) previous[static_cast<std::size_t>(c)] = new_x(matrix_row(row - 1));
      with_fused_multiply_add([&] { compute(half, i, c, previous, new_x, old_x); });
    }
    return previous;
  }

  [[nodiscard]] bool previous_has_saved(std::int64_t plane) {
    if (thread_ == 0) return false;
    const std::atomic_ref<std::int64_t> saved(shared_.progress[thread_ - 1].saved);
    if (last_seen_saved_ <= plane) last_seen_saved_ = saved.load(std::memory_order_acquire);
    return last_seen_saved_ > plane;
  }

  /// With diagonal neighbours, the last rows of a slab need the first rows of the next thread's slab of the
  /// previous plane.
  [[gnu::noinline]] [[nodiscard]] ReadyColumns ready_columns_now(std::int64_t row) const {
    return ready_columns(row / shared_.plane, thread_ + 1 < shared_.threads ? done(thread_ + 1) : 0);
  }

  const Shared<T>& shared_;
  std::int64_t thread_;
  SlabProgress& own_;
  std::int64_t last_seen_previous_ = 0;  ///< progress of the previous thread when last read
  std::int64_t last_seen_last_ = 0;      ///< progress of the last thread when last read
  std::int64_t last_seen_saved_ = 0;     ///< planes that the previous thread has saved, when last read
  SkippedRows skipped_;
};

}  // namespace

/// Short slabs end before the hardware prefetcher has recognised the access pattern. In two dimensions
/// threads then follow each other on whole lines instead (512 points per slab at least); in three, where
/// lines are short themselves, that would be slower.
template <SweepDirection direction, class T>
SlabPlan plan_slabs(const HalfSweep<T>& half, int threads) {
  const GridStrides grid = find_grid<direction>(half);
  const std::int64_t min_slab = grid.plane == grid.line ? 512 : 32;
  constexpr std::int64_t min_planes = 2;  // per thread, since threads start one after another
  if (grid.plane == 0 || grid.plane < threads * min_slab) return {0, 0};
  return {grid.plane, static_cast<int>(std::min<std::int64_t>(threads, half.rows / grid.plane / min_planes))};
}

template <SweepDirection direction, class T>
SkippedRows sweep_slabs(const SlabPlan& slabs, const HalfSweep<T>& half, SweepWorkspace<Host, T>& scratch) {
  std::vector<SlabProgress> progress(static_cast<std::size_t>(slabs.threads));
  Shared<T> shared{.half = half,
                   .plane = slabs.plane,
                   .slab = 0,
                   .threads = 0,
                   .ring = nullptr,
                   .length = 2 * slabs.threads * slabs.plane,  // the first thread is at most this far ahead
                   .progress = progress.data()};
  shared.ring = scratch.at_least(shared.length * half.right_hand_sides);
  SkippedRows skipped;
#pragma omp parallel num_threads(slabs.threads)
  {
#pragma omp single
    {
      shared.slab = (slabs.plane + omp_get_num_threads() - 1) / omp_get_num_threads();
      shared.threads = (slabs.plane + shared.slab - 1) / shared.slab;
    }
    SkippedRows own;
    const std::int64_t thread = omp_get_thread_num();
    if (thread < shared.threads) {
      own = half.right_hand_sides == 1 ? SlabWorker<direction, true, T>(shared, thread).run()
                                       : SlabWorker<direction, false, T>(shared, thread).run();
    }
#pragma omp critical
    skipped = combine(skipped, own);
  }
  return skipped;
}

template SlabPlan plan_slabs<SweepDirection::forward>(const HalfSweep<float>&, int);
template SlabPlan plan_slabs<SweepDirection::forward>(const HalfSweep<double>&, int);
template SlabPlan plan_slabs<SweepDirection::backward>(const HalfSweep<float>&, int);
template SlabPlan plan_slabs<SweepDirection::backward>(const HalfSweep<double>&, int);
template SkippedRows sweep_slabs<SweepDirection::forward>(const SlabPlan&, const HalfSweep<float>&,
                                                          SweepWorkspace<Host, float>&);
template SkippedRows sweep_slabs<SweepDirection::forward>(const SlabPlan&, const HalfSweep<double>&,
                                                          SweepWorkspace<Host, double>&);
template SkippedRows sweep_slabs<SweepDirection::backward>(const SlabPlan&, const HalfSweep<float>&,
                                                           SweepWorkspace<Host, float>&);
template SkippedRows sweep_slabs<SweepDirection::backward>(const SlabPlan&, const HalfSweep<double>&,
                                                           SweepWorkspace<Host, double>&);

}  // namespace echelon::gauss_seidel

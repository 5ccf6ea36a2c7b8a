// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over grids on several cores, with the bits of the sweep on one.
//
// Rows are numbered in the order of the sweep. A plane is as many consecutive rows as lie between a row and
// the one that it needs from the plane before; each plane is cut into slabs of consecutive rows, one for each
// thread. Thread t computes its slab of plane 0, of plane 1 and so on, in place, and begins one as soon as
// thread t - 1 is done with the slab before it in the same plane: the threads work on different planes, each
// of them a step behind the one before. So almost everything that a row needs has been computed by the same
// thread, and is in its cache; only a slab's first rows need values of another.
//
// When thread t begins its slab of a plane, these values are what they have to be, new where the sweep has
// been and old elsewhere, until it is done:
//   - the plane's, since slabs are begun one after another,
//   - the plane before up to the end of its own slab, for the same reason,
//   - the plane behind from its own slab on: nobody is further.
// A row that needs nothing else, as nearly all do, is computed as on one core. For others a thread looks
// value by value: a new one is there when the thread that computes it says so, and who is about to overwrite
// old ones has set them aside in a ring, and said so. So the pattern need not be symmetric. The ring has room
// for some planes; what lies there is overwritten when the last thread is done with its plane, and so all
// rows before.
//
// A thread tells how far it is every few rows. Nobody waits for a later row, and who waits for one of these
// few is further than all of them: there is no deadlock.
#include "relaxation/gauss_seidel/host/slabs.hpp"

#include "backend/openmp/openmp.hpp"
#include "relaxation/gauss_seidel/host/backoff.hpp"
#include "relaxation/gauss_seidel/host/fma.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

namespace echelon::gauss_seidel {

namespace {

/// Whether planes may be of this size: their first rows need nothing of the half plane before, and rows in
/// their middle nothing further back than the plane before.
template <Direction direction, class T>
bool are_planes(const HalfSweep<T>& half, std::int64_t plane) {
  const std::int64_t planes = half.rows / plane;
  for (std::int64_t quarter = 1; quarter <= 3; ++quarter) {
    const std::int64_t first = planes * quarter / 4 * plane;
    const std::int64_t nearest = needs_of<direction>(half, first).nearest;
    if (nearest != 0 && 2 * nearest < plane) return false;
    if (needs_of<direction>(half, first + plane / 2).farthest > plane + plane / 2) return false;
  }
  return true;
}

/// Rows of a line and of a plane; 0 if this is no grid.
struct Grid {
  std::int64_t line = 0;
  std::int64_t plane = 0;
};

/// At the beginning of a line the farthest row lies a plane back, or, where a point has diagonal neighbours,
/// a plane and a line.
template <Direction direction, class T>
Grid find_grid(const HalfSweep<T>& half) {
  constexpr std::int64_t longest_line = 1 << 14;
  if (half.rows == 0) return {};
  const std::int64_t middle = half.rows / 2;
  // A line is no longer than a plane, so that a chain is not followed in vain.
  const std::int64_t two_planes = 2 * (needs_of<direction>(half, middle).farthest + 1);
  const std::int64_t limit = middle + std::min({2 * longest_line, half.rows / 4, two_planes});
  const std::int64_t first = next_line<direction>(half, middle, limit);
  const std::int64_t second = next_line<direction>(half, first + 1, limit);
  if (second >= limit) return {};
  const std::int64_t line = second - first;
  const std::int64_t farthest = needs_of<direction>(half, first).farthest;
  for (const std::int64_t plane : {farthest, farthest - line}) {
    if (plane > 0 && are_planes<direction>(half, plane)) return {line, plane};
  }
  return {};
}

/// How far a thread is. Each has two cache lines to itself, which the processor may fetch together.
struct alignas(128) Progress {
  std::int64_t done = 0;   ///< its rows before this one have been computed
  std::int64_t aside = 0;  ///< planes whose old values have been set aside
};

template <class T>
struct Shared {
  HalfSweep<T> half;
  std::int64_t plane;
  std::int64_t slab;
  std::int64_t threads;
  T* ring;              ///< for each right-hand side
  std::int64_t length;  ///< of a ring: some planes
  Progress* progress;   ///< for each thread
};

/// How many elements of a row lie left and right of the plane.
struct LocalRange {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

/// Columns whose values are what they have to be, in the order of the matrix.
struct Settled {
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
  /// Whether a row's columns are among them. Columns ascend, so six of them tell, once it is known how many
  /// lie on either side of the plane: most often as many as in the row before.
  [[nodiscard]] bool contain(const std::int32_t* first, const std::int32_t* last, LocalRange& sides) const {
    if (contain_sides(first, last, sides)) [[likely]]
      return true;
    sides.left = std::lower_bound(first, last, begin) - first;
    sides.right = last - std::lower_bound(first, last, end);
    return contain_sides(first, last, sides);
  }

 private:
  [[nodiscard]] bool contain_sides(const std::int32_t* first, const std::int32_t* last,
                                   LocalRange sides) const {
    const auto [left, right] = sides;
    if (last - first <= left + right) return false;  // to be simple, a row has to have elements in the plane
    return first[left] >= begin && last[-1 - right] < end &&
           (left == 0 || (*first >= left_begin && first[left - 1] < left_end)) &&
           (right == 0 || (last[-right] >= right_begin && last[-1] < right_end));
  }
};

/// One thread's part. `single`: there is one right-hand side.
template <Direction direction, bool single, class T>
class SlabWorker {
 public:
  SlabWorker(const Shared<T>& shared, std::int64_t thread)
      : shared_(shared), thread_(thread), own_(shared.progress[thread]) {}

  SkippedRows run() {
    for (std::int64_t plane = 0; plane * shared_.plane < shared_.half.rows; ++plane) {
      wait_for_turn(plane);
      set_aside(plane);
      with_fused_multiply_add([&] { sweep_rows(settled(plane), begin(plane), end(plane)); });
      publish(end(plane));
    }
    return skipped_;
  }

 private:
  using Values = std::array<T, single ? 1 : columns_at_once>;

  /// Whose row this is.
  [[nodiscard]] std::int64_t owner(std::int64_t row) const { return row % shared_.plane / shared_.slab; }
  /// The first row of its slab of a plane.
  [[nodiscard]] std::int64_t begin(std::int64_t plane) const {
    return std::min(plane * shared_.plane + thread_ * shared_.slab, shared_.half.rows);
  }
  [[nodiscard]] std::int64_t end(std::int64_t plane) const {
    const std::int64_t in_plane = std::min((thread_ + 1) * shared_.slab, shared_.plane);
    return std::min(plane * shared_.plane + in_plane, shared_.half.rows);
  }
  [[nodiscard]] std::int64_t columns() const { return single ? 1 : shared_.half.right_hand_sides; }
  [[nodiscard]] std::int64_t natural(std::int64_t row) const {
    return in_order<direction>(row, shared_.half.rows);
  }

  void publish(std::int64_t row) {
    std::atomic_ref<std::int64_t>(own_.done).store(row, std::memory_order_release);
  }

  [[nodiscard]] std::int64_t done(std::int64_t thread) const {
    return std::atomic_ref<std::int64_t>(shared_.progress[thread].done).load(std::memory_order_acquire);
  }

  /// Until a thread has done its rows before `row`. `seen` is what was seen of it: it is asked again only
  /// when that does not do, since who looks often slows it down.
  void wait_for(std::int64_t thread, std::int64_t row, std::int64_t& seen) const {
    if (seen < row) seen = done(thread);
    for (Patience patience; seen < row; seen = done(thread)) patience.wait();
  }

  /// Until the slab before is done, and the place in the ring is free.
  void wait_for_turn(std::int64_t plane) {
    if (thread_ > 0) wait_for(thread_ - 1, begin(plane), seen_of_before_);
    wait_for(shared_.threads - 1, (plane + 1) * shared_.plane - shared_.length, seen_of_last_);
  }

  /// Who reads a value that is overwritten later also sees that it has been set aside.
  void set_aside(std::int64_t plane) {
    const HalfSweep<T>& half = shared_.half;
    for (std::int64_t c = 0; c < columns(); ++c) {
      const T* x = half.x + c * half.leading_x;
      T* ring = shared_.ring + c * shared_.length + begin(plane) % shared_.length;
      for (std::int64_t row = begin(plane); row < end(plane); ++row) *ring++ = x[natural(row)];
    }
    std::atomic_ref<std::int64_t>(own_.aside).store(plane + 1, std::memory_order_release);
  }

  /// `done_by_next` are the rows that the next thread has done.
  [[nodiscard]] Settled settled(std::int64_t plane, std::int64_t done_by_next = 0) const {
    const std::int64_t size = shared_.plane;
    const std::int64_t rows = shared_.half.rows;
    const std::int64_t before = std::max<std::int64_t>(plane - 1, 0);
    const std::int64_t own_end = plane > 0 ? end(before) : 0;
    const std::int64_t next_end = std::min(own_end + shared_.slab, plane * size);
    const Settled in_order{.left_begin = before * size,
                           .left_end = std::max(own_end, std::min(done_by_next, next_end)),
                           .begin = plane * size,
                           .end = std::min((plane + 1) * size, rows),
                           .right_begin = begin(plane + 1),
                           .right_end = std::min((plane + 2) * size, rows)};
    if constexpr (direction == Direction::forward) return in_order;
    return {.left_begin = rows - in_order.right_end,
            .left_end = rows - in_order.right_begin,
            .begin = rows - in_order.end,
            .end = rows - in_order.begin,
            .right_begin = rows - in_order.left_end,
            .right_end = rows - in_order.left_begin};
  }

  void sweep_rows(Settled settled, std::int64_t row, const std::int64_t end) {
    constexpr std::int64_t rows_between_reports = 64;
    // A copy, which nobody else gets hold of: the compiler need not read it again after each access to x.
    const HalfSweep<T> half = shared_.half;
    if (row == end) return;
    Values previous = values_before(settled, row);
    LocalRange sides;
    while (row < end) {
      const std::int64_t stop = std::min(row + rows_between_reports, end);
      for (; row < stop; ++row) {
        const std::int64_t i = in_order<direction>(row, half.rows);
        const std::int32_t* first = half.column_indices + half.row_offsets[i];
        const std::int32_t* last = half.column_indices + half.row_offsets[i + 1];
        if (settled.contain(first, last, sides)) [[likely]] {
          for (std::int64_t c = 0; c < (single ? 1 : half.right_hand_sides); ++c) {
            const ReadX<T> x{half.x + c * half.leading_x};
            compute(half, i, c, previous, x, x);
          }
        } else {
          previous = compute_waiting(settled, row, previous);
          settled = settled_by_now(row);
        }
      }
      publish(row);
    }
  }

  /// Of the row before a slab, if they are there.
  [[nodiscard]] Values values_before(const Settled& settled, std::int64_t row) const {
    const HalfSweep<T>& half = shared_.half;
    Values values{};
    if (row == 0 || !settled.contains(natural(row - 1))) return values;
    for (std::int64_t c = 0; c < columns(); ++c) {
      values[static_cast<std::size_t>(c)] = half.x[natural(row - 1) + c * half.leading_x];
    }
    return values;
  }

  template <class NewX, class OldX>
  void compute(const HalfSweep<T>& half, std::int64_t i, std::int64_t c, Values& previous, const NewX& new_x,
               const OldX& old_x) {
    bool skip = false;
    T& value = previous[static_cast<std::size_t>(c)];
    const RowSums<T> sums = sums_of_row<direction>(half, i, value, new_x, old_x);
    value = relaxed<direction>(half.relax, sums, half.b[i + c * half.leading_b], i, old_x, skip);
    std::atomic_ref<T>(half.x[i + c * half.leading_x]).store(value, std::memory_order_release);
    if (skip && c == 0) [[unlikely]]
      skipped_ = combine(skipped_, SkippedRows{1, i});
  }

  /// Waits for the values of other threads.
  struct NewX {
    const SlabWorker* worker;
    const Settled* settled;
    const T* x;
    T operator()(std::int64_t j) const {
      if (!settled->contains(j)) {
        const std::int64_t row = worker->natural(j);
        const std::int64_t owner = worker->owner(row);
        std::int64_t seen = 0;
        if (owner != worker->thread_) worker->wait_for(owner, row + 1, seen);
      }
      return x[j];
    }
  };

  /// Finds old values in x or in the ring.
  struct OldX {
    const SlabWorker* worker;
    const Settled* settled;
    T* x;
    const T* ring;
    std::int64_t near_begin;  ///< rows from here ...
    std::int64_t near_end;    ///< ... to here are known to have been set aside
    std::int64_t near_base;   ///< the row at the ring's beginning
    T operator()(std::int64_t j) const {
      if (settled->contains(j)) return x[j];
      const Shared<T>& shared = worker->shared_;
      const std::int64_t row = worker->natural(j);
      if (row >= near_begin && row < near_end) return ring[row - near_base];
      const T value = std::atomic_ref<T>(x[j]).load(std::memory_order_acquire);
      const std::atomic_ref<std::int64_t> aside(shared.progress[worker->owner(row)].aside);
      const bool overwritten = aside.load(std::memory_order_acquire) > row / shared.plane;
      return overwritten ? ring[row % shared.length] : value;
    }
  };

  /// Not part of the loop over rows, which the compiler makes a better job of without it; it keeps in
  /// registers what is handed over by value.
  [[gnu::noinline]] Values compute_waiting(Settled settled, std::int64_t row, Values previous) {
    const HalfSweep<T>& half = shared_.half;
    const std::int64_t i = natural(row);
    const std::int64_t plane = row / shared_.plane;
    const bool first = row > 0 && row == plane * shared_.plane;
    const bool next_to_it = first && needs_of<direction>(half, row).nearest == 1;
    // The slab before, of the next plane: where points have diagonal neighbours, all first rows need it.
    const std::int64_t near_end = (plane + 1) * shared_.plane + thread_ * shared_.slab;
    const std::int64_t near_size = before_has_set_aside(plane + 1) ? shared_.slab : 0;
    const std::int64_t near_base = near_end / shared_.length * shared_.length;
    for (std::int64_t c = 0; c < columns(); ++c) {
      T* const x = half.x + c * half.leading_x;
      const NewX new_x{this, &settled, x};
      const T* ring = shared_.ring + c * shared_.length;
      const OldX old_x{this, &settled, x, ring, near_end - near_size, near_end, near_base};
      if (next_to_it) previous[static_cast<std::size_t>(c)] = new_x(natural(row - 1));
      with_fused_multiply_add([&] { compute(half, i, c, previous, new_x, old_x); });
    }
    return previous;
  }

  [[nodiscard]] bool before_has_set_aside(std::int64_t plane) {
    if (thread_ == 0) return false;
    const std::atomic_ref<std::int64_t> aside(shared_.progress[thread_ - 1].aside);
    if (seen_aside_ <= plane) seen_aside_ = aside.load(std::memory_order_acquire);
    return seen_aside_ > plane;
  }

  /// Where points have diagonal neighbours, the last rows of a slab need the first ones of the next thread's.
  [[gnu::noinline]] [[nodiscard]] Settled settled_by_now(std::int64_t row) const {
    return settled(row / shared_.plane, thread_ + 1 < shared_.threads ? done(thread_ + 1) : 0);
  }

  const Shared<T>& shared_;
  std::int64_t thread_;
  Progress& own_;
  std::int64_t seen_of_before_ = 0;  ///< of the progress of the thread before
  std::int64_t seen_of_last_ = 0;    ///< and of the last one
  std::int64_t seen_aside_ = 0;      ///< planes that the thread before has set aside
  SkippedRows skipped_;
};

}  // namespace

/// A slab ends before the processor has foreseen what it reads of it, if it is short. In two dimensions
/// threads had better follow each other on whole lines then; in three, where lines are short themselves, that
/// is slow.
template <Direction direction, class T>
Slabs find_slabs(const HalfSweep<T>& half, int threads) {
  const Grid grid = find_grid<direction>(half);
  const std::int64_t least_slab = grid.plane == grid.line ? 512 : 32;
  constexpr std::int64_t least_planes = 2;  // for each thread, since they begin one after another
  if (grid.plane == 0 || grid.plane < threads * least_slab) return {0, 0};
  return {grid.plane,
          static_cast<int>(std::min<std::int64_t>(threads, half.rows / grid.plane / least_planes))};
}

template <Direction direction, class T>
SkippedRows sweep_slabs(const Slabs& slabs, const HalfSweep<T>& half, SweepScratch<OpenMp, T>& scratch) {
  std::vector<Progress> progress(static_cast<std::size_t>(slabs.threads));
  Shared<T> shared{
      .half = half,
      .plane = slabs.plane,
      .slab = 0,
      .threads = 0,
      .ring = nullptr,
      .length = 2 * slabs.threads * slabs.plane,  // the first thread is as many planes ahead, or more
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

template Slabs find_slabs<Direction::forward>(const HalfSweep<float>&, int);
template Slabs find_slabs<Direction::forward>(const HalfSweep<double>&, int);
template Slabs find_slabs<Direction::backward>(const HalfSweep<float>&, int);
template Slabs find_slabs<Direction::backward>(const HalfSweep<double>&, int);
template SkippedRows sweep_slabs<Direction::forward>(const Slabs&, const HalfSweep<float>&,
                                                     SweepScratch<OpenMp, float>&);
template SkippedRows sweep_slabs<Direction::forward>(const Slabs&, const HalfSweep<double>&,
                                                     SweepScratch<OpenMp, double>&);
template SkippedRows sweep_slabs<Direction::backward>(const Slabs&, const HalfSweep<float>&,
                                                      SweepScratch<OpenMp, float>&);
template SkippedRows sweep_slabs<Direction::backward>(const Slabs&, const HalfSweep<double>&,
                                                      SweepScratch<OpenMp, double>&);

}  // namespace echelon::gauss_seidel

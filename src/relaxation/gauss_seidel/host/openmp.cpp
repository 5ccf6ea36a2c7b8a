// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on several cores by chunks of rows, with the bits of the serial sweep. Large grids are swept in
// slabs instead (slabs.cpp).
//
// Schedule. Rows are numbered in the order of the sweep and cut into chunks. Of t threads, thread k computes
// chunks k, k + t, k + 2 t, …, each row as soon as the values that it needs are ready.
//
// Synchronisation. An element of X that will be computed soon holds not_ready, a NaN that is never written as
// a value. The value is its own flag, and elements are read and written in one piece, so no further ordering
// is needed. A NaN propagates through every sum, so a row is computed first and checked afterwards: only if
// its sum is a NaN does the thread test whether a value was not ready.
//
// Old values are saved in a ring buffer before not_ready overwrites them. With a window of w chunks, a thread
// waits before chunk c until all chunks up to c - w are done, and then saves chunk c + 2 w. While it computes
// chunk c, no thread has reached chunk c + w, and all chunks up to c + w are saved, so old values up to there
// are read from the ring. Farther ahead they are read from X, or from the ring if X holds not_ready. The
// pattern therefore need not be symmetric. A ring of 3 w chunks suffices: chunk c + 3 w takes the place of
// chunk c once all chunks up to c are done. Since w is a multiple of t, a place in the ring is always written
// by the same thread and stays in its cache.
//
// No deadlock: a row only waits for earlier chunks and its own, and all threads of the team are running.
#include "backend/host/host.hpp"
#include "linalg/spmv/row_partition.hpp"
#include "relaxation/gauss_seidel/host/backoff.hpp"
#include "relaxation/gauss_seidel/host/fma.hpp"
#include "relaxation/gauss_seidel/host/rows.hpp"
#include "relaxation/gauss_seidel/host/slabs.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <omp.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

namespace echelon::gauss_seidel {

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Marks an element that has no value yet: a quiet NaN other than canonical_nan.
template <class T>
constexpr T not_ready = std::bit_cast<T>(
    static_cast<Bits<T>>(std::bit_cast<Bits<T>>(std::numeric_limits<T>::quiet_NaN()) + Bits<T>{1}));

template <class T>
bool is_ready(T value) {
  return std::bit_cast<Bits<T>>(value) != std::bit_cast<Bits<T>>(not_ready<T>);
}

/// Partition of the rows into chunks, and what a thread does with a row that it cannot compute yet.
struct ChunkSchedule {
  std::int64_t rows;          ///< per chunk
  std::int64_t chunks_ahead;  ///< how many of its own chunks a thread may be ahead of the others
  bool defer;                 ///< true: continue with the next rows; false: wait
};

/// Selects the chunks from a sample of three places of the matrix. If rows form chains (lines of a grid whose
/// planes are not worth slabs), a chunk is one or a few lines, so that threads follow each other on
/// neighbouring lines. Otherwise chunks are large, so that few rows need the previous chunk, and those are
/// deferred.
template <SweepDirection direction, class T>
ChunkSchedule plan_chunks(const HalfSweep<T>& half) {
  constexpr std::int64_t min_line = 32;
  constexpr std::int64_t max_line = 4096;
  constexpr std::int64_t deferring_rows = 16384;
  constexpr std::int64_t min_rows = 64;
  const std::int64_t reach = std::min(max_line, half.rows / 32);
  std::array<std::int64_t, 3> lengths{};
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::int64_t from = half.rows * static_cast<std::int64_t>(s + 1) / 4;
    const std::int64_t start =
        next_line_start<direction>(half, std::max<std::int64_t>(from, 1), from + reach);
    lengths[s] =
        start == from + reach ? reach : next_line_start<direction>(half, start + 1, start + reach) - start;
  }
  std::sort(lengths.begin(), lengths.end());
  const std::int64_t line = lengths[1];
  if (line < min_line) {
    return {.rows = std::clamp(half.rows / 16, min_rows, deferring_rows), .chunks_ahead = 1, .defer = true};
  }
  return {.rows = (min_rows + line - 1) / line * line, .chunks_ahead = 2, .defer = false};
}

/// Numbers of a thread's own chunks that are done and saved. One cache line for each thread.
struct alignas(64) ChunkProgress {
  std::int64_t done = 0;
  std::int64_t saved = 0;
};

/// State shared by the threads of one half sweep.
template <class T>
struct HalfSweepState {
  HalfSweep<T> half;
  ChunkSchedule plan;
  std::int64_t threads;
  std::int64_t width;  ///< window in chunks
  std::int64_t chunks;
  T* ring;                  ///< one for each right-hand side
  std::int64_t length;      ///< of one ring: 3 width chunks, in elements
  ChunkProgress* progress;  ///< one for each thread
};

/// Values of one right-hand side behind the sweep.
template <class T>
struct SweptValues {
  T* x;
  T operator()(std::int64_t j) const { return std::atomic_ref<T>(x[j]).load(std::memory_order_relaxed); }
};

/// Values of one right-hand side ahead of the sweep. Rows are numbered in the order of the sweep.
template <SweepDirection direction, class T>
struct OldValues {
  T* x;
  T* ring;
  std::int64_t rows;
  std::int64_t saved;  ///< rows before this one are saved; later ones may be
  std::int64_t base;   ///< row at the beginning of the ring
  std::int64_t length;
  const HalfSweepState<T>* window;

  [[nodiscard]] T* ring_element(std::int64_t row) const {
    const std::int64_t place = row - base;
    return ring + (place < length ? place : place - length);
  }
  T operator()(std::int64_t j) const {
    const std::int64_t row = sweep_position<direction>(j, rows);
    T* const at = row < saved ? ring_element(row) : x + j;
    const T value = std::atomic_ref<T>(*at).load(std::memory_order_acquire);
    if (is_ready(value) || row < saved) [[likely]]
      return value;
    return is_saved(row) ? *ring_element(row) : value;
  }
  /// False if not_ready is the row's old value, which a caller's NaN may be.
  [[nodiscard]] bool is_saved(std::int64_t row) const {
    const std::int64_t chunk = row / window->plan.rows;
    const std::atomic_ref<std::int64_t> count(window->progress[chunk % window->threads].saved);
    return chunk / window->threads < count.load(std::memory_order_acquire);
  }
};

/// Memory of one thread, allocated before the threads start: they wait for each other, so that none may
/// throw.
struct SweepThreadMemory {
  SweepThreadMemory(int threads, const ChunkSchedule& plan)
      : last_seen(static_cast<std::size_t>(threads), 0) {
    if (plan.defer) deferred.reserve(static_cast<std::size_t>(plan.rows));
  }
  std::vector<std::int64_t> last_seen;  ///< of each thread's chunks, the number known to be done
  std::vector<std::int64_t> deferred;   ///< rows of a chunk
};

/// The part of one thread. `single`: there is one right-hand side.
template <SweepDirection direction, bool single, class T>
class SweepThread {
 public:
  SweepThread(const HalfSweepState<T>& window, std::int64_t thread, SweepThreadMemory& memory)
      : window_(window), thread_(thread), last_seen_(memory.last_seen), deferred_(memory.deferred) {}

  SkippedRows run() {
    std::atomic_ref<std::int64_t> done(window_.progress[thread_].done);
    const std::int64_t ahead = 2 * window_.width;
    for (std::int64_t chunk = thread_; chunk < ahead; chunk += window_.threads) save_old_values(chunk);
#pragma omp barrier
    for (std::int64_t chunk = thread_; chunk < window_.chunks; chunk += window_.threads) {
      wait_until_done(chunk - window_.width);
      save_old_values(chunk + ahead);
      sweep_chunk(chunk);
      done.store(chunk / window_.threads + 1, std::memory_order_release);
    }
    return skipped_;
  }

 private:
  using New = SweptValues<T>;
  using Old = OldValues<direction, T>;
  using Values = std::array<T, single ? 1 : max_columns>;

  /// First row of a chunk in the order of the sweep.
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const {
    return std::min(chunk * window_.plan.rows, window_.half.rows);
  }
  /// Old values for the rows of a chunk, of the first right-hand side.
  [[nodiscard]] Old old_x(std::int64_t chunk) const {
    return {.x = window_.half.x,
            .ring = window_.ring,
            .rows = window_.half.rows,
            .saved = begin(chunk + window_.width + 1),
            .base = begin(chunk) / window_.length * window_.length,
            .length = window_.length,
            .window = &window_};
  }

  /// Waits until all chunks up to this one are done.
  void wait_until_done(std::int64_t chunk) {
    for (std::int64_t t = 0; t < window_.threads && t <= chunk; ++t) {
      const std::int64_t needed = (chunk - t) / window_.threads + 1;
      std::int64_t& seen = last_seen_[static_cast<std::size_t>(t)];
      std::atomic_ref<std::int64_t> done(window_.progress[t].done);
      if (seen < needed) seen = done.load(std::memory_order_acquire);
      for (Backoff backoff; seen < needed; seen = done.load(std::memory_order_acquire)) backoff.wait();
    }
  }

  /// Saves the old values, announces that, and only then overwrites X: a thread that reads not_ready can find
  /// the old value.
  void save_old_values(std::int64_t chunk) const {
    if (chunk >= window_.chunks) return;
    const HalfSweep<T>& half = window_.half;
    const std::int64_t first = sweep_position<direction>(begin(chunk), half.rows);
    const std::int64_t size = begin(chunk + 1) - begin(chunk);
    constexpr std::int64_t step = direction == SweepDirection::forward ? 1 : -1;
    T* ring = window_.ring + chunk * window_.plan.rows % window_.length;
    for (std::int64_t c = 0; c < half.right_hand_sides; ++c) {
      const T* x = half.x + c * half.leading_x + first;
      for (std::int64_t k = 0; k < size; ++k) ring[c * window_.length + k] = x[k * step];
    }
    std::atomic_ref<std::int64_t> saved(window_.progress[thread_].saved);
    saved.store(chunk / window_.threads + 1, std::memory_order_release);
    for (std::int64_t c = 0; c < half.right_hand_sides; ++c) {
      T* x = half.x + c * half.leading_x + first;
      for (std::int64_t k = 0; k < size; ++k) {
        std::atomic_ref<T>(x[k * step]).store(not_ready<T>, std::memory_order_release);
      }
    }
  }

  void sweep_chunk(std::int64_t chunk) {
    const Old old = old_x(chunk);
    with_fused_multiply_add([&] {
      if (window_.plan.defer) {
        sweep_deferring(old, begin(chunk), begin(chunk + 1));
        retry_deferred_rows(old);
      } else {
        sweep_rows(old, begin(chunk), begin(chunk + 1));
      }
    });
    Backoff backoff;
    while (!deferred_.empty()) {
      const auto computed = [&](std::int64_t row) { return compute_checked(old, row); };
      const auto end = std::remove_if(deferred_.begin(), deferred_.end(), computed);
      if (end == deferred_.end()) backoff.wait();
      deferred_.erase(end, deferred_.end());
    }
  }

  // The loops over rows work on local copies of their parameters; the compiler would reload members after
  // every store to X.

  void sweep_rows(const Old old_x, std::int64_t row, const std::int64_t end) {
    const HalfSweep<T> half = window_.half;
    for (Values previous = values_before(half, row); row < end; ++row) {
      if (compute<false>(half, old_x, row, previous)) [[likely]]
        continue;
      for (Backoff backoff; !compute_checked(old_x, row);) backoff.wait();
      previous = values_before(half, row + 1);
    }
  }

  void sweep_deferring(const Old old_x, std::int64_t row, const std::int64_t end) {
    const HalfSweep<T> half = window_.half;
    for (Values previous = values_before(half, row); row < end; ++row) {
      if (compute<false>(half, old_x, row, previous)) [[likely]]
        continue;
      deferred_.push_back(row);
      previous.fill(not_ready<T>);
    }
  }

  /// One pass over the deferred rows; most have their dependencies by then.
  void retry_deferred_rows(const Old old_x) {
    const HalfSweep<T> half = window_.half;
    const auto computed = [&](std::int64_t row) {
      Values previous = values_before(half, row);
      return compute<false>(half, old_x, row, previous);
    };
    deferred_.erase(std::remove_if(deferred_.begin(), deferred_.end(), computed), deferred_.end());
  }

  [[nodiscard]] static Values values_before(const HalfSweep<T>& half, std::int64_t row) {
    Values values{};
    if (row == 0) return values;
    for (std::int64_t c = 0; c < (single ? 1 : half.right_hand_sides); ++c) {
      const New new_x{half.x + c * half.leading_x};
      values[static_cast<std::size_t>(c)] = new_x(sweep_position<direction>(row - 1, half.rows));
    }
    return values;
  }

  /// Computes a row and publishes its values, which become `previous`. Returns false if a value that it needs
  /// is not ready. Unless `checked`, a NaN counts as such a value.
  template <bool checked>
  bool compute(const HalfSweep<T>& half, Old old_x, std::int64_t row, Values& previous) {
    const std::int64_t i = sweep_position<direction>(row, half.rows);
    const std::int64_t columns = single ? 1 : half.right_hand_sides;
    const T* b = half.b + i;
    bool skip = false;
    for (std::int64_t c = 0; c < columns; ++c) {
      const New new_x{old_x.x};
      T& before = previous[static_cast<std::size_t>(c)];
      RowSums<T> sums = sums_of_row<direction>(half, i, before, new_x, old_x);
      const T waited_for = direction == SweepDirection::forward ? sums.lower : sums.upper;
      if (waited_for != waited_for) [[unlikely]] {
        if (!checked || !all_ready(i, new_x)) return false;
        if (row > 0) before = new_x(sweep_position<direction>(row - 1, half.rows));
        sums = sums_of_row<direction>(half, i, before, new_x, old_x);
      }
      before = relax_row<direction>(half.relax, sums, *b, i, old_x, skip);
      std::atomic_ref<T>(new_x.x[i]).store(before, std::memory_order_relaxed);
      old_x.x += half.leading_x;
      old_x.ring += old_x.length;
      b += half.leading_b;
    }
    if (skip) [[unlikely]]
      skipped_ = combine(skipped_, SkippedRows{1, i});
    return true;
  }

  /// Outside the loops over rows, whose code is better without it.
  [[gnu::noinline]] bool compute_checked(Old old_x, std::int64_t row) {
    const HalfSweep<T>& half = window_.half;
    Values previous = values_before(half, row);
    bool computed = false;
    with_fused_multiply_add([&] { computed = compute<true>(half, old_x, row, previous); });
    return computed;
  }

  [[gnu::noinline]] bool all_ready(std::int64_t i, New new_x) const {
    const HalfSweep<T>& half = window_.half;
    const RowSplit parts = split_row(half.column_indices, half.row_offsets[i], half.row_offsets[i + 1], i);
    constexpr bool forward = direction == SweepDirection::forward;
    const std::int32_t* begin = half.column_indices + (forward ? parts.begin : parts.upper);
    const std::int32_t* end = half.column_indices + (forward ? parts.diagonal : parts.end);
    return std::all_of(begin, end, [&](std::int32_t j) { return is_ready(new_x(j)); });
  }

  const HalfSweepState<T>& window_;
  std::int64_t thread_;
  std::vector<std::int64_t>& last_seen_;
  std::vector<std::int64_t>& deferred_;
  SkippedRows skipped_;
};

template <SweepDirection direction, class T>
SkippedRows sweep_chunks(int threads, const HalfSweep<T>& half, SweepWorkspace<Host, T>& scratch) {
  const ChunkSchedule plan = plan_chunks<direction>(half);
  const std::int64_t ring_size = 3 * plan.chunks_ahead * threads * plan.rows;
  std::vector<ChunkProgress> progress(static_cast<std::size_t>(threads));
  HalfSweepState<T> window{.half = half,
                           .plan = plan,
                           .threads = threads,
                           .width = plan.chunks_ahead * threads,
                           .chunks = (half.rows + plan.rows - 1) / plan.rows,
                           .ring = scratch.at_least(ring_size * half.right_hand_sides),
                           .length = ring_size,
                           .progress = progress.data()};
  std::vector<SweepThreadMemory> memory;
  memory.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) memory.emplace_back(threads, plan);
  SkippedRows skipped;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    {
      // OpenMP may provide fewer threads than requested.
      window.threads = omp_get_num_threads();
      window.width = plan.chunks_ahead * window.threads;
      window.length = 3 * window.width * plan.rows;
    }
    SkippedRows own;
    const std::int64_t thread = omp_get_thread_num();
    if (half.right_hand_sides == 1) {
      own = SweepThread<direction, true, T>(window, thread, memory[static_cast<std::size_t>(thread)]).run();
    } else {
      own = SweepThread<direction, false, T>(window, thread, memory[static_cast<std::size_t>(thread)]).run();
    }
#pragma omp critical
    skipped = combine(skipped, own);
  }
  return skipped;
}

}  // namespace

template <class T>
void sweep_in_parallel(Host& backend, const Sweeps<T>& sweeps, SweepWorkspace<Host, T>& scratch) {
  if (sweeps.state != nullptr && !sweeps.state->running()) return;
  for_each_half(sweeps, [&]<SweepDirection direction>(const HalfSweep<T>& half) {
    const SlabPlan slabs = plan_slabs<direction>(half, backend.threads());
    const SkippedRows skipped = slabs.threads > 1 ? sweep_slabs<direction>(slabs, half, scratch)
                                                  : sweep_chunks<direction>(backend.threads(), half, scratch);
    if (sweeps.skipped != nullptr) *sweeps.skipped = skipped;
  });
}

/// True if several threads are faster than one. Two threads that follow each other on neighbouring lines are
/// not.
template <class T>
bool parallel_pays_off(int threads, const Sweeps<T>& sweeps) {
  if (threads < 2 || sweeps.A->nonzeros() < parallel_threshold) return false;
  if (plan_slabs<SweepDirection::forward>(half_sweep(sweeps, 0), threads).threads > 1) return true;
  return threads > 2 || plan_chunks<SweepDirection::forward>(half_sweep(sweeps, 0)).defer;
}

/// An element of a complex X cannot be its own flag, since a processor does not read it in one piece: complex
/// sweeps are on one thread.
template <class T>
void sweep(Host& backend, const Sweeps<T>& sweeps, SweepWorkspace<Host, T>& scratch) {
  if constexpr (!is_complex<T>) {
    if (!backend.is_throttled() && parallel_pays_off(backend.threads(), sweeps))
      return sweep_in_parallel(backend, sweeps, scratch);
  }
  sweep_on_one_thread(sweeps);
}

template void sweep_in_parallel(Host&, const Sweeps<float>&, SweepWorkspace<Host, float>&);
template void sweep_in_parallel(Host&, const Sweeps<double>&, SweepWorkspace<Host, double>&);
#define ECHELON_INSTANTIATE(T) template void sweep(Host&, const Sweeps<T>&, SweepWorkspace<Host, T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::gauss_seidel

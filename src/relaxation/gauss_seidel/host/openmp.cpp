// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on several cores, with the bits of the sweep on one.
//
// The planes of large grids are shared out as gauss_seidel_slabs.cpp says. Otherwise rows are numbered in the
// order of the sweep and cut into chunks, which the threads take in turn: of t threads, thread k computes
// chunks k, k + t, k + 2 t and so on, each row as soon as the values that it needs are there.
//
// An element of X that is to be computed soon holds a NaN with bits that no written value has: the value is
// its own flag, and an element is read and written in one piece, so nothing else has to be ordered. A NaN
// spreads through every sum, so a row is computed first and looked at afterwards: only if its sum is a NaN
// does the thread look whether one of the values was missing. So a value where the sweep has been is read
// from X like any other.
//
// The old values that are overwritten so are set aside, in a ring that holds a window of chunks. Before it
// computes chunk c a thread waits until all chunks up to c - w are done, and then sets chunk c + 2 w aside.
// Who computes chunk c knows that nobody has got to chunk c + w, and that all chunks up to c + w have been
// set aside: it reads old values up to there from the ring. Further on it reads X; if it finds the NaN there,
// it looks in the ring, too. So a pattern need not be symmetric, and memory for 3 w chunks is enough: the
// place of chunk c is taken by chunk c + 3 w when all chunks up to c are done. As w is a multiple of t, a
// place in the ring belongs to one thread, in whose cache it stays.
//
// Nobody waits for a later chunk, and all threads of the team are running: there is no deadlock.
#include "backend/openmp/openmp.hpp"

#include "backend/serial/serial.hpp"
#include "linalg/row_partition.hpp"
#include "relaxation/gauss_seidel/host/backoff.hpp"
#include "relaxation/gauss_seidel/host/fma.hpp"
#include "relaxation/gauss_seidel/host/rows.hpp"
#include "relaxation/gauss_seidel/host/slabs.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <type_traits>
#include <vector>

namespace echelon::gauss_seidel {

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// A quiet NaN that is not the one that sweeps write.
template <class T>
constexpr T unwritten = std::bit_cast<T>(
    static_cast<Bits<T>>(std::bit_cast<Bits<T>>(std::numeric_limits<T>::quiet_NaN()) + Bits<T>{1}));

template <class T>
bool is_written(T value) {
  return std::bit_cast<Bits<T>>(value) != std::bit_cast<Bits<T>>(unwritten<T>);
}

/// How rows are cut into chunks, and what a thread does about a row that it cannot compute yet.
struct Grain {
  std::int64_t rows;   ///< of a chunk
  std::int64_t turns;  ///< by how many chunks of its own a thread may be ahead of others
  bool defer;          ///< go on with the next rows, or wait
};

/// Where rows form chains, the lines of a grid whose planes are not worth sharing, a chunk is best a line:
/// threads then follow each other on neighbouring lines. Looks at the matrix in three places. Where rows need
/// the one before only now and then, chunks are large, so that few rows need the chunk before, and these are
/// put off.
template <Direction direction, class T>
Grain choose_grain(const HalfSweep<T>& half) {
  constexpr std::int64_t shortest_line = 32;
  constexpr std::int64_t longest_line = 4096;
  constexpr std::int64_t loose_rows = 16384;
  constexpr std::int64_t least_rows = 64;
  const std::int64_t reach = std::min(longest_line, half.rows / 32);
  std::array<std::int64_t, 3> lengths{};
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::int64_t from = half.rows * static_cast<std::int64_t>(s + 1) / 4;
    const std::int64_t start = next_line<direction>(half, std::max<std::int64_t>(from, 1), from + reach);
    lengths[s] = start == from + reach ? reach : next_line<direction>(half, start + 1, start + reach) - start;
  }
  std::sort(lengths.begin(), lengths.end());
  const std::int64_t line = lengths[1];
  if (line < shortest_line) return {std::clamp(half.rows / 16, least_rows, loose_rows), 1, true};
  return {(least_rows + line - 1) / line * line, 2, false};
}

/// How many chunks of its own a thread has done and set aside. Each has a cache line to itself.
struct alignas(64) Progress {
  std::int64_t done = 0;
  std::int64_t aside = 0;
};

/// What the threads share in one half of a sweep.
template <class T>
struct Window {
  HalfSweep<T> half;
  Grain grain;
  std::int64_t threads;
  std::int64_t width;  ///< in chunks
  std::int64_t chunks;
  T* ring;              ///< for each right-hand side
  std::int64_t length;  ///< of a ring: 3 width chunks
  Progress* progress;   ///< for each thread
};

/// Values of one right-hand side where the sweep has been.
template <class T>
struct ReadNew {
  T* x;
  T operator()(std::int64_t j) const { return std::atomic_ref<T>(x[j]).load(std::memory_order_relaxed); }
};

/// Values of one right-hand side where the sweep has not been. Rows are in the order of the sweep.
template <Direction direction, class T>
struct ReadOld {
  T* x;
  T* ring;
  std::int64_t rows;
  std::int64_t aside;  ///< rows before this one have been set aside, later ones perhaps
  std::int64_t base;   ///< the row at the ring's beginning, or a ring further on
  std::int64_t length;
  const Window<T>* window;

  [[nodiscard]] T* in_ring(std::int64_t row) const {
    const std::int64_t place = row - base;
    return ring + (place < length ? place : place - length);
  }
  T operator()(std::int64_t j) const {
    const std::int64_t row = in_order<direction>(j, rows);
    T* const at = row < aside ? in_ring(row) : x + j;
    const T value = std::atomic_ref<T>(*at).load(std::memory_order_acquire);
    if (is_written(value) || row < aside) [[likely]]
      return value;
    return has_been_set_aside(row) ? *in_ring(row) : value;
  }
  /// Or had these bits from the beginning.
  [[nodiscard]] bool has_been_set_aside(std::int64_t row) const {
    const std::int64_t chunk = row / window->grain.rows;
    const std::atomic_ref<std::int64_t> count(window->progress[chunk % window->threads].aside);
    return chunk / window->threads < count.load(std::memory_order_acquire);
  }
};

/// One thread's part. `single`: there is one right-hand side.
template <Direction direction, bool single, class T>
class Worker {
 public:
  Worker(const Window<T>& window, std::int64_t thread)
      : window_(window), thread_(thread), seen_(static_cast<std::size_t>(window.threads), 0) {}

  SkippedRows run() {
    std::atomic_ref<std::int64_t> done(window_.progress[thread_].done);
    const std::int64_t ahead = 2 * window_.width;
    for (std::int64_t chunk = thread_; chunk < ahead; chunk += window_.threads) set_aside(chunk);
#pragma omp barrier
    for (std::int64_t chunk = thread_; chunk < window_.chunks; chunk += window_.threads) {
      wait_until_done(chunk - window_.width);
      set_aside(chunk + ahead);
      sweep_chunk(chunk);
      done.store(chunk / window_.threads + 1, std::memory_order_release);
    }
    return skipped_;
  }

 private:
  using New = ReadNew<T>;
  using Old = ReadOld<direction, T>;
  using Values = std::array<T, single ? 1 : columns_at_once>;

  /// In the order of the sweep.
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const {
    return std::min(chunk * window_.grain.rows, window_.half.rows);
  }
  /// Of the first right-hand side, for the rows of a chunk.
  [[nodiscard]] Old old_x(std::int64_t chunk) const {
    return {.x = window_.half.x,
            .ring = window_.ring,
            .rows = window_.half.rows,
            .aside = begin(chunk + window_.width + 1),
            .base = begin(chunk) / window_.length * window_.length,
            .length = window_.length,
            .window = &window_};
  }

  /// Until the chunks before and this one are.
  void wait_until_done(std::int64_t chunk) {
    for (std::int64_t t = 0; t < window_.threads && t <= chunk; ++t) {
      const std::int64_t needed = (chunk - t) / window_.threads + 1;
      std::int64_t& seen = seen_[static_cast<std::size_t>(t)];
      std::atomic_ref<std::int64_t> done(window_.progress[t].done);
      if (seen < needed) seen = done.load(std::memory_order_acquire);
      for (Patience patience; seen < needed; seen = done.load(std::memory_order_acquire)) patience.wait();
    }
  }

  /// Who sees the NaN in X finds the old value in the ring, and can find out that it is there.
  void set_aside(std::int64_t chunk) const {
    if (chunk >= window_.chunks) return;
    const HalfSweep<T>& half = window_.half;
    const std::int64_t first = in_order<direction>(begin(chunk), half.rows);
    const std::int64_t size = begin(chunk + 1) - begin(chunk);
    constexpr std::int64_t step = direction == Direction::forward ? 1 : -1;
    T* ring = window_.ring + chunk * window_.grain.rows % window_.length;
    for (std::int64_t c = 0; c < half.right_hand_sides; ++c) {
      const T* x = half.x + c * half.leading_x + first;
      for (std::int64_t k = 0; k < size; ++k) ring[c * window_.length + k] = x[k * step];
    }
    std::atomic_ref<std::int64_t> aside(window_.progress[thread_].aside);
    aside.store(chunk / window_.threads + 1, std::memory_order_release);
    for (std::int64_t c = 0; c < half.right_hand_sides; ++c) {
      T* x = half.x + c * half.leading_x + first;
      for (std::int64_t k = 0; k < size; ++k) {
        std::atomic_ref<T>(x[k * step]).store(unwritten<T>, std::memory_order_release);
      }
    }
  }

  void sweep_chunk(std::int64_t chunk) {
    const Old old = old_x(chunk);
    with_fused_multiply_add([&] {
      if (window_.grain.defer) {
        sweep_loose_rows(old, begin(chunk), begin(chunk + 1));
        sweep_deferred_rows(old);
      } else {
        sweep_rows(old, begin(chunk), begin(chunk + 1));
      }
    });
    Patience patience;
    while (!deferred_.empty()) {
      const auto computed = [&](std::int64_t row) { return compute_thoroughly(old, row); };
      const auto end = std::remove_if(deferred_.begin(), deferred_.end(), computed);
      if (end == deferred_.end()) patience.wait();
      deferred_.erase(end, deferred_.end());
    }
  }

  // These loops over rows have copies of what they read, which nobody else gets hold of: the compiler would
  // have to read it again after every access to X.

  void sweep_rows(const Old old_x, std::int64_t row, const std::int64_t end) {
    const HalfSweep<T> half = window_.half;
    for (Values previous = values_before(half, row); row < end; ++row) {
      if (compute<false>(half, old_x, row, previous)) [[likely]]
        continue;
      for (Patience patience; !compute_thoroughly(old_x, row);) patience.wait();
      previous = values_before(half, row + 1);
    }
  }

  void sweep_loose_rows(const Old old_x, std::int64_t row, const std::int64_t end) {
    const HalfSweep<T> half = window_.half;
    for (Values previous = values_before(half, row); row < end; ++row) {
      if (compute<false>(half, old_x, row, previous)) [[likely]]
        continue;
      deferred_.push_back(row);
      previous.fill(unwritten<T>);
    }
  }

  /// Once, which does for most of them.
  void sweep_deferred_rows(const Old old_x) {
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
      values[static_cast<std::size_t>(c)] = new_x(in_order<direction>(row - 1, half.rows));
    }
    return values;
  }

  /// Computes a row and publishes its values, which become the previous ones; false if it needs values that
  /// are not there yet. Unless it is `thorough`, it takes a NaN for the sign of one.
  template <bool thorough>
  bool compute(const HalfSweep<T>& half, Old old_x, std::int64_t row, Values& previous) {
    const std::int64_t i = in_order<direction>(row, half.rows);
    const std::int64_t columns = single ? 1 : half.right_hand_sides;
    const T* b = half.b + i;
    bool skip = false;
    for (std::int64_t c = 0; c < columns; ++c) {
      const New new_x{old_x.x};
      T& before = previous[static_cast<std::size_t>(c)];
      RowSums<T> sums = sums_of_row<direction>(half, i, before, new_x, old_x);
      const T waited_for = direction == Direction::forward ? sums.lower : sums.upper;
      if (waited_for != waited_for) [[unlikely]] {
        if (!thorough || !all_written(i, new_x)) return false;
        if (row > 0) before = new_x(in_order<direction>(row - 1, half.rows));
        sums = sums_of_row<direction>(half, i, before, new_x, old_x);
      }
      before = relaxed<direction>(half.relax, sums, *b, i, old_x, skip);
      std::atomic_ref<T>(new_x.x[i]).store(before, std::memory_order_relaxed);
      old_x.x += half.leading_x;
      old_x.ring += old_x.length;
      b += half.leading_b;
    }
    if (skip) [[unlikely]]
      skipped_ = combine(skipped_, SkippedRows{1, i});
    return true;
  }

  /// Not part of the loops over rows, which the compiler makes a better job of without it.
  [[gnu::noinline]] bool compute_thoroughly(Old old_x, std::int64_t row) {
    const HalfSweep<T>& half = window_.half;
    Values previous = values_before(half, row);
    bool computed = false;
    with_fused_multiply_add([&] { computed = compute<true>(half, old_x, row, previous); });
    return computed;
  }

  [[gnu::noinline]] bool all_written(std::int64_t i, New new_x) const {
    const HalfSweep<T>& half = window_.half;
    const RowParts parts = split_row(half.column_indices, half.row_offsets[i], half.row_offsets[i + 1], i);
    constexpr bool forward = direction == Direction::forward;
    const std::int32_t* begin = half.column_indices + (forward ? parts.begin : parts.upper);
    const std::int32_t* end = half.column_indices + (forward ? parts.diagonal : parts.end);
    return std::all_of(begin, end, [&](std::int32_t j) { return is_written(new_x(j)); });
  }

  const Window<T>& window_;
  std::int64_t thread_;
  std::vector<std::int64_t> seen_;  ///< of each thread's progress
  std::vector<std::int64_t> deferred_;
  SkippedRows skipped_;
};

template <Direction direction, class T>
SkippedRows sweep_together(int threads, const HalfSweep<T>& half, SweepScratch<OpenMp, T>& scratch) {
  const Grain grain = choose_grain<direction>(half);
  const std::int64_t most = 3 * grain.turns * threads * grain.rows;
  std::vector<Progress> progress(static_cast<std::size_t>(threads));
  Window<T> window{.half = half,
                   .grain = grain,
                   .threads = threads,
                   .width = grain.turns * threads,
                   .chunks = (half.rows + grain.rows - 1) / grain.rows,
                   .ring = scratch.at_least(most * half.right_hand_sides),
                   .length = most,
                   .progress = progress.data()};
  SkippedRows skipped;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    {
      // OpenMP may give fewer threads than asked for.
      window.threads = omp_get_num_threads();
      window.width = grain.turns * window.threads;
      window.length = 3 * window.width * grain.rows;
    }
    SkippedRows own;
    const std::int64_t thread = omp_get_thread_num();
    if (half.right_hand_sides == 1) {
      own = Worker<direction, true, T>(window, thread).run();
    } else {
      own = Worker<direction, false, T>(window, thread).run();
    }
#pragma omp critical
    skipped = combine(skipped, own);
  }
  return skipped;
}

}  // namespace

template <class T>
void sweep_in_parallel(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch) {
  if (sweeps.state != nullptr && !sweeps.state->running()) return;
  for_each_half(sweeps, [&]<Direction direction>(const HalfSweep<T>& half) {
    const Slabs slabs = find_slabs<direction>(half, backend.threads());
    const SkippedRows skipped = slabs.threads > 1
                                    ? sweep_slabs<direction>(slabs, half, scratch)
                                    : sweep_together<direction>(backend.threads(), half, scratch);
    if (sweeps.skipped != nullptr) *sweeps.skipped = skipped;
  });
}

/// Two threads that follow each other on neighbouring lines take as long as one.
template <class T>
bool worth_threads(int threads, const Sweeps<T>& sweeps) {
  if (threads < 2 || sweeps.A->nonzeros() < parallel_threshold) return false;
  if (find_slabs<Direction::forward>(half_sweep(sweeps, 0), threads).threads > 1) return true;
  return threads > 2 || choose_grain<Direction::forward>(half_sweep(sweeps, 0)).defer;
}

template <class T>
void sweep(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch) {
  if (worth_threads(backend.threads(), sweeps)) {
    sweep_in_parallel(backend, sweeps, scratch);
    return;
  }
  Serial serial(backend.device());
  SweepScratch<Serial, T> none(backend.device());
  sweep(serial, sweeps, none);
}

template void sweep_in_parallel(OpenMp&, const Sweeps<float>&, SweepScratch<OpenMp, float>&);
template void sweep_in_parallel(OpenMp&, const Sweeps<double>&, SweepScratch<OpenMp, double>&);
template void sweep(OpenMp&, const Sweeps<float>&, SweepScratch<OpenMp, float>&);
template void sweep(OpenMp&, const Sweeps<double>&, SweepScratch<OpenMp, double>&);

}  // namespace echelon::gauss_seidel

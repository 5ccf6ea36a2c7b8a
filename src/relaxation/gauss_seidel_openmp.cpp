// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on several cores, with the bits of the sweep on one.
//
// Rows are numbered in the order of the sweep and cut into chunks. Threads take chunks in their order, by
// tickets, and compute the rows of a chunk as soon as the values that they need are there.
//
// New values first go to a ring, which holds a window of rows. An element of the ring that nobody has written
// holds a NaN with bits that no written value has: the value is its own flag, and an element is read and
// written in one piece, so nothing else has to be ordered. A NaN spreads through every sum, so a row is
// computed first and looked at afterwards: only if its sum is a NaN does the thread look whether one of the
// values was missing.
//
// X keeps the old values until nobody needs them. When all chunks up to t - w are done, w being the width of
// the window, no row that comes needs an old value from there: who takes ticket t first copies chunk t - w
// from the ring to X, and prepares the ring for chunk t + w. So a pattern need not be symmetric, and memory
// for 4 w chunks is enough: with tickets up to f - 1 done, a thread finds chunks before f - w in X, and later
// ones in the ring.
//
// Nobody waits for a later ticket, and tickets are taken by running threads: there is no deadlock, however
// few threads there are.
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "linalg/shares.hpp"
#include "relaxation/fused.hpp"
#include "relaxation/gauss_seidel_host.hpp"
#include "relaxation/gauss_seidel_sweep.hpp"
#include "solver/iteration.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <thread>
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

/// Waits a little; gives the core away when that has not helped, since who is waited for may need it.
class Patience {
 public:
  void wait() {
    constexpr int spins = 64;
    if (++waited_ % spins == 0) {
      std::this_thread::yield();
    } else {
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  int waited_ = 0;
};

/// How rows are cut into chunks, and what a thread does about a row that it cannot compute yet.
struct Grain {
  std::int64_t rows;  ///< of a chunk
  bool defer;         ///< go on with the next rows, or wait
};

template <class T>
bool has_element(const HalfSweep<T>& half, std::int64_t i, std::int64_t j) {
  return split_row(half.column_indices, half.row_offsets[i], half.row_offsets[i + 1], j).has_diagonal();
}

/// The first row from `row` on, in the order of the sweep, that does not need the one before it; `limit` if
/// there is none before.
template <Direction direction, class T>
std::int64_t next_line(const HalfSweep<T>& half, std::int64_t row, std::int64_t limit) {
  while (row < limit &&
         has_element(half, in_order<direction>(row, half.rows), in_order<direction>(row - 1, half.rows))) {
    ++row;
  }
  return row;
}

/// On grids, rows form chains, the lines of the grid, and a chunk is best a line: threads then follow each
/// other on neighbouring lines. Looks at the matrix in three places. Where rows need the one before only now
/// and then, chunks are large, so that few rows need the chunk before, and these are put off.
template <Direction direction, class T>
Grain choose_grain(const HalfSweep<T>& half) {
  constexpr std::int64_t shortest_line = 32;
  constexpr std::int64_t longest_line = 4096;
  constexpr std::int64_t loose_rows = 2048;
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
  if (line < shortest_line) return {std::clamp(half.rows / 16, least_rows, loose_rows), true};
  return {(least_rows + line - 1) / line * line, false};
}

/// What the threads share in one half of a sweep.
template <class T>
struct Window {
  HalfSweep<T> half;
  Grain grain;
  std::int64_t width;   ///< in chunks
  std::int64_t chunks;  ///< of the matrix; `width` more tickets copy the last ones to X
  T* ring;              ///< for each right-hand side; row i is at i modulo the length
  std::int64_t length;  ///< a power of 2
  unsigned char* done;  ///< for each ticket
  std::atomic<std::int64_t> next = 0;
};

/// Values of one right-hand side where the sweep has been: of rows before `settled` in X, of later ones in
/// the ring.
template <Direction direction, class T>
struct ReadNew {
  const T* x;
  T* ring;
  std::int64_t mask;
  std::int64_t settled;
  T operator()(std::int64_t j) const {
    const bool in_x = direction == Direction::forward ? j < settled : j > settled;
    return in_x ? x[j] : std::atomic_ref<T>(ring[j & mask]).load(std::memory_order_relaxed);
  }
};

/// One thread's part. `single`: there is one right-hand side.
template <Direction direction, bool single, class T>
class Worker {
 public:
  explicit Worker(Window<T>& window) : window_(window) {}

  SkippedRows run() {
    for (;;) {
      const std::int64_t ticket = window_.next.fetch_add(1, std::memory_order_relaxed);
      if (ticket >= window_.chunks + window_.width) return skipped_;
      wait_until_done(ticket - window_.width);
      copy_to_x(ticket - window_.width);
      prepare_ring(ticket + window_.width);
      if (ticket < window_.chunks) sweep_chunk(ticket);
      std::atomic_ref(window_.done[ticket]).store(1, std::memory_order_release);
    }
  }

 private:
  using New = ReadNew<direction, T>;
  using Values = std::array<T, single ? 1 : columns_at_once>;

  /// In the order of the sweep.
  [[nodiscard]] std::int64_t begin(std::int64_t chunk) const {
    return std::min(chunk * window_.grain.rows, window_.half.rows);
  }
  [[nodiscard]] New new_x(std::int64_t c) const {
    const HalfSweep<T>& half = window_.half;
    return {half.x + c * half.leading_x, window_.ring + c * window_.length, window_.length - 1,
            in_order<direction>(settled_, half.rows)};
  }

  void wait_until_done(std::int64_t ticket) {
    Patience patience;
    while (frontier_ <= ticket) {
      if (std::atomic_ref(window_.done[frontier_]).load(std::memory_order_acquire) != 0) {
        ++frontier_;
      } else {
        patience.wait();
      }
    }
    settled_ = begin(std::max<std::int64_t>(frontier_ - window_.width, 0));
  }

  /// f(c, first, size, place) for the rows of a chunk, which lie at `place` in the ring of right-hand side c.
  template <class F>
  void for_each_piece(std::int64_t chunk, const F& f) const {
    const std::int64_t rows = window_.half.rows;
    const bool forward = direction == Direction::forward;
    std::int64_t first = forward ? begin(chunk) : rows - begin(chunk + 1);
    const std::int64_t end = forward ? begin(chunk + 1) : rows - begin(chunk);
    while (first < end) {
      const std::int64_t place = first & (window_.length - 1);
      const std::int64_t size = std::min(end - first, window_.length - place);
      for (std::int64_t c = 0; c < window_.half.right_hand_sides; ++c) f(c, first, size, place);
      first += size;
    }
  }

  void copy_to_x(std::int64_t chunk) const {
    if (chunk < 0) return;
    for_each_piece(chunk, [this](std::int64_t c, std::int64_t first, std::int64_t size, std::int64_t place) {
      std::copy_n(window_.ring + c * window_.length + place, size,
                  window_.half.x + c * window_.half.leading_x + first);
    });
  }

  void prepare_ring(std::int64_t chunk) const {
    for_each_piece(chunk, [this](std::int64_t c, std::int64_t, std::int64_t size, std::int64_t place) {
      std::fill_n(window_.ring + c * window_.length + place, size, unwritten<T>);
    });
  }

  void sweep_chunk(std::int64_t chunk) {
    const std::int64_t end = begin(chunk + 1);
    // Copies: the compiler would have to read these again after every access to the ring.
    const HalfSweep<T> half = window_.half;
    const New first_column = new_x(0);
    Values previous = values_before(begin(chunk));
    for (std::int64_t row = begin(chunk); row < end; ++row) {
      if (compute(half, first_column, row, previous)) continue;
      if (window_.grain.defer) {
        deferred_.push_back(row);
        previous.fill(unwritten<T>);
      } else {
        Patience patience;
        do {
          patience.wait();
          previous = values_before(row);
        } while (!compute(half, first_column, row, previous));
      }
    }
    compute_deferred();
  }

  void compute_deferred() {
    Patience patience;
    while (!deferred_.empty()) {
      const auto computed = [this](std::int64_t row) {
        Values previous = values_before(row);
        return compute(window_.half, new_x(0), row, previous);
      };
      const auto end = std::remove_if(deferred_.begin(), deferred_.end(), computed);
      if (end == deferred_.end()) patience.wait();
      deferred_.erase(end, deferred_.end());
    }
  }

  Values values_before(std::int64_t row) const {
    Values values{};
    if (row == 0) return values;
    for (std::size_t c = 0; c < (single ? 1 : static_cast<std::size_t>(window_.half.right_hand_sides)); ++c) {
      values[c] = new_x(static_cast<std::int64_t>(c))(in_order<direction>(row - 1, window_.half.rows));
    }
    return values;
  }

  /// Computes a row and publishes its values, which become the previous ones; false if it needs values that
  /// are not there yet.
  bool compute(const HalfSweep<T>& half, New new_x, std::int64_t row, Values& previous) {
    const std::int64_t i = in_order<direction>(row, half.rows);
    const std::int64_t columns = single ? 1 : half.right_hand_sides;
    const std::int64_t length = new_x.mask + 1;
    const T* b = half.b + i;
    bool skip = false;
    for (std::int64_t c = 0; c < columns; ++c) {
      T& before = previous[static_cast<std::size_t>(c)];
      RowSums<T> sums = sums_of_row<direction>(half, i, before, new_x, ReadX<T>{new_x.x});
      const T waited_for = direction == Direction::forward ? sums.lower : sums.upper;
      if (waited_for != waited_for) [[unlikely]] {
        if (!all_written(i, new_x)) return false;
        if (row > 0) before = new_x(in_order<direction>(row - 1, half.rows));
        sums = sums_of_row<direction>(half, i, before, new_x, ReadX<T>{new_x.x});
      }
      before = relaxed<direction>(half.relax, sums, *b, new_x.x[i]);
      std::atomic_ref<T>(new_x.ring[i & new_x.mask]).store(before, std::memory_order_relaxed);
      skip = sums.diagonal == T{0};
      new_x.x += half.leading_x;
      new_x.ring += length;
      b += half.leading_b;
    }
    if (skip) [[unlikely]]
      skipped_ = combine(skipped_, SkippedRows{1, i});
    return true;
  }

  [[gnu::noinline]] bool all_written(std::int64_t i, const New& new_x) const {
    const HalfSweep<T>& half = window_.half;
    const RowParts parts = split_row(half.column_indices, half.row_offsets[i], half.row_offsets[i + 1], i);
    constexpr bool forward = direction == Direction::forward;
    const std::int32_t* begin = half.column_indices + (forward ? parts.begin : parts.upper);
    const std::int32_t* end = half.column_indices + (forward ? parts.diagonal : parts.end);
    return std::all_of(begin, end, [&](std::int32_t j) { return is_written(new_x(j)); });
  }

  Window<T>& window_;
  std::int64_t frontier_ = 0;  ///< all tickets before it are done
  std::int64_t settled_ = 0;   ///< rows before it, in the order of the sweep, are in X
  std::vector<std::int64_t> deferred_;
  SkippedRows skipped_;
};

/// Makes the memory that is asked for, unless there is as much.
template <class T>
T* at_least(Array<T>& array, std::int64_t size) {
  if (array.size() < size) {
    const Device device = array.device();
    array = Array<T>();
    array = Array<T>(device, size);
  }
  return array.data();
}

template <Direction direction, class T>
SkippedRows sweep_together(int threads, const HalfSweep<T>& half, SweepScratch<OpenMp, T>& scratch) {
  const Grain grain = choose_grain<direction>(half);
  const std::int64_t width = threads + 2;
  const std::int64_t chunks = (half.rows + grain.rows - 1) / grain.rows;
  const auto length =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(4 * width * grain.rows)));
  Window<T> window{half,
                   grain,
                   width,
                   chunks,
                   at_least(scratch.ring, length * half.right_hand_sides),
                   length,
                   at_least(scratch.done, chunks + width)};
  std::fill_n(window.ring, length * half.right_hand_sides, unwritten<T>);
  std::fill_n(window.done, chunks + width, static_cast<unsigned char>(0));
  SkippedRows skipped;
#pragma omp parallel num_threads(threads)
  {
    SkippedRows own;
    with_fused_multiply_add([&] {
      own = half.right_hand_sides == 1 ? Worker<direction, true, T>(window).run()
                                       : Worker<direction, false, T>(window).run();
    });
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
    const SkippedRows skipped = sweep_together<direction>(backend.threads(), half, scratch);
    if (sweeps.skipped != nullptr) *sweeps.skipped = skipped;
  });
}

template <class T>
void sweep(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch) {
  if (backend.threads() > 1 && sweeps.A->nonzeros() >= worth_sharing) {
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

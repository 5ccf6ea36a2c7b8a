// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps: one native implementation per backend, all with the same bits.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/sweep.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

class Host;
class Cuda;
template <class S>
struct IterationStateOf;
using IterationState = IterationStateOf<double>;

namespace gauss_seidel {

/// Rows that keep their x, since the diagonal element is zero or not stored.
struct SkippedRows {
  std::int64_t count = 0;
  std::int64_t first = INT64_MAX;
  friend ECHELON_ANYWHERE SkippedRows combine(SkippedRows a, SkippedRows b) {
    return {a.count + b.count, a.first < b.first ? a.first : b.first};
  }
};

/// One call: `sweeps` sweeps in place on X, one after another, for each right-hand side. All pointers are
/// into the backend's memory.
template <class T>
struct Sweeps {
  const Csr<T>* A;  ///< n by n
  std::int64_t right_hand_sides;
  const T* b;  ///< n by right_hand_sides, column-major
  std::int64_t leading_b;
  T* x;  ///< n by right_hand_sides, column-major; does not overlap b
  std::int64_t leading_x;
  SweepKind kind;
  std::int64_t sweeps;
  T omega;
  /// Unless null, the sweeps change nothing once the iteration has stopped.
  const IterationStateOf<Dot<T>>* state = nullptr;
  /// Unless null, receives the rows skipped by one sweep (all sweeps skip the same). Not written if sweeps ==
  /// 0, if there is no right-hand side, or if the iteration has stopped.
  SkippedRows* skipped = nullptr;
  /// Triangular solve in one forward sweep with a lower triangle A, or one backward sweep with an upper
  /// triangle: every row has a nonzero diagonal element, omega is 1, and X is only written. Needs no second
  /// vector on a GPU.
  bool triangular = false;

  /// Nonzeros of a matrix with both triangles that has as many elements to wait for. The choice of a strategy
  /// depends on these.
  [[nodiscard]] std::int64_t nonzeros_of_both_triangles() const {
    return triangular ? 2 * A->nonzeros() - A->rows() : A->nonzeros();
  }
};

/// Scratch memory of sweeps, kept from call to call: it grows to what a call needs, and repeating a call
/// allocates nothing. It may hold what depends on the pattern of A, never on its values. One call at a time;
/// different objects may be used concurrently. by_levels.hpp has that of a backend without native sweeps.
template <class B, class T>
class SweepWorkspace;

/// Ring buffer of old values that are overwritten in X before all rows have read them. A sweep on one thread
/// works in place, and leaves it empty.
template <class T>
class SweepWorkspace<Host, T> {
 public:
  explicit SweepWorkspace(const Device& device) : ring(device, 0) {}
  [[nodiscard]] std::size_t bytes() const { return ring.bytes(); }

  /// Ring buffer of at least `size` elements.
  T* at_least(std::int64_t size) {
    if (ring.size() < size) {
      const Device device = ring.device();
      ring = Array<T>();  // frees the memory before allocating
      ring = Array<T>(device, size);
    }
    return ring.data();
  }

  Array<T> ring;
};

/// Distribution of the rows over a GPU. Affects speed, never results.
struct SweepTuning {
  int threads = 256;        ///< per block: a multiple of 32, up to 1024 (with long rows always 1024)
  int rows_per_thread = 0;  ///< rows in flight per thread: 1, 2 or 4; 0 selects by the number of rows
  /// Largest mean number of nonzeros per row for which elements are copied to shared memory. With long rows
  /// they always are, as far as they fit.
  std::int64_t staged_per_row = 3;
  std::int64_t long_rows_from = 7;  ///< mean number of nonzeros per row from which warps take long rows
  bool reuse_lower_sums = true;  ///< a symmetric sweep's backward half reuses the sums left of the diagonal
  std::int64_t lines_from_rows = 100'000;  ///< number of rows from which lines are detected
  /// Number of rows, with at most staged_per_row nonzeros on average, from which region sweeps are
  /// considered.
  std::int64_t regions_from_rows = 16'000'000;
  bool always_regions = false;  ///< from this number of rows on, whatever the sample says
};

/// Memory of sweeps on a GPU: a second vector, which sweeps write, so that patterns need not be symmetric and
/// the presence of a value tells that it is new; and for symmetric sweeps the sums left of the diagonal of
/// half the rows. It is that of real numbers: a complex one is not read in one piece, so that its presence
/// tells nothing. In total 3/2 elements per row and right-hand side. Where region sweeps are considered, 4
/// bytes per row and right-hand side for deferred rows (somewhat more for few rows) replace the sums.
template <class T>
requires(!is_complex<T>) class SweepWorkspace<Cuda, T> {
 public:
  explicit SweepWorkspace(const Device& device)
      : other(device, 0),
        lower_sums(device, 0),
        deferred_rows(device, 0),
        tickets(device, 0),
        line_length(device, 0),
        strategies(device, 0) {}
  [[nodiscard]] std::size_t bytes() const {
    return other.bytes() + lower_sums.bytes() + deferred_rows.bytes() + tickets.bytes() +
           line_length.bytes() + strategies.bytes();
  }

  SweepTuning tuning;
  Array<T> other;  ///< between calls all elements are not_ready
  Array<T> lower_sums;
  Array<unsigned char> deferred_rows;
  Array<unsigned> tickets;          ///< one counter, of chunks, line groups or regions
  Array<std::int32_t> line_length;  ///< one value, for the latest matrix: 0 unless its rows form lines
  Array<std::int32_t> strategies;   ///< two values, for forward and backward sweeps: DeviceSweep::line_length
};

/// Queues the sweeps; on a GPU without waiting for them.
template <class T>
void sweep(Host& backend, const Sweeps<T>& sweeps, SweepWorkspace<Host, T>& scratch);
/// Sweeps on the calling thread; sweep() calls it where several threads do not pay off.
template <class T>
void sweep_on_one_thread(const Sweeps<T>& sweeps);
/// Sweeps on all threads whatever the size, for real numbers; sweep() calls it where it pays off.
template <class T>
void sweep_in_parallel(Host& backend, const Sweeps<T>& sweeps, SweepWorkspace<Host, T>& scratch);
/// For real numbers two kernels for each forward or backward sweep: the sweep, and one that clears a vector
/// (after an odd number of half sweeps in a call, the last one copies the result; before a triangular solve,
/// it clears X). Each strategy that the matrix may allow adds one kernel, which works or returns at once, and
/// one or two short kernels per call that select it. Throws OutOfMemory.
template <class T>
requires(!is_complex<T>) void sweep(Cuda& backend, const Sweeps<T>& sweeps, SweepWorkspace<Cuda, T>& scratch);

}  // namespace gauss_seidel
}  // namespace echelon

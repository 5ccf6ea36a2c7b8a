// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps, one native version per backend, all with the same bits.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/csr.hpp>
#include <echelon/gauss_seidel.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

class Serial;
class OpenMp;
class Cuda;
struct IterationState;

namespace gauss_seidel {

/// Rows that keep their x, for want of a diagonal element.
struct SkippedRows {
  std::int64_t count = 0;
  std::int64_t first = INT64_MAX;
  friend ECHELON_ANYWHERE SkippedRows combine(SkippedRows a, SkippedRows b) {
    return {a.count + b.count, a.first < b.first ? a.first : b.first};
  }
};

/// What one call does: `sweeps` sweeps of this kind, one after another, on X in place, for each of the
/// right-hand sides. All pointers are into the backend's memory.
template <class T>
struct Sweeps {
  const Csr<T>* A;  ///< square
  std::int64_t right_hand_sides;
  const T* b;  ///< column-major
  std::int64_t leading_b;
  T* x;  ///< column-major; apart from b
  std::int64_t leading_x;
  SweepKind kind;
  std::int64_t sweeps;
  T omega;
  /// Unless null, the sweeps change nothing when the iteration has stopped.
  const IterationState* state = nullptr;
  /// Unless null, one object that is overwritten with what a sweep (every sweep alike) skipped; left alone
  /// when there is nothing to sweep (sweeps == 0, no right-hand side, or the iteration has stopped).
  SkippedRows* skipped = nullptr;
};

/// Scratch memory for sweeps in progress, kept from call to call: it grows to what a call needs, and a call
/// like the one before allocates nothing. It may remember what depends on A's pattern, never on its values.
/// One call at a time; different scratches may be used at the same time.
template <class B, class T>
class SweepScratch;

/// One core works in place and needs none.
template <class T>
class SweepScratch<Serial, T> {
 public:
  explicit SweepScratch(const Device& /*device*/) {}
  [[nodiscard]] std::size_t bytes() const { return 0; }
};

/// A ring of old values that rows still need.
template <class T>
class SweepScratch<OpenMp, T> {
 public:
  explicit SweepScratch(const Device& device) : ring(device, 0) {}
  [[nodiscard]] std::size_t bytes() const { return ring.bytes(); }

  /// The ring, of `size` elements or more.
  T* at_least(std::int64_t size) {
    if (ring.size() < size) {
      const Device device = ring.device();
      ring = Array<T>();  // before there is another
      ring = Array<T>(device, size);
    }
    return ring.data();
  }

  Array<T> ring;
};

/// How a GPU shares the rows of a sweep out. Speed depends on it, results do not.
struct SweepTuning {
  int threads = 256;  ///< of a block: a multiple of 32, up to 1024; 1024 with long rows
  int slots = 0;      ///< rows that a thread keeps in flight: 1, 2 or 4; 0: by their number
  /// Up to so many nonzeros a row on average go through shared memory; with long rows they all do.
  std::int64_t staged_per_row = 3;
  std::int64_t warps_from = 7;        ///< from so many nonzeros a row on average on warps take long rows
  bool keep_lower = true;             ///< a symmetric sweep's backward half re-uses the forward half's sums
  std::int64_t lines_from = 100'000;  ///< rows from which on it is found out whether they lie in lines
  /// Rows, of at most staged_per_row nonzeros on average, from which on it is found out whether blocks should
  /// walk through them.
  std::int64_t walk_from = 16'000'000;
  bool walk_always = false;  ///< from so many rows on, whatever is found out
};

/// A second vector, in which a sweep writes, so that patterns need not be symmetric and a value's presence
/// says that it is new; and, after symmetric sweeps, the forward half's sums left of the diagonal, of half of
/// the rows: 3/2 elements a row and right-hand side in all. Where blocks may walk, no sums but 4 bytes a row
/// and right-hand side, or a little more for few rows, for what they leave over.
template <class T>
class SweepScratch<Cuda, T> {
 public:
  explicit SweepScratch(const Device& device)
      : other(device, 0),
        lower(device, 0),
        leftovers(device, 0),
        tickets(device, 0),
        line_length(device, 0),
        ways(device, 0) {}
  [[nodiscard]] std::size_t bytes() const {
    return other.bytes() + lower.bytes() + leftovers.bytes() + tickets.bytes() + line_length.bytes() +
           ways.bytes();
  }

  SweepTuning tuning;
  Array<T> other;  ///< between calls no element of it holds a value
  Array<T> lower;
  Array<unsigned char> leftovers;
  Array<unsigned> tickets;          ///< one, of chunks, bundles or regions
  Array<std::int32_t> line_length;  ///< one, of the matrix last swept over: 0 unless its rows lie in lines
  Array<std::int32_t> ways;         ///< the same, or that blocks walk, of forward and backward sweeps
};

/// Queues the sweeps; on a GPU without waiting for them.
template <class T>
void sweep(Serial& backend, const Sweeps<T>& sweeps, SweepScratch<Serial, T>& scratch);
template <class T>
void sweep(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch);
/// What the former does for matrices that are large enough for it to pay.
template <class T>
void sweep_in_parallel(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch);
/// Two launches for each forward or backward sweep, the second of which only writes (and, after the last one
/// of an odd number, copies); for matrices whose rows may lie in lines one more, which does the work or none,
/// and a small one for each call, which finds out. Throws OutOfMemory.
template <class T>
void sweep(Cuda& backend, const Sweeps<T>& sweeps, SweepScratch<Cuda, T>& scratch);

}  // namespace gauss_seidel
}  // namespace echelon

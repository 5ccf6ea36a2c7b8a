// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps, one native version per backend, all with the same bits.
#pragma once

#include "backend/annotate.hpp"

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

/// A ring of new values on their way from thread to thread.
template <class T>
class SweepScratch<OpenMp, T> {
 public:
  explicit SweepScratch(const Device& device) : ring(device, 0) {}
  [[nodiscard]] std::size_t bytes() const { return ring.bytes(); }

  Array<T> ring;
};

/// Queues the sweeps; on a GPU without waiting for them.
template <class T>
void sweep(Serial& backend, const Sweeps<T>& sweeps, SweepScratch<Serial, T>& scratch);
template <class T>
void sweep(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch);
/// What the former does for matrices that are large enough for it to pay.
template <class T>
void sweep_in_parallel(OpenMp& backend, const Sweeps<T>& sweeps, SweepScratch<OpenMp, T>& scratch);
/// Defined, with SweepScratch<Cuda, T>, for CUDA.
template <class T>
void sweep(Cuda& backend, const Sweeps<T>& sweeps, SweepScratch<Cuda, T>& scratch);

}  // namespace gauss_seidel
}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// What the elimination on a GPU shares between its files. Nothing here waits for the GPU: ranks stay there,
/// and everything whose size depends on them has the size of a full rank, filled up with zeros.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "dense/panels/panel.hpp"
#include "linalg/blas/float_products.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

/// What one kernel eliminates: a leaf, columns [begin, begin + width) of a matrix of `rows` rows.
template <class T>
struct LeafJob {
  T* a;  ///< its first column
  std::int64_t leading;
  int rows;
  int width;
  std::int64_t begin;
  EliminationState* state;
  PivotList<T> pivots;
  std::int64_t* rank_after;  ///< where the rank goes when the leaf is done
};

/// How leaves are held in the shared memory of one cluster of thread blocks. No kernel: they do not fit.
template <class T>
struct LeafPlan {
  void (*kernel)(LeafJob<T>) = nullptr;
  int width = 0;  ///< the most columns of a leaf
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
};

/// Plans leaves of at most `widest` columns, as wide as fits for m rows. Asks the GPU, without waiting for
/// it.
template <class T>
[[nodiscard]] LeafPlan<T> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t widest,
                                      const PanelTuning& tuning);

/// Eliminates a leaf, with a plan that has a kernel, on a stream.
template <class T>
void factor_leaf(const Cuda& backend, const LeafPlan<T>& plan, const LeafJob<T>& job, cudaStream_t on);

/// A stream, with a cuBLAS handle on it.
struct Lane {
  Cuda& backend;
  cudaStream_t on;
  FloatProducts products = FloatProducts::in_float;
};

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

/// A stream of higher priority beside the calling thread's own.
class SideStream {
 public:
  explicit SideStream(const Device& device) : backend_(device) {
    const CurrentDevice current(device.id());
    int lowest = 0;
    int highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    stream_ = make_owned<OwnedStream>(cudaStreamCreateWithPriority, cudaStreamNonBlocking, highest);
    for (OwnedEvent* event : {&here_, &there_}) {
      *event = make_owned<OwnedEvent>(cudaEventCreateWithFlags, cudaEventDisableTiming);
    }
    check(cublasSetStream(backend_.blas(), stream_.get()));
  }
  [[nodiscard]] Lane lane() { return {backend_, stream_.get()}; }

  /// What follows on the side stream waits for what the thread's stream had when it was marked.
  void mark_main() { check(cudaEventRecord(here_.get(), stream())); }
  void wait_for_main() { check(cudaStreamWaitEvent(stream_.get(), here_.get(), 0)); }
  void mark_side() { check(cudaEventRecord(there_.get(), stream_.get())); }
  void main_waits_for_side() { check(cudaStreamWaitEvent(stream(), there_.get(), 0)); }

 private:
  Cuda backend_;
  OwnedStream stream_;
  OwnedEvent here_, there_;
};

/// Memory of the host that the GPU writes to.
template <>
class Mailbox<Cuda> {
 public:
  static constexpr std::size_t room = 512;

  explicit Mailbox(const Device& device) {
    const CurrentDevice current(device.id());
    memory_ = make_owned<OwnedMemory>(
        [](void** memory) { return cudaHostAlloc(memory, room, cudaHostAllocDefault); });
    marked_ = make_owned<OwnedEvent>(cudaEventCreateWithFlags, cudaEventDisableTiming);
  }
  template <class V>
  [[nodiscard]] V* at() {
    static_assert(sizeof(V) <= room && std::is_trivially_copyable_v<V>);
    return static_cast<V*>(memory_.get());
  }
  void mark() { check(cudaEventRecord(marked_.get(), stream())); }
  void wait() { check(cudaEventSynchronize(marked_.get())); }

 private:
  using OwnedMemory = Owned<void*, cudaFreeHost>;
  OwnedMemory memory_;
  OwnedEvent marked_;
};

template <>
struct EliminationTools<Cuda> {
  explicit EliminationTools(const Device& device) : backend(device), mailbox(device) {}
  /// Made when it is first needed.
  SideStream& side() {
    if (side_ == nullptr) side_ = std::make_unique<SideStream>(backend.device());
    return *side_;
  }
  Cuda backend;
  Mailbox<Cuda> mailbox;
  FloatProducts products = FloatProducts::in_float;

 private:
  std::unique_ptr<SideStream> side_;
};

}  // namespace echelon

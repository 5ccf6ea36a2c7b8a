// SPDX-License-Identifier: BSD-3-Clause
/// Streams and pinned memory of an elimination on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "dense/panels/workspace.hpp"
#include "linalg/blas/float_products.hpp"
#include "support/setup_control.hpp"

#include <cstddef>
#include <memory>

namespace echelon {

/// A stream, the backend whose cuBLAS handle works on it, and how that forms products of floats.
struct StreamContext {
  Cuda& backend;
  cudaStream_t stream;
  FloatProducts products = FloatProducts::in_float;
};

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

/// Stream of higher priority than the calling thread's own, the main stream, with a handle on it.
class LookaheadStream {
 public:
  explicit LookaheadStream(const Device& device) : backend_(device) {
    const CurrentDevice current(device.id());
    int lowest = 0;
    int highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    stream_ = make_owned<OwnedStream>(cudaStreamCreateWithPriority, cudaStreamNonBlocking, highest);
    for (OwnedEvent* event : {&main_event_, &lookahead_event_}) {
      *event = make_owned<OwnedEvent>(cudaEventCreateWithFlags, cudaEventDisableTiming);
    }
    check(cublasSetStream(backend_.blas(), stream_.get()));
  }
  [[nodiscard]] StreamContext context() { return {backend_, stream_.get()}; }

  /// Records the work queued on the main stream, for `wait_for_main`.
  void record_main() { check(cudaEventRecord(main_event_.get(), stream())); }
  /// Makes later work on this stream wait for the recorded work of the main stream.
  void wait_for_main() { check(cudaStreamWaitEvent(stream_.get(), main_event_.get(), 0)); }
  /// Records the work queued on this stream, for `make_main_wait`.
  void record() { check(cudaEventRecord(lookahead_event_.get(), stream_.get())); }
  /// Makes later work on the main stream wait for the recorded work of this stream.
  void make_main_wait() { check(cudaStreamWaitEvent(stream(), lookahead_event_.get(), 0)); }

 private:
  Cuda backend_;
  OwnedStream stream_;
  OwnedEvent main_event_, lookahead_event_;
};

template <>
class PinnedResult<Cuda> {
 public:
  static constexpr std::size_t capacity = 512;

  explicit PinnedResult(const Device& device) {
    const CurrentDevice current(device.id());
    memory_ = make_owned<OwnedMemory>(
        [](void** memory) { return cudaHostAlloc(memory, capacity, cudaHostAllocDefault); });
    recorded_ = make_owned<OwnedEvent>(cudaEventCreateWithFlags, cudaEventDisableTiming);
  }
  template <class V>
  [[nodiscard]] V* at() {
    static_assert(sizeof(V) <= capacity && std::is_trivially_copyable_v<V>);
    return static_cast<V*>(memory_.get());
  }
  void record() { check(cudaEventRecord(recorded_.get(), stream())); }
  void wait() { check(cudaEventSynchronize(recorded_.get())); }
  template <class V>
  [[nodiscard]] V value(const V* at) {
    return *at;
  }

 private:
  using OwnedMemory = Owned<void*, cudaFreeHost>;
  OwnedMemory memory_;
  OwnedEvent recorded_;
};

template <>
struct EliminationWorkspace<Cuda> {
  explicit EliminationWorkspace(const Device& device) : backend(device), pinned(device) {}
  /// The look-ahead stream, created by the first call.
  LookaheadStream& lookahead() {
    if (lookahead_ == nullptr) lookahead_ = std::make_unique<LookaheadStream>(backend.device());
    return *lookahead_;
  }
  Cuda backend;
  PinnedResult<Cuda> pinned;
  FloatProducts products = FloatProducts::in_float;
  SetupControl control = {};  ///< has no effect: all panels are queued at once

 private:
  std::unique_ptr<LookaheadStream> lookahead_;
};

}  // namespace echelon

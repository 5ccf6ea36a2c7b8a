// SPDX-License-Identifier: BSD-3-Clause
/// Independent work on several streams, in queued order or in a recording.
#pragma once

#include "backend/cuda/check.cuh"
#include "backend/cuda/owned.cuh"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace echelon {

/// Streams whose work begins after that of the calling thread's stream, the main stream, and precedes its
/// later work.
class Branches {
  struct Branch {
    Owned<cudaStream_t, cudaStreamDestroy> stream;
    Owned<cudaEvent_t, cudaEventDestroy> end;
  };

 public:
  /// `count`: most branches between two calls of join().
  explicit Branches(std::size_t count) : fork_(make_event()) {
    for (std::size_t k = 0; k < count; ++k) {
      branches_.push_back({make_owned<Owned<cudaStream_t, cudaStreamDestroy>>(cudaStreamCreateWithFlags,
                                                                              cudaStreamNonBlocking),
                           make_event()});
    }
  }

  [[nodiscard]] bool has_free() const { return used_ < branches_.size(); }

  /// A stream for work that needs that of the main stream up to the first branch since the last join().
  [[nodiscard]] cudaStream_t branch() {
    if (used_ == 0) check(cudaEventRecord(fork_.get(), stream()));
    cudaStream_t result = branches_[used_++].stream.get();
    check(cudaStreamWaitEvent(result, fork_.get(), 0));
    return result;
  }

  /// Makes later work on the main stream wait for the branches.
  void join() {
    for (std::size_t k = 0; k < used_; ++k) {
      check(cudaEventRecord(branches_[k].end.get(), branches_[k].stream.get()));
      check(cudaStreamWaitEvent(stream(), branches_[k].end.get(), 0));
    }
    used_ = 0;
  }

 private:
  static Owned<cudaEvent_t, cudaEventDestroy> make_event() {
    return make_owned<Owned<cudaEvent_t, cudaEventDestroy>>(cudaEventCreateWithFlags, cudaEventDisableTiming);
  }

  std::vector<Branch> branches_;
  Owned<cudaEvent_t, cudaEventDestroy> fork_;
  std::size_t used_ = 0;
};

}  // namespace echelon

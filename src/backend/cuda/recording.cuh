// SPDX-License-Identifier: BSD-3-Clause
/// CUDA graphs of queued work.
#pragma once

#include "backend/cuda/check.cuh"
#include "backend/cuda/cuda.cuh"

#include <cuda_runtime_api.h>

namespace echelon {

/// A graph of the work between the construction of a `Capture` and `finish`.
class CudaRecording {
 public:
  CudaRecording() = default;
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  ~CudaRecording() { drop(); }

 protected:
  /// Addresses that the recorded work depends on.
  struct State {
    RecordedAddresses vectors{};
    const void* scratch = nullptr;
    const void* counters = nullptr;
    friend bool operator==(const State&, const State&) = default;
  };

  /// Captures the work on the calling thread's stream, instead of executing it, during its lifetime.
  class Capture {
   public:
    Capture() { check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal)); }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    /// Ends the capture; after an exception the captured work is discarded.
    ~Capture() {
      if (is_ended_) return;
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream(), &graph) == cudaSuccess) cudaGraphDestroy(graph);
      cudaGetLastError();
    }
    cudaGraph_t end() const {
      is_ended_ = true;
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(stream(), &graph));
      return graph;
    }

   private:
    mutable bool is_ended_ = false;
  };

  [[nodiscard]] bool matches(const State& state) const { return graph_ != nullptr && state == state_; }
  /// Whether the previous run had the same addresses. If not, the graph is discarded.
  bool is_second_run(const State& state) {
    if (state == state_) return true;
    drop();
    state_ = state;
    return false;
  }
  void finish(const Capture& capture) {
    cudaGraph_t graph = capture.end();
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status);
  }
  void launch() { check(cudaGraphLaunch(graph_, stream())); }

 private:
  void drop() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
  }

  State state_{};
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace echelon

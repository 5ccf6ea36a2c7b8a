// SPDX-License-Identifier: BSD-3-Clause
/// Work that is queued repeatedly with the same arguments.
#pragma once

#include <array>

namespace echelon {

/// Addresses on which recorded work depends, null for none: the work is recorded anew when one of them
/// changes.
using RecordedAddresses = std::array<const void*, 64>;

}  // namespace echelon

#ifdef __CUDACC__
#include "backend/cuda/recording.cuh"
#endif

namespace echelon {

/// Executes the work at once, on the host.
template <class B>
class Recording {
 public:
  template <class F>
  void run(B& /*backend*/, const RecordedAddresses& /*addresses*/, F queue) {
    queue();
  }
};

#ifdef __CUDACC__
/// Records the second run on a GPU as a graph, and launches the graph in later runs: a launch takes little
/// more time than that of one kernel, and the gaps between short kernels are half as long. The first run
/// allocates the memory that the work keeps. The work must not wait, and must be the same in every run.
template <>
class Recording<Cuda> : public CudaRecording {
 public:
  template <class F>
  void run(Cuda& backend, const RecordedAddresses& addresses, F queue) {
    const CurrentDevice current(backend.device().id());
    const State state{addresses, backend.scratch(0), backend.counters(0)};
    if (matches(state)) {
      launch();
    } else if (is_second_run(state)) {
      const Capture capture;
      queue();
      finish(capture);
      launch();
    } else {
      queue();
    }
  }
};
#endif

}  // namespace echelon

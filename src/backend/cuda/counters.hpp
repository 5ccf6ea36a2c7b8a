// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace echelon {

/// Numbers of CUDA runtime calls by this process, on all devices. Tests check with them that a repeated solve
/// neither allocates nor waits. Counting costs an atomic increment, negligible compared with a call of
/// microseconds.
struct CudaCounts {
  std::int64_t allocations = 0;       ///< of device memory
  std::int64_t frees = 0;             ///< of device memory
  std::int64_t synchronizations = 0;  ///< waits of the host for a stream

  friend CudaCounts operator-(const CudaCounts& a, const CudaCounts& b) {
    return {a.allocations - b.allocations, a.frees - b.frees, a.synchronizations - b.synchronizations};
  }
};

/// Calls since the start of the process; zeros in a build without CUDA.
[[nodiscard]] CudaCounts cuda_counts();

}  // namespace echelon

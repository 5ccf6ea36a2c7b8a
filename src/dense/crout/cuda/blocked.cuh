// SPDX-License-Identifier: BSD-3-Clause
/// Crout's method in sections of a few columns, and products of matrices for the rest, on a GPU.
#pragma once

#include "dense/crout/cuda/section.cuh"

#include <cstdint>
#include <stop_token>

namespace echelon::crout {

struct BlockedSettings {
  std::int64_t section_size = 32;  ///< 1 to widest_section
  bool iterated = false;
  double tolerance = 0;  ///< of iterated sections
};

/// P A = L U in place of a square A, recursively: the left half of the columns, its products with the right
/// half, and that. `pivots[j]`, on the GPU, is the row that was exchanged with row j. Queues everything, and
/// waits only where `cancel` is asked, about every 512 columns. Returns false if it was cancelled;
/// `workspace.state` tells of other failures.
template <class T>
bool factor_in_sections(Cuda& backend, DenseView<T> A, const BlockedSettings& settings, std::int64_t* pivots,
                        SectionWorkspace<T>& workspace, const std::stop_token& cancel);

}  // namespace echelon::crout

// SPDX-License-Identifier: BSD-3-Clause
/// Crout's method in panels and products of matrices on a GPU: the panels and updates are those of dense/lu.
#pragma once

#include "dense/lu/workspace.cuh"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::crout {

/// Scratch memory of `factor_blocked`, for one thread at a time, and the data, other than the factors, that
/// solves need.
template <class T>
struct BlockedWorkspace {
  explicit BlockedWorkspace(const Device& device)
      : lu(device), square(device, section_square_size), votes(device, section_votes), counts(device, 1) {}
  [[nodiscard]] std::size_t bytes() const { return lu.bytes(); }

  lu::FactorWorkspace<Cuda, T> lu;
  Array<T> square;
  Array<int> votes;
  Array<SectionCounts> counts;
};

/// Settings of `factor_blocked`: columns one after the other, or in sections by an iteration up to a
/// tolerance.
struct BlockedSettings {
  bool iterated = false;
  double tolerance = 0;
};

/// P A = L U in place of a square A, where U has a unit diagonal: LU with a unit diagonal of L, whose columns
/// are then multiplied, and the rows of U divided, by the pivots. `pivots[j]`, on the GPU, is the row that
/// was exchanged with row j. `largest` of the result: max |l_ii u_ij|. With a zero pivot the factors are not
/// scaled. 2/3 n^3 flops, and 16 n^2 bytes of memory traffic (in double) for the scaling. Waits.
template <class T>
lu::LuResult factor_blocked(Cuda& backend, DenseView<T> A, const BlockedSettings& settings,
                            std::int64_t* pivots, BlockedWorkspace<T>& workspace,
                            const CancellationToken& cancel);

}  // namespace echelon::crout

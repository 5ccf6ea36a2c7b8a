// SPDX-License-Identifier: BSD-3-Clause
/// A sweep along lines: a lane takes `length` rows one after another, and the lanes of a warp the lines of a
/// grid side by side, so that a wavefront runs through all lines of the grid at a time. So many lines are a
/// bundle, and a block's.
///
/// A block has one warp that finishes rows and others that open them: these go ahead of it along the same
/// lines, and leave in shared memory what is known of a row without the bundle's own new values. A
/// matrix's elements of a few rows of a line are one range, which a few lanes bring to shared memory side
/// by side. Values of other bundles come from x, where the value is the flag as in
/// gauss_seidel_kernel.cuh; in an order from the far end they come first, so whoever opens the row waits
/// for them and adds them up. The one warp that all lines of the bundle depend on looks at shared memory
/// alone: at rows that are open, and at the latest values of each line. It is one warp, so a row is to
/// cost it few instructions; rows that have more elements of the own bundle than there is room for, or
/// come from a range that has no room, are finished slowly, element by element, from x.
///
/// Why it cannot hang, whatever the pattern: positions are shared out in their order, to a block by ticket,
/// then to lanes. All that a row waits for has a smaller position; so it is of a block that has started, or
/// of an earlier line of the same bundle, or earlier in the same line. No warp stops at a lane that has to
/// wait, and rows of a line are opened in order as far as there is room, hence the smallest position
/// unfinished is always one that can be opened and finished. The length of the lines is a matter of speed
/// alone.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_finisher.cuh"
#include "relaxation/gauss_seidel/cuda/line_prefetcher.cuh"

namespace echelon::gauss_seidel {

/// The next bundle. All threads of the block, which are done with the bundle before.
__device__ inline unsigned take_bundle(unsigned* tickets) {
  __shared__ unsigned taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(tickets, 1u);
  __syncthreads();
  return taken;
}

template <class T, bool forward, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    sweep_along_lines(const __grid_constant__ DeviceSweep<T> task) {
  if (!task.is_wanted(Way::lines)) return;
  const std::int32_t length = *task.line_length;
  const std::int64_t nonzeros = task.row_offsets[task.rows];
  const std::int64_t bundle_rows = std::int64_t{warp_lanes} * length;
  const unsigned wanted =
      static_cast<unsigned>((task.rows + bundle_rows - 1) / bundle_rows) * task.right_hand_sides;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  for (unsigned ticket = take_bundle(task.tickets);; ticket = take_bundle(task.tickets)) {
    if (ticket >= wanted) {
      // Every block takes one ticket too many; this one is the last.
      if (threadIdx.x == 0 && ticket == wanted + gridDim.x - 1) *task.tickets = 0;
      return;
    }
    LineStorage<T, Shape>& storage = line_storage<T, Shape>();
    if (threadIdx.x < warp_lanes) {
      storage.opened.closed[threadIdx.x] = 0;
      for (auto& row : storage.opened.row) row.opened[threadIdx.x] = 0;
    }
    // As if the lines went on before their first rows.
    for (int k = static_cast<int>(threadIdx.x); k < storage.latest.span; k += Shape::threads) {
      storage.latest.of[k].source = k - storage.latest.span;
    }
    __syncthreads();
    const unsigned number = ticket / task.right_hand_sides;
    const Bundle<T, forward> bundle{task,
                                    nonzeros,
                                    length,
                                    static_cast<std::int32_t>(number * bundle_rows),
                                    ticket % task.right_hand_sides,
                                    1.0f / static_cast<float>(length)};
    if (warp == 0) {
      T partial[chain_limit];
      LineFollower<T, forward, Shape>(bundle, partial).follow_lines();
    } else if (!Shape::apart || warp % 4 != 0) {
      const int opener = warp - 1 - (Shape::apart ? warp / 4 : 0);
      LineOpener<T, forward, Shape>(bundle, opener).open_lines();
    }
  }
}

}  // namespace echelon::gauss_seidel

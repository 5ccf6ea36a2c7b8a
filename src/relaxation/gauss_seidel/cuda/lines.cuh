// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweep along the lines of a grid: each lane takes one line, row after row, so that the lanes
/// of a warp advance in 32 neighbouring lines at a time, and a wavefront crosses all lines of the grid. A
/// block works on a group of 32 lines.
///
/// One warp of a block finishes rows; the others prefetch along the same lines and leave in shared memory
/// everything about a row that needs no new value of the group itself. The elements of a few consecutive rows
/// of a line are one range of the matrix, which several lanes copy together. Values of earlier groups come
/// from x, where the value is the ready flag (chunks.cuh). Counted from the far end they come first in a row,
/// so the prefetching warp waits for them and adds them. The finishing warp, on which all lines of the group
/// depend, reads shared memory only: prepared rows and the latest values of each line. Since it is a single
/// warp, a row must cost it few instructions. Rows with more elements of their own group than a prepared row
/// holds, and rows whose elements do not fit the buffers, are computed element by element from global memory
/// ("slow rows").
///
/// Termination, for every pattern: positions are distributed in order, to blocks by a ticket counter and then
/// to lanes, and a row depends on smaller positions only: those of blocks that have started, of an earlier
/// line of the same group, or earlier in the same line. No warp blocks on a lane that waits, and the rows of
/// a line are prepared in order while there is capacity. So the smallest unfinished position can always be
/// prepared and finished. The line length affects speed only.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_finisher.cuh"
#include "relaxation/gauss_seidel/cuda/line_prefetcher.cuh"

namespace echelon::gauss_seidel {

/// Takes the next group from the ticket counter. Block-collective; all threads have finished the previous
/// group.
__device__ inline unsigned next_line_group(unsigned* tickets) {
  __shared__ unsigned ticket;
  __syncthreads();
  if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
  __syncthreads();
  return ticket;
}

/// Sweep along lines with the configuration Stencil::config. A kernel takes it as a type: nvcc 13.0 generates
/// invalid host code for kernels with template arguments of class type.
template <class T, bool forward, class Stencil>
__global__ void __launch_bounds__(Stencil::config.threads(), Stencil::config.blocks_per_multiprocessor)
    sweep_lines(const __grid_constant__ DeviceSweep<T> task) {
  constexpr LineKernelConfig config = Stencil::config;
  if (!task.selects(Strategy::lines)) return;
  const std::int32_t length = *task.line_length;
  const std::int64_t nonzeros = task.row_offsets[task.rows];
  const std::int64_t group_rows = std::int64_t{warp_size} * length;
  const unsigned group_count =
      static_cast<unsigned>((task.rows + group_rows - 1) / group_rows) * task.right_hand_sides;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  for (unsigned ticket = next_line_group(task.tickets);; ticket = next_line_group(task.tickets)) {
    if (ticket >= group_count) {
      // Every block takes one ticket beyond the last group. The block with the last of these resets the
      // counter.
      if (threadIdx.x == 0 && ticket == group_count + gridDim.x - 1) *task.tickets = 0;
      return;
    }
    LineStorage<T, config>& storage = line_storage<T, config>();
    if (threadIdx.x < warp_size) {
      storage.prepared.finished[threadIdx.x] = 0;
      for (auto& row : storage.prepared.row) row.prepared[threadIdx.x] = 0;
    }
    // Values before the first rows of the lines are marked as seen, with sources of negative rows.
    for (int k = static_cast<int>(threadIdx.x); k < storage.latest.span; k += config.threads()) {
      storage.latest.entries[k].source = k - storage.latest.span;
    }
    __syncthreads();
    const unsigned number = ticket / task.right_hand_sides;
    const LineGroup<T, forward> group{.task = task,
                                      .nonzeros = nonzeros,
                                      .length = length,
                                      .first = static_cast<std::int32_t>(number * group_rows),
                                      .rhs = ticket % task.right_hand_sides,
                                      .inverse_length = 1.0f / static_cast<float>(length)};
    if (warp == 0) {
      T partial[chain_limit];
      LineFinisher<T, forward, config>(group, partial).finish_lines();
    } else if (!config.has_idle_warps() || warp % 4 != 0) {
      const int prefetcher = warp - 1 - (config.has_idle_warps() ? warp / 4 : 0);
      LinePrefetcher<T, forward, config>(group, prefetcher).prefetch_lines();
    }
  }
}

}  // namespace echelon::gauss_seidel

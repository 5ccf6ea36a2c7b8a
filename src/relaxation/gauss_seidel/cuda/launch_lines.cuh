// SPDX-License-Identifier: BSD-3-Clause
/// Launches of sweeps along lines.
#pragma once

#include "backend/cuda/shared_memory.cuh"
#include "relaxation/gauss_seidel/cuda/gpu.cuh"
#include "relaxation/gauss_seidel/cuda/lines.cuh"

#include <algorithm>

namespace echelon::gauss_seidel {

/// Configurations for means of up to 5, 7 and 27 nonzeros per row, as 5-, 7- and 27-point stencils have them.
/// docs/benchmarks/gauss-seidel.md has their times on grids of 2048², 256³ and 192³ points.
struct FivePoint {
  static constexpr LineKernelConfig config{.lanes_per_line = 4,
                                           .warps_per_line = 2,
                                           .prepared_rows = 32,
                                           .min_lead = 4,
                                           .row_elements = 7,
                                           .waiting_elements = 3,
                                           .history = 32,
                                           .load_batch = 4,
                                           .far_batch = 3,
                                           .blocks_per_multiprocessor = 1};
};
struct SevenPoint {
  static constexpr LineKernelConfig config{.lanes_per_line = 4,
                                           .warps_per_line = 1,
                                           .prepared_rows = 8,
                                           .min_lead = 4,
                                           .row_elements = 7,
                                           .waiting_elements = 3,
                                           .history = 32,
                                           .load_batch = 4,
                                           .far_batch = 3,
                                           .blocks_per_multiprocessor = 3};
};
struct TwentySevenPoint {
  static constexpr LineKernelConfig config{.lanes_per_line = 4,
                                           .warps_per_line = 2,
                                           .prepared_rows = 16,
                                           .min_lead = 4,
                                           .row_elements = 27,
                                           .waiting_elements = 4,
                                           .history = 32,
                                           .load_batch = 14,
                                           .far_batch = 9,
                                           .blocks_per_multiprocessor = 1};
};

/// Kernels of both directions for one configuration, and their launch parameters.
template <class T>
struct LineKernel {
  void (*forward)(DeviceSweep<T>);
  void (*backward)(DeviceSweep<T>);
  std::size_t shared_bytes;
  int threads;
  int blocks_per_multiprocessor;
};

template <class T, class Stencil>
LineKernel<T> line_kernel() {
  constexpr LineKernelConfig config = Stencil::config;
  return {.forward = sweep_lines<T, true, Stencil>,
          .backward = sweep_lines<T, false, Stencil>,
          .shared_bytes = sizeof(LineStorage<T, config>),
          .threads = config.threads(),
          .blocks_per_multiprocessor = config.blocks_per_multiprocessor};
}

/// Selects the configuration by the mean number of nonzeros per row.
template <class T>
LineKernel<T> line_kernel_for(std::int64_t rows, std::int64_t nonzeros) {
  if (nonzeros <= 5 * rows) return line_kernel<T, FivePoint>();
  if (nonzeros <= 7 * rows) return line_kernel<T, SevenPoint>();
  return line_kernel<T, TwentySevenPoint>();
}

/// Queues a line sweep. The kernel returns at once unless the device has selected Strategy::lines.
template <class T, bool forward>
void launch_line_sweep(const DeviceSweep<T>& task, const Sweeps<T>& sweeps, const Gpu& gpu) {
  const LineKernel<T> chosen = line_kernel_for<T>(task.rows, sweeps.nonzeros_of_both_triangles());
  const auto kernel = forward ? chosen.forward : chosen.backward;
  allow_shared_memory(kernel);
  kernel<<<static_cast<unsigned>(gpu.multiprocessors * chosen.blocks_per_multiprocessor), chosen.threads,
           chosen.shared_bytes, stream()>>>(task);
  check(cudaGetLastError());
}

/// True if the matrix is large enough, and its rows short enough, for line detection to pay off.
template <class T>
bool may_have_lines(const Sweeps<T>& sweeps, std::int64_t from_rows, const Gpu& gpu) {
  const std::int64_t rows = sweeps.A->rows();
  const std::int64_t nonzeros = sweeps.nonzeros_of_both_triangles();
  const bool fits =
      line_kernel_for<T>(rows, nonzeros).shared_bytes <= static_cast<std::size_t>(gpu.shared_bytes);
  return fits && rows >= std::max<std::int64_t>(from_rows, min_line_length * min_lines) &&
         rows * sweeps.right_hand_sides < std::int64_t{1} << 30 && nonzeros >= 3 * rows &&
         nonzeros <= 27 * rows;
}

}  // namespace echelon::gauss_seidel

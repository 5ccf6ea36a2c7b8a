// SPDX-License-Identifier: BSD-3-Clause
/// Launches of sweeps by regions.
#pragma once

#include "backend/cuda/shared_memory.cuh"
#include "relaxation/gauss_seidel/cuda/gpu.cuh"
#include "relaxation/gauss_seidel/cuda/region_selection.cuh"
#include "relaxation/gauss_seidel/cuda/regions.cuh"

#include <algorithm>

namespace echelon::gauss_seidel {

/// True if the matrix is large enough, and its rows short enough, for region selection to pay off. Region
/// sweeps copy elements 16 bytes at a time.
template <class T>
bool may_use_regions(const Sweeps<T>& sweeps, const SweepTuning& tuning, const Gpu& gpu) {
  const auto aligned = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; };
  const Csr<T>& A = *sweeps.A;
  return A.rows() >= std::max<std::int64_t>(tuning.regions_from_rows, RowSample::size) &&
         A.nonzeros() <= tuning.staged_per_row * A.rows() && A.nonzeros() < INT32_MAX &&
         aligned(A.column_indices().data()) && aligned(A.values().data()) &&
         region_shared_bytes<T>(true) <= static_cast<std::size_t>(gpu.shared_bytes);
}

template <class T>
using RegionKernel = void (*)(DeviceSweep<T>, RegionPlan<T>);
template <class T, bool forward>
RegionKernel<T> region_kernel(bool relaxed) {
  return relaxed ? sweep_regions<T, forward, true> : sweep_regions<T, forward, false>;
}

/// Resident blocks on the whole GPU. Also raises the kernels' limit on shared memory above 48 KB, so it must
/// precede a launch.
template <class T>
std::int64_t resident_blocks(bool relaxed, const Gpu& gpu) {
  int blocks = INT32_MAX;
  for (const RegionKernel<T> kernel : {region_kernel<T, true>(relaxed), region_kernel<T, false>(relaxed)}) {
    allow_shared_memory(kernel);
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, RegionSweepConfig<T>::threads,
                                                        region_shared_bytes<T>(relaxed)));
    blocks = std::min(blocks, fit);
  }
  return std::int64_t{blocks} * gpu.multiprocessors;
}

/// Plans as many regions as blocks are resident; fewer if the smallest capacity for deferred rows would then
/// take more than 4 bytes per row of the matrix.
template <class T>
RegionPlan<T> plan_regions(const Sweeps<T>& sweeps, const Gpu& gpu) {
  constexpr std::int64_t bytes_of_row = 4;
  constexpr std::int64_t bytes = sizeof(DeferredRow<T>);
  const std::int64_t rows = sweeps.A->rows();
  const std::int64_t most = rows * bytes_of_row / (RegionSweepConfig<T>::min_deferred * bytes);
  const std::int64_t blocks = resident_blocks<T>(sweeps.omega != T{1}, gpu);
  const std::int64_t wanted = std::clamp<std::int64_t>(blocks, 1, std::max<std::int64_t>(most, 1));
  RegionPlan<T> plan{};
  plan.region_rows = ((rows + wanted - 1) / wanted + RegionSweepConfig<T>::tile_rows - 1) /
                     RegionSweepConfig<T>::tile_rows * RegionSweepConfig<T>::tile_rows;
  plan.regions = (rows + plan.region_rows - 1) / plan.region_rows;
  plan.deferred_capacity = static_cast<int>(std::clamp<std::int64_t>(
      rows * bytes_of_row / (plan.regions * bytes), RegionSweepConfig<T>::min_deferred, UINT16_MAX));
  return plan;
}

template <class T>
std::int64_t bytes_of(const RegionPlan<T>& plan, std::int64_t right_hand_sides) {
  return plan.regions * right_hand_sides * plan.deferred_capacity *
         static_cast<std::int64_t>(sizeof(DeferredRow<T>));
}

/// Queues a region sweep. The kernel returns at once unless the device has selected Strategy::regions.
template <class T, bool forward>
void launch_region_sweep(const DeviceSweep<T>& task, const RegionPlan<T>& plan) {
  const bool relaxed = task.relaxation.omega != T{1};
  region_kernel<T, forward>(
      relaxed)<<<static_cast<unsigned>(plan.regions * task.right_hand_sides), RegionSweepConfig<T>::threads,
                 region_shared_bytes<T>(relaxed), stream()>>>(task, plan);
  check(cudaGetLastError());
}

}  // namespace echelon::gauss_seidel

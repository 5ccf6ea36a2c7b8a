// SPDX-License-Identifier: BSD-3-Clause
/// The kernel that eliminates a leaf (see cluster_panel.cuh), its plans and launches, for the files that
/// instantiate them.
#pragma once

#include "dense/panels/cluster_panel.cuh"
#include "dense/panels/inner_block_elimination.cuh"
#include "dense/panels/inner_block_iteration.cuh"
#include "dense/panels/leaf.cuh"
#include "dense/panels/pivot_exchange.cuh"
#include "dense/panels/trailing_update.cuh"

#include <algorithm>
#include <array>

namespace echelon::panel_kernels {

template <class Job, int rows_per_thread, bool single_block>
__global__ void __launch_bounds__(threads, 1) eliminate_leaf(const Job job) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm("trap;");  // plan_leaves excludes GPUs without clusters
#else
  extern __shared__ __align__(128) unsigned char panel_shared[];
  ClusterPanel<Job, rows_per_thread, single_block>(job, panel_shared).run();
#endif
}

}  // namespace echelon::panel_kernels

namespace echelon {

namespace leaf_detail {

using panel_kernels::inner_block;
using panel_kernels::max_blocks;
using panel_kernels::max_rows_per_thread;

/// Kernel for blocks with `rows_per_thread` rows for each thread, for one block or for several.
template <class Job>
struct Variant {
  void (*kernel)(Job);
  int rows_per_thread;
  bool single_block;
};

template <class Job>
std::array<Variant<Job>, 4> variants() {
  return {{{panel_kernels::eliminate_leaf<Job, 1, true>, 1, true},
           {panel_kernels::eliminate_leaf<Job, 1, false>, 1, false},
           {panel_kernels::eliminate_leaf<Job, 2, false>, 2, false},
           {panel_kernels::eliminate_leaf<Job, 4, false>, 4, false}}};
}

/// Whether the GPU can run the plan; sets the attributes that the kernel needs for it. The shared memory is
/// always set to `max_bytes`, since other threads may have other plans with the same kernel.
template <class T, class Job>
bool can_run(const LeafPlan<T, Job>& plan, int max_bytes) {
  constexpr unsigned portable = 8;  // blocks of a cluster on every GPU that has clusters
  const auto* kernel = reinterpret_cast<const void*>(plan.kernel);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_bytes));
  if (plan.blocks > portable) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  const cluster::Launch launch(plan.blocks, plan.blocks, plan.threads, plan.shared_bytes, nullptr, false);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, launch.config()) == cudaSuccess) return clusters > 0;
  cudaGetLastError();
  return false;
}

/// The most columns, up to `max_width`, whose share of `rows` rows fits into a block, or 0. Where that is
/// less than max_width, the panel is divided into leaves of nearly equal width.
template <class T>
inline int leaf_width(int rows, int max_width, int max_bytes) {
  const auto fits = [&](int width) {
    return panel_kernels::shared_bytes<T>(rows, width) <= static_cast<std::size_t>(max_bytes);
  };
  if (fits(max_width)) return max_width;
  int most = (max_width - 1) / inner_block * inner_block;
  while (most > 0 && !fits(most)) most -= inner_block;
  if (most == 0) return 0;
  const int leaves = (max_width + most - 1) / most;
  return (max_width + leaves * inner_block - 1) / (leaves * inner_block) * inner_block;
}

/// Plan with the fewest rows for each thread, and with the largest possible number of columns.
template <class T, class Job>
LeafPlan<T, Job> plan_for(int blocks, std::int64_t m, int max_width, int max_bytes) {
  for (const Variant<Job>& variant : variants<Job>()) {
    if (variant.single_block != (blocks == 1)) continue;
    const int rows = panel_kernels::rows_of_block(static_cast<int>(m), blocks, variant.rows_per_thread);
    if (rows > panel_kernels::threads * variant.rows_per_thread) continue;
    const int width = leaf_width<T>(rows, max_width, max_bytes);
    if (width == 0) return {};
    return {.kernel = variant.kernel,
            .width = width,
            .blocks = static_cast<unsigned>(blocks),
            .threads = panel_kernels::threads,
            .shared_bytes = panel_kernels::shared_bytes<T>(rows, width)};
  }
  return {};
}

}  // namespace leaf_detail

template <class T, class Job>
LeafPlan<T, Job> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t max_width,
                             const PanelTuning& tuning) {
  const CurrentDevice current(backend.device().id());
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, backend.device().id()));
    return value;
  };
  constexpr std::int64_t max_rows =
      std::int64_t{panel_kernels::max_blocks} * panel_kernels::threads * panel_kernels::max_rows_per_thread;
  if (!cluster::available(backend.device()) || m > max_rows) return {};
  const int max_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  constexpr int wide = 256;  // two leaves of this width take less time than one twice as wide
  const auto width = static_cast<int>(
      std::min<std::int64_t>(tuning.leaf_columns > 0 ? tuning.leaf_columns : wide, max_width));
  const int limit = tuning.cluster_blocks > 0 ? std::min(tuning.cluster_blocks, panel_kernels::max_blocks)
                                              : panel_kernels::max_blocks;
  int blocks = 1;
  while (2 * blocks <= limit && blocks * warp_size < m) blocks *= 2;
  for (; blocks > 0; blocks /= 2) {
    const LeafPlan<T, Job> plan = leaf_detail::plan_for<T, Job>(blocks, m, width, max_bytes);
    if (plan.kernel == nullptr) return {};
    if (leaf_detail::can_run(plan, max_bytes)) return plan;
  }
  return {};
}

template <class T, class Job>
void factor_leaf(const Cuda& backend, const LeafPlan<T, Job>& plan, const Job& job, cudaStream_t stream) {
  const CurrentDevice current(backend.device().id());
  // Blocks of a cluster that wait to start together block concurrent multiplications: early launches
  // take 222 ms instead of 210 ms at n = 16,384 on an H200, and 31.6 ms instead of 33.6 ms at n = 8192.
  constexpr int max_rows_for_early_launch = 8192;
  const cluster::Launch launch(plan.blocks, plan.blocks, plan.threads, plan.shared_bytes, stream,
                               job.rows <= max_rows_for_early_launch);
  check(cudaLaunchKernelEx(launch.config(), plan.kernel, job));
}

}  // namespace echelon

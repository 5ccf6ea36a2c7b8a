// SPDX-License-Identifier: BSD-3-Clause
/// The kernel that eliminates a leaf; see cluster_panel.cuh.
#pragma once

#include "dense/panels/cluster_panel.cuh"
#include "dense/panels/pivot_exchange.cuh"
#include "dense/panels/trailing_update.cuh"
#include "dense/panels/window_elimination.cuh"

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

// SPDX-License-Identifier: BSD-3-Clause
// A panel of Gauss-Jordan elimination in the shared memory of one cluster of thread blocks.
#include "dense/panels/cluster_panel.cuh"

#include <algorithm>
#include <array>

namespace echelon {

namespace {

using panel_kernels::most_blocks;
using panel_kernels::most_down;
using panel_kernels::window;

/// A kernel for blocks whose threads have `down` rows each, for one block or for several.
template <class T>
struct Variant {
  void (*kernel)(LeafJob<T>);
  int down;
  bool single;
};

template <class T>
std::array<Variant<T>, 4> variants() {
  return {{{panel_kernels::eliminate_panel<T, 1, true>, 1, true},
           {panel_kernels::eliminate_panel<T, 1, false>, 1, false},
           {panel_kernels::eliminate_panel<T, 2, false>, 2, false},
           {panel_kernels::eliminate_panel<T, 4, false>, 4, false}}};
}

/// Whether the GPU can run it; makes that possible where it has to be asked for. Always for `most_bytes`:
/// other threads may have other plans with the same kernel.
template <class T>
bool can_run(const LeafPlan<T>& plan, int most_bytes) {
  constexpr unsigned portable = 8;
  const auto* kernel = reinterpret_cast<const void*>(plan.kernel);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes));
  if (plan.blocks > portable) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  const cluster::Launch launch(plan.blocks, plan.blocks, plan.threads, plan.shared_bytes, nullptr, false);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, launch.config()) == cudaSuccess) return clusters > 0;
  cudaGetLastError();
  return false;
}

/// The most columns of which so many rows fit into a block, or 0; where that is less than `widest`, no more
/// than it takes for that many leaves of about the same width.
template <class T>
int width_for(int rows, int widest, int most_bytes) {
  const auto fits = [&](int width) {
    return panel_kernels::shared_bytes<T>(rows, width) <= static_cast<std::size_t>(most_bytes);
  };
  if (fits(widest)) return widest;
  int most = (widest - 1) / window * window;
  while (most > 0 && !fits(most)) most -= window;
  if (most == 0) return 0;
  const int leaves = (widest + most - 1) / most;
  return (widest + leaves * window - 1) / (leaves * window) * window;
}

/// As few rows to a thread as that takes, and as many columns as fit then.
template <class T>
LeafPlan<T> plan_for(int blocks, std::int64_t m, int widest, int most_bytes) {
  for (const Variant<T>& variant : variants<T>()) {
    if (variant.single != (blocks == 1)) continue;
    const int rows = panel_kernels::rows_of_block(static_cast<int>(m), blocks, variant.down);
    if (rows > panel_kernels::threads * variant.down) continue;
    const int width = width_for<T>(rows, widest, most_bytes);
    if (width == 0) return {};
    return {variant.kernel, width, static_cast<unsigned>(blocks), panel_kernels::threads,
            panel_kernels::shared_bytes<T>(rows, width)};
  }
  return {};
}

}  // namespace

template <class T>
LeafPlan<T> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t widest, const PanelTuning& tuning) {
  const CurrentDevice current(backend.device().id());
  constexpr int with_clusters = 9;
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, backend.device().id()));
    return value;
  };
  constexpr std::int64_t most_rows = std::int64_t{most_blocks} * panel_kernels::threads * most_down;
  if (attribute(cudaDevAttrComputeCapabilityMajor) < with_clusters || m > most_rows) return {};
  const int most_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  constexpr int wide = 256;  // two such leaves take less time than one twice as wide
  const auto width = static_cast<int>(std::min<std::int64_t>(tuning.leaf > 0 ? tuning.leaf : wide, widest));
  const int most = tuning.cluster > 0 ? std::min(tuning.cluster, most_blocks) : most_blocks;
  int blocks = 1;
  while (2 * blocks <= most && blocks * warp_size < m) blocks *= 2;
  for (; blocks > 0; blocks /= 2) {
    const LeafPlan<T> plan = plan_for<T>(blocks, m, width, most_bytes);
    if (plan.kernel == nullptr) return {};
    if (can_run(plan, most_bytes)) return plan;
  }
  return {};
}

template <class T>
void factor_leaf(const Cuda& backend, const LeafPlan<T>& plan, const LeafJob<T>& job, cudaStream_t on) {
  const CurrentDevice current(backend.device().id());
  constexpr int tall = 8192;  // multiplications stop for blocks that wait to start together
  const cluster::Launch launch(plan.blocks, plan.blocks, plan.threads, plan.shared_bytes, on,
                               job.rows <= tall);
  check(cudaLaunchKernelEx(launch.config(), plan.kernel, job));
}

template LeafPlan<float> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template LeafPlan<double> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template void factor_leaf(const Cuda&, const LeafPlan<float>&, const LeafJob<float>&, cudaStream_t);
template void factor_leaf(const Cuda&, const LeafPlan<double>&, const LeafJob<double>&, cudaStream_t);

}  // namespace echelon

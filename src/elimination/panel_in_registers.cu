// SPDX-License-Identifier: BSD-3-Clause
// A panel of Gauss-Jordan elimination in the registers of one cluster of thread blocks.
#include "elimination/leaf.cuh"

#include <algorithm>
#include <array>

namespace echelon {

namespace {

using leaf_kernels::warp_size;
constexpr int most_blocks = 16;

template <class T, int lanes, int down, int most_threads>
using ClusterLeaf = leaf_kernels::Leaf<T, lanes, down, most_threads, most_blocks>;

template <class T, int lanes, int down, int most_threads>
__global__ void __launch_bounds__(most_threads, 1) eliminate_leaf(const LeafJob<T> job) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm("trap;");  // never planned for: there are no clusters
#else
  using Leaf = ClusterLeaf<T, lanes, down, most_threads>;
  extern __shared__ double2 leaf_shared[];
  auto& shared = *reinterpret_cast<typename Leaf::Shared*>(leaf_shared);
  Leaf leaf(job, shared);
  leaf.load();
  leaf.store(leaf.eliminate_all(*job.state, job.tolerance));
  if (!leaf.is_leader()) return;
  *job.state = shared.state;
  *job.rank_after = shared.state.rank;
#endif
}

/// A kernel, and what it can take.
template <class T>
struct Variant {
  void (*kernel)(LeafJob<T>);
  int width;
  int rows_of_warp;
  int threads;
  std::size_t shared_bytes;
};

template <class T, int lanes, int down, int threads>
Variant<T> variant() {
  using Leaf = ClusterLeaf<T, lanes, down, threads>;
  return {eliminate_leaf<T, lanes, down, threads>, Leaf::columns, Leaf::rows_of_warp, threads,
          sizeof(typename Leaf::Shared)};
}

/// From the widest to the tallest: 64 elements a thread in blocks of 256; in blocks of 512 as many as their
/// registers hold.
template <class T, int threads>
std::array<Variant<T>, 6> variants() {
  constexpr int down = threads == 512 && sizeof(T) == 8 ? 2 : 4;
  return {variant<T, 32, down, threads>(), variant<T, 16, down, threads>(), variant<T, 8, down, threads>(),
          variant<T, 4, down, threads>(),  variant<T, 2, down, threads>(),  variant<T, 1, down, threads>()};
}

std::int64_t shares(std::int64_t n, std::int64_t share) {
  return (n + share - 1) / share;
}

cudaLaunchConfig_t configuration(unsigned blocks, unsigned threads, std::size_t shared_bytes,
                                 cudaLaunchAttribute& cluster) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = blocks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return config;
}

/// Whether the GPU can run a cluster of so many blocks; makes it possible where it has to be asked for.
template <class T>
bool can_run(const Variant<T>& variant, unsigned blocks) {
  constexpr unsigned portable = 8;
  const auto* kernel = reinterpret_cast<const void*>(variant.kernel);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(variant.shared_bytes)));
  if (blocks > portable) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  cudaLaunchAttribute cluster{};
  const cudaLaunchConfig_t config =
      configuration(blocks, static_cast<unsigned>(variant.threads), variant.shared_bytes, cluster);
  int clusters = 0;
  if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess) return clusters > 0;
  cudaGetLastError();
  return false;
}

/// Four warps keep a multiprocessor's four schedulers busy: only then the rows are spread further.
template <class T>
LeafPlan<T> spread(const Variant<T>& variant, std::int64_t m, int cluster) {
  constexpr int schedulers = 4;
  const std::int64_t warps = std::max<std::int64_t>(shares(m, variant.rows_of_warp), 1);
  std::int64_t blocks = 1;
  while (blocks < cluster && blocks * schedulers < warps) blocks *= 2;
  const std::int64_t threads = shares(warps, blocks) * warp_size;
  if (threads > variant.threads) return {};
  return {variant.kernel, variant.width, static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
          variant.shared_bytes};
}

}  // namespace

template <class T>
LeafPlan<T> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t widest, const PanelTuning& tuning) {
  const CurrentDevice current(backend.device().id());
  constexpr int with_clusters = 9;
  int capability = 0;
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, backend.device().id()));
  if (capability < with_clusters) return {};
  const auto all = tuning.threads == 512 ? variants<T, 512>() : variants<T, 256>();
  const std::int64_t most_columns = tuning.leaf > 0 ? std::min<std::int64_t>(tuning.leaf, widest) : widest;
  for (std::size_t v = 0; v < all.size(); ++v) {
    const bool wasteful = v + 1 < all.size() && all[v + 1].width >= most_columns;
    if (wasteful) continue;
    for (int cluster = tuning.cluster > 0 ? tuning.cluster : most_blocks; cluster > 0; cluster /= 2) {
      LeafPlan<T> plan = spread(all[v], m, cluster);
      if (plan.kernel == nullptr) break;
      if (!can_run(all[v], plan.blocks)) continue;
      plan.width = static_cast<int>(std::min<std::int64_t>(plan.width, most_columns));
      return plan;
    }
  }
  return {};
}

template <class T>
void factor_leaf(const Cuda& backend, const LeafPlan<T>& plan, const LeafJob<T>& job, cudaStream_t on) {
  const CurrentDevice current(backend.device().id());
  cudaLaunchAttribute cluster{};
  cudaLaunchConfig_t config = configuration(plan.blocks, plan.threads, plan.shared_bytes, cluster);
  config.stream = on;
  check(cudaLaunchKernelEx(&config, plan.kernel, job));
}

template LeafPlan<float> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template LeafPlan<double> plan_leaves(const Cuda&, std::int64_t, std::int64_t, const PanelTuning&);
template void factor_leaf(const Cuda&, const LeafPlan<float>&, const LeafJob<float>&, cudaStream_t);
template void factor_leaf(const Cuda&, const LeafPlan<double>&, const LeafJob<double>&, cudaStream_t);

}  // namespace echelon

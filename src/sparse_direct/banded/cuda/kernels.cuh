// SPDX-License-Identifier: BSD-3-Clause
/// Kernels in which a block has a node: elimination by all its threads, substitution by a warp.
#pragma once

#include "sparse_direct/banded/cuda/group.cuh"
#include "sparse_direct/banded/cuda/shared_memory.cuh"
#include "sparse_direct/banded/cuda/substitute.cuh"
#include "sparse_direct/banded/cuda/wide_substitute.cuh"
#include "sparse_direct/banded/cuda/wide_substitute_transposed.cuh"
#include "sparse_direct/banded/eliminate.hpp"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/substitute.hpp"

#include <cstdint>

namespace echelon::banded {

template <class T>
struct EliminationJob {
  LevelNodes nodes;
  FactorBatch<T> factors;
  BandMatrices<T> A;
  std::int64_t window;  ///< elements of the largest window
  std::int64_t slots;   ///< of the node with the most
  T* global_windows;    ///< one for each block, or null: in shared memory
};

template <bool is_interface, class T>
__global__ void __launch_bounds__(1024) eliminate_level(EliminationJob<T> job) {
  const std::int64_t matrix = blockIdx.x / job.nodes.count;
  const std::int64_t number = blockIdx.x % job.nodes.count;
  const BandNode node = job.nodes.first[number];
  const FactorView<T> own = job.factors.of(matrix);
  auto* slot_rows = dynamic_shared_memory<std::int32_t>();
  T* elements = job.global_windows != nullptr ? job.global_windows + blockIdx.x * job.window
                                              : reinterpret_cast<T*>(slot_rows + (job.slots + 3) / 4 * 4);
  const BlockGroup group;
  NodeFacts facts;
  if constexpr (is_interface) {
    const InterfaceRows<T> rows{own.blocks, job.factors.k};
    facts = NodeElimination<BlockGroup, T, InterfaceRows<T>>(group, node, rows, own, {elements, slot_rows})
                .eliminate(own.blocks, own.kept, job.factors.k);
  } else {
    const PartitionRows<T> rows{job.A.of(matrix)};
    facts = NodeElimination<BlockGroup, T, PartitionRows<T>>(group, node, rows, own, {elements, slot_rows})
                .eliminate(own.blocks, own.kept, job.factors.k);
  }
  if (threadIdx.x == 0) {
    job.factors.facts[matrix * job.factors.node_count + job.nodes.begin + number] = facts;
  }
}

/// Adds the children's sums to an interface: the left and right sums of its node begin with those of its
/// children, and the interface itself takes the others.
template <class T>
__device__ void gather_sums(const BandNode& node, const T* sums, T* x, T* own, std::int64_t k) {
  const T* first = sums + node.first_child * 2 * k;
  const T* second = sums + node.second_child * 2 * k;
  for (std::int64_t c = threadIdx.x; c < k; c += blockDim.x) {
    own[c] = first[c];
    own[k + c] = second[k + c];
    x[node.column + c] += first[k + c] + second[c];
  }
  __syncwarp();
}

/// Calls work(node, factors, right-hand side, number of the node in the plan) for a block's node.
template <class T, class Work>
__device__ void with_item(const LevelNodes& nodes, const FactorBatch<T>& factors, const RhsBatch<T>& rhs,
                          const Work& work) {
  const std::int64_t item = blockIdx.x / nodes.count;
  const std::int64_t number = blockIdx.x % nodes.count;
  const BandNode node = nodes.first[number];
  work(node, factors.of(item / rhs.columns), rhs.of(item / rhs.columns, item % rhs.columns),
       nodes.begin + number);
}

template <SubstitutionPass which, bool is_interface, class T>
__global__ void __launch_bounds__(warp_size)
    substitute_level(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs) {
  T* window = dynamic_shared_memory<T>();
  with_item(
      nodes, factors, rhs,
      [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t number) {
        const WarpGroup group;
        if constexpr (which == SubstitutionPass::forward) {
          substitute_forward<is_interface>(group, node, own, vectors, window);
        } else if constexpr (which == SubstitutionPass::backward) {
          substitute_backward(group, node, own, vectors.x);
        } else if constexpr (which == SubstitutionPass::transposed_forward) {
          T* sums = rhs.sums + number * 2 * factors.k;
          if (is_interface) gather_sums(node, rhs.sums, vectors.x, sums, factors.k);
          substitute_transposed_forward(group, node, own, vectors.x, sums, factors.k);
        } else {
          substitute_transposed_backward<is_interface>(group, node, own, vectors.x, vectors.x,
                                                       vectors.reduced, window);
        }
      });
}

template <bool is_interface, int registers, class T>
__global__ void __launch_bounds__(warp_size)
    substitute_forward_in_registers(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs) {
  T* scratch = dynamic_shared_memory<T>();
  with_item(nodes, factors, rhs,
            [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t) {
              WarpForward<is_interface, registers, T>(node, own, vectors).run(scratch);
            });
}

template <int ahead_registers, int left_registers, class T>
__global__ void __launch_bounds__(warp_size)
    substitute_backward_in_registers(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs) {
  with_item(nodes, factors, rhs,
            [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t) {
              WarpBackward<ahead_registers, left_registers, T>(node, own, vectors.x).run();
            });
}

template <bool is_interface, class T>
__global__ void __launch_bounds__(512)
    substitute_wide_forward(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs) {
  __shared__ ForwardExchange<T> shared;
  with_item(nodes, factors, rhs,
            [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t) {
              WideForward<is_interface, T>(node, own, vectors, dynamic_shared_memory<T>(), shared).run();
            });
}

/// Backward substitution by blocks of eight warps with at most 80 registers per thread, so that three blocks
/// are resident. Dynamic shared memory: `ring` elements, and one for each column of the left interface.
template <class T, int rows_per_warp>
__global__ void __launch_bounds__(tile_columns / rows_per_warp * warp_size, rows_per_warp == 4 ? 3 : 1)
    substitute_wide_backward(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs, int ring) {
  __shared__ BackwardExchange<T> shared;
  with_item(
      nodes, factors, rhs,
      [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t) {
        WideBackward<T, rows_per_warp>(node, own, vectors.x, dynamic_shared_memory<T>(), ring, shared).run();
      });
}

/// Dynamic shared memory as for substitute_wide_backward.
template <bool is_interface, class T>
__global__ void __launch_bounds__(512)
    substitute_wide_transposed_forward(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs, int ring) {
  __shared__ TransposedExchange<T> shared;
  with_item(
      nodes, factors, rhs,
      [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t number) {
        T* sums = rhs.sums + number * 2 * factors.k;
        if (is_interface) gather_sums(node, rhs.sums, vectors.x, sums, factors.k);
        __syncthreads();
        WideTransposedForward<T>(node, own, vectors.x, sums, factors.k, dynamic_shared_memory<T>(), ring,
                                 shared)
            .run();
      });
}

template <bool is_interface, class T>
__global__ void __launch_bounds__(512)
    substitute_wide_transposed_backward(LevelNodes nodes, FactorBatch<T> factors, RhsBatch<T> rhs) {
  __shared__ TransposedExchange<T> shared;
  with_item(nodes, factors, rhs,
            [&](const BandNode& node, const FactorView<T>& own, const RhsView<T>& vectors, std::int64_t) {
              WideTransposedBackward<is_interface, T>(node, own, vectors.x, vectors.reduced,
                                                      dynamic_shared_memory<T>(), shared)
                  .run();
            });
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
// Nodes on a GPU. A block of threads eliminates a narrow node with the window in shared memory, and a warp
// substitutes for it and a right-hand side. The window of a wide node is in global memory, where several
// blocks eliminate 32 columns at a time, and a block substitutes.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "sparse_direct/banded/cuda/kernels.cuh"
#include "sparse_direct/banded/cuda/wide_panel.cuh"
#include "sparse_direct/banded/cuda/wide_update.cuh"
#include "sparse_direct/banded/cuda/wide_window.cuh"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon::banded {

namespace {

/// Bytes of shared memory for a row number in each slot.
std::size_t slot_bytes(const LevelSizes& sizes) {
  return static_cast<std::size_t>((sizes.slots + 3) / 4 * 4) * sizeof(std::int32_t);
}

/// Number of tiles for `columns` columns, or of warps for as many rows with one row per thread.
std::int64_t tiles(std::int64_t columns) {
  return (columns + tile_columns - 1) / tile_columns;
}

/// Whether the nodes of a level are eliminated 32 columns at a time. Complex ones are not.
bool is_wide(const BandPlan& plan, const LevelSizes& sizes) {
  return plan.nodes.front().extra_slots == tile_columns - 1 && sizes.slots <= most_panel_slots;
}

/// Launches a kernel of `blocks` blocks with dynamic shared memory beyond the default limit.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, unsigned threads, std::size_t shared_bytes,
            const Arguments&... arguments) {
  allow_shared_memory(kernel);
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream()>>>(arguments...);
  check(cudaGetLastError());
}

template <bool is_interface, class T>
void eliminate_in_blocks(Cuda& backend, EliminationJob<T> job, const LevelSizes& sizes) {
  const std::int64_t blocks = job.nodes.count * job.factors.count;
  const std::size_t window_bytes = static_cast<std::size_t>(sizes.window) * sizeof(T);
  const bool in_shared = slot_bytes(sizes) + window_bytes <= most_shared_bytes;
  if (!in_shared) {
    job.global_windows = static_cast<T*>(backend.scratch(static_cast<std::size_t>(blocks) * window_bytes));
  }
  launch(eliminate_level<is_interface, T>, blocks, threads_for_window(sizes.window),
         slot_bytes(sizes) + (in_shared ? window_bytes : 0), job);
}

/// Factors the panels that begin at `step`, with a thread for each slot.
template <bool is_interface, class T>
void launch_panels(std::int64_t windows, const WideJob<T>& job, std::int64_t step) {
  const auto threads = static_cast<unsigned>(job.leading);
  if (threads <= 512) {
    launch(factor_wide_panels<is_interface, T, 512>, windows, threads, 0, job, step);
  } else {
    launch(factor_wide_panels<is_interface, T, most_panel_slots>, windows, threads, 0, job, step);
  }
}

template <bool is_interface, class T>
void eliminate_wide(Cuda& backend, WideJob<T> job, const LevelSizes& sizes) {
  const std::int64_t windows = job.nodes.count * job.factors.count;
  const auto elements = static_cast<std::size_t>(windows * job.tiles() * job.leading * tile_columns);
  const auto slots = static_cast<std::size_t>(windows * job.leading);
  auto* scratch =
      static_cast<unsigned char*>(backend.scratch(elements * sizeof(T) + slots * sizeof(std::int32_t)));
  job.windows = reinterpret_cast<T*>(scratch);
  job.slot_rows = reinterpret_cast<std::int32_t*>(scratch + elements * sizeof(T));
  launch(fill_wide_windows<is_interface, T>, windows * job.tiles(), 256, 0, job);
  for (std::int64_t step = 0; step < sizes.steps; step += tile_columns) {
    launch_panels<is_interface>(windows, job, step);
    launch(update_wide_windows<is_interface, T>, windows * job.tiles(), update_threads, 0, job, step);
  }
  const std::int64_t parts = tiles(sizes.block_rows);
  if (parts > 0) {
    launch(store_wide_blocks<is_interface, T>, windows * parts, 256,
           static_cast<std::size_t>(sizes.block_rows) * sizeof(std::int32_t), job, parts);
  }
}

template <bool is_interface, class T>
void eliminate_level_of(Cuda& backend, const FactorBatch<T>& factors, const BandMatrices<T>& A,
                        const LevelNodes& nodes, const LevelSizes& sizes) {
  if constexpr (!is_complex<T>) {
    if (is_wide(*factors.plan, sizes)) {
      // The pivot row of the panel's last column extends `ahead` columns beyond that column.
      eliminate_wide<is_interface, T>(backend,
                                      {nodes, factors, A, nullptr, nullptr, tiles(sizes.slots) * tile_columns,
                                       tiles(sizes.ahead + tile_columns - 1), tiles(sizes.left)},
                                      sizes);
      return;
    }
  }
  eliminate_in_blocks<is_interface, T>(backend, {nodes, factors, A, sizes.window, sizes.slots, nullptr},
                                       sizes);
}

/// Launches a substitution with one block for each node and right-hand side.
template <SubstitutionPass which, bool is_interface, class T>
void launch_wide_substitution(const LevelNodes& nodes, const FactorBatch<T>& factors, const RhsBatch<T>& rhs,
                              const LevelSizes& sizes) {
  const std::int64_t blocks = nodes.count * factors.count * rhs.columns;
  const auto by_slots =
      static_cast<unsigned>(std::clamp<std::int64_t>(tiles(sizes.slots) * warp_size, 128, 512));
  const auto by_columns = sizes.ahead + sizes.left > 256 ? 512U : 256U;
  const std::int64_t ring = tiles(sizes.ahead + tile_columns - 1) * tile_columns;
  const std::size_t slot_elements = static_cast<std::size_t>(sizes.slots) * sizeof(T);
  const std::size_t column_elements = static_cast<std::size_t>(ring + sizes.left) * sizeof(T);
  if constexpr (which == SubstitutionPass::forward) {
    launch(substitute_wide_forward<is_interface, T>, blocks, by_slots, slot_elements, nodes, factors, rhs);
  } else if constexpr (which == SubstitutionPass::backward) {
    if (by_columns == 512) {
      launch(substitute_wide_backward<T, 2>, blocks, by_columns, column_elements, nodes, factors, rhs,
             static_cast<int>(ring));
    } else {
      launch(substitute_wide_backward<T, 4>, blocks, by_columns, column_elements, nodes, factors, rhs,
             static_cast<int>(ring));
    }
  } else if constexpr (which == SubstitutionPass::transposed_forward) {
    launch(substitute_wide_transposed_forward<is_interface, T>, blocks, by_columns, column_elements, nodes,
           factors, rhs, static_cast<int>(ring));
  } else {
    launch(substitute_wide_transposed_backward<is_interface, T>, blocks, by_columns, slot_elements, nodes,
           factors, rhs);
  }
}

template <SubstitutionPass which, bool is_interface, class T>
void launch_substitution(const LevelNodes& nodes, const FactorBatch<T>& factors, const RhsBatch<T>& rhs,
                         const LevelSizes& sizes) {
  if constexpr (!is_complex<T>) {
    if (is_wide(*factors.plan, sizes))
      return launch_wide_substitution<which, is_interface>(nodes, factors, rhs, sizes);
  }
  const std::size_t shared_bytes = static_cast<std::size_t>(sizes.slots) * sizeof(T);
  const std::int64_t blocks = nodes.count * factors.count * rhs.columns;
  if constexpr (which == SubstitutionPass::forward) {
    if (sizes.slots <= warp_size) {
      return launch(substitute_forward_in_registers<is_interface, 1, T>, blocks, warp_size, shared_bytes,
                    nodes, factors, rhs);
    }
    if (sizes.slots <= 4 * warp_size) {
      return launch(substitute_forward_in_registers<is_interface, 4, T>, blocks, warp_size, shared_bytes,
                    nodes, factors, rhs);
    }
  }
  if constexpr (which == SubstitutionPass::backward) {
    if (sizes.ahead <= warp_size && sizes.left <= warp_size) {
      return launch(substitute_backward_in_registers<1, 1, T>, blocks, warp_size, 0, nodes, factors, rhs);
    }
    if (sizes.ahead <= 4 * warp_size && sizes.left <= 4 * warp_size) {
      return launch(substitute_backward_in_registers<4, 4, T>, blocks, warp_size, 0, nodes, factors, rhs);
    }
  }
  launch(substitute_level<which, is_interface, T>, blocks, warp_size, shared_bytes, nodes, factors, rhs);
}

template <SubstitutionPass which, class T>
void launch_substitution_of_level(const LevelNodes& nodes, const FactorBatch<T>& factors,
                                  const RhsBatch<T>& rhs, std::int64_t level) {
  const LevelSizes sizes = sizes_of_level(*factors.plan, level);
  level > 0 ? launch_substitution<which, true>(nodes, factors, rhs, sizes)
            : launch_substitution<which, false>(nodes, factors, rhs, sizes);
}

}  // namespace

template <class B, class T>
void eliminate_nodes(B& backend, const FactorBatch<T>& factors, const BandMatrices<T>& A,
                     std::int64_t level) {
  const LevelNodes nodes = nodes_of_level(*factors.plan, factors.nodes, level);
  if (nodes.count * factors.count == 0) return;
  const CurrentDevice current(backend.device().id());
  const LevelSizes sizes = sizes_of_level(*factors.plan, level);
  level > 0 ? eliminate_level_of<true>(backend, factors, A, nodes, sizes)
            : eliminate_level_of<false>(backend, factors, A, nodes, sizes);
}

template <class B, class T>
void substitute_nodes(B& backend, SubstitutionPass which, const FactorBatch<T>& factors,
                      const RhsBatch<T>& rhs, std::int64_t level) {
  const LevelNodes nodes = nodes_of_level(*factors.plan, factors.nodes, level);
  if (nodes.count * factors.count * rhs.columns == 0) return;
  const CurrentDevice current(backend.device().id());
  switch (which) {
    case SubstitutionPass::forward:
      return launch_substitution_of_level<SubstitutionPass::forward>(nodes, factors, rhs, level);
    case SubstitutionPass::backward:
      return launch_substitution_of_level<SubstitutionPass::backward>(nodes, factors, rhs, level);
    case SubstitutionPass::transposed_forward:
      return launch_substitution_of_level<SubstitutionPass::transposed_forward>(nodes, factors, rhs, level);
    case SubstitutionPass::transposed_backward:
      return launch_substitution_of_level<SubstitutionPass::transposed_backward>(nodes, factors, rhs, level);
  }
}

#define ECHELON_INSTANTIATE(T)                                                                       \
  template void eliminate_nodes(Cuda&, const FactorBatch<T>&, const BandMatrices<T>&, std::int64_t); \
  template void substitute_nodes(Cuda&, SubstitutionPass, const FactorBatch<T>&, const RhsBatch<T>&, \
                                 std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::banded

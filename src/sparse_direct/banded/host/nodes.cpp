// SPDX-License-Identifier: BSD-3-Clause
// Nodes on the host: one thread for each node and each right-hand side.
#include "sparse_direct/banded/nodes.hpp"

#include "backend/host/host.hpp"
#include "sparse_direct/banded/host/blocked.hpp"
#include "sparse_direct/banded/host/narrow.hpp"
#include "sparse_direct/banded/host/rows.hpp"
#include "sparse_direct/banded/host/substitute.hpp"
#include "sparse_direct/banded/host/substitute_transposed.hpp"
#include "support/first_exception.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace echelon::banded {

namespace {

/// Number of threads for the nodes of a level and `items` of each. Waking a thread takes as long as the work
/// on some 100,000 elements of the factors.
int threads_for_level(const Device& device, const BandPlan& plan, std::int64_t level, std::int64_t items) {
  constexpr std::int64_t least_elements = 200'000;
  const auto begin = plan.nodes.begin() + plan.level_begin[static_cast<std::size_t>(level)];
  const auto end = plan.nodes.begin() + plan.level_begin[static_cast<std::size_t>(level) + 1];
  std::int64_t elements = 0;
  for (auto node = begin; node != end; ++node) elements += node->steps * (node->slots + node->width());
  if (elements * items < least_elements) return 1;
  return static_cast<int>(std::clamp<std::int64_t>((end - begin) * items, 1, device.threads()));
}

/// Calls work(node, item, scratch) for the nodes of a level and items 0, ..., items - 1 of each, with
/// `scratch_size` elements for each thread. Rethrows an exception of `work`.
template <class T, class Work>
void for_each_node(const Device& device, const BandPlan& plan, std::int64_t level, std::int64_t items,
                   std::int64_t scratch_size, const Work& work) {
  const std::int64_t begin = plan.level_begin[static_cast<std::size_t>(level)];
  const std::int64_t count = plan.level_begin[static_cast<std::size_t>(level) + 1] - begin;
  const int threads = threads_for_level(device, plan, level, items);
  std::vector<std::vector<T>> scratch(static_cast<std::size_t>(threads));
  for (std::vector<T>& own : scratch) own.resize(static_cast<std::size_t>(scratch_size));
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::int64_t task = 0; task < count * items; ++task) {
    T* const own = scratch[static_cast<std::size_t>(omp_get_thread_num())].data();
    exception.catch_from([&] { work(begin + task % count, task / count, own); });
  }
  exception.rethrow();
}

/// Eliminates a partition of the shape that the kernel is made for.
template <class T, int slots, int ahead, int left>
bool eliminate_narrow(const BandNode& node, const PartitionLoader<T>& rows, const FactorView<T>& own,
                      NodeFacts& facts) {
  if (node.slots != slots || node.ahead != ahead || node.left != left) return false;
  facts = NarrowElimination<T, slots, ahead, left>(node, rows, own).eliminate();
  return true;
}

template <std::int64_t bytes, class T>
NodeFacts eliminate_partition(const BandNode& node, const BandElements<T>& A, const FactorView<T>& own,
                              std::int64_t k, const EliminationControl& control) {
  const PartitionLoader<T> rows(A, node);
  NodeFacts facts;
  const bool narrow = node.extra_slots == 0 && (eliminate_narrow<T, 2, 3, 0>(node, rows, own, facts) ||
                                                eliminate_narrow<T, 3, 3, 2>(node, rows, own, facts) ||
                                                eliminate_narrow<T, 3, 5, 0>(node, rows, own, facts) ||
                                                eliminate_narrow<T, 5, 5, 4>(node, rows, own, facts));
  if (narrow) return facts;
  // These sizes serve half-bandwidths up to 8.
  constexpr std::int64_t slots = 16;
  constexpr std::int64_t ahead = 24;
  if (node.slots <= slots && node.ahead + block_columns - 1 <= ahead) {
    return BlockedBandElimination<T, bytes, PartitionLoader<T>, slots, ahead>(node, rows, own, k, control)
        .eliminate();
  }
  return BlockedBandElimination<T, bytes, PartitionLoader<T>, 0, 0>(node, rows, own, k, control).eliminate();
}

template <std::int64_t bytes, class T>
NodeFacts eliminate_interface(const BandNode& node, const FactorView<T>& own, std::int64_t k,
                              const EliminationControl& control) {
  const InterfaceLoader<T> rows(own.blocks, k, node);
  return BlockedBandElimination<T, bytes, InterfaceLoader<T>, 0, 0>(node, rows, own, k, control).eliminate();
}

template <std::int64_t bytes, class T>
void substitute_node_backward(const BandNode& node, const FactorView<T>& factors, T* x) {
  if (node.ahead == 3) {
    substitute_backward_narrow<3>(node, factors, x);
  } else if (node.ahead == 5) {
    substitute_backward_narrow<5>(node, factors, x);
  } else {
    BackwardSubstitution<T, bytes>(node, factors, x).run();
  }
}

template <bool interface, std::int64_t bytes, class T>
void substitute_node(SubstitutionPass which, const BandNode& node, const FactorView<T>& factors,
                     const RhsView<T>& rhs, T* sums, std::int64_t k, T* window) {
  switch (which) {
    case SubstitutionPass::forward:
      // Smaller vectors have no instruction for an element of two registers by its number.
      bytes == most_vector_bytes&& node.slots <= 2 * VectorOf<T, bytes>::lanes
          ? substitute_forward_in_registers<interface, bytes>(node, factors, rhs, window)
          : substitute_forward<interface, bytes>(node, factors, rhs, window);
      break;
    case SubstitutionPass::backward:
      substitute_node_backward<bytes>(node, factors, rhs.x);
      break;
    case SubstitutionPass::transposed_forward:
      substitute_transposed_forward(node, factors, rhs.x, sums, k);
      break;
    case SubstitutionPass::transposed_backward:
      substitute_transposed_backward<interface>(node, factors, rhs, window);
      break;
  }
}

template <class T>
void eliminate_level(const Device& device, const FactorBatch<T>& factors, const BandMatrices<T>& A,
                     std::int64_t level) {
  for_each_node<T>(device, *factors.plan, level, factors.count, 0,
                   [&](std::int64_t number, std::int64_t matrix, T* /*scratch*/) {
                     if (factors.control.stops_at(factors.nodes[number].first_step)) return;
                     const BandNode& node = factors.nodes[number];
                     const FactorView<T> own = factors.of(matrix);
                     NodeFacts& facts = factors.facts[matrix * factors.node_count + number];
                     with_vector_instructions([&](auto bytes) {
                       facts = level == 0
                                   ? eliminate_partition<bytes()>(node, A.of(matrix), own, factors.k,
                                                                  factors.control)
                                   : eliminate_interface<bytes()>(node, own, factors.k, factors.control);
                     });
                   });
}

template <class T>
void substitute_level(const Device& device, SubstitutionPass which, const FactorBatch<T>& factors,
                      const RhsBatch<T>& rhs, std::int64_t level) {
  constexpr std::int64_t lanes = VectorOf<T, most_vector_bytes>::lanes;
  const std::int64_t scratch = std::max(round_up_to_vector(factors.plan->most_slots, lanes), 2 * lanes);
  for_each_node<T>(
      device, *factors.plan, level, factors.count * rhs.columns, scratch,
      [&](std::int64_t number, std::int64_t item, T* window) {
        const BandNode& node = factors.nodes[number];
        const FactorView<T> own = factors.of(item / rhs.columns);
        const RhsView<T> vectors = rhs.of(item / rhs.columns, item % rhs.columns);
        T* sums = rhs.sums + number * 2 * factors.k;
        if (which == SubstitutionPass::transposed_forward) {
          gather_children(node, rhs.sums, vectors.x, sums, factors.k);
        }
        with_vector_instructions([&](auto bytes) {
          level == 0 ? substitute_node<false, bytes()>(which, node, own, vectors, sums, factors.k, window)
                     : substitute_node<true, bytes()>(which, node, own, vectors, sums, factors.k, window);
        });
      });
}

}  // namespace

template <class B, class T>
void eliminate_nodes(B& backend, const FactorBatch<T>& factors, const BandMatrices<T>& A,
                     std::int64_t level) {
  eliminate_level(backend.device(), factors, A, level);
}

template <class B, class T>
void substitute_nodes(B& backend, SubstitutionPass which, const FactorBatch<T>& factors,
                      const RhsBatch<T>& rhs, std::int64_t level) {
  substitute_level(backend.device(), which, factors, rhs, level);
}

template void eliminate_nodes(Host&, const FactorBatch<float>&, const BandMatrices<float>&, std::int64_t);
template void eliminate_nodes(Host&, const FactorBatch<double>&, const BandMatrices<double>&, std::int64_t);
template void substitute_nodes(Host&, SubstitutionPass, const FactorBatch<float>&, const RhsBatch<float>&,
                               std::int64_t);
template void substitute_nodes(Host&, SubstitutionPass, const FactorBatch<double>&, const RhsBatch<double>&,
                               std::int64_t);

}  // namespace echelon::banded

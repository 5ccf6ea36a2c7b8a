// SPDX-License-Identifier: BSD-3-Clause
// Nodes on an OpenCL device: one work-item for each node of each matrix, or of each right-hand side. Its
// window is in global memory.
#include "backend/target.hpp"
#include "sparse_direct/banded/eliminate.hpp"
#include "sparse_direct/banded/group.hpp"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/substitute.hpp"

#include <echelon/array.hpp>

#include <cstdint>

namespace echelon::banded {

namespace {

template <bool is_interface, class T>
struct EliminateNode {
  LevelNodes nodes;
  BandFactorArrays<T> factors;
  BandMatrices<T> A;
  LevelSizes sizes;
  T* windows;
  std::int32_t* slot_rows;
  ECHELON_ANYWHERE void operator()(std::int64_t item) const {
    const std::int64_t matrix = item / nodes.count;
    const std::int64_t number = item % nodes.count;
    const BandNode node = nodes.first[number];
    const FactorView<T> own = factors.of(matrix);
    const NodeWindow<T> window{windows + item * sizes.window, slot_rows + item * sizes.slots};
    NodeFacts& facts = factors.facts[matrix * factors.node_count + nodes.begin + number];
    if constexpr (is_interface) {
      facts = eliminate(node, InterfaceRows<T>{own.blocks, factors.k}, own, window);
    } else {
      facts = eliminate(node, PartitionRows<T>{A.of(matrix)}, own, window);
    }
  }

 private:
  template <class Rows>
  ECHELON_ANYWHERE NodeFacts eliminate(const BandNode& node, const Rows& rows, const FactorView<T>& own,
                                       const NodeWindow<T>& window) const {
    const SingleThread group;
    return NodeElimination<SingleThread, T, Rows>(group, node, rows, own, window)
        .eliminate(own.blocks, own.kept, factors.k);
  }
};

template <SubstitutionPass which, bool is_interface, class T>
struct SubstituteNode {
  LevelNodes nodes;
  BandFactorArrays<T> factors;
  RhsBatch<T> rhs;
  std::int64_t slots;
  T* windows;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t item = e / nodes.count;
    const std::int64_t number = e % nodes.count;
    const BandNode node = nodes.first[number];
    const FactorView<T> own = factors.of(item / rhs.columns);
    const RhsView<T> vectors = rhs.of(item / rhs.columns, item % rhs.columns);
    T* const window = windows + e * slots;
    const SingleThread group;
    if constexpr (which == SubstitutionPass::forward) {
      substitute_forward<is_interface>(group, node, own, vectors, window);
    } else if constexpr (which == SubstitutionPass::backward) {
      substitute_backward(group, node, own, vectors.x);
    } else if constexpr (which == SubstitutionPass::transposed_forward) {
      T* const sums = rhs.sums + (nodes.begin + number) * 2 * factors.k;
      gather_children(node, rhs.sums, vectors.x, sums, factors.k);
      substitute_transposed_forward(group, node, own, vectors.x, sums, factors.k);
    } else {
      substitute_transposed_backward<is_interface>(group, node, own, vectors.x, vectors.x, vectors.reduced,
                                                   window);
    }
  }
};

template <SubstitutionPass which, class T>
void substitute_level(OpenCl& backend, const FactorBatch<T>& factors, const RhsBatch<T>& rhs,
                      std::int64_t level) {
  const LevelNodes nodes = nodes_of_level(*factors.plan, factors.nodes, level);
  const std::int64_t slots = sizes_of_level(*factors.plan, level).slots;
  const std::int64_t items = nodes.count * factors.count * rhs.columns;
  Array<T> windows(backend.device(), items * slots);
  if (level == 0) {
    backend.for_each(items, SubstituteNode<which, false, T>{nodes, factors, rhs, slots, windows.data()});
  } else {
    backend.for_each(items, SubstituteNode<which, true, T>{nodes, factors, rhs, slots, windows.data()});
  }
}

}  // namespace

template <class B, class T>
void eliminate_nodes(B& backend, const FactorBatch<T>& factors, const BandMatrices<T>& A,
                     std::int64_t level) {
  const LevelNodes nodes = nodes_of_level(*factors.plan, factors.nodes, level);
  const LevelSizes sizes = sizes_of_level(*factors.plan, level);
  const std::int64_t items = nodes.count * factors.count;
  Array<T> windows(backend.device(), items * sizes.window);
  Array<std::int32_t> slot_rows(backend.device(), items * sizes.slots);
  if (level == 0) {
    backend.for_each(items,
                     EliminateNode<false, T>{nodes, factors, A, sizes, windows.data(), slot_rows.data()});
  } else {
    backend.for_each(items,
                     EliminateNode<true, T>{nodes, factors, A, sizes, windows.data(), slot_rows.data()});
  }
}

template <class B, class T>
void substitute_nodes(B& backend, SubstitutionPass which, const FactorBatch<T>& factors,
                      const RhsBatch<T>& rhs, std::int64_t level) {
  switch (which) {
    case SubstitutionPass::forward:
      return substitute_level<SubstitutionPass::forward>(backend, factors, rhs, level);
    case SubstitutionPass::backward:
      return substitute_level<SubstitutionPass::backward>(backend, factors, rhs, level);
    case SubstitutionPass::transposed_forward:
      return substitute_level<SubstitutionPass::transposed_forward>(backend, factors, rhs, level);
    case SubstitutionPass::transposed_backward:
      return substitute_level<SubstitutionPass::transposed_backward>(backend, factors, rhs, level);
  }
}

#define ECHELON_INSTANTIATE(T)                                                                         \
  template void eliminate_nodes(OpenCl&, const FactorBatch<T>&, const BandMatrices<T>&, std::int64_t); \
  template void substitute_nodes(OpenCl&, SubstitutionPass, const FactorBatch<T>&, const RhsBatch<T>&, \
                                 std::int64_t);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::banded

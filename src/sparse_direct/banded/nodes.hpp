// SPDX-License-Identifier: BSD-3-Clause
/// Work on the nodes of one level of a plan, for all matrices of a batch: one native version per backend.
#pragma once

#include "sparse_direct/banded/factors.hpp"
#include "support/setup_control.hpp"

#include <echelon/annotate.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::banded {

/// Batch of band matrices of one shape.
template <class T>
struct BandMatrices {
  BandElements<T> first;
  std::int64_t stride = 0;  ///< elements from one matrix to the next

  [[nodiscard]] ECHELON_ANYWHERE BandElements<T> of(std::int64_t matrix) const {
    BandElements<T> result = first;
    result.data += matrix * stride;
    return result;
  }
};

/// Request to stop an elimination on the host, and the receiver of its progress.
struct EliminationControl {
  const SetupControl* control = nullptr;  ///< null for neither
  std::int64_t columns = 1;               ///< of the whole matrix

  /// Reports that the columns before `column` are eliminated, and returns whether a stop is requested.
  [[nodiscard]] bool stops_at(std::int64_t column) const {
    if (control == nullptr) return false;
    if (!control->reports()) return control->stop_requested();
    return control->stops_at(static_cast<double>(column) / static_cast<double>(columns));
  }
};

/// Factors of a batch, where the backend works.
template <class T>
struct BandFactorArrays {
  const BandNode* nodes = nullptr;  ///< the plan's nodes, where the backend works
  FactorView<T> first;
  NodeFacts* facts = nullptr;  ///< of each node of each matrix
  std::int64_t count = 0;      ///< matrices
  std::int64_t lower_stride = 0;
  std::int64_t upper_stride = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  ///< columns of an interface
  std::int64_t block_rows = 0;
  std::int64_t node_count = 0;

  [[nodiscard]] ECHELON_ANYWHERE FactorView<T> of(std::int64_t matrix) const {
    return {first.pivots + matrix * n, first.lower + matrix * lower_stride,
            first.upper + matrix * upper_stride, first.blocks + matrix * block_rows * 2 * k,
            first.kept + matrix * block_rows};
  }
};

/// Factors of a batch with the plan that all matrices share, on the host.
template <class T>
struct FactorBatch : BandFactorArrays<T> {
  const BandPlan* plan = nullptr;
  EliminationControl control;
};

/// A right-hand side in work. Forward substitution reads b and the reduced right-hand sides of children and
/// writes x, at the places of the eliminated columns, and those of the node. x may be b.
template <class T>
struct RhsView {
  const T* b = nullptr;
  T* x = nullptr;
  T* reduced = nullptr;  ///< an element for each row of the reduced blocks
};

/// Element of the right-hand side that belongs to row t of a node: a partition's from b, that of an interface
/// node from its children.
template <bool interface, class T>
ECHELON_ANYWHERE T rhs_element(const BandNode& node, const RhsView<T>& rhs, std::int64_t t) {
  if (t >= node.rows) return T{0};
  return interface ? rhs.reduced[interface_row(node, t)] : rhs.b[partition_row(node, t)];
}

/// Right-hand sides of a batch: `columns` for each matrix. x may be b.
template <class T>
struct RhsBatch {
  const T* b = nullptr;
  std::int64_t b_leading = 0;
  std::int64_t b_stride = 0;
  T* x = nullptr;
  std::int64_t x_leading = 0;
  std::int64_t x_stride = 0;
  std::int64_t columns = 0;
  T* reduced = nullptr;  ///< block_rows elements for each right-hand side
  T* sums = nullptr;     ///< transposed only: 2 k elements for each node
  std::int64_t block_rows = 0;

  [[nodiscard]] ECHELON_ANYWHERE RhsView<T> of(std::int64_t matrix, std::int64_t column) const {
    return {b + matrix * b_stride + column * b_leading, x + matrix * x_stride + column * x_leading,
            reduced + (matrix * columns + column) * block_rows};
  }
};

/// Adds the children's sums to an interface: the left and right sums of its node begin with those of its
/// children, and the interface itself takes the others. A partition has no children.
template <class T>
ECHELON_ANYWHERE void gather_children(const BandNode& node, const T* sums, T* x, T* own, std::int64_t k) {
  if (node.first_child < 0) return;
  const T* first = sums + node.first_child * 2 * k;
  const T* second = sums + node.second_child * 2 * k;
  for (std::int64_t c = 0; c < k; ++c) {
    own[c] = first[c];
    own[k + c] = second[k + c];
    x[node.column + c] += first[k + c] + second[c];
  }
}

/// Nodes of a level, in the memory of the device. Block or work-item b works on node b % count of matrix, or
/// item, b / count.
struct LevelNodes {
  const BandNode* first;
  std::int64_t begin;  ///< number of the first node in the plan
  std::int64_t count;
};

[[nodiscard]] inline LevelNodes nodes_of_level(const BandPlan& plan, const BandNode* nodes,
                                               std::int64_t level) {
  const std::int64_t begin = plan.level_begin[static_cast<std::size_t>(level)];
  return {nodes + begin, begin, plan.level_begin[static_cast<std::size_t>(level) + 1] - begin};
}

/// Largest sizes of the nodes of a level.
struct LevelSizes {
  std::int64_t slots = 0;
  std::int64_t ahead = 0;
  std::int64_t left = 0;
  std::int64_t window = 0;  ///< elements
  std::int64_t steps = 0;
  std::int64_t block_rows = 0;
};

[[nodiscard]] inline LevelSizes sizes_of_level(const BandPlan& plan, std::int64_t level) {
  LevelSizes sizes;
  const auto larger = [](std::int64_t& size, std::int64_t other) { size = size > other ? size : other; };
  for (std::int64_t i = plan.level_begin[static_cast<std::size_t>(level)];
       i < plan.level_begin[static_cast<std::size_t>(level) + 1]; ++i) {
    const BandNode& node = plan.nodes[static_cast<std::size_t>(i)];
    larger(sizes.slots, node.slots);
    larger(sizes.ahead, node.ahead);
    larger(sizes.left, node.left);
    larger(sizes.window, std::int64_t{node.slots} * std::int64_t{node.width()});
    larger(sizes.steps, node.steps);
    larger(sizes.block_rows, node.block_rows);
  }
  return sizes;
}

enum class SubstitutionPass {
  forward,              ///< the row operations: from the partitions to the last interface
  backward,             ///< from the last interface to the partitions
  transposed_forward,   ///< with the transpose, from the partitions to the last interface
  transposed_backward,  ///< from the last interface to the partitions
};

/// Eliminates the columns of the nodes of a level: the partitions, whose elements are those of A, where
/// `level` is 0, and the interfaces between reduced blocks above. Incomplete after a cancel. Defined for
/// Host in host/, for Cuda in cuda/, for OpenCl in opencl.cpp.
template <class B, class T>
void eliminate_nodes(B& backend, const FactorBatch<T>& factors, const BandMatrices<T>& A, std::int64_t level);

/// Substitutes with the factors of the nodes of a level. The transposed ones work in place of x for the first
/// matrix and one right-hand side; `sums` is zero before the first level.
template <class B, class T>
void substitute_nodes(B& backend, SubstitutionPass which, const FactorBatch<T>& factors,
                      const RhsBatch<T>& rhs, std::int64_t level);

}  // namespace echelon::banded

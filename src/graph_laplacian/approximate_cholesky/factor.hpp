// SPDX-License-Identifier: BSD-3-Clause
/// Randomised approximate Cholesky factor of a matrix whose off-diagonal elements are not positive and whose
/// rows sum to zero or more: the Laplacian of a graph, or one with excess on its diagonal (SDDM).
///
/// Exact elimination of vertex v with the neighbours 1, ..., d and weights w_1 <= ... <= w_d, ties by vertex,
/// joins every two of them by an edge of weight w_i w_j / W, W = w_1 + ... + w_d. Instead each i < d is
/// joined to one random j > i, chosen with probability w_j / s_i, s_i = w_{i+1} + ... + w_d, by an edge of
/// weight w_i s_i / W. The sampled graph is a tree, and its expected Laplacian is that of the exact clique;
/// for d <= 2 the elimination is exact. The excess of a row is an edge to the ground, a vertex that is never
/// eliminated.
///
/// R. Kyng, S. Sachdeva: Approximate Gaussian elimination for Laplacians, FOCS 2016; Y. Gao, R. Kyng,
/// D. Spielman: Robust and practical solution of Laplacian equations by approximate elimination, 2023.
#pragma once

#include "graph_laplacian/approximate_cholesky/elimination_tree.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Parameters of the sampling.
struct SamplingOptions {
  std::uint64_t seed = 1;
  /// Number of copies into which each edge is split and which are sampled separately; more copies than this
  /// between two vertices are merged. 1 is AC, 2 is AC(2): fewer iterations for more fill.
  int split = 1;
  /// Power of two by which weights are multiplied during the elimination, so that sampled ones stay within
  /// the range of F.
  double scale = 1;
};

/// Columns of the vertices of one node of an elimination tree, in the order of elimination. In a solve the
/// node has a block of a vector: an element for each of its vertices in that order, then one for each vertex
/// of its boundary, the ancestors that appear in its columns or in its children's boundaries. F is the type
/// of the values; as a preconditioner of CG in double, float needs no more iterations than double.
template <class F>
struct FactorNode {
  std::vector<std::int32_t> order;    ///< vertices
  std::vector<std::int64_t> offsets;  ///< offsets of the columns
  std::vector<std::int32_t> rows;     ///< positions in the block, all after the column's
  std::vector<F> values;  ///< w_j / W: column k of L has the elements -w_j / W, and 1 on the diagonal
  std::vector<double> inverse_pivots;  ///< 1 / W by column; 0 for the last vertex of a Laplacian's component
  std::vector<std::int32_t> boundary;
  std::vector<std::int32_t> parent_rows;  ///< positions of the boundary in the parent's block

  [[nodiscard]] std::int64_t vertices() const { return static_cast<std::int64_t>(order.size()); }
  [[nodiscard]] std::int64_t nonzeros() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::int64_t block_size() const {
    return vertices() + static_cast<std::int64_t>(boundary.size());
  }
  [[nodiscard]] std::size_t bytes() const {
    return (order.capacity() + rows.capacity() + boundary.capacity() + parent_rows.capacity()) *
               sizeof(std::int32_t) +
           offsets.capacity() * sizeof(std::int64_t) + values.capacity() * sizeof(F) +
           inverse_pivots.capacity() * sizeof(double);
  }
};

/// Factor of A ~ L D L^T after a permutation, by node of the elimination tree.
template <class F>
struct ApproximateFactor {
  int levels = 0;
  std::vector<FactorNode<F>> nodes;
  std::vector<std::int64_t> block_offsets;  ///< of the nodes' blocks

  /// Places the blocks one after another.
  void place_blocks() {
    block_offsets.assign(1, 0);
    for (const FactorNode<F>& node : nodes) block_offsets.push_back(block_offsets.back() + node.block_size());
  }
  [[nodiscard]] std::int64_t vertices() const { return sum(&FactorNode<F>::vertices); }
  [[nodiscard]] std::int64_t nonzeros() const { return sum(&FactorNode<F>::nonzeros); }
  /// Number of elements of a vector in blocks.
  [[nodiscard]] std::int64_t block_elements() const {
    return block_offsets.empty() ? 0 : block_offsets.back();
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = block_offsets.capacity() * sizeof(std::int64_t);
    for (const FactorNode<F>& node : nodes) bytes += node.bytes();
    return bytes;
  }

 private:
  [[nodiscard]] std::int64_t sum(std::int64_t (FactorNode<F>::*count)() const) const {
    std::int64_t total = 0;
    for (const FactorNode<F>& node : nodes) total += (node.*count)();
    return total;
  }
};

/// Eliminates the vertices of each node of the tree one by one, the lowest degree first, nodes of a level at
/// the same time. Random draws are functions of seed and vertex, and the factor is the same for any number of
/// threads. `excess` has one nonnegative element per row. O(nonzeros log(nonzeros)) time on average; in
/// addition to the result, 16 bytes for each element of the factor and 20 for each row. Returns an empty
/// factor when asked to stop.
template <class F, class B>
[[nodiscard]] ApproximateFactor<F> eliminate_by_degree(B& backend, const Csr<double>& A, const double* excess,
                                                       const EliminationTree& tree,
                                                       const SamplingOptions& options,
                                                       const SetupControl& control = {});

}  // namespace echelon::graph_laplacian

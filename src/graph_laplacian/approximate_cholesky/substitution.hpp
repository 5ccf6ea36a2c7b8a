// SPDX-License-Identifier: BSD-3-Clause
/// Substitutions with an approximate factor for K interleaved vectors: element i of vector c is at K i + c,
/// so that each element of the factor is read once for all.
#pragma once

#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/for_nodes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Forward substitution in a node's block; `below` has the blocks of its children, or is null for a leaf.
template <int K, class F>
void substitute_forward(const ApproximateFactor<F>& factor, std::size_t n,
                        const std::array<std::int32_t, 2>* children, const double* r, double* blocks) {
  const FactorNode<F>& node = factor.nodes[n];
  double* const z = blocks + K * factor.block_offsets[n];
  const std::int64_t size = node.vertices();
  for (std::int64_t k = 0; k < size; ++k) {
    const double* const own = r + K * std::int64_t{node.order[static_cast<std::size_t>(k)]};
    for (int c = 0; c < K; ++c) z[K * k + c] = own[c];
  }
  std::fill(z + K * size, z + K * node.block_size(), 0.0);
  for (int side = 0; children != nullptr && side < 2; ++side) {
    const auto child = static_cast<std::size_t>((*children)[static_cast<std::size_t>(side)]);
    const FactorNode<F>& below = factor.nodes[child];
    const double* const source = blocks + K * (factor.block_offsets[child] + below.vertices());
    for (std::size_t j = 0; j < below.parent_rows.size(); ++j) {
      double* const target = z + K * std::int64_t{below.parent_rows[j]};
      for (int c = 0; c < K; ++c) target[c] += source[K * static_cast<std::int64_t>(j) + c];
    }
  }
  const std::int64_t* const offsets = node.offsets.data();
  const std::int32_t* const rows = node.rows.data();
  const F* const values = node.values.data();
  for (std::int64_t k = 0; k < size; ++k) {
    std::array<double, K> y;
    for (int c = 0; c < K; ++c) y[c] = z[K * k + c];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      double* const target = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) target[c] += static_cast<double>(values[e]) * y[c];
    }
  }
}

/// Scaling by the pivots and backward substitution in a node's block, given its parent's (null for the root).
template <int K, class F>
void substitute_backward(const ApproximateFactor<F>& factor, std::size_t n, const double* parent,
                         double* blocks, double* result) {
  const FactorNode<F>& node = factor.nodes[n];
  double* const z = blocks + K * factor.block_offsets[n];
  const std::int64_t size = node.vertices();
  for (std::size_t j = 0; j < node.parent_rows.size(); ++j) {
    const double* const source = parent + K * std::int64_t{node.parent_rows[j]};
    for (int c = 0; c < K; ++c) z[K * (size + static_cast<std::int64_t>(j)) + c] = source[c];
  }
  const std::int64_t* const offsets = node.offsets.data();
  const std::int32_t* const rows = node.rows.data();
  const F* const values = node.values.data();
  for (std::int64_t k = size; k-- > 0;) {
    std::array<double, K> y;
    for (int c = 0; c < K; ++c) y[c] = z[K * k + c] * node.inverse_pivots[static_cast<std::size_t>(k)];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      const double* const source = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) y[c] += static_cast<double>(values[e]) * source[c];
    }
    double* const own = result + K * std::int64_t{node.order[static_cast<std::size_t>(k)]};
    for (int c = 0; c < K; ++c) own[c] = z[K * k + c] = y[c];
  }
}

/// z = (L D L^T)^-1 r. `blocks` is scratch.
template <int K, class B, class F>
void apply_factor(B& backend, const ApproximateFactor<F>& factor, const double* r, double* z,
                  std::vector<double>& blocks) {
  const EliminationTree shape{factor.levels, {}, {}, {}, {}, {}};
  blocks.resize(std::size_t{K} * static_cast<std::size_t>(factor.block_elements()));
  for (int level = 0; level < factor.levels; ++level) {
    for_nodes(backend, shape.width(level), [&](std::int32_t k) {
      const std::int32_t node = shape.first_node(level) + k;
      const std::array<std::int32_t, 2> children =
          level > 0 ? shape.children(node, level) : std::array<std::int32_t, 2>{};
      substitute_forward<K>(factor, static_cast<std::size_t>(node), level > 0 ? &children : nullptr, r,
                            blocks.data());
    });
  }
  for (int level = factor.levels; level-- > 0;) {
    for_nodes(backend, shape.width(level), [&](std::int32_t k) {
      const std::int32_t node = shape.first_node(level) + k;
      const double* parent = nullptr;
      if (level + 1 < factor.levels) {
        const std::int32_t above = shape.first_node(level + 1) + k / 2;
        parent = blocks.data() + K * factor.block_offsets[static_cast<std::size_t>(above)];
      }
      substitute_backward<K>(factor, static_cast<std::size_t>(node), parent, blocks.data(), z);
    });
  }
}

}  // namespace echelon::graph_laplacian

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

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <stop_token>
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

/// Factor of A ~ L D L^T after a permutation: column k belongs to vertex order[k] and has the elements
/// -values[] in the rows of the vertices rows[], all of which are eliminated later, and 1 on the diagonal. F
/// is the type of the values; as a preconditioner of CG in double, float needs no more iterations than
/// double.
template <class F>
struct ApproximateFactor {
  std::vector<std::int32_t> order;
  std::vector<std::int64_t> offsets;  ///< offsets of the columns, n + 1 elements
  std::vector<std::int32_t> rows;
  std::vector<F> values;               ///< w_j / W
  std::vector<double> inverse_pivots;  ///< 1 / W by column; 0 for the last vertex of a Laplacian's component
  std::int64_t exact_columns = 0;      ///< columns before the first whose clique was sampled

  [[nodiscard]] std::int64_t vertices() const { return static_cast<std::int64_t>(order.size()); }
  [[nodiscard]] std::int64_t nonzeros() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::size_t bytes() const {
    return order.size() * sizeof(std::int32_t) + offsets.size() * sizeof(std::int64_t) +
           rows.size() * sizeof(std::int32_t) + values.size() * sizeof(F) +
           inverse_pivots.size() * sizeof(double);
  }
};

/// Eliminates the vertices one by one, the lowest degree first. Random draws are functions of seed and
/// vertex. `excess` has one nonnegative element per row. O(nonzeros log(nonzeros)) time on average; besides
/// the result, 16 bytes for each element of the factor and 20 for each row. Returns early, with an incomplete
/// factor, when asked to stop.
template <class F, class T>
[[nodiscard]] ApproximateFactor<F> eliminate_by_degree(const Csr<T>& A, const T* excess,
                                                       const SamplingOptions& options,
                                                       const std::stop_token& cancel = {});

}  // namespace echelon::graph_laplacian

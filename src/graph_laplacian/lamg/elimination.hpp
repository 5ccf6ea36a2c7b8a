// SPDX-License-Identifier: BSD-3-Clause
/// Exact elimination of vertices with few neighbours: a partial Cholesky factorisation of a Laplacian.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// Vertices with more neighbours are not eliminated: the edges would become more.
inline constexpr std::int32_t max_eliminated_degree = 4;

/// A record of eliminated vertices, in their order. Vertex f with the neighbours c of weights w_c and the
/// diagonal d = sum of w_c leaves the edges (c, c') with the weights w_c w_c' / d. Right-hand sides follow by
/// b_c += w_c / d b_f, and x_f = b_f / d + sum of w_c / d x_c.
template <class T>
struct Elimination {
  std::int32_t fine = 0;           ///< vertices before
  std::vector<std::int32_t> kept;  ///< those left, ascending
  std::vector<std::int32_t> vertices;
  std::vector<T> inverse;  ///< 1 / d, or 0 for a vertex without edges
  std::vector<std::int32_t> offsets = {0};
  std::vector<std::int32_t> neighbours;
  std::vector<T> coefficients;  ///< w_c / d

  [[nodiscard]] std::size_t bytes() const {
    return sizeof(std::int32_t) * (kept.size() + vertices.size() + offsets.size() + neighbours.size()) +
           sizeof(T) * (inverse.size() + coefficients.size());
  }

  /// Brings b, of `fine` elements, to the right-hand side of the eliminated system, in place, and copies the
  /// elements of the vertices left to `reduced`.
  void restrict_to(T* b, T* reduced) const;
  /// Completes x, of `fine` elements, from the solution for the vertices left; b as `restrict_to` left it.
  void prolong(const T* reduced, const T* b, T* x) const;
};

/// Eliminates vertices of at most `max_degree` neighbours, those with fewest first, until there are none, and
/// replaces `graph` by that of the vertices left. A component of which nothing else is left disappears with
/// its last vertex, for which the record has the diagonal 0 and x = 0. Nothing is eliminated if at most 1 %
/// of the vertices have so few neighbours. Time and memory O(edges).
template <class T>
[[nodiscard]] Elimination<T> eliminate(Graph<T>& graph, std::int32_t max_degree = max_eliminated_degree);

extern template struct Elimination<float>;
extern template struct Elimination<double>;

}  // namespace echelon::lamg

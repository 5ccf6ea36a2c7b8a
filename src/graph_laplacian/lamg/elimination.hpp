// SPDX-License-Identifier: BSD-3-Clause
/// Exact elimination of vertices with few neighbours: a partial Cholesky factorisation of a Laplacian.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::lamg {

/// Largest degree of an eliminated vertex; at larger degrees eliminations would add more edges than they
/// remove.
inline constexpr std::int32_t max_eliminated_degree = 4;

/// Record of eliminated vertices, in the order of elimination. Eliminating vertex f, with edges of weights
/// w_c to neighbours c and the diagonal d = sum of w_c, adds edges (c, c') of weights w_c w_c' / d.
/// Right-hand sides are reduced by b_c += w_c / d b_f, and solutions are completed by x_f = b_f / d + sum of
/// w_c / d x_c.
template <class T>
struct EliminatedVertices {
  std::int32_t fine = 0;      ///< number of vertices before the elimination
  Vector<std::int32_t> kept;  ///< remaining vertices, ascending
  Vector<std::int32_t> vertices;
  Vector<T> inverse;  ///< 1 / d, or 0 for a vertex without edges
  Vector<std::int32_t> offsets = {0};
  Vector<std::int32_t> neighbours;
  Vector<T> coefficients;  ///< w_c / d

  [[nodiscard]] std::size_t bytes() const {
    return sizeof(std::int32_t) * (kept.size() + vertices.size() + offsets.size() + neighbours.size()) +
           sizeof(T) * (inverse.size() + coefficients.size());
  }

  /// Eliminates in b, of `fine` elements, in place, and copies the elements of the remaining vertices to
  /// `reduced`.
  void restrict_to(T* b, T* reduced) const;
  /// Completes x, of `fine` elements, from the solution `reduced` for the remaining vertices and b as
  /// `restrict_to` left it.
  void prolong(const T* reduced, const T* b, T* x) const;
};

/// Eliminates vertices of at most `max_degree` neighbours, those with fewest first, until there are none, and
/// replaces `graph` by the graph of the remaining vertices. A component that is eliminated entirely ends with
/// a vertex without edges, which is recorded with 1 / d = 0 and gets x = 0. Nothing is eliminated if at most
/// 1 % of the vertices have so few neighbours. Time and memory O(edges).
template <class T>
[[nodiscard]] EliminatedVertices<T> eliminate(Graph<T>& graph,
                                              std::int32_t max_degree = max_eliminated_degree);

extern template struct EliminatedVertices<float>;
extern template struct EliminatedVertices<double>;

}  // namespace echelon::lamg

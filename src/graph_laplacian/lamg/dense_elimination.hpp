// SPDX-License-Identifier: BSD-3-Clause
/// Solution of small Laplacian systems by elimination of all vertices of a dense graph.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// The factors of a Laplacian L = U^T D U with U(k, i) = -w_ki / d_k. Each pivot d_k is the sum of the
/// weights left at vertex k, not a difference, so that factors are accurate element by element for weights of
/// any range (Grassmann, Taksar, Heyman, Operations Research 33, 1985); it is exactly zero at the last vertex
/// of each component, whose x is 0.
template <class T>
class DenseElimination {
 public:
  DenseElimination() = default;
  /// O(n^3 / 6) for the graph's n vertices.
  explicit DenseElimination(const Graph<T>& graph);

  /// x for a right-hand side whose sum is zero on each component, in place. n^2 multiplications.
  void solve(T* x) const;
  /// Connected components, the dimension of the null space.
  [[nodiscard]] std::int64_t components() const { return components_; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(T) * (ratios_.size() + inverse_.size()); }

 private:
  std::size_t n_ = 0;
  std::int64_t components_ = 0;
  std::vector<T> ratios_;   ///< w_ki / d_k in row k, i > k
  std::vector<T> inverse_;  ///< 1 / d_k, or 0
};

extern template class DenseElimination<float>;
extern template class DenseElimination<double>;

}  // namespace echelon::lamg

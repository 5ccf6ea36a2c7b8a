// SPDX-License-Identifier: BSD-3-Clause
/// Solution of small Laplacian systems by elimination of all vertices of a dense graph.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// Factors of a Laplacian L = U^T D U with U(k, i) = -w_ki / d_k. Each pivot d_k is computed as the sum of
/// the remaining weights at vertex k, without subtraction, so that the factors have a small componentwise
/// relative error for weights of any range (Grassmann, Taksar, Heyman, Operations Research 33, 1985). The
/// pivot of the last vertex of each component is exactly zero, and its x is set to 0.
template <class T>
class DenseLaplacianFactors {
 public:
  DenseLaplacianFactors() = default;
  /// Factors the Laplacian of a graph of n vertices in n^3 / 6 multiplications.
  explicit DenseLaplacianFactors(const Graph<T>& graph);

  /// Overwrites x, a right-hand side whose sum is zero on each component, by the solution. n^2
  /// multiplications.
  void solve(T* x) const;
  /// Number of connected components, the dimension of the null space.
  [[nodiscard]] std::int64_t components() const { return components_; }
  [[nodiscard]] std::size_t bytes() const { return sizeof(T) * (ratios_.size() + inverse_.size()); }

 private:
  std::size_t n_ = 0;
  std::int64_t components_ = 0;
  std::vector<T> ratios_;   ///< w_ki / d_k in row k, i > k
  std::vector<T> inverse_;  ///< 1 / d_k, or 0
};

extern template class DenseLaplacianFactors<float>;
extern template class DenseLaplacianFactors<double>;

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
/// Exact elimination of the vertices of degree 1 and 2, repeated until none is left: chains, trees, leaves.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::graph_laplacian {

/// Elimination of one vertex v with neighbours u_0, u_1 and W = w_0 + w_1 + excess:
/// x_v = b_v / W + (w_0 / W) x_{u_0} + (w_1 / W) x_{u_1}.
struct LowDegreeStep {
  std::int32_t vertex;
  std::int32_t neighbour[2];  ///< u_0 and u_1, or -1
  double fraction[2];         ///< w / W; 0 where there is no neighbour
  double inverse_pivot;       ///< 1 / W; 0 for the last vertex of a Laplacian's component
};

/// A right-hand side r, and memory for its elements on the core.
struct ReducedVector {
  double* r;
  double* core_r;
};
/// A right-hand side r as restrict_to() leaves it, and a solution on the core.
struct ProlongedVector {
  double* r;
  const double* core_x;
};

/// Partial factorisation of a matrix, and the Schur complement of the eliminated vertices.
struct LowDegreeElimination {
  std::vector<LowDegreeStep> steps;
  std::vector<std::int32_t> kept;  ///< remaining vertices, ascending
  Csr<double> core;                ///< the Schur complement
  std::vector<double> core_excess;

  /// Eliminates in each r, and writes its elements at the remaining vertices to core_r.
  void restrict_to(std::span<const ReducedVector> vectors) const;
  /// Writes solutions for all vertices to each r, which is as restrict_to() left it, from those of the core.
  void prolong(std::span<const ProlongedVector> vectors) const;

  [[nodiscard]] std::size_t bytes() const {
    return steps.size() * sizeof(LowDegreeStep) + kept.size() * sizeof(std::int32_t) + core.bytes();
  }
};

/// Eliminates the vertices of low degree from A, whose off-diagonal elements must not be positive; `excess`
/// is the part of each diagonal element above the sum of the other magnitudes of its row. All results are
/// empty if fewer than a fifth of the vertices have degree 2 or less, since the reduction would then cost
/// more time than it saves. O(nonzeros) time.
template <class B>
[[nodiscard]] LowDegreeElimination eliminate_low_degrees(B& backend, const Csr<double>& A,
                                                         const std::vector<double>& excess);

}  // namespace echelon::graph_laplacian

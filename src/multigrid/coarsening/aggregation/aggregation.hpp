// SPDX-License-Identifier: BSD-3-Clause
/// Coarsening by aggregation, smoothed or not.
#pragma once

#include "multigrid/coarsening/coarsening.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <memory>

namespace echelon::multigrid {

struct AggregationOptions {
  bool smoothed = true;
  /// Strength of connection on the finest level; half as large on each coarser one.
  double threshold = 0.08;
  /// Rows per node, 1 to 16; divides the number of rows.
  std::int64_t block = 1;
  /// False: graph and smoothing are those of (A + A^T) / 2.
  bool symmetric = true;
};

/// Makes aggregates of nodes and prolongations P = (I - omega / lambda D^-1 A^F) P_0 with omega = 4/3, the
/// filtered matrix A^F, and lambda its largest eigenvalue; P = P_0 unless smoothed. `vectors` (n rows, on
/// the device) are near-null-space vectors, or has no columns for a constant in each component.
/// P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation for second and fourth order
/// elliptic problems, Computing 56 (1996).
template <class Target, class T>
[[nodiscard]] std::unique_ptr<Coarsening<T>> make_aggregation(const Device& device,
                                                              const AggregationOptions& options,
                                                              const Dense<T>& vectors);

}  // namespace echelon::multigrid

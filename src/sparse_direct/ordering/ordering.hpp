// SPDX-License-Identifier: BSD-3-Clause
/// Orderings that reduce the fill of a symmetric factorisation.
#pragma once

#include "sparse_direct/pattern/analysis_cancelled.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/ordering.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

struct OrderingOptions {
  Ordering ordering = Ordering::automatic;
  /// n rows in the order of elimination; if not empty, it is taken instead of `ordering`.
  std::span<const std::int32_t> permutation = {};
  /// The rows in the order of AMD, if that is known: `automatic` and `amd` do not compute it again.
  std::span<const std::int32_t> minimum_degree = {};
  int threads = 1;                  ///< for dissection, whose result does not depend on it
  bool for_gpu = false;             ///< for `automatic` and `dissection`: where the factorisation takes place
  std::int64_t factorizations = 1;  ///< expected with this order, on a GPU
  CancellationToken cancel = {};  ///< tested between orderings, and by dissection between parts of the graph
};

/// The rows of a pattern in the order of elimination, by any ordering but `automatic`. Throws BadOption if
/// `permutation` is not a permutation, OutOfMemory, AnalysisCancelled.
[[nodiscard]] std::vector<std::int32_t> order(const Pattern& a, const OrderingOptions& options);

}  // namespace echelon::sparse_direct

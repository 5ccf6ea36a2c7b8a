// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/cancellation.hpp>

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

struct DissectionOptions {
  std::int64_t leaf_size = 800;      ///< parts with at most this number of rows are ordered by minimum degree
  std::int64_t split_vertices = 25;  ///< clusters that a part has to have before it is split
  int trials = 4;  ///< separators that are tried for a part; three times as many for large parts
  int passes = 8;  ///< of refinement, at most, on the finest level and on small levels
  /// Passes on the levels between these, whose separators the finest level refines again: one in favour of
  /// either side.
  int passes_between = 2;
  std::int64_t small_level = 6000;  ///< clusters
  int threads = 1;
  CancellationToken cancel = {};  ///< tested between parts of the graph
};

/// Nested dissection: rows in the order of elimination, two halves of the graph first and the separator
/// between them last, recursively. The ordering is the same for any number of threads.
///
/// The graph is coarsened once. From the coarsest level to the finest, the separators of all recursion levels
/// are refined together, and a part is split when it has enough clusters: no part is coarsened anew.
/// A. George, Nested dissection of a regular finite element mesh, SIAM J. Numer. Anal. 10 (1973); multilevel:
/// G. Karypis, V. Kumar, A fast and high quality multilevel scheme for partitioning irregular graphs, SIAM J.
/// Sci. Comput. 20 (1998).
/// Throws AnalysisCancelled.
[[nodiscard]] std::vector<std::int32_t> nested_dissection_ordering(const Pattern& a,
                                                                   const DissectionOptions& options = {});

}  // namespace echelon::sparse_direct

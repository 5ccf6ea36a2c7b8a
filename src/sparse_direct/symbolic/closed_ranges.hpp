// SPDX-License-Identifier: BSD-3-Clause
/// Parts of a forest on which threads work independently of each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Nodes begin, ..., end - 1 of a forest, with all of their descendants.
struct ClosedRange {
  std::int32_t begin;
  std::int32_t end;
};

/// Closed ranges of a forest, ascending, and the nodes outside of them, its top, ascending.
struct ForestPartition {
  std::vector<ClosedRange> ranges;
  std::vector<std::int32_t> top;
};

/// Partition into parts of similar size, enough for some dozens of threads; one range for a single thread or
/// a small forest. first[k] <= k is the first node of a closed range that ends with k; two of these ranges
/// are disjoint, or one contains the other.
[[nodiscard]] ForestPartition partition(std::span<const std::int32_t> first, int threads);

/// The first descendant of each node of a postordered forest, or the node itself.
[[nodiscard]] std::vector<std::int32_t> first_descendants(std::span<const std::int32_t> parent);

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Partitions of graphs into connected parts.
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace echelon::bddc {

/// The part of each node of a graph; parts are counted from 0, and none is empty.
struct Partition {
  std::vector<std::int32_t> part;
  std::int32_t parts = 0;
};

/// Nodes of an unknown: unknown i belongs to node i / block_size.
[[nodiscard]] inline std::int64_t node_count(std::int64_t unknowns, std::int64_t block_size) {
  return (unknowns + block_size - 1) / block_size;
}

/// The graph of the nodes: two nodes are neighbours if an element of A outside the diagonal couples unknowns
/// of them and is not zero. A has a symmetric pattern.
[[nodiscard]] sparse_direct::PatternStorage node_graph(const Csr<double>& A, std::int64_t block_size);

/// Divides the graph by METIS into at most `parts` parts of about equal size. Throws BadOption for fewer
/// nodes than parts.
[[nodiscard]] Partition partition_graph(const sparse_direct::Pattern& graph, std::int64_t parts);

/// Checks a partition of `count` rows or elements, named `what`, by the caller: throws BadOption for another
/// length, a negative number, or an empty part.
[[nodiscard]] Partition checked_partition(std::span<const std::int32_t> part, std::int64_t count,
                                          std::string_view what);

/// The partition of nodes that a partition of unknowns is. Throws BadOption if unknowns of a node are in
/// different parts.
[[nodiscard]] Partition node_partition(const Partition& unknowns, std::int64_t block_size);

/// Makes every connected component of a part a part of its own; the first keeps the number. Returns the
/// number of parts added.
std::int32_t split_disconnected_parts(const sparse_direct::Pattern& graph, Partition& partition);

/// The connected components of the graph of the unknowns.
[[nodiscard]] Partition connected_components(const Csr<double>& A);

}  // namespace echelon::bddc

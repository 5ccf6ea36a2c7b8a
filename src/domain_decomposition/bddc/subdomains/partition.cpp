// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/partition.hpp"

#include "sparse_direct/ordering/metis.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace echelon::bddc {

sparse_direct::PatternStorage node_graph(const Csr<double>& A, std::int64_t block_size) {
  const std::int64_t nodes = node_count(A.rows(), block_size);
  sparse_direct::PatternStorage graph;
  graph.row_begin.assign(1, 0);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(nodes), -1);
  for (std::int64_t node = 0; node < nodes; ++node) {
    seen[node] = node;
    const std::int64_t end = std::min((node + 1) * block_size, A.rows());
    for (std::int64_t i = node * block_size; i < end; ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        const std::int64_t neighbour = A.column_indices()[k] / block_size;
        if (seen[neighbour] == node || A.values()[k] == 0) continue;
        seen[neighbour] = node;
        graph.columns.push_back(static_cast<std::int32_t>(neighbour));
      }
    }
    graph.row_begin.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

namespace {

/// The root of a tree of which parent[root] = root; halves the path to it.
std::int32_t root_of(std::vector<std::int32_t>& parent, std::int32_t node) {
  while (parent[node] != node) node = parent[node] = parent[parent[node]];
  return node;
}

/// Numbers the parts that have nodes from 0 in their order.
Partition without_empty_parts(std::vector<std::int32_t> part, std::int64_t parts) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(parts), -1);
  for (const std::int32_t p : part) number[p] = 0;
  std::int32_t count = 0;
  for (std::int32_t& p : number) {
    if (p == 0) p = count++;
  }
  for (std::int32_t& p : part) p = number[p];
  return {std::move(part), count};
}

}  // namespace

Partition partition_graph(const sparse_direct::Pattern& graph, std::int64_t parts) {
  if (parts > graph.n || parts < 1) {
    throw BadOption("subdomains", std::to_string(parts) + " subdomains of " + std::to_string(graph.n) +
                                      " nodes: ask for 1 to " + std::to_string(graph.n));
  }
  return without_empty_parts(sparse_direct::metis_partition(graph, {}, static_cast<std::int32_t>(parts)),
                             parts);
}

Partition checked_partition(std::span<const std::int32_t> part, std::int64_t count, std::string_view what) {
  const std::string name(what);
  if (std::ssize(part) != count) {
    throw BadOption("partition", "it has " + std::to_string(part.size()) + " numbers for " +
                                     std::to_string(count) + " " + name + "s: give the subdomain of each " +
                                     name);
  }
  std::int32_t parts = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] < 0 || part[i] == std::numeric_limits<std::int32_t>::max()) {
      throw BadOption("partition", name + " " + std::to_string(i) + " is in subdomain " +
                                       std::to_string(part[i]) + ": subdomains are counted from 0");
    }
    parts = std::max(parts, part[i] + 1);
  }
  if (parts > count) {
    throw BadOption("partition", "it names subdomain " + std::to_string(parts - 1) + " for " +
                                     std::to_string(count) + " " + name +
                                     "s: number the subdomains from 0 without gaps");
  }
  std::vector<bool> used(static_cast<std::size_t>(parts), false);
  for (const std::int32_t p : part) used[p] = true;
  const auto empty = std::find(used.begin(), used.end(), false);
  if (empty != used.end()) {
    throw BadOption("partition", "subdomain " + std::to_string(empty - used.begin()) + " of " +
                                     std::to_string(parts) + " has no " + name +
                                     ": number the subdomains from 0 without gaps");
  }
  return {{part.begin(), part.end()}, parts};
}

Partition node_partition(const Partition& unknowns, std::int64_t block_size) {
  if (block_size == 1) return unknowns;
  const std::int64_t count = std::ssize(unknowns.part);
  Partition nodes{{}, unknowns.parts};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t node = i / block_size;
    if (i % block_size == 0) nodes.part.push_back(unknowns.part[i]);
    if (nodes.part[node] == unknowns.part[i]) continue;
    throw BadOption("partition", "rows " + std::to_string(node * block_size) + " and " + std::to_string(i) +
                                     " are unknowns of one node, by block_size, in subdomains " +
                                     std::to_string(nodes.part[node]) + " and " +
                                     std::to_string(unknowns.part[i]));
  }
  return nodes;
}

std::int32_t split_disconnected_parts(const sparse_direct::Pattern& graph, Partition& partition) {
  constexpr std::int32_t unvisited = -1;
  std::vector<std::int32_t> component(static_cast<std::size_t>(graph.n), unvisited);
  std::vector<bool> started(static_cast<std::size_t>(partition.parts), false);
  std::int32_t next = partition.parts;
  std::vector<std::int32_t> stack;
  for (std::int64_t first = 0; first < graph.n; ++first) {
    if (component[first] != unvisited) continue;
    const std::int32_t part = partition.part[first];
    const std::int32_t number = started[part] ? next++ : part;
    started[part] = true;
    component[first] = number;
    stack.assign(1, static_cast<std::int32_t>(first));
    while (!stack.empty()) {
      const std::int32_t node = stack.back();
      stack.pop_back();
      for (const std::int32_t neighbour : graph.row(node)) {
        if (component[neighbour] != unvisited || partition.part[neighbour] != part) continue;
        component[neighbour] = number;
        stack.push_back(neighbour);
      }
    }
  }
  const std::int32_t added = next - partition.parts;
  partition = {std::move(component), next};
  return added;
}

Partition connected_components(const Csr<double>& A) {
  // A tree for each component, whose root is its first row.
  std::vector<std::int32_t> parent(static_cast<std::size_t>(A.rows()));
  std::iota(parent.begin(), parent.end(), 0);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    std::int32_t root = root_of(parent, static_cast<std::int32_t>(i));
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.values()[k] == 0) continue;
      const std::int32_t other = root_of(parent, A.column_indices()[k]);
      parent[std::max(root, other)] = std::min(root, other);
      root = std::min(root, other);
    }
  }
  Partition components{std::move(parent), 0};
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    std::int32_t& part = components.part[i];  // the parent of row i, which comes before it, or i
    part = part == i ? components.parts++ : components.part[part];
  }
  return components;
}

}  // namespace echelon::bddc

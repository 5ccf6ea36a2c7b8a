// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/tree.hpp"

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

Children::Children(std::span<const std::int32_t> parent)
    : begin_(parent.size() + 2, 0), children_(parent.size()) {
  const auto n = static_cast<std::int32_t>(parent.size());
  const auto owner = [&](std::int32_t node) { return parent[node] < 0 ? n : parent[node]; };
  for (std::int32_t node = 0; node < n; ++node) ++begin_[owner(node) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::int32_t> next(begin_.begin(), begin_.end());
  for (std::int32_t node = 0; node < n; ++node) children_[next[owner(node)]++] = node;
}

std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent, const Children& children) {
  std::vector<std::int32_t> order;
  order.reserve(parent.size());
  std::vector<std::int32_t> visited(parent.size(), 0);  // number of children whose subtrees are done
  for (std::int32_t node : children.roots()) {
    while (node >= 0) {
      const auto own = children.of(node);
      if (visited[node] < static_cast<std::int32_t>(own.size())) {
        node = own[visited[node]++];
      } else {
        order.push_back(node);
        node = parent[node];
      }
    }
  }
  return order;
}

std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> size(parent.size(), 1);  // of the subtrees
  for (std::int32_t node = 0; node < n; ++node) {
    if (parent[node] >= 0) size[parent[node]] += size[node];
  }
  // A subtree takes consecutive places, the last of which is that of its root. next[node] is the last free
  // place of the subtree of a node that has been placed.
  std::vector<std::int32_t> next(parent.size());
  std::vector<std::int32_t> order(parent.size());
  std::int32_t next_root = n - 1;
  for (std::int32_t node = n; node-- > 0;) {
    std::int32_t& last = parent[node] < 0 ? next_root : next[parent[node]];
    order[last] = node;
    next[node] = last - 1;
    last -= size[node];
  }
  return order;
}

std::vector<std::int32_t> renumbered(std::span<const std::int32_t> parent,
                                     std::span<const std::int32_t> order) {
  const std::vector<std::int32_t> rank = inverse_permutation(order);
  std::vector<std::int32_t> result(parent.size());
  for (std::size_t node = 0; node < parent.size(); ++node) {
    result[rank[node]] = parent[node] < 0 ? -1 : rank[parent[node]];
  }
  return result;
}

}  // namespace echelon::sparse_direct

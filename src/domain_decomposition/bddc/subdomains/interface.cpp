// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/subdomains/interface.hpp"

#include "domain_decomposition/bddc/subdomains/partition.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace echelon::bddc {

namespace {

/// Lists of the subdomains of each node, ascending.
std::vector<std::vector<std::int32_t>> subdomains_of_nodes(const std::vector<SubdomainMatrix>& subdomains,
                                                           std::int64_t nodes, std::int64_t block_size) {
  std::vector<std::vector<std::int32_t>> lists(static_cast<std::size_t>(nodes));
  for (std::size_t s = 0; s < subdomains.size(); ++s) {
    for (const std::int32_t unknown : subdomains[s].unknowns) {
      auto& list = lists[unknown / block_size];
      const auto number = static_cast<std::int32_t>(s);
      if (list.empty() || list.back() != number) list.push_back(number);
    }
  }
  return lists;
}

constexpr std::int32_t outside = -1;

/// Labels of nodes, which are equal for nodes of the same class.
class Labels {
 public:
  /// Nodes with equal lists of two or more subdomains have equal labels; those of other nodes are `outside`.
  explicit Labels(const std::vector<std::vector<std::int32_t>>& lists) {
    std::map<std::vector<std::int32_t>, std::int32_t> groups;
    for (const auto& list : lists) {
      if (list.size() < 2) {
        label_.push_back(outside);
        continue;
      }
      const auto [place, is_new] = groups.try_emplace(list, next_);
      next_ += is_new ? 1 : 0;
      label_.push_back(place->second);
    }
  }

  [[nodiscard]] std::int32_t of(std::int32_t node) const { return label_[node]; }

  /// Gives different labels to nodes that no path in the subdomain through nodes of their label connects.
  void separate(const SubdomainMatrix& subdomain, std::int64_t block_size) {
    const std::int32_t fresh = next_;
    std::vector<std::int32_t> stack;
    for (std::size_t start = 0; start < subdomain.unknowns.size(); ++start) {
      const std::int32_t first = node_of(subdomain, start, block_size);
      const std::int32_t old = label_[first];
      if (old == outside || old >= fresh) continue;
      label_[first] = next_;
      stack.assign(1, static_cast<std::int32_t>(start));
      while (!stack.empty()) {
        const std::int32_t row = stack.back();
        stack.pop_back();
        visit_neighbours(subdomain, row, block_size, old, stack);
      }
      ++next_;
    }
  }

 private:
  static std::int32_t node_of(const SubdomainMatrix& subdomain, std::size_t row, std::int64_t block_size) {
    return static_cast<std::int32_t>(subdomain.unknowns[row] / block_size);
  }

  /// Labels the neighbours of a row's node that have the old label, and pushes a row of each. Stored zeros
  /// connect: trilinear elements have them along the edges of cubes.
  void visit_neighbours(const SubdomainMatrix& subdomain, std::int32_t row, std::int64_t block_size,
                        std::int32_t old, std::vector<std::int32_t>& stack) {
    const std::int32_t node = node_of(subdomain, row, block_size);
    std::int32_t i = row;
    while (i > 0 && node_of(subdomain, i - 1, block_size) == node) --i;
    const auto& [unknowns, matrix] = subdomain;
    for (; i < std::ssize(unknowns) && node_of(subdomain, i, block_size) == node; ++i) {
      for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
        const std::int32_t j = matrix.column_indices()[k];
        const std::int32_t neighbour = node_of(subdomain, j, block_size);
        if (label_[neighbour] != old) continue;
        label_[neighbour] = next_;
        stack.push_back(j);
      }
    }
  }

  std::vector<std::int32_t> label_;
  std::int32_t next_ = 0;
};

ClassKind kind_of(const InterfaceClass& c, std::int64_t vertex_size) {
  if (std::ssize(c.nodes) <= vertex_size) return ClassKind::corner;
  return c.subdomains.size() == 2 ? ClassKind::face : ClassKind::edge;
}

/// Node of a connected class at the largest distance, in the class within its first subdomain, from a node of
/// it.
std::int32_t farthest_node(const InterfaceClass& c, const SubdomainMatrix& subdomain, std::int64_t block_size,
                           std::int32_t start) {
  const auto& [unknowns, matrix] = subdomain;
  std::vector<std::int32_t> queue{start};
  std::vector<std::int32_t> unreached = c.nodes;
  std::erase(unreached, start);
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto first = std::lower_bound(unknowns.begin(), unknowns.end(), queue[head] * block_size);
    for (auto i = first - unknowns.begin();
         i < std::ssize(unknowns) && unknowns[i] / block_size == queue[head]; ++i) {
      for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
        const auto neighbour = static_cast<std::int32_t>(unknowns[matrix.column_indices()[k]] / block_size);
        if (std::erase(unreached, neighbour) > 0) queue.push_back(neighbour);
      }
    }
  }
  return queue.back();
}

/// Removes a node of an edge from its class, and returns it as a corner.
InterfaceClass take_corner(InterfaceClass& edge, std::int32_t node, std::int64_t block_size) {
  InterfaceClass corner{ClassKind::corner, {node}, {}, edge.subdomains};
  std::erase(edge.nodes, node);
  const auto of_node = [&](std::int32_t unknown) { return unknown / block_size == node; };
  std::copy_if(edge.unknowns.begin(), edge.unknowns.end(), std::back_inserter(corner.unknowns), of_node);
  std::erase_if(edge.unknowns, of_node);
  return corner;
}

/// Makes corners of the two nodes of each edge that are farthest apart.
void separate_edge_ends(const std::vector<SubdomainMatrix>& subdomains, std::int64_t block_size,
                        std::vector<InterfaceClass>& classes) {
  std::vector<InterfaceClass> corners;
  for (InterfaceClass& c : classes) {
    if (c.kind != ClassKind::edge) continue;
    const SubdomainMatrix& subdomain = subdomains[c.subdomains.front()];
    const std::int32_t end = farthest_node(c, subdomain, block_size, c.nodes.front());
    const std::int32_t other = farthest_node(c, subdomain, block_size, end);
    corners.push_back(take_corner(c, end, block_size));
    if (other != end) corners.push_back(take_corner(c, other, block_size));
  }
  std::erase_if(classes, [](const InterfaceClass& c) { return c.nodes.empty(); });
  classes.insert(classes.end(), std::make_move_iterator(corners.begin()),
                 std::make_move_iterator(corners.end()));
  std::sort(classes.begin(), classes.end(), [](const InterfaceClass& a, const InterfaceClass& b) {
    return a.nodes.front() < b.nodes.front();
  });
}

}  // namespace

std::int64_t Interface::count(ClassKind kind) const {
  return std::count_if(classes.begin(), classes.end(),
                       [kind](const InterfaceClass& c) { return c.kind == kind; });
}

Interface classify_interface(const std::vector<SubdomainMatrix>& subdomains, std::int64_t unknowns,
                             std::int64_t block_size, std::int64_t vertex_size, bool edge_ends) {
  const auto lists = subdomains_of_nodes(subdomains, node_count(unknowns, block_size), block_size);
  Labels labels(lists);
  for (const SubdomainMatrix& subdomain : subdomains) labels.separate(subdomain, block_size);
  Interface interface;
  std::map<std::int32_t, std::size_t> class_of_label;
  for (std::size_t node = 0; node < lists.size(); ++node) {
    const auto number = static_cast<std::int32_t>(node);
    if (labels.of(number) == outside) continue;
    const auto [place, is_new] = class_of_label.try_emplace(labels.of(number), interface.classes.size());
    if (is_new) interface.classes.emplace_back().subdomains = lists[node];
    InterfaceClass& c = interface.classes[place->second];
    c.nodes.push_back(number);
    const std::int64_t end = std::min<std::int64_t>((number + 1) * block_size, unknowns);
    for (std::int64_t i = number * block_size; i < end; ++i) {
      c.unknowns.push_back(static_cast<std::int32_t>(i));
      interface.unknowns.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (InterfaceClass& c : interface.classes) c.kind = kind_of(c, vertex_size);
  if (edge_ends) separate_edge_ends(subdomains, block_size, interface.classes);
  return interface;
}

}  // namespace echelon::bddc

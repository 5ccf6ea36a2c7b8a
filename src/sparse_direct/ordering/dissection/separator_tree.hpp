// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// A binary tree of separators. The root is node 1, and node t has the children 2 t and 2 t + 1: the two
/// sides that are left when the separator of t is removed. Every vertex of a graph carries the node that it
/// belongs to: as part of the node's separator, or of its subgraph if the node is a leaf.
class SeparatorTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node root = 1;

  SeparatorTree(int largest_depth, std::int64_t total_weight)
      : largest_depth_(largest_depth),
        weight_(std::size_t{2} << largest_depth, 0),
        is_split_(std::size_t{2} << largest_depth, 0) {
    weight_[root] = total_weight;
  }

  static int depth(Node t) { return std::bit_width(t) - 1; }
  static Node child(Node t, int side) { return 2 * t + static_cast<Node>(side); }

  /// 0 or 1 for a vertex on that side of the separator of t, `separator` for one in it, `outside` for one
  /// that belongs to no node below t.
  static int side_of(Node label, Node t) {
    const int below = std::bit_width(label) - std::bit_width(t);
    if (below < 0 || (label >> below) != t) return outside;
    return below == 0 ? separator : static_cast<int>((label >> (below - 1)) & 1);
  }
  static constexpr int separator = 2;
  static constexpr int outside = 3;

  [[nodiscard]] std::size_t nodes() const { return weight_.size(); }
  [[nodiscard]] bool is_split(Node t) const { return is_split_[t] != 0; }
  void set_split(Node t, bool split) { is_split_[t] = split ? 1 : 0; }
  [[nodiscard]] bool may_split(Node t) const { return depth(t) < largest_depth_; }

  /// Weight of the vertices of t and of all nodes below it.
  [[nodiscard]] std::int64_t weight(Node t) const { return weight_[t]; }
  [[nodiscard]] std::int64_t separator_weight(Node t) const {
    return weight_[t] - weight_[child(t, 0)] - weight_[child(t, 1)];
  }
  /// Sets the weights of the sides of a node; the rest belongs to its separator.
  void set_sides(Node t, std::int64_t left, std::int64_t right) {
    weight_[child(t, 0)] = left;
    weight_[child(t, 1)] = right;
  }
  /// Adds the weight of a vertex with a label below t to all nodes from there up to t, but not to t.
  void add_weight(Node label, Node t, std::int64_t weight) {
    for (; label != t; label >>= 1) weight_[label] += weight;
  }

 private:
  int largest_depth_;
  std::vector<std::int64_t> weight_;
  std::vector<std::uint8_t> is_split_;  // bytes: tasks write to neighbouring nodes
};

}  // namespace echelon::sparse_direct

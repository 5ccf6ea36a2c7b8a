// SPDX-License-Identifier: BSD-3-Clause
/// Forests given by the parent of each node, which is greater than the node, or -1 for a root.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// The children of every node of a forest, ascending.
class Children {
 public:
  explicit Children(std::span<const std::int32_t> parent);

  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t node) const { return part(node); }
  [[nodiscard]] std::span<std::int32_t> of(std::int64_t node) {
    const auto range = part(node);
    return {children_.data() + (range.data() - children_.data()), range.size()};
  }
  [[nodiscard]] std::span<const std::int32_t> roots() const {
    return part(static_cast<std::int64_t>(begin_.size()) - 2);
  }

 private:
  [[nodiscard]] std::span<const std::int32_t> part(std::int64_t node) const {
    return std::span(children_).subspan(static_cast<std::size_t>(begin_[node]),
                                        static_cast<std::size_t>(begin_[node + 1] - begin_[node]));
  }

  std::vector<std::int32_t> begin_;  // the roots are children of the node n
  std::vector<std::int32_t> children_;
};

/// Nodes of a forest in a postorder: every subtree is contiguous and ends with its root. Siblings keep their
/// order in `children`. Iterative, since paths may be as long as the forest; O(n).
[[nodiscard]] std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent,
                                                  const Children& children);

/// A postorder that takes siblings in ascending order, without lists of children; O(n).
[[nodiscard]] std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent);

/// Parents after renumbering: node order[k] becomes node k.
[[nodiscard]] std::vector<std::int32_t> renumbered(std::span<const std::int32_t> parent,
                                                   std::span<const std::int32_t> order);

}  // namespace echelon::sparse_direct

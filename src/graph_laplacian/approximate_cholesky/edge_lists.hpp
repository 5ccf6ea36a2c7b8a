// SPDX-License-Identifier: BSD-3-Clause
/// Lists of the edges that an elimination adds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Linked lists of edges, one for each vertex, in blocks of one cache line with 7 edges (4 in double). Blocks
/// of a list that has been read are reused, so that the blocks in use stay in the cache.
template <class F>
class EdgeLists {
 public:
  static constexpr std::int32_t empty = -1;

  /// Adds an edge to the list that begins with block `head`.
  void add(std::int32_t to, F weight, std::int32_t& head) {
    if (head == empty || block(head).count == capacity) {
      const std::int32_t next = head;
      head = take_block();
      block(head).next = next;
      block(head).count = 0;
    }
    Block& first = block(head);
    first.to[static_cast<std::size_t>(first.count)] = to;
    first.weight[static_cast<std::size_t>(first.count++)] = weight;
  }

  /// Calls visit(to, weight) for each edge and frees the blocks for reuse.
  template <class Visit>
  void drain(std::int32_t head, const Visit& visit) {
    while (head != empty) {
      Block& now = block(head);
      for (std::size_t k = 0; k < static_cast<std::size_t>(now.count); ++k) visit(now.to[k], now.weight[k]);
      const std::int32_t next = now.next;
      now.next = free_;
      free_ = head;
      head = next;
    }
  }

 private:
  static constexpr std::int32_t capacity = sizeof(F) == 4 ? 7 : 4;
  struct alignas(64) Block {
    std::int32_t next;
    std::int32_t count;
    std::array<F, capacity> weight;
    std::array<std::int32_t, capacity> to;
  };
  static_assert(sizeof(Block) == 64);

  Block& block(std::int32_t b) { return blocks_[static_cast<std::size_t>(b)]; }
  std::int32_t take_block() {
    if (free_ == empty) {
      blocks_.emplace_back();
      return static_cast<std::int32_t>(blocks_.size() - 1);
    }
    const std::int32_t taken = free_;
    free_ = block(taken).next;
    return taken;
  }

  std::vector<Block> blocks_;
  std::int32_t free_ = empty;
};

}  // namespace echelon::graph_laplacian

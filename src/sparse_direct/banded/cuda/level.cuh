// SPDX-License-Identifier: BSD-3-Clause
/// The nodes of a level of a plan, for kernels whose blocks have a node each.
#pragma once

#include "sparse_direct/banded/nodes.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon::banded {

/// Nodes of a level, in the memory of the GPU. Block b works on node b % count of matrix, or item, b / count.
struct LevelNodes {
  const BandNode* first;
  std::int64_t begin;  ///< number of the first node in the plan
  std::int64_t count;
};

[[nodiscard]] inline LevelNodes nodes_of_level(const BandPlan& plan, const BandNode* nodes,
                                               std::int64_t level) {
  const std::int64_t begin = plan.level_begin[static_cast<std::size_t>(level)];
  return {nodes + begin, begin, plan.level_begin[static_cast<std::size_t>(level) + 1] - begin};
}

/// Largest sizes of the nodes of a level.
struct LevelSizes {
  std::int64_t slots = 0;
  std::int64_t ahead = 0;
  std::int64_t left = 0;
  std::int64_t window = 0;  ///< elements
  std::int64_t steps = 0;
  std::int64_t block_rows = 0;
};

[[nodiscard]] inline LevelSizes sizes_of_level(const BandPlan& plan, std::int64_t level) {
  LevelSizes sizes;
  const auto larger = [](std::int64_t& size, std::int64_t other) { size = size > other ? size : other; };
  for (std::int64_t i = plan.level_begin[static_cast<std::size_t>(level)];
       i < plan.level_begin[static_cast<std::size_t>(level) + 1]; ++i) {
    const BandNode& node = plan.nodes[static_cast<std::size_t>(i)];
    larger(sizes.slots, node.slots);
    larger(sizes.ahead, node.ahead);
    larger(sizes.left, node.left);
    larger(sizes.window, std::int64_t{node.slots} * std::int64_t{node.width()});
    larger(sizes.steps, node.steps);
    larger(sizes.block_rows, node.block_rows);
  }
  return sizes;
}

}  // namespace echelon::banded

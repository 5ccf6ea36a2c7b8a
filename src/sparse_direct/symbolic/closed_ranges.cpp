// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/closed_ranges.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

ForestPartition partition(std::span<const std::int32_t> first, int threads) {
  constexpr std::int32_t parts = 40;
  constexpr std::int32_t smallest = 16;
  constexpr std::int32_t large = 2048;  // forests for which several threads make up for their ranges
  const auto n = static_cast<std::int32_t>(first.size());
  if (threads == 1 || n < large) return {{{0, n}}, {}};
  const std::int32_t largest = std::max(smallest, n / parts);
  ForestPartition result;
  for (std::int32_t end = n; end > 0;) {
    const std::int32_t begin = first[end - 1];
    if (end - begin > largest) {
      result.top.push_back(--end);
      continue;
    }
    if (!result.ranges.empty() && result.ranges.back().begin == end &&
        result.ranges.back().end - begin <= largest) {
      result.ranges.back().begin = begin;
    } else {
      result.ranges.push_back({begin, end});
    }
    end = begin;
  }
  std::reverse(result.ranges.begin(), result.ranges.end());
  std::reverse(result.top.begin(), result.top.end());
  return result;
}

std::vector<std::int32_t> first_descendants(std::span<const std::int32_t> parent) {
  std::vector<std::int32_t> first(parent.size());
  std::iota(first.begin(), first.end(), 0);
  for (std::size_t k = 0; k < parent.size(); ++k) {
    if (parent[k] >= 0) first[parent[k]] = std::min(first[parent[k]], first[k]);
  }
  return first;
}

}  // namespace echelon::sparse_direct

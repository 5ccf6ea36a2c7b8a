// SPDX-License-Identifier: BSD-3-Clause
/// Fronts of the borders, whose update matrices are the Schur complements of a factorisation.
#pragma once

#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct::gpu {

/// Roots with rows in each border, border by border.
struct RootsOfBorders {
  std::vector<std::int32_t> fronts;
  std::vector<std::int32_t> begin{0};  ///< of each border
};

inline RootsOfBorders roots_of_borders(const FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  std::vector<std::vector<std::int32_t>> roots(plan.borders.size() - 1);
  for (std::int64_t s = 0; s < symbolic.supernodes(); ++s) {
    if (symbolic.parent[static_cast<std::size_t>(s)] >= 0 || symbolic.rows_of(s).empty()) continue;
    const auto row = static_cast<std::int32_t>(symbolic.rows_of(s).front() - symbolic.interior());
    const auto after = std::upper_bound(plan.borders.begin(), plan.borders.end(), row);
    roots[static_cast<std::size_t>(after - plan.borders.begin() - 1)].push_back(static_cast<std::int32_t>(s));
  }
  RootsOfBorders result;
  for (const std::vector<std::int32_t>& own : roots) {
    result.fronts.insert(result.fronts.end(), own.begin(), own.end());
    result.begin.push_back(static_cast<std::int32_t>(result.fronts.size()));
  }
  return result;
}

/// The fronts of the borders: they have no pivots, and their update matrices follow the stack.
inline std::vector<Front> border_fronts(const FrontPlan& plan, const RootsOfBorders& roots) {
  std::vector<Front> fronts;
  std::int64_t update = plan.stack_entries;
  for (std::size_t k = 0; k + 1 < plan.borders.size(); ++k) {
    Front& front = fronts.emplace_back();
    front.rows = plan.borders[k + 1] - plan.borders[k];
    front.child_begin = static_cast<std::int32_t>(plan.layout.children.size()) + roots.begin[k];
    front.child_end = static_cast<std::int32_t>(plan.layout.children.size()) + roots.begin[k + 1];
    front.update = update;
    update += std::int64_t{front.rows} * front.rows;
  }
  return fronts;
}

/// Numbers of the fronts of the borders.
inline std::vector<std::int32_t> border_numbers(const FrontPlan& plan) {
  std::vector<std::int32_t> numbers(plan.borders.size() - 1);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(plan.fronts.size()));
  return numbers;
}

}  // namespace echelon::sparse_direct::gpu

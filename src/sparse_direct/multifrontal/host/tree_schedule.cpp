// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"

#include "sparse_direct/multifrontal/fronts/collecting_fronts.hpp"
#include "sparse_direct/symbolic/closed_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Least number of flops for which a factorisation takes longer than waking threads.
constexpr double worth_threads = 1e7;
/// Least number of ranges for each thread, so that the last ranges to finish are short.
constexpr int ranges_per_thread = 8;

/// Flops of a front: the sum of squared column lengths, and an estimate for the assembly.
double flops_of_front(double size, double pivots) {
  const double below = size - pivots;
  return pivots * (size * size - size * pivots + pivots * pivots / 3) + 10 * size * pivots + below * below;
}

std::vector<double> flops_of_subtrees(const FrontLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  std::vector<double> flops(tree.parent.size(), 0);
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    flops[s] += flops_of_front(static_cast<double>(tree.front_size(s)), static_cast<double>(tree.pivots(s)));
    if (tree.parent[s] >= 0) flops[tree.parent[s]] += flops[s];
  }
  return flops;
}

/// Largest fraction of the serial time for which threads are used.
constexpr double worthwhile_fraction = 0.8;

/// Time of the division on `threads` threads as a fraction of the serial time, from the flops on the longest
/// path from a range to a root.
double parallel_fraction(const FrontLayout& layout, const std::vector<double>& flops, int threads,
                         const TreeSchedule& schedule) {
  const SymbolicFactor& tree = layout.tree;
  std::vector<double> longest(tree.parent.size(), 0);  // path to the children of each front
  double path = 0;
  const auto extend = [&](std::int32_t s, double end) {
    path = std::max(path, end);
    const std::int32_t p = tree.parent[s];
    if (p >= 0) longest[p] = std::max(longest[p], end);
  };
  for (const SupernodeRange range : schedule.ranges) {
    double sum = 0;
    for (std::int32_t s = range.begin; s < range.end; ++s) {
      if (tree.parent[s] == tree.parent[range.end - 1]) sum += flops[s];
    }
    const bool one_divided =
        range.end - range.begin == 1 && tree.front_size(range.begin) >= TreeSchedule::divided_front;
    extend(range.end - 1, one_divided ? sum / threads : sum);
  }
  for (const std::int32_t s : schedule.top) {
    double own = flops[s];
    for (const std::int32_t child : layout.children_of(s)) own -= flops[child];
    extend(s, longest[s] + (tree.front_size(s) >= TreeSchedule::divided_front ? own / threads : own));
  }
  return std::max(path / schedule.flops, 1.0 / threads);
}

/// Collecting fronts of a range in the order in which their update matrices are stored.
std::vector<std::int32_t> collecting_fronts(const FrontLayout& layout, std::span<const std::int32_t> first,
                                            SupernodeRange range) {
  std::vector<std::int32_t> fronts;
  for (std::int32_t s = range.end; s-- > range.begin;) {
    if (layout.collects(s)) fronts.push_back(s);
  }
  std::stable_sort(fronts.begin(), fronts.end(),
                   [&](std::int32_t a, std::int32_t b) { return first[a] < first[b]; });
  return fronts;
}

/// Offsets of the update matrices of a range in a stack with two ends; returns its size. Matrices of even
/// depth in the tree are at one end, those of odd depth at the other. The matrix of a front is stored at one
/// end while those of its children, which are the last ones at the other end, are added to it and then
/// removed. That of a collecting front is stored before those of its descendants, and each child is removed
/// as soon as it is added.
std::int64_t place_updates(const FrontLayout& layout, std::span<const std::int32_t> first,
                           SupernodeRange range, TreeSchedule& schedule) {
  const SymbolicFactor& tree = layout.tree;
  std::vector<std::uint8_t> odd(static_cast<std::size_t>(range.end - range.begin), 0);
  const auto is_inside = [&](std::int32_t s) { return s >= range.begin && s < range.end; };
  for (std::int32_t s = range.end; s-- > range.begin;) {
    const std::int32_t p = tree.parent[s];
    if (p >= 0 && is_inside(p)) odd[s - range.begin] = static_cast<std::uint8_t>(1 - odd[p - range.begin]);
  }
  const auto entries_of = [&](std::int64_t s) { return layout.below(s) * layout.below(s); };
  std::int64_t used[2] = {0, 0};
  std::int64_t peak = 0;
  const auto place = [&](std::int32_t s) {
    const int end = odd[s - range.begin];
    if (is_inside(tree.parent[s])) {
      schedule.update_begin[s] = used[end];
      used[end] += entries_of(s);
    }
    peak = std::max(peak, used[0] + used[1]);
  };
  const std::vector<std::int32_t> collecting = collecting_fronts(layout, first, range);
  auto next = collecting.begin();
  for (std::int32_t s = range.begin; s < range.end; ++s) {
    for (; next != collecting.end() && first[*next] == s; ++next) place(*next);
    if (!layout.collects(s)) {
      place(s);
      for (const std::int32_t child : layout.children_of(s))
        used[1 - odd[s - range.begin]] -= entries_of(child);
    }
    const std::int32_t p = tree.parent[s];
    if (is_inside(p) && layout.collects(p)) used[odd[s - range.begin]] -= entries_of(s);
  }
  for (std::int32_t s = range.begin; s < range.end; ++s) {
    if (odd[s - range.begin] == 0 || schedule.update_begin[s] < 0) continue;
    schedule.update_begin[s] = peak - schedule.update_begin[s] - entries_of(s);
  }
  return peak;
}

}  // namespace

TreeDivision divide_tree(const SymbolicFactor& tree, std::vector<double> costs, double limit) {
  TreeDivision division;
  const std::vector<std::int32_t> first = first_descendants(tree.parent);
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    if (!is_collecting(tree, s)) continue;
    for (std::int32_t k = first[s]; k <= s; ++k) costs[k] = std::min(costs[k], limit);
  }
  double in_range = 0;
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    const std::int32_t p = tree.parent[s];
    const bool has_children = first[s] < s;
    if (costs[s] > limit && has_children) {
      division.top.push_back(s);
    } else if (costs[s] > limit || p < 0 || costs[p] > limit) {
      const bool joins = !division.ranges.empty() && division.ranges.back().end == first[s] &&
                         tree.parent[division.ranges.back().end - 1] == p && in_range + costs[s] <= limit;
      in_range = joins ? in_range + costs[s] : costs[s];
      if (joins) {
        division.ranges.back().end = s + 1;
      } else {
        division.ranges.push_back({first[s], s + 1});
      }
    }
  }
  return division;
}

TreeSchedule schedule_tree(const FrontLayout& layout, int threads) {
  TreeSchedule schedule;
  const SymbolicFactor& tree = layout.tree;
  const auto count = static_cast<std::int32_t>(tree.supernodes());
  schedule.update_begin.assign(tree.parent.size(), -1);
  if (count == 0) return schedule;
  schedule.subtree_flops = flops_of_subtrees(layout);
  const std::vector<std::int32_t> first = first_descendants(tree.parent);
  const std::vector<double>& flops = schedule.subtree_flops;
  for (std::int32_t s = 0; s < count; ++s) {
    if (tree.parent[s] < 0) schedule.flops += flops[s];
  }
  if (threads > 1 && schedule.flops >= worth_threads) {
    // A front above the ranges starts when a child has finished; those without children are ranges.
    const double limit = schedule.flops / (ranges_per_thread * threads);
    TreeDivision division = divide_tree(tree, flops, limit);
    schedule.ranges = std::move(division.ranges);
    schedule.top = std::move(division.top);
    schedule.parallel = parallel_fraction(layout, flops, threads, schedule) <= worthwhile_fraction;
  }
  if (!schedule.parallel) {
    schedule.ranges.assign(1, {0, count});
    schedule.top.clear();
  }
  for (const SupernodeRange range : schedule.ranges) {
    schedule.stack_entries.push_back(place_updates(layout, first, range, schedule));
  }
  return schedule;
}

}  // namespace echelon::sparse_direct

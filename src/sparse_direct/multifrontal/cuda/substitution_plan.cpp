// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/substitution_plan.hpp"

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

namespace echelon::sparse_direct::gpu {

namespace {

std::int32_t divide_up(std::int32_t a, std::int32_t b) {
  return (a + b - 1) / b;
}

const Front& front_at(const FrontPlan& plan, std::int32_t place) {
  return plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
}

void place_counters(FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  std::vector<bool> tiled(plan.fronts.size(), false);
  for (const FrontLevel& level : plan.levels) {
    for (std::int32_t place = level.large_begin; place < level.large_end; ++place) {
      tiled[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])] =
          !is_whole(front_at(plan, place));
    }
  }
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    Front& front = plan.fronts[s];
    front.counters = plan.counters;
    plan.counters +=
        tiled[s] ? FrontCounters::blocks + FrontCounters::of_block * InverseBlocks(front.pivots).count()
                 : FrontCounters::whole;
  }
  // Roots with rows in a border have no parent to signal to or to await: they share counters without a
  // reader.
  const std::int64_t unread = plan.counters;
  if (plan.border() > 0) plan.counters += FrontCounters::whole;
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    if (symbolic.parent[s] < 0) {
      plan.fronts[s].parent_counters = plan.border() > 0 ? unread : 0;
      plan.fronts[s].grandparent_counters = plan.fronts[s].parent_counters;
      continue;
    }
    const auto p = static_cast<std::size_t>(symbolic.parent[s]);
    Front& front = plan.fronts[s];
    Front& parent = plan.fronts[p];
    front.parent_counters = parent.counters;
    front.awaited_solutions = tiled[p] ? divide_up(parent.pivots, pivot_tile_rows) : 1;
    parent.awaited_contributions += tiled[s] ? divide_up(front.rows - front.pivots, border_tile_rows) : 1;
    const auto rows = plan.layout.position_in_parent.begin() + front.border;
    const auto end = rows + (front.rows - front.pivots);
    front.border_in_parent = static_cast<std::int32_t>(std::lower_bound(rows, end, parent.pivots) - rows);
  }
  // Counters of a parent are known only after those of its children, so those of a grandparent need a second
  // loop.
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    if (symbolic.parent[s] < 0) continue;
    const Front& parent = plan.fronts[static_cast<std::size_t>(symbolic.parent[s])];
    plan.fronts[s].grandparent_counters = parent.parent_counters;
    plan.fronts[s].awaited_grandparent = parent.awaited_solutions;
  }
}

/// Calls f(element, source) for the elements of a front and their sources in the vector of a solve.
template <class F>
void for_each_source(const FrontPlan& plan, std::size_t front, F f) {
  const std::int64_t first = plan.fronts[front].vector;
  for (const std::int32_t number : plan.layout.children_of(front)) {
    const Front& child = plan.fronts[static_cast<std::size_t>(number)];
    const std::int32_t* const positions = plan.layout.position_in_parent.data() + child.border;
    for (std::int32_t i = child.pivots; i < child.rows; ++i)
      f(static_cast<std::size_t>(first + positions[i - child.pivots]), child.vector + i);
  }
}

void find_sources(FrontPlan& plan) {
  if (plan.vector_entries > std::numeric_limits<std::int32_t>::max()) {
    throw Error("the fronts have " + std::to_string(plan.vector_entries) +
                " rows, more than the 2^31 - 1 that a GPU substitutes for");
  }
  const std::size_t count = plan.fronts.size();
  UninitializedVector<std::int32_t>& begin = plan.sources.begin;
  UninitializedVector<std::int32_t>& elements = plan.sources.elements;
  begin.resize(static_cast<std::size_t>(plan.vector_entries) + 1);
  std::fill(begin.begin(), begin.end(), 0);
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 256)
  for (std::size_t s = 0; s < count; ++s)
    for_each_source(plan, s, [&](std::size_t element, std::int64_t) { ++begin[element + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  elements.resize(static_cast<std::size_t>(begin.back()));
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 256)
  for (std::size_t s = 0; s < count; ++s) {
    const Front& front = plan.fronts[s];
    const auto first = begin.begin() + front.vector;
    std::vector<std::int32_t> next(first, first + front.rows);
    for_each_source(plan, s, [&](std::size_t element, std::int64_t source) {
      std::int32_t& place = next[element - static_cast<std::size_t>(front.vector)];
      elements[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(source);
    });
  }
}

/// Appends tasks of one kind for the parts [0, parts) of a front.
void append_parts(std::vector<SubstitutionTask>& tasks, SubstitutionTask::Kind kind, std::int32_t place,
                  std::int32_t parts) {
  for (std::int32_t part = 0; part < parts; ++part) tasks.push_back({kind, place, part, 1});
}

void append_small_fronts(std::vector<SubstitutionTask>& tasks, const FrontLevel& level) {
  for (std::int32_t c = small_classes; c-- > 0;) {
    const std::int32_t end =
        std::min(level.small_begin[static_cast<std::size_t>(c) + 1], level.inverted_begin);
    for (std::int32_t place = level.small_begin[static_cast<std::size_t>(c)]; place < end;
         place += small_fronts_together) {
      tasks.push_back(
          {SubstitutionTask::small_fronts, place, c, std::min(small_fronts_together, end - place)});
    }
  }
}

void append_whole_fronts(const FrontPlan& plan, std::vector<SubstitutionTask>& tasks,
                         const FrontLevel& level) {
  for (std::int32_t place = level.inverted_begin; place < level.large_end; ++place) {
    if (is_whole(front_at(plan, place))) append_parts(tasks, SubstitutionTask::whole_front, place, 1);
  }
}

/// Calls f(place, front) for the fronts of a level that are divided into tiles.
template <class F>
void for_each_tiled(const FrontPlan& plan, const FrontLevel& level, F f) {
  for (std::int32_t place = level.large_begin; place < level.large_end; ++place) {
    if (!is_whole(front_at(plan, place))) f(place, front_at(plan, place));
  }
}

/// Appends tasks of a forward substitution. Tiles of pivots depend on each other, and precede tasks that use
/// the bandwidth while these wait.
void append_forward(const FrontPlan& plan, std::vector<SubstitutionTask>& tasks, const FrontLevel& level) {
  for_each_tiled(plan, level, [&](std::int32_t place, const Front& front) {
    append_parts(tasks, SubstitutionTask::gather, place, divide_up(front.rows, gathered_rows));
  });
  for_each_tiled(plan, level, [&](std::int32_t place, const Front& front) {
    append_parts(tasks, SubstitutionTask::pivot_rows, place, divide_up(front.pivots, pivot_tile_rows));
  });
  append_whole_fronts(plan, tasks, level);
  append_small_fronts(tasks, level);
  for_each_tiled(plan, level, [&](std::int32_t place, const Front& front) {
    append_parts(tasks, SubstitutionTask::border_rows, place,
                 divide_up(front.rows - front.pivots, border_tile_rows));
  });
}

void append_backward(const FrontPlan& plan, std::vector<SubstitutionTask>& tasks, const FrontLevel& level) {
  for_each_tiled(plan, level, [&](std::int32_t place, const Front& front) {
    for (std::int32_t part = divide_up(front.pivots, pivot_tile_rows); part-- > 0;)
      tasks.push_back({SubstitutionTask::pivot_rows, place, part, 1});
  });
  append_whole_fronts(plan, tasks, level);
  append_small_fronts(tasks, level);
}

}  // namespace

void plan_substitution(FrontPlan& plan) {
  place_counters(plan);
  find_sources(plan);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    append_forward(plan, plan.forward, plan.levels[l]);
    append_backward(plan, plan.backward, plan.levels[plan.levels.size() - 1 - l]);
  }
}

}  // namespace echelon::sparse_direct::gpu

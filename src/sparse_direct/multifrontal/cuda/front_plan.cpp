// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

namespace echelon::sparse_direct::gpu {

namespace {

/// Shared memory of a thread block that a small front may fill.
constexpr std::int64_t shared_bytes = 220 * 1024;

std::int64_t round_up(std::int64_t size) {
  constexpr std::int64_t alignment = 32;  // elements: warps load whole lines
  return (size + alignment - 1) / alignment * alignment;
}

/// The class of a front, or small_classes for one that is too large for shared memory.
std::int32_t class_of(const Front& front, std::int64_t element_size) {
  std::int32_t c = 0;
  while (c < small_classes && front.rows > small_orders[c]) ++c;
  const std::int64_t order = front.rows;
  return c < small_classes && (order | 1) * order * element_size <= shared_bytes ? c : small_classes;
}

void lay_out_factor(const SymbolicFactor& symbolic, FrontPlan& plan) {
  const std::size_t count = symbolic.parent.size();
  plan.fronts.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    Front& front = plan.fronts[s];
    const auto border = static_cast<std::int32_t>(symbolic.row_begin[s + 1] - symbolic.row_begin[s]);
    front.first = symbolic.supernode_begin[s];
    front.pivots = symbolic.supernode_begin[s + 1] - front.first;
    front.rows = front.pivots + border;
    front.border = symbolic.row_begin[s];
    front.panel = plan.factor_entries;
    plan.factor_entries += round_up(std::int64_t{front.rows} * front.pivots);
    front.row_panel = plan.factor_entries;
    if (plan.factors == Factors::lu) plan.factor_entries += round_up(std::int64_t{border} * front.pivots);
    front.vector = plan.vector_entries;
    plan.vector_entries += front.rows;
  }
}

/// Places for the inverses of diagonal blocks of L, and for LU of those of U after them.
void lay_out_inverses(FrontPlan& plan) {
  const std::int64_t triangles = plan.factors == Factors::lu ? 2 : 1;
  for (const FrontLevel& level : plan.levels) {
    for (std::int32_t place = level.large_begin; place < level.large_end; ++place) {
      Front& front = plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
      front.inverse = plan.inverse_entries;
      plan.inverse_entries += round_up(triangles * InverseBlocks(front.pivots).entries());
    }
  }
}

void list_children(const SymbolicFactor& symbolic, FrontPlan& plan) {
  const std::size_t count = symbolic.parent.size();
  std::vector<std::int32_t> begin(count + 1, 0);
  for (const std::int32_t parent : symbolic.parent) {
    if (parent >= 0) ++begin[static_cast<std::size_t>(parent) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  plan.children.resize(static_cast<std::size_t>(begin[count]));
  for (std::size_t s = 0; s < count; ++s) {
    plan.fronts[s].child_begin = begin[s];
    plan.fronts[s].child_end = begin[s];
  }
  for (std::size_t s = 0; s < count; ++s) {
    if (symbolic.parent[s] < 0) continue;
    Front& parent = plan.fronts[static_cast<std::size_t>(symbolic.parent[s])];
    plan.children[static_cast<std::size_t>(parent.child_end++)] = static_cast<std::int32_t>(s);
  }
}

/// Position in a front of a row of the permuted matrix that the front has.
std::int32_t position_in(const SymbolicFactor& symbolic, const Front& front, std::int32_t row) {
  if (row < front.first + front.pivots) return row - front.first;
  const auto begin = symbolic.rows.begin() + front.border;
  const auto end = begin + (front.rows - front.pivots);
  return front.pivots + static_cast<std::int32_t>(std::lower_bound(begin, end, row) - begin);
}

void find_relative_positions(const SymbolicFactor& symbolic, FrontPlan& plan) {
  plan.relative.resize(symbolic.rows.size());
#pragma omp parallel for schedule(dynamic, 256)
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    if (symbolic.parent[s] < 0) continue;
    const Front& parent = plan.fronts[static_cast<std::size_t>(symbolic.parent[s])];
    for (std::int64_t e = symbolic.row_begin[s]; e < symbolic.row_begin[s + 1]; ++e) {
      const auto place = static_cast<std::size_t>(e);
      plan.relative[place] = position_in(symbolic, parent, symbolic.rows[place]);
    }
  }
}

/// Depths of the fronts, that of a root being 0.
std::vector<std::int32_t> depths(const SymbolicFactor& symbolic) {
  std::vector<std::int32_t> depth(symbolic.parent.size(), 0);
  for (std::size_t s = depth.size(); s-- > 0;) {
    const std::int32_t parent = symbolic.parent[s];
    if (parent >= 0) depth[s] = depth[static_cast<std::size_t>(parent)] + 1;
  }
  return depth;
}

/// Sorts the fronts of a level by class, and the large ones by descending pivots.
FrontLevel arrange_level(FrontPlan& plan, std::int32_t begin, std::int32_t end, std::int64_t element_size) {
  const auto size_class = [&](std::int32_t s) {
    return class_of(plan.fronts[static_cast<std::size_t>(s)], element_size);
  };
  std::stable_sort(plan.order.begin() + begin, plan.order.begin() + end, [&](std::int32_t a, std::int32_t b) {
    const std::int32_t class_a = size_class(a);
    const std::int32_t class_b = size_class(b);
    if (class_a != class_b) return class_a < class_b;
    return class_a == small_classes &&
           plan.fronts[static_cast<std::size_t>(a)].pivots > plan.fronts[static_cast<std::size_t>(b)].pivots;
  });
  FrontLevel level;
  std::int32_t place = begin;
  for (std::int32_t c = 0; c <= small_classes; ++c) {
    level.small_begin.push_back(place);
    while (place < end && size_class(plan.order[static_cast<std::size_t>(place)]) == c) ++place;
  }
  level.large_begin = level.small_begin.back();
  level.large_end = end;
  return level;
}

/// Gives update matrices their places: those of even levels from the beginning of the stack upwards, those of
/// odd levels from its end downwards.
void lay_out_updates(FrontPlan& plan) {
  std::vector<std::int64_t> sizes;
  for (const FrontLevel& level : plan.levels) {
    std::int64_t size = 0;
    for (std::int32_t place = level.small_begin[0]; place < level.large_end; ++place) {
      Front& front = plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
      const std::int64_t border = front.rows - front.pivots;
      front.update = size;
      size += round_up(border * border);
    }
    sizes.push_back(size);
  }
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    plan.stack_entries = std::max(plan.stack_entries, sizes[l] + (l > 0 ? sizes[l - 1] : 0));
  }
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    FrontLevel& level = plan.levels[l];
    level.update_begin = l % 2 == 0 ? 0 : plan.stack_entries - sizes[l];
    level.update_end = level.update_begin + sizes[l];
    for (std::int32_t place = level.small_begin[0]; place < level.large_end; ++place) {
      plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])].update +=
          level.update_begin;
    }
  }
}

}  // namespace

FrontPlan plan_fronts(const SymbolicFactor& symbolic, Factors factors, std::int64_t element_size) {
  FrontPlan plan;
  plan.factors = factors;
  plan.n = symbolic.n;
  lay_out_factor(symbolic, plan);
  list_children(symbolic, plan);
  find_relative_positions(symbolic, plan);

  const std::vector<std::int32_t> depth = depths(symbolic);
  plan.order.resize(depth.size());
  std::iota(plan.order.begin(), plan.order.end(), 0);
  std::stable_sort(plan.order.begin(), plan.order.end(), [&](std::int32_t a, std::int32_t b) {
    return depth[static_cast<std::size_t>(a)] > depth[static_cast<std::size_t>(b)];
  });
  const auto count = static_cast<std::int32_t>(depth.size());
  for (std::int32_t begin = 0; begin < count;) {
    std::int32_t end = begin;
    const auto depth_at = [&](std::int32_t place) {
      return depth[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
    };
    const std::int32_t level_depth = depth_at(begin);
    while (end < count && depth_at(end) == level_depth) ++end;
    plan.levels.push_back(arrange_level(plan, begin, end, element_size));
    begin = end;
  }
  lay_out_updates(plan);
  lay_out_inverses(plan);
  return plan;
}

std::vector<std::int64_t> element_offsets(const FrontPlan& plan, const SymbolicFactor& symbolic,
                                          std::span<const std::int64_t> row_offsets,
                                          std::span<const std::int32_t> columns,
                                          std::span<const std::int32_t> row_position,
                                          std::span<const std::int32_t> column_position) {
  std::vector<std::int32_t> front_of(static_cast<std::size_t>(plan.n));
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    const Front& front = plan.fronts[s];
    std::fill_n(front_of.begin() + front.first, front.pivots, static_cast<std::int32_t>(s));
  }
  std::vector<std::int64_t> offsets(columns.size());
#pragma omp parallel for schedule(dynamic, 4096)
  for (std::int64_t i = 0; i < plan.n; ++i) {
    const std::int32_t row = row_position[static_cast<std::size_t>(i)];
    for (std::int64_t e = row_offsets[static_cast<std::size_t>(i)];
         e < row_offsets[static_cast<std::size_t>(i) + 1]; ++e) {
      const auto element = static_cast<std::size_t>(e);
      const std::int32_t column = column_position[static_cast<std::size_t>(columns[element])];
      const Front& front =
          plan.fronts[static_cast<std::size_t>(front_of[static_cast<std::size_t>(std::min(row, column))])];
      const std::int64_t local_row = position_in(symbolic, front, row);
      const std::int64_t local_column = position_in(symbolic, front, column);
      if (plan.factors == Factors::cholesky && row < column) {
        offsets[element] = -1;
      } else if (local_column < front.pivots) {
        offsets[element] = front.panel + local_row + local_column * front.rows;
      } else {
        offsets[element] =
            front.row_panel + (local_column - front.pivots) + local_row * (front.rows - front.pivots);
      }
    }
  }
  return offsets;
}

}  // namespace echelon::sparse_direct::gpu

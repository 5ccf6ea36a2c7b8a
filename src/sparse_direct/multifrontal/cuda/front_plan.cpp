// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

#include "dense/tiles/indefinite_work.hpp"
#include "sparse_direct/multifrontal/cuda/substitution_plan.hpp"

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace echelon::sparse_direct::gpu {

namespace {

using tiles::indefinite_work_size;

/// Shared memory of a thread block that a small front may fill: 227 KB without the kernel's own arrays.
constexpr std::int64_t shared_bytes = 204 * 1024;
constexpr std::int64_t multiprocessors = 132;  // of an H200

std::int64_t round_up(std::int64_t size) {
  constexpr std::int64_t alignment = 32;  // elements: warps load whole lines
  return (size + alignment - 1) / alignment * alignment;
}

/// Size class of a front, or small_classes for one that is too large for shared memory, or has too many
/// pivots for one task of a substitution.
std::int32_t class_of(const Front& front, std::int64_t element_size) {
  std::int32_t c = 0;
  while (c < small_classes && front.rows > small_orders[c]) ++c;
  if (c >= inverted_class && front.pivots > most_whole_pivots) return small_classes;
  const std::int64_t order = front.rows;
  return c < small_classes && (order | 1) * order * element_size <= shared_bytes ? c : small_classes;
}

void lay_out_factor(std::span<const std::int32_t> spare, FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  const std::size_t count = symbolic.parent.size();
  plan.fronts.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    Front& front = plan.fronts[s];
    const auto border = static_cast<std::int32_t>(symbolic.row_begin[s + 1] - symbolic.row_begin[s]);
    front.first = symbolic.supernode_begin[s];
    front.pivots = symbolic.supernode_begin[s + 1] - front.first;
    front.rows = front.pivots + border;
    front.spare = front.pivots - (spare.empty() ? 0 : spare[s]);
    front.border = symbolic.row_begin[s];
    front.child_begin = plan.layout.child_begin[s];
    front.child_end = plan.layout.child_begin[s + 1];
    front.panel = plan.factor_entries;
    plan.factor_entries += round_up(std::int64_t{front.rows} * front.pivots);
    front.row_panel = plan.factor_entries;
    if (plan.kind() == FactorKind::lu) plan.factor_entries += round_up(std::int64_t{border} * front.pivots);
    front.vector = plan.vector_entries;
    plan.vector_entries += front.rows;
  }
}

/// Assigns places to the inverses of diagonal blocks of L and, for LU, to those of U after them.
void lay_out_inverses(FrontPlan& plan) {
  const std::int64_t triangles = plan.kind() == FactorKind::lu ? 2 : 1;
  for (const FrontLevel& level : plan.levels) {
    for (std::int32_t place = level.inverted_begin; place < level.large_end; ++place) {
      Front& front = plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
      front.inverse = plan.inverse_entries;
      plan.inverse_entries += round_up(triangles * InverseBlocks(front.pivots).entries());
    }
  }
}

/// Position in a front of a row of the permuted matrix, which must be one of the front's rows.
std::int32_t position_in(const SymbolicFactor& symbolic, const Front& front, std::int32_t row) {
  if (row < front.first + front.pivots) return row - front.first;
  const auto begin = symbolic.rows.begin() + front.border;
  const auto end = begin + (front.rows - front.pivots);
  return front.pivots + static_cast<std::int32_t>(std::lower_bound(begin, end, row) - begin);
}

/// Positions of the rows of roots in their borders.
void find_positions_in_borders(FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  const auto interior = static_cast<std::int32_t>(symbolic.interior());
  for (std::int64_t root = 0; root < symbolic.supernodes(); ++root) {
    const std::span<const std::int32_t> rows = symbolic.rows_of(root);
    if (symbolic.parent[static_cast<std::size_t>(root)] >= 0 || rows.empty()) continue;
    const auto after = std::upper_bound(plan.borders.begin(), plan.borders.end(), rows.front() - interior);
    const std::int32_t first = interior + *std::prev(after);
    const auto begin = static_cast<std::size_t>(symbolic.row_begin[static_cast<std::size_t>(root)]);
    for (std::size_t k = 0; k < rows.size(); ++k) plan.layout.position_in_parent[begin + k] = rows[k] - first;
  }
}

void set_borders(std::span<const std::int32_t> borders, FrontPlan& plan) {
  plan.borders.assign(borders.begin(), borders.end());
  if (borders.empty()) plan.borders = {0, static_cast<std::int32_t>(plan.border())};
  for (std::size_t k = 0; k + 1 < plan.borders.size(); ++k) {
    const std::int64_t size = plan.borders[k + 1] - plan.borders[k];
    plan.border_entries += size * size;
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

/// Sorts the fronts by level, deepest first, in a level by class, and the large ones by descending pivots.
void arrange_levels(FrontPlan& plan, std::int64_t element_size) {
  if (plan.fronts.empty()) return;
  std::vector<std::int32_t> place_class = depths(plan.layout.tree);
  const std::int32_t deepest = *std::max_element(place_class.begin(), place_class.end());
  for (std::size_t s = 0; s < place_class.size(); ++s) {
    place_class[s] =
        (deepest - place_class[s]) * (small_classes + 1) + class_of(plan.fronts[s], element_size);
  }
  const auto classes = (static_cast<std::size_t>(deepest) + 1) * (small_classes + 1);
  std::vector<std::int32_t> begin(classes + 1, 0);
  for (const std::int32_t c : place_class) ++begin[static_cast<std::size_t>(c) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> next = begin;
  plan.order.resize(place_class.size());
  for (std::size_t s = 0; s < place_class.size(); ++s) {
    std::int32_t& place = next[static_cast<std::size_t>(place_class[s])];
    plan.order[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(s);
  }
  for (std::size_t c = 0; c < classes; c += small_classes + 1) {
    FrontLevel level;
    level.small_begin.assign(begin.begin() + static_cast<std::ptrdiff_t>(c),
                             begin.begin() + static_cast<std::ptrdiff_t>(c + small_classes + 1));
    level.large_begin = level.small_begin.back();
    level.large_end = begin[c + small_classes + 1];
    level.inverted_begin = level.small_begin[inverted_class];
    if (level.large_begin - level.inverted_begin > most_inverted_small)
      level.inverted_begin = level.large_begin;
    std::stable_sort(plan.order.begin() + level.large_begin, plan.order.begin() + level.large_end,
                     [&](std::int32_t a, std::int32_t b) {
                       return plan.fronts[static_cast<std::size_t>(a)].pivots >
                              plan.fronts[static_cast<std::size_t>(b)].pivots;
                     });
    plan.levels.push_back(std::move(level));
  }
}

/// Small fronts up to this order that an H200 factors at the same time.
std::int64_t fronts_at_once(std::int32_t order, std::int64_t element_size) {
  constexpr std::int64_t processor_bytes = 227 * 1024;
  constexpr std::int64_t own_bytes = processor_bytes - shared_bytes;  // of the kernel's arrays, at most
  constexpr std::int64_t most = 4;                                    // blocks of 512 threads
  const std::int64_t bytes = (order | 1) * std::int64_t{order} * element_size + own_bytes;
  return multiprocessors * std::min(most, processor_bytes / bytes);
}

std::int32_t largest_order(const FrontPlan& plan, const FrontLevel& level) {
  std::int32_t largest = 0;
  for (std::int32_t place = level.small_begin[0]; place < level.large_begin; ++place) {
    const std::int32_t front = plan.order[static_cast<std::size_t>(place)];
    largest = std::max(largest, plan.fronts[static_cast<std::size_t>(front)].rows);
  }
  return largest;
}

/// Joins consecutive levels that have small fronts only, and at most as many as are factored at the same
/// time: there the time of a level is that of one front, and a launch for each would add to it.
void arrange_runs(FrontPlan& plan, std::int64_t element_size) {
  std::int32_t largest_count = 0;  // of the last run, if others may join it
  std::int32_t order = 0;
  bool is_open = false;
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const FrontLevel& level = plan.levels[l];
    const std::int32_t count = level.large_end - level.small_begin[0];
    const std::int32_t own_order = largest_order(plan, level);
    const bool is_small =
        level.large_begin == level.large_end && count <= fronts_at_once(own_order, element_size);
    const std::int32_t joint_order = std::max(order, own_order);
    const std::int32_t joint_count = std::max(largest_count, count);
    const bool joins = is_open && is_small && joint_count <= fronts_at_once(joint_order, element_size);
    const auto begin = static_cast<std::int32_t>(l);
    if (!joins) plan.runs.push_back({begin, begin});
    plan.runs.back().end = begin + 1;
    is_open = is_small;
    order = joins ? joint_order : own_order;
    largest_count = joins ? joint_count : count;
  }
}

/// Determines what each small front waits for while it is factored.
void count_awaited(FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  for (const LevelRun& run : plan.runs) {
    std::int32_t before = 0;  // fronts of the level before
    for (std::int32_t l = run.begin; l < run.end; ++l) {
      const FrontLevel& level = plan.levels[static_cast<std::size_t>(l)];
      for (std::int32_t place = level.small_begin[0]; place < level.large_end; ++place) {
        const auto number = static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)]);
        Front& front = plan.fronts[number];
        front.parent = symbolic.parent[number];
        front.level = l;
        front.awaited_assemblies = before;
        if (front.parent >= 0 && place < level.large_begin)
          ++plan.fronts[static_cast<std::size_t>(front.parent)].awaited_children;
      }
      before = level.large_end - level.small_begin[0];
    }
  }
}

/// Assigns places to update matrices: those of even levels from the beginning of the stack upwards, those of
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

/// Assigns places in working memory, level by level.
void lay_out_work(FrontPlan& plan) {
  for (const FrontLevel& level : plan.levels) {
    std::int64_t size = 0;
    for (std::int32_t place = level.small_begin[0]; place < level.large_end; ++place) {
      Front& front = plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
      front.work = size;
      size += round_up(indefinite_work_size(front.rows, front.pivots));
    }
    plan.work_entries = std::max(plan.work_entries, size);
  }
}

/// True for the analysis of a matrix with a border: the last front has no pivots, and the border is its rows.
bool has_border_front(const SymbolicFactor& symbolic) {
  return symbolic.supernodes() > 0 && symbolic.pivots(symbolic.supernodes() - 1) == 0;
}

}  // namespace

SymbolicFactor without_border_front(SymbolicFactor symbolic) {
  if (!has_border_front(symbolic)) return symbolic;
  symbolic.parent.pop_back();
  symbolic.supernode_begin.pop_back();
  symbolic.row_begin.pop_back();
  symbolic.rows.resize(static_cast<std::size_t>(symbolic.row_begin.back()));
  const auto root = static_cast<std::int32_t>(symbolic.parent.size());
  std::replace(symbolic.parent.begin(), symbolic.parent.end(), root, -1);
  return symbolic;
}

JoinedSymbolic join(std::span<const SymbolicFactor* const> parts) {
  JoinedSymbolic joined{.symbolic = {}, .borders = {0}};
  SymbolicFactor& all = joined.symbolic;
  std::int64_t interior = 0;
  for (const SymbolicFactor* const part : parts) {
    all.n += part->n;
    interior += part->interior();
  }
  if (all.n > std::numeric_limits<std::int32_t>::max())
    throw InvalidMatrix("the matrices have " + std::to_string(all.n) + " rows together, more than 2^31 - 1");
  all.permutation.resize(static_cast<std::size_t>(all.n));
  all.supernode_begin = {0};
  all.row_begin = {0};
  std::int64_t first = 0;        // row of the part
  std::int64_t first_pivot = 0;  // and its first pivot
  std::int64_t first_border = interior;
  for (const SymbolicFactor* const given : parts) {
    const SymbolicFactor& part = *given;
    const std::int64_t own = part.interior();
    const auto renumbered = [&](std::int32_t k) {
      return static_cast<std::int32_t>(k < own ? first_pivot + k : first_border + k - own);
    };
    for (std::int64_t k = 0; k < part.n; ++k) {
      all.permutation[static_cast<std::size_t>(renumbered(static_cast<std::int32_t>(k)))] =
          static_cast<std::int32_t>(first) + part.permutation[static_cast<std::size_t>(k)];
    }
    const auto supernodes = static_cast<std::int32_t>(all.parent.size());
    const auto end = static_cast<std::int32_t>(part.supernodes() - (has_border_front(part) ? 1 : 0));
    for (std::int32_t s = 0; s < end; ++s) {
      const std::int32_t parent = part.parent[static_cast<std::size_t>(s)];
      all.parent.push_back(parent < 0 || parent == end ? -1 : supernodes + parent);
      all.supernode_begin.push_back(
          static_cast<std::int32_t>(first_pivot + part.supernode_begin[static_cast<std::size_t>(s) + 1]));
      for (const std::int32_t row : part.rows_of(s)) all.rows.push_back(renumbered(row));
      all.row_begin.push_back(std::ssize(all.rows));
    }
    all.ordering = part.ordering;
    all.factor_entries += part.factor_entries;
    all.flops += part.flops;
    all.stored_entries += part.stored_entries;
    all.stack_peak_entries = std::max(all.stack_peak_entries, part.stack_peak_entries);
    first += part.n;
    first_pivot += own;
    first_border += part.border();
    joined.borders.push_back(static_cast<std::int32_t>(first_border - interior));
  }
  return joined;
}

FrontPlan plan_fronts(FrontLayout layout, std::int64_t element_size, std::span<const std::int32_t> spare,
                      std::span<const std::int32_t> borders) {
  FrontPlan plan;
  plan.layout = std::move(layout);
  set_borders(borders, plan);
  lay_out_factor(spare, plan);
  find_positions_in_borders(plan);
  arrange_levels(plan, element_size);
  arrange_runs(plan, element_size);
  count_awaited(plan);
  lay_out_updates(plan);
  lay_out_inverses(plan);
  plan_substitution(plan);
  if (has_block_diagonal(plan.kind())) lay_out_work(plan);
  return plan;
}

UninitializedVector<std::int64_t> element_offsets(const FrontPlan& plan,
                                                  std::span<const std::int64_t> row_offsets,
                                                  std::span<const std::int32_t> columns,
                                                  std::span<const std::int32_t> row_places,
                                                  std::span<const std::int32_t> column_places) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  const ElementRule rule(plan.layout);
  const auto offset_of = [&](std::int32_t row, std::int32_t column) -> std::int64_t {
    const FrontPart part = rule.part(row, column);
    const std::int32_t line = part == FrontPart::columns ? column : row;
    if (part == FrontPart::none || line >= symbolic.interior()) return -1;
    const Front& front = plan.fronts[static_cast<std::size_t>(rule.supernode(line))];
    const std::int64_t pivot = line - front.first;
    if (part == FrontPart::columns)
      return front.panel + position_in(symbolic, front, row) + pivot * front.rows;
    return front.row_panel + (position_in(symbolic, front, column) - front.pivots) +
           pivot * (front.rows - front.pivots);
  };
  UninitializedVector<std::int64_t> offsets(columns.size());
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 4096)
  for (std::size_t i = 0; i < row_places.size(); ++i) {
    for (std::int64_t e = row_offsets[i]; e < row_offsets[i + 1]; ++e) {
      const auto element = static_cast<std::size_t>(e);
      offsets[element] = offset_of(row_places[i], column_places[static_cast<std::size_t>(columns[element])]);
    }
  }
  return offsets;
}

}  // namespace echelon::sparse_direct::gpu

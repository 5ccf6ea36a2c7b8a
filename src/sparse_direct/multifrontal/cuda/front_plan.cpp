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

/// Shared memory of a thread block that a small front may fill.
constexpr std::int64_t shared_bytes = 220 * 1024;

std::int64_t round_up(std::int64_t size) {
  constexpr std::int64_t alignment = 32;  // elements: warps load whole lines
  return (size + alignment - 1) / alignment * alignment;
}

/// Size class of a front, or small_classes for one that is too large for shared memory.
std::int32_t class_of(const Front& front, std::int64_t element_size) {
  std::int32_t c = 0;
  while (c < small_classes && front.rows > small_orders[c]) ++c;
  const std::int64_t order = front.rows;
  return c < small_classes && (order | 1) * order * element_size <= shared_bytes ? c : small_classes;
}

void lay_out_factor(const SymbolicFactor& symbolic, std::span<const std::int32_t> spare, FrontPlan& plan) {
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
    front.panel = plan.factor_entries;
    plan.factor_entries += round_up(std::int64_t{front.rows} * front.pivots);
    front.row_panel = plan.factor_entries;
    if (plan.factors == Factors::lu) plan.factor_entries += round_up(std::int64_t{border} * front.pivots);
    front.vector = plan.vector_entries;
    plan.vector_entries += front.rows;
  }
}

/// Assigns places to the inverses of diagonal blocks of L and, for LU, to those of U after them.
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

/// Position in a front of a row of the permuted matrix, which must be one of the front's rows.
std::int32_t position_in(const SymbolicFactor& symbolic, const Front& front, std::int32_t row) {
  if (row < front.first + front.pivots) return row - front.first;
  const auto begin = symbolic.rows.begin() + front.border;
  const auto end = begin + (front.rows - front.pivots);
  return front.pivots + static_cast<std::int32_t>(std::lower_bound(begin, end, row) - begin);
}

/// Position of the first of ascending rows that is not less than `row`; the search begins at `first`.
std::vector<std::int32_t>::const_iterator find_from(std::vector<std::int32_t>::const_iterator first,
                                                    std::vector<std::int32_t>::const_iterator end,
                                                    std::int32_t row) {
  std::ptrdiff_t step = 1;
  while (step < end - first && first[step] < row) {
    first += step;
    step *= 2;
  }
  return std::lower_bound(first, first + std::min(step + 1, end - first), row);
}

/// Positions of the rows of a root in its border.
void place_in_border(const SymbolicFactor& symbolic, std::int64_t root, FrontPlan& plan) {
  const std::span<const std::int32_t> rows = symbolic.rows_of(root);
  if (rows.empty()) return;
  const auto interior = static_cast<std::int32_t>(symbolic.interior());
  const auto after = std::upper_bound(plan.borders.begin(), plan.borders.end(), rows.front() - interior);
  const std::int32_t first = interior + *std::prev(after);
  for (std::size_t k = 0; k < rows.size(); ++k)
    plan.relative[static_cast<std::size_t>(symbolic.row_begin[root]) + k] = rows[k] - first;
}

void set_borders(std::span<const std::int32_t> borders, FrontPlan& plan) {
  plan.borders.assign(borders.begin(), borders.end());
  if (borders.empty()) plan.borders = {0, static_cast<std::int32_t>(plan.border)};
  for (std::size_t k = 0; k + 1 < plan.borders.size(); ++k) {
    const std::int64_t size = plan.borders[k + 1] - plan.borders[k];
    plan.border_entries += size * size;
  }
}

void find_relative_positions(const SymbolicFactor& symbolic, FrontPlan& plan) {
  plan.relative.resize(symbolic.rows.size());
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 256)
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    if (symbolic.parent[s] < 0) {
      place_in_border(symbolic, static_cast<std::int64_t>(s), plan);
      continue;
    }
    const Front& parent = plan.fronts[static_cast<std::size_t>(symbolic.parent[s])];
    const auto parent_rows = symbolic.rows.begin() + parent.border;
    const auto parent_end = parent_rows + (parent.rows - parent.pivots);
    auto found = parent_rows;
    for (std::int64_t e = symbolic.row_begin[s]; e < symbolic.row_begin[s + 1]; ++e) {
      const auto place = static_cast<std::size_t>(e);
      const std::int32_t row = symbolic.rows[place];
      if (row < parent.first + parent.pivots) {
        plan.relative[place] = row - parent.first;
      } else {
        found = find_from(found, parent_end, row);
        plan.relative[place] = parent.pivots + static_cast<std::int32_t>(found - parent_rows);
      }
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

/// Sorts the fronts by level, deepest first, in a level by class, and the large ones by descending pivots.
void arrange_levels(const SymbolicFactor& symbolic, FrontPlan& plan, std::int64_t element_size) {
  if (plan.fronts.empty()) return;
  std::vector<std::int32_t> place_class = depths(symbolic);
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
    std::stable_sort(plan.order.begin() + level.large_begin, plan.order.begin() + level.large_end,
                     [&](std::int32_t a, std::int32_t b) {
                       return plan.fronts[static_cast<std::size_t>(a)].pivots >
                              plan.fronts[static_cast<std::size_t>(b)].pivots;
                     });
    plan.levels.push_back(std::move(level));
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

}  // namespace

SymbolicFactor without_border_front(SymbolicFactor symbolic) {
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
    for (std::int64_t s = 0; s < part.supernodes(); ++s) {
      const std::int32_t parent = part.parent[static_cast<std::size_t>(s)];
      all.parent.push_back(parent < 0 ? -1 : supernodes + parent);
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

FrontPlan plan_fronts(const SymbolicFactor& symbolic, Factors factors, std::int64_t element_size,
                      std::span<const std::int32_t> spare, std::span<const std::int32_t> borders) {
  FrontPlan plan;
  plan.factors = factors;
  plan.n = symbolic.n;
  plan.border = symbolic.border();
  set_borders(borders, plan);
  lay_out_factor(symbolic, spare, plan);
  list_children(symbolic, plan);
  find_relative_positions(symbolic, plan);
  arrange_levels(symbolic, plan, element_size);
  lay_out_updates(plan);
  lay_out_inverses(plan);
  plan_substitution(symbolic, plan);
  if (factors == Factors::ldlt) lay_out_work(plan);
  return plan;
}

UninitializedVector<std::int64_t> element_offsets(const FrontPlan& plan, const SymbolicFactor& symbolic,
                                                  std::span<const std::int64_t> row_offsets,
                                                  std::span<const std::int32_t> columns,
                                                  std::span<const std::int32_t> row_position,
                                                  std::span<const std::int32_t> column_position) {
  std::vector<std::int32_t> front_of(static_cast<std::size_t>(plan.n));
  for (std::size_t s = 0; s < plan.fronts.size(); ++s) {
    const Front& front = plan.fronts[s];
    std::fill_n(front_of.begin() + front.first, front.pivots, static_cast<std::int32_t>(s));
  }
  const auto offset_of = [&](std::int32_t row, std::int32_t column) -> std::int64_t {
    if (is_symmetric(plan.factors) && row < column) return -1;
    if (std::min(row, column) >= symbolic.interior()) return -1;
    const Front& front =
        plan.fronts[static_cast<std::size_t>(front_of[static_cast<std::size_t>(std::min(row, column))])];
    const std::int64_t local_row = position_in(symbolic, front, row);
    const std::int64_t local_column = position_in(symbolic, front, column);
    if (local_column < front.pivots) return front.panel + local_row + local_column * front.rows;
    return front.row_panel + (local_column - front.pivots) + local_row * (front.rows - front.pivots);
  };
  UninitializedVector<std::int64_t> offsets(columns.size());
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 4096)
  for (std::size_t i = 0; i < row_position.size(); ++i) {
    for (std::int64_t e = row_offsets[i]; e < row_offsets[i + 1]; ++e) {
      const auto element = static_cast<std::size_t>(e);
      offsets[element] =
          offset_of(row_position[i], column_position[static_cast<std::size_t>(columns[element])]);
    }
  }
  return offsets;
}

}  // namespace echelon::sparse_direct::gpu

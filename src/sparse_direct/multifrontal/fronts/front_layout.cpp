// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/fronts/front_layout.hpp"

#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

template <class V>
std::size_t bytes_of(const std::vector<V>& v) {
  return v.size() * sizeof(V);
}

std::size_t bytes_of(const ElementMap& map) {
  return bytes_of(map.begin) + map.source.bytes() + bytes_of(map.place);
}

void find_children(FrontLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  layout.child_begin.assign(tree.parent.size() + 2, 0);
  for (const std::int32_t p : tree.parent) {
    if (p >= 0) ++layout.child_begin[p + 2];
  }
  std::partial_sum(layout.child_begin.begin(), layout.child_begin.end(), layout.child_begin.begin());
  layout.children.resize(static_cast<std::size_t>(layout.child_begin.back()));
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    if (tree.parent[s] >= 0) layout.children[layout.child_begin[tree.parent[s] + 1]++] = s;
  }
  layout.child_begin.pop_back();
}

void place_panels(FrontLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  layout.panel_begin.assign(1, 0);
  layout.panel_begin.reserve(tree.parent.size() + 1);
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    const std::int64_t entries = layout.panel_entries(tree.pivots(s), layout.below(s));
    layout.panel_begin.push_back(layout.panel_begin.back() + entries);
    layout.largest_front = std::max(layout.largest_front, static_cast<std::int32_t>(tree.front_size(s)));
  }
}

/// Replaces the row numbers in the element maps by positions in the fronts, and finds the positions of the
/// rows of children.
void find_positions(FrontLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  std::vector<std::int32_t> position(static_cast<std::size_t>(tree.n));
  layout.position_in_parent.assign(tree.rows.size(), 0);
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    const std::int32_t first = tree.supernode_begin[s];
    const std::int32_t end = tree.supernode_begin[s + 1];
    const std::int32_t pivots = end - first;
    for (std::int32_t k = first; k < end; ++k) position[k] = k - first;
    std::int32_t next = pivots;
    for (const std::int32_t row : tree.rows_of(s)) position[row] = next++;
    for (std::int64_t k = layout.columns.begin[first]; k < layout.columns.begin[end]; ++k) {
      layout.columns.place[k] = position[layout.columns.place[k]];
    }
    if (!layout.symmetric()) {
      for (std::int64_t k = layout.rows.begin[first]; k < layout.rows.begin[end]; ++k) {
        layout.rows.place[k] = position[layout.rows.place[k]] - pivots;
      }
    }
    for (const std::int32_t child : layout.children_of(s)) {
      for (std::int64_t k = tree.row_begin[child]; k < tree.row_begin[child + 1]; ++k) {
        layout.position_in_parent[k] = position[tree.rows[k]];
      }
    }
  }
}

/// Turns counts in begin[j + 1] into offsets, and makes the other arrays as long as they have to be.
void count_to_offsets(ElementMap& map, std::int64_t nonzeros) {
  std::partial_sum(map.begin.begin(), map.begin.end(), map.begin.begin());
  map.source.resize(map.begin.back(), nonzeros);
  map.place.resize(static_cast<std::size_t>(map.begin.back()));
}

/// Restores the offsets after they were advanced by begin[j]++.
void restore_offsets(ElementMap& map) {
  std::copy_backward(map.begin.begin(), map.begin.end() - 1, map.begin.end());
  map.begin.front() = 0;
}

std::vector<std::int32_t> supernodes_of_columns(const SymbolicFactor& tree) {
  std::vector<std::int32_t> supernode(static_cast<std::size_t>(tree.n));
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    std::fill(supernode.begin() + tree.supernode_begin[s], supernode.begin() + tree.supernode_begin[s + 1],
              s);
  }
  std::fill(supernode.begin() + tree.interior(), supernode.end(),
            static_cast<std::int32_t>(tree.supernodes() - 1));
  return supernode;
}

}  // namespace

void ElementSources::resize(std::int64_t count, std::int64_t nonzeros) {
  const bool wide = nonzeros > std::numeric_limits<std::uint32_t>::max();
  narrow_.resize(wide ? 0 : static_cast<std::size_t>(count));
  wide_.resize(wide ? static_cast<std::size_t>(count) : 0);
}

void ElementSources::set(std::int64_t k, std::int64_t source) {
  if (wide_.empty()) {
    narrow_[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(source);
  } else {
    wide_[static_cast<std::size_t>(k)] = source;
  }
}

std::size_t ElementSources::bytes() const {
  return bytes_of(narrow_) + bytes_of(wide_);
}

std::size_t FrontLayout::bytes() const {
  return bytes_of(row_permutation) + bytes_of(tree.permutation) + bytes_of(tree.supernode_begin) +
         bytes_of(tree.parent) + bytes_of(tree.row_begin) + bytes_of(tree.rows) +
         bytes_of(position_in_parent) + bytes_of(child_begin) + bytes_of(children) + bytes_of(columns) +
         bytes_of(rows) + bytes_of(panel_begin);
}

std::int64_t FrontLayout::supernodes() const {
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) count += collects(s) ? 0 : 1;
  return count;
}

std::int64_t FrontLayout::panel_entries(std::int64_t pivots, std::int64_t rows_below) const {
  switch (kind) {
    case FactorKind::cholesky:
      return pivots * (pivots + rows_below);
    case FactorKind::ldlt:
      return pivots * (pivots + rows_below + 2);  // and two elements of D for each pivot
    case FactorKind::lu:
      return pivots * (pivots + 2 * rows_below);
  }
  return 0;
}

template <class T>
FrontLayout lay_out(SymbolicFactor tree, FactorKind kind, const Csr<T>& a,
                    std::span<const std::int32_t> row_permutation) {
  FrontLayout layout;
  layout.kind = kind;
  layout.tree = with_collecting_fronts(std::move(tree), [&](std::int64_t pivots, std::int64_t rows_below) {
    return layout.panel_entries(pivots, rows_below);
  });
  const std::int64_t n = layout.tree.n;
  const std::vector<std::int32_t> inverse = inverse_permutation(layout.tree.permutation);
  const std::vector<std::int32_t> supernode = supernodes_of_columns(layout.tree);
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  layout.row_permutation = layout.tree.permutation;
  if (!row_permutation.empty()) {
    for (std::int32_t& row : layout.row_permutation) row = row_permutation[row];
  }
  // Calls take(map, line, other, k) for each element k of A that the factorisation reads; `other` is its row
  // in a pivot column, or its column in a pivot row. Rows ascend, so that they do in each column, too.
  const auto for_each_element = [&](const auto& take) {
    for (std::int64_t row = 0; row < n; ++row) {
      const std::int32_t i = layout.row_permutation[row];
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
        const std::int32_t column = inverse[columns[k]];
        if (layout.symmetric() ? column <= row : supernode[column] <= supernode[row]) {
          take(layout.columns, column, static_cast<std::int32_t>(row), k);
        } else if (!layout.symmetric()) {
          take(layout.rows, static_cast<std::int32_t>(row), column, k);
        }
      }
    }
  };
  layout.columns.begin.assign(static_cast<std::size_t>(n) + 1, 0);
  layout.rows.begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for_each_element(
      [](ElementMap& map, std::int32_t line, std::int32_t, std::int64_t) { ++map.begin[line + 1]; });
  count_to_offsets(layout.columns, a.nonzeros());
  count_to_offsets(layout.rows, a.nonzeros());
  for_each_element([](ElementMap& map, std::int32_t line, std::int32_t other, std::int64_t k) {
    const std::int64_t at = map.begin[line]++;
    map.source.set(at, k);
    map.place[at] = other;
  });
  restore_offsets(layout.columns);
  restore_offsets(layout.rows);
  find_children(layout);
  place_panels(layout);
  find_positions(layout);
  return layout;
}

template FrontLayout lay_out(SymbolicFactor, FactorKind, const Csr<float>&, std::span<const std::int32_t>);
template FrontLayout lay_out(SymbolicFactor, FactorKind, const Csr<double>&, std::span<const std::int32_t>);

}  // namespace echelon::sparse_direct

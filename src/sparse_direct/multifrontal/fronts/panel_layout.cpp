// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"

#include "support/vector_bytes.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

std::size_t bytes_of_map(const ElementMap& map) {
  return bytes_of(map.begin) + map.source.bytes() + bytes_of(map.place);
}

std::int64_t entries_of_panel(FactorKind kind, std::int64_t pivots, std::int64_t rows_below) {
  switch (kind) {
    case FactorKind::cholesky:
      return pivots * (pivots + rows_below);
    case FactorKind::ldlt:
    case FactorKind::hermitian_ldlt:
      return pivots * (pivots + rows_below + 2);  // and two elements of D for each pivot
    case FactorKind::lu:
      return pivots * (pivots + 2 * rows_below);
  }
  return 0;
}

void place_panels(PanelLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  layout.panel_begin.assign(1, 0);
  layout.panel_begin.reserve(tree.parent.size() + 1);
  for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
    const std::int64_t entries = layout.panel_entries(tree.pivots(s), layout.below(s));
    layout.panel_begin.push_back(layout.panel_begin.back() + entries);
    layout.largest_front = std::max(layout.largest_front, static_cast<std::int32_t>(tree.front_size(s)));
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

/// Maps the elements by their rows and columns in the new numbering.
template <class T>
void map_elements(const Csr<T>& a, PanelLayout& layout) {
  const std::int64_t n = layout.tree.n;
  const std::vector<std::int32_t> inverse = inverse_permutation(layout.tree.permutation);
  const ElementRule rule(layout);
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  // Calls take(map, line, other, k) for each element k of A that the factorisation reads; `other` is its row
  // in a pivot column, or its column in a pivot row. Rows ascend, so that they do in each column, too.
  const auto for_each_element = [&](const auto& take) {
    for (std::int32_t row = 0; row < n; ++row) {
      const std::int32_t i = layout.row_permutation[row];
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
        const std::int32_t column = inverse[columns[k]];
        const FrontPart part = rule.part(row, column);
        if (part == FrontPart::columns) take(layout.columns, column, row, k);
        if (part == FrontPart::rows) take(layout.rows, row, column, k);
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
}

/// Replaces the row numbers in the element maps by positions in the fronts.
void find_places(PanelLayout& layout) {
  const SymbolicFactor& tree = layout.tree;
  std::vector<std::int32_t> position(static_cast<std::size_t>(tree.n));
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
    for (std::int64_t k = layout.rows.begin[first]; k < layout.rows.begin[end]; ++k) {
      layout.rows.place[k] = position[layout.rows.place[k]] - pivots;
    }
  }
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

std::int64_t PanelLayout::panel_entries(std::int64_t pivots, std::int64_t rows_below) const {
  return entries_of_panel(kind, pivots, rows_below);
}

std::size_t PanelLayout::bytes() const {
  return FrontLayout::bytes() + bytes_of_map(columns) + bytes_of_map(rows) + bytes_of(panel_begin);
}

template <class T>
PanelLayout lay_out_panels(SymbolicFactor tree, FactorKind kind, const Csr<T>& a,
                           std::span<const std::int32_t> row_permutation, int threads) {
  const auto entries = [kind](std::int64_t pivots, std::int64_t rows_below) {
    return entries_of_panel(kind, pivots, rows_below);
  };
  PanelLayout layout{
      lay_out(with_collecting_fronts(std::move(tree), entries), kind, row_permutation, threads), {}, {}, {}};
  map_elements(a, layout);
  place_panels(layout);
  find_places(layout);
  return layout;
}

#define ECHELON_INSTANTIATE(T)                                                   \
  template PanelLayout lay_out_panels(SymbolicFactor, FactorKind, const Csr<T>&, \
                                      std::span<const std::int32_t>, int);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

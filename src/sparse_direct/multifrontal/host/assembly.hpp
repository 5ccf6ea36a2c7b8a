// SPDX-License-Identifier: BSD-3-Clause
/// Assembly of fronts: elements of A and update matrices of children are added.
#pragma once

#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace echelon::sparse_direct {

/// A front in memory; the arrays are those of UnsymmetricFront. Positions count the front's own pivots first,
/// then pivots delayed by children, then the rows below.
template <class T>
struct FrontMemory {
  std::int64_t size = 0;
  std::int64_t own_pivots = 0;
  std::int64_t pivots = 0;  ///< with delayed ones
  std::int64_t eliminated = 0;
  T* lower = nullptr;
  T* upper = nullptr;  ///< LU only
  T* update = nullptr;
  std::int32_t* row_ids = nullptr;
  std::int32_t* column_ids = nullptr;
  TriangleMirror mirror;  ///< of a symmetric factorisation
  [[nodiscard]] std::int64_t below() const { return size - pivots; }
  [[nodiscard]] std::int64_t delayed_in() const { return pivots - own_pivots; }
};

namespace assembly_detail {

/// Adds target[positions[i]] += source[i]; positions ascend.
template <class T>
void add_run(std::span<const std::int32_t> positions, const T* source, T* target) {
  const std::size_t count = positions.size();
  if (count == 0) return;
  const std::int32_t first = positions.front();
  if (positions.back() - first == static_cast<std::int32_t>(count) - 1) {
    for (std::size_t i = 0; i < count; ++i) target[first + static_cast<std::int64_t>(i)] += source[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) target[positions[i]] += source[i];
  }
}

}  // namespace assembly_detail

/// Elements of the matrix to be factored, in the places of the CSR arrays of A: values[k], times the factors
/// of its row and its column of A where these are given.
template <class T>
struct ScaledValues {
  const T* values = nullptr;
  const double* row_scale = nullptr;  ///< both or none
  const double* column_scale = nullptr;

  [[nodiscard]] T at(std::int64_t k, std::int64_t row, std::int64_t column) const {
    if (row_scale == nullptr) return values[k];
    return static_cast<T>(row_scale[row] * static_cast<Dot<T>>(values[k]) * column_scale[column]);
  }
};

/// Adds elements of A to the columns, and for LU to the rows, of the own pivots of front s.
template <class T>
void add_elements(const PanelLayout& layout, std::int64_t s, const ScaledValues<T>& values,
                  const FrontMemory<T>& front) {
  const std::int32_t first = layout.tree.supernode_begin[s];
  const std::int64_t shift = front.delayed_in();
  const std::int32_t* below = layout.tree.rows.data() + layout.tree.row_begin[s];
  const std::int32_t* row_of = layout.row_permutation.data();
  const std::int32_t* column_of = layout.tree.permutation.data();
  for (std::int64_t j = 0; j < front.own_pivots; ++j) {
    T* column = front.lower + j * front.size;
    const ElementMap& map = layout.columns;
    for (std::int64_t k = map.begin[first + j]; k < map.begin[first + j + 1]; ++k) {
      const std::int64_t place = map.place[k];
      const bool is_pivot = place < front.own_pivots;
      const std::int64_t row = is_pivot ? first + place : below[place - front.own_pivots];
      column[is_pivot ? place : place + shift] = values.at(map.source[k], row_of[row], column_of[first + j]);
    }
  }
  if (front.upper == nullptr) return;
  for (std::int64_t i = 0; i < front.own_pivots; ++i) {
    T* row = front.upper + i * front.below();
    const ElementMap& map = layout.rows;
    for (std::int64_t k = map.begin[first + i]; k < map.begin[first + i + 1]; ++k) {
      row[map.place[k]] = values.at(map.source[k], row_of[first + i], column_of[below[map.place[k]]]);
    }
  }
}

/// Adds the elements of A in the rows and columns of a border to its Schur complement.
template <class T>
void add_border_elements(const PanelLayout& layout, const ScaledValues<T>& values, T* update) {
  const ElementMap& map = layout.columns;
  const std::int64_t first = layout.tree.interior();
  const std::int64_t size = layout.tree.border();
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t k = map.begin[first + j]; k < map.begin[first + j + 1]; ++k) {
      const std::int32_t row = map.place[k];
      update[row - first + j * size] +=
          values.at(map.source[k], layout.row_permutation[row], layout.tree.permutation[first + j]);
    }
  }
}

/// Adds columns [begin, end) of the update matrix of a child, whose rows have the given positions in the
/// parent's front. Different columns are added to different elements.
template <bool symmetric, class T>
void add_update(std::span<const std::int32_t> positions, const T* update, std::int64_t begin,
                std::int64_t end, const FrontMemory<T>& parent) {
  using assembly_detail::add_run;
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t shift = parent.delayed_in();
  const std::int64_t below = parent.below();
  std::int64_t split = 0;  // rows of the child that are pivots of the parent
  while (split < count && positions[split] < parent.own_pivots) ++split;
  const auto pivot_positions = positions.first(static_cast<std::size_t>(split));
  const auto row_positions = positions.subspan(static_cast<std::size_t>(split));
  for (std::int64_t j = begin; j < std::min(split, end); ++j) {
    T* column = parent.lower + positions[j] * parent.size;
    const T* source = update + j * count;
    const std::int64_t first = symmetric ? j : 0;
    add_run(pivot_positions.subspan(static_cast<std::size_t>(first)), source + first, column);
    add_run(row_positions, source + split, column + shift);
  }
  for (std::int64_t j = std::max(split, begin); j < end; ++j) {
    const std::int64_t row = positions[j] - parent.own_pivots;
    const T* source = update + j * count;
    if constexpr (!symmetric) {
      for (std::int64_t i = 0; i < split; ++i) parent.upper[row + positions[i] * below] += source[i];
    }
    const std::int64_t first = symmetric ? j : split;
    add_run(row_positions.subspan(static_cast<std::size_t>(first - split)), source + first,
            parent.update + row * below - parent.own_pivots);
  }
}

/// Moves the pivots that a child did not eliminate, with their rows and columns, to the parent, where they
/// follow the first `at` pivots.
template <bool symmetric, class T>
void add_delayed(std::span<const std::int32_t> positions, const FrontMemory<T>& child, std::int64_t at,
                 const FrontMemory<T>& parent) {
  const std::int64_t delayed = child.pivots - child.eliminated;
  const std::int64_t shift = parent.delayed_in();
  const auto rows = static_cast<std::int64_t>(positions.size());
  for (std::int64_t j = 0; j < delayed; ++j) {
    const T* source = child.lower + (child.eliminated + j) * child.size;
    T* column = parent.lower + (at + j) * parent.size;
    for (std::int64_t i = symmetric ? j : 0; i < delayed; ++i) column[at + i] = source[child.eliminated + i];
    for (std::int64_t i = 0; i < rows; ++i) {
      const T element = source[child.pivots + i];
      if (positions[i] >= parent.own_pivots) {
        column[positions[i] + shift] = element;
      } else if (symmetric) {
        parent.lower[at + j + positions[i] * parent.size] = parent.mirror(element);
      } else {
        column[positions[i]] = element;
      }
    }
    parent.column_ids[at + j] = child.column_ids[child.eliminated + j];
    if constexpr (!symmetric) parent.row_ids[at + j] = child.row_ids[child.eliminated + j];
  }
  if constexpr (!symmetric) {
    for (std::int64_t i = 0; i < delayed; ++i) {
      const T* source = child.upper + (child.eliminated + i) * rows;
      for (std::int64_t j = 0; j < rows; ++j) {
        if (positions[j] < parent.own_pivots) {
          parent.lower[at + i + positions[j] * parent.size] = source[j];
        } else {
          parent.upper[positions[j] - parent.own_pivots + (at + i) * parent.below()] = source[j];
        }
      }
    }
  }
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies of a round of the elimination.
#pragma once

#include "backend/atomic.hpp"
#include "backend/lower_bound.hpp"
#include "exact/field.hpp"
#include "exact/rows.hpp"

#include <cstdint>

namespace echelon::mapped {

inline constexpr std::int32_t no_row = -1;

/// Facts about rows that stay the same while they are in place, and the map from unknowns to rows.
template <class Field>
struct MapView {
  RowsView<typename Field::Element> rows;
  const double* norm;        ///< largest magnitude of the row as it was given
  std::uint64_t* priority;   ///< of the row as owner of its leading unknown
  double* rejected;          ///< largest |value| / size of a leading element that counted as zero
  std::int32_t* owner;       ///< the map: by unknown
  const std::uint8_t* free;  ///< by name, unknowns that no row may own; null: none
  const std::int32_t* name;  ///< of the unknowns
  Field field;

  /// Whether row a is a better owner than row b of the unknown that leads both.
  [[nodiscard]] ECHELON_ANYWHERE bool better(std::int32_t a, std::int32_t b) const {
    return priority[a] > priority[b] || (priority[a] == priority[b] && a < b);
  }
};

/// Records the owner of an active row's unknown before any row claims it in this round.
template <class Field>
struct NoteOwner {
  MapView<Field> map;
  const std::int32_t* active;
  std::int32_t* before;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { before[i] = map.owner[map.rows.lead(active[i])]; }
};

/// Claims the unknown of the leading element for an active row: a row takes a free unknown, and, if owners
/// can be replaced, one whose owner has a lower priority. After all claims the best claimant is the owner,
/// for any order of claims.
template <class Field>
struct Claim {
  MapView<Field> map;
  const std::int32_t* active;
  bool replaces;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t row = active[i];
    std::int32_t* owner = map.owner + map.rows.lead(row);
    std::int32_t held = compare_exchange(owner, no_row, row);
    while (held != no_row && replaces && map.better(row, held)) {
      const std::int32_t found = compare_exchange(owner, held, row);
      if (found == held) return;
      held = found;
    }
  }
};

/// Finds the row to be reduced for each active row: the row itself if another one owns its unknown, the owner
/// that it replaced, or no_row.
template <class Field>
struct FindLoser {
  MapView<Field> map;
  const std::int32_t* active;
  const std::int32_t* before;
  std::int32_t* loser;
  std::uint8_t* is_loser;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t row = active[i];
    loser[i] = map.owner[map.rows.lead(row)] == row ? before[i] : row;
    is_loser[i] = loser[i] != no_row ? 1 : 0;
  }
};

/// Upper bound of the number of elements of a row after a reduction by the owner of its unknown.
template <class Field>
struct BoundLength {
  MapView<Field> map;
  const std::int32_t* losers;
  std::int64_t columns;
  std::int64_t* bounds;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t row = losers[k];
    const std::int32_t lead = map.rows.lead(row);
    const std::int64_t both = std::int64_t{map.rows.length[row]} + map.rows.length[map.owner[lead]] - 2;
    const std::int64_t after = columns - lead - 1;
    bounds[k] = both < after ? both : after;
  }
};

/// A part of a row, without its leading element.
template <class Element>
struct Tail {
  const std::int32_t* columns;
  const Element* elements;
  std::int32_t length;
};
template <class Element>
ECHELON_ANYWHERE Tail<Element> tail_of(const RowsView<Element>& rows, std::int32_t row) {
  const std::int64_t start = rows.start[row] + 1;
  return {rows.columns + start, rows.elements + start, rows.length[row] - 1};
}

/// Computes a - m b for two tails, written to columns and elements. Returns the number of elements.
template <class Field, class Element, class Multiplier>
ECHELON_ANYWHERE std::int32_t subtract(const Field& field, Tail<Element> a, Multiplier m, Tail<Element> b,
                                       std::int32_t* columns, Element* elements, OneLane /*lanes*/) {
  std::int32_t i = 0;
  std::int32_t j = 0;
  std::int32_t k = 0;
  for (; i < a.length || j < b.length; ++k) {
    const bool from_a = j == b.length || (i < a.length && a.columns[i] <= b.columns[j]);
    const bool from_b = i == a.length || (j < b.length && b.columns[j] <= a.columns[i]);
    columns[k] = from_a ? a.columns[i] : b.columns[j];
    if (from_a && from_b) {
      elements[k] = field.reduced(a.elements[i], m, b.elements[j].value);
    } else {
      elements[k] = from_a ? a.elements[i] : field.fill_in(m, b.elements[j]);
    }
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  return k;
}

}  // namespace echelon::mapped

#ifdef __CUDACC__
#include "exact/reduction.cuh"
#endif

namespace echelon::mapped {

/// Reductions that have been made: row = row - multiplier * pivot.
template <class Index, class Multiplier>
struct RecordView {
  Index* row;
  Index* pivot;
  Multiplier* multiplier;
};

/// Reduces a row by the owner of its unknown, and records that.
template <class Field>
struct Reduce {
  MapView<Field> map;
  const std::int32_t* losers;
  const std::int64_t* offsets;  ///< of the results, from `first`
  std::int64_t first;
  RecordView<std::int32_t, typename Field::Value> record;

  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t k, Lanes lanes) const {
    const RowsView<typename Field::Element>& rows = map.rows;
    const std::int32_t row = losers[k];
    const std::int32_t pivot = map.owner[rows.lead(row)];
    const auto m = map.field.quotient(rows.lead_element(row).value, rows.lead_element(pivot).value);
    const std::int64_t start = first + offsets[k];
    const std::int32_t length = subtract(map.field, tail_of(rows, row), m, tail_of(rows, pivot),
                                         rows.columns + start, rows.elements + start, lanes);
    lanes.sync();  // all lanes have read the row
    if (lanes.lane() != 0) return;
    rows.start[row] = start;
    rows.length[row] = length;
    record.row[k] = row;
    record.pivot[k] = pivot;
    record.multiplier[k] = m;
  }
};

/// Drops leading elements of a row that count as zero, or whose unknown is free, and computes its priority as
/// the owner of its leading unknown.
template <class Field>
struct FindLead {
  MapView<Field> map;
  const std::int32_t* selected;  ///< null: all rows
  std::int64_t limit;            ///< rows that lead an unknown before it stay active
  std::uint8_t* is_active;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t row = selected == nullptr ? static_cast<std::int32_t>(i) : selected[i];
    const RowsView<typename Field::Element>& rows = map.rows;
    double rejected = map.rejected[row];
    while (rows.length[row] > 0) {
      const bool is_free = map.free != nullptr && map.free[map.name[rows.lead(row)]] != 0;
      if (!is_free && !map.field.is_zero(rows.lead_element(row))) break;
      if (!is_free) rejected = std::fmax(rejected, map.field.relative_size(rows.lead_element(row)));
      ++rows.start[row];
      --rows.length[row];
    }
    map.rejected[row] = rejected;
    is_active[i] = rows.length[row] > 0 && rows.lead(row) < limit ? 1 : 0;
    if (rows.length[row] > 0) {
      map.priority[row] = map.field.priority(rows.lead_element(row), map.norm[row], rows.length[row]);
    }
  }
};

}  // namespace echelon::mapped

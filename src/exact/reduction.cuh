// SPDX-License-Identifier: BSD-3-Clause
/// Differences of two rows by the lanes of a warp.
#pragma once

#include "backend/lower_bound.hpp"

#include <cstdint>

namespace echelon::mapped {

/// Counterpart of subtract for a warp: first the elements of a, then those of b in columns that a does not
/// have. The place of an element is its own index, plus the number of elements of the other tail before it,
/// minus the number of columns before it that both tails have.
template <class Field, class Element, class Multiplier>
__device__ std::int32_t subtract(const Field& field, Tail<Element> a, Multiplier m, Tail<Element> b,
                                 std::int32_t* columns, Element* elements, WarpLanes lanes) {
  std::int32_t common = 0;
  for (std::int32_t first = 0; first < a.length; first += warp_size) {
    const std::int32_t i = first + lanes.lane();
    const std::int64_t j = i < a.length ? lower_bound(b.columns, 0, b.length, a.columns[i]) : b.length;
    const bool in_both = j < b.length && b.columns[j] == a.columns[i];
    const LaneCount matches = lanes.count(in_both);
    if (i < a.length) {
      const std::int64_t place = i + j - common - matches.before;
      columns[place] = a.columns[i];
      elements[place] = in_both ? field.reduced(a.elements[i], m, b.elements[j].value) : a.elements[i];
    }
    common += matches.all;
  }
  common = 0;
  for (std::int32_t first = 0; first < b.length; first += warp_size) {
    const std::int32_t j = first + lanes.lane();
    const std::int64_t i = j < b.length ? lower_bound(a.columns, 0, a.length, b.columns[j]) : a.length;
    const bool in_both = i < a.length && a.columns[i] == b.columns[j];
    const LaneCount matches = lanes.count(in_both);
    if (j < b.length && !in_both) {
      const std::int64_t place = i + j - common - matches.before;
      columns[place] = b.columns[j];
      elements[place] = field.fill_in(m, b.elements[j]);
    }
    common += matches.all;
  }
  return a.length + b.length - common;
}

}  // namespace echelon::mapped

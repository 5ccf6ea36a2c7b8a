// SPDX-License-Identifier: BSD-3-Clause
/// Elimination with complete pivoting of what threshold pivoting left of a root front, where the rank of the
/// matrix is decided.
#pragma once

#include "sparse_direct/multifrontal/host/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::sparse_direct {

/// Eliminates the rest of an unsymmetric front without rows below, with the largest remaining element as
/// pivot, while that is larger than `smallest`. Returns the number of pivots eliminated in all.
template <class T>
std::int64_t eliminate_completely(const FrontMemory<T>& front, std::int64_t eliminated, T smallest) {
  const std::int64_t n = front.pivots;
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return front.lower[i + j * n]; };
  for (std::int64_t p = eliminated; p < n; ++p) {
    std::int64_t row = p;
    std::int64_t column = p;
    for (std::int64_t j = p; j < n; ++j) {
      for (std::int64_t i = p; i < n; ++i) {
        if (std::abs(at(i, j)) > std::abs(at(row, column))) row = i, column = j;
      }
    }
    if (!(std::abs(at(row, column)) > smallest)) return p;
    std::swap_ranges(&at(0, p), &at(0, p) + n, &at(0, column));
    std::swap(front.column_ids[p], front.column_ids[column]);
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(p, j), at(row, j));
    std::swap(front.row_ids[p], front.row_ids[row]);
    for (std::int64_t i = p + 1; i < n; ++i) at(i, p) /= at(p, p);
    for (std::int64_t j = p + 1; j < n; ++j) {
      for (std::int64_t i = p + 1; i < n; ++i) at(i, j) -= at(i, p) * at(p, j);
    }
  }
  return n;
}

}  // namespace echelon::sparse_direct

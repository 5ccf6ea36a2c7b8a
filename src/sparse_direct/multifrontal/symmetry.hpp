// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/factor_status.hpp"

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace echelon::sparse_direct {

/// Position in a matrix, counted from 0.
struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Passes over a square matrix whose rows ascend, and calls pair(i, j, k, l) for all i > j: element k is a_ij
/// and element l is a_ji; -1 for one that is not stored. Stops when `pair` returns false. O(n + nonzeros)
/// time.
template <class T, class F>
void for_each_pair(const Csr<T>& a, const F& pair) {
  const std::int64_t n = a.rows();
  const std::int64_t* offsets = a.row_offsets().data();
  const std::int32_t* columns = a.column_indices().data();
  // next[j]: the first element of row j right of the diagonal that has not been paired.
  std::vector<std::int64_t> next(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t k = offsets[i];
    for (; k < offsets[i + 1] && columns[k] < i; ++k) {
      const std::int32_t j = columns[k];
      while (next[j] < offsets[j + 1] && columns[next[j]] < i) {
        if (!pair(columns[next[j]], j, -1, next[j])) return;
        ++next[j];
      }
      const bool stored = next[j] < offsets[j + 1] && columns[next[j]] == i;
      if (!pair(i, j, k, stored ? next[j] : -1)) return;
      next[j] += stored ? 1 : 0;
    }
    next[i] = k < offsets[i + 1] && columns[k] == i ? k + 1 : k;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t l = next[j]; l < offsets[j + 1]; ++l) {
      if (!pair(columns[l], j, -1, l)) return;
    }
  }
}

template <class T>
[[nodiscard]] bool has_symmetric_pattern(const Csr<T>& a) {
  bool symmetric = true;
  for_each_pair(a, [&](std::int64_t, std::int64_t, std::int64_t k, std::int64_t l) {
    symmetric = k >= 0 && l >= 0;
    return symmetric;
  });
  return symmetric;
}

/// Position where a_ij and a_ji differ by more than rounding errors; empty if A is symmetric.
template <class T>
[[nodiscard]] std::optional<Place> find_asymmetry(const Csr<T>& a) {
  std::optional<Place> found;
  const auto magnitude_of_diagonal = [&](std::int64_t i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      if (a.column_indices()[k] == i) return std::fabs(static_cast<double>(a.values()[k]));
    }
    return 0.0;
  };
  for_each_pair(a, [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    const double below = k >= 0 ? static_cast<double>(a.values()[k]) : 0;
    const double above = l >= 0 ? static_cast<double>(a.values()[l]) : 0;
    if (below == above) return true;
    const double difference = std::fabs(below - above);
    if (difference <= symmetry_tolerance<T> * std::max(std::fabs(below), std::fabs(above))) return true;
    constexpr double roundoff = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
    if (difference <= roundoff * std::sqrt(magnitude_of_diagonal(i)) * std::sqrt(magnitude_of_diagonal(j)))
      return true;
    found = Place{i, j};
    return false;
  });
  return found;
}

}  // namespace echelon::sparse_direct

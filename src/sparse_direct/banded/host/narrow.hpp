// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a partition of a tridiagonal or pentadiagonal matrix on one core, with the window in
/// registers.
#pragma once

#include "sparse_direct/banded/host/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::banded {

/// A window of `slots` rows with `ahead` columns and `left` columns of the left interface. The slot of the
/// pivot row is a constant of the code that uses it, so that all elements stay in registers.
template <class T, int slots, int ahead, int left>
class NarrowElimination {
  static constexpr int width = ahead + left;
  using Row = std::array<T, width>;

 public:
  NarrowElimination(const BandNode& node, const PartitionLoader<T>& rows, const FactorView<T>& factors)
      : node_(node), rows_(rows), factors_(factors) {}

  NodeFacts eliminate() {
    for (int s = 0; s < slots; ++s) {
      window_[s] = load_row(s, 0);
      numbers_[s] = s;
    }
    std::int32_t* pivots = factors_.pivots + node_.first_step;
    T* lower = factors_.lower + node_.lower_offset;
    T* upper = factors_.upper + node_.upper_offset;
    for (std::int64_t step = 0; step < node_.steps; ++step, lower += slots, upper += width) {
      const int p = find_pivot();
      pivots[step] = p;
      eliminate_with_pivot<0>(p, step, load_row(slots + step, step + 1), lower, upper);
    }
    store_block();
    facts_.largest = found_nan_ ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(largest_);
    return facts_;
  }

 private:
  template <int candidate>
  void eliminate_with_pivot(int p, std::int64_t step, const Row& next, T* lower, T* upper) {
    if constexpr (candidate + 1 < slots) {
      if (p != candidate) {
        eliminate_with_pivot<candidate + 1>(p, step, next, lower, upper);
        return;
      }
    }
    eliminate_column<candidate>(step, next, lower, upper);
  }

  [[nodiscard]] int find_pivot() const {
    int p = 0;
    T largest = std::abs(window_[0][0]);
    for (int s = 1; s < slots; ++s) {
      const T magnitude = std::abs(window_[s][0]);
      if (magnitude > largest) {
        largest = magnitude;
        p = s;
      }
    }
    return p;
  }

  /// Eliminates a column with the pivot row in slot p, which takes the next row.
  template <int p>
  void eliminate_column(std::int64_t step, const Row& next, T* lower, T* upper) {
    const Row pivot = window_[p];
    const bool zero = !(std::abs(pivot[0]) >= smallest_pivot<T>);
    const T inverse = zero ? T{0} : 1 / pivot[0];
    if (zero) note_zero_pivot(step, pivot[0]);
    upper[0] = inverse;
    for (int d = 1; d < width; ++d) upper[d] = pivot[d];
    for (int s = 0; s < slots; ++s) {
      if (s == p) {
        lower[s] = 0;
        continue;
      }
      Row& row = window_[s];
      const T multiplier = row[0] * inverse;
      lower[s] = multiplier;
      for (int d = 1; d < ahead; ++d) row[d - 1] = row[d] - multiplier * pivot[d];
      row[ahead - 1] = 0;
      for (int d = ahead; d < width; ++d) row[d] -= multiplier * pivot[d];
    }
    window_[p] = next;
    numbers_[p] = slots + step;
    for (int d = 0; d < width; ++d) {
      largest_ = std::max(largest_, std::abs(pivot[d]));
    }
  }

  /// Records a zero pivot, and a NaN: one in a pivot row spreads to all rows of the window, and finally to a
  /// pivot.
  void note_zero_pivot(std::int64_t step, T pivot) {
    if (facts_.zero_column < 0) facts_.zero_column = node_column(node_, step);
    if (std::isnan(pivot)) found_nan_ = true;
  }

  /// Loads row t into a window that begins at `column`. An inner row that enters begins there.
  [[nodiscard]] Row load_row(std::int64_t t, std::int64_t column) const {
    Row row{};
    if (column > 0 && rows_.is_inner(t)) {
      const T* source = rows_.first_element(t);
      rows_.prefetch_column(source);
      const std::int64_t step = rows_.element_step();
      for (int d = 0; d < ahead; ++d) row[d] = source[d * step];
    } else {
      rows_.load(t, column, ahead, row.data(), left, row.data() + ahead);
    }
    return row;
  }

  void store_block() const {
    constexpr int k = ahead - 1;
    const bool reversed = node_.direction < 0;
    std::int64_t r = 0;
    for (int s = 0; s < slots && r < node_.block_rows; ++s) {
      if (numbers_[s] >= node_.rows) continue;
      T* target = factors_.blocks + (node_.block_row + r) * 2 * k;
      for (int c = 0; c < k; ++c) {
        target[reversed ? k - 1 - c : k + c] = c + node_.steps < node_.columns ? window_[s][c] : T{0};
        target[reversed ? k + c : c] = left > 0 ? window_[s][ahead + c % (left > 0 ? left : 1)] : T{0};
      }
      factors_.kept[node_.block_row + r] = s;
      ++r;
    }
  }

  const BandNode& node_;
  const PartitionLoader<T>& rows_;
  FactorView<T> factors_;
  std::array<Row, slots> window_{};
  std::array<std::int64_t, slots> numbers_{};  // of the rows in the window
  T largest_ = 0;                              // magnitude in the pivot rows
  bool found_nan_ = false;
  NodeFacts facts_;
};

}  // namespace echelon::banded

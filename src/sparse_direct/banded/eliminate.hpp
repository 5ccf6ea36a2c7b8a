// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a node's columns, for a group of threads on any device.
#pragma once

#include "sparse_direct/banded/factors.hpp"
#include "support/scalar.hpp"

#include <cmath>

namespace echelon::banded {

/// Working memory of a node, shared by its group: `slots * width()` elements and `slots` row numbers.
template <class T>
struct NodeWindow {
  T* elements;
  std::int32_t* rows;  ///< the node's row in each slot, or -1
};

/// Gaussian elimination with partial pivoting in a window. Row s of the window is elements[s * width, ...):
/// first the columns ahead, as a ring that begins at `first`, then the left interface.
template <class Group, class T, class Rows>
class NodeElimination {
 public:
  ECHELON_ANYWHERE NodeElimination(const Group& group, const BandNode& node, const Rows& rows,
                                   const FactorView<T>& factors, const NodeWindow<T>& window)
      : group_(group),
        node_(node),
        rows_(rows),
        window_(window.elements),
        slot_rows_(window.rows),
        pivots_(factors.pivots + node.first_step),
        lower_(factors.lower + node.lower_offset),
        upper_(factors.upper + node.upper_offset),
        width_(node.width()) {}

  /// Eliminates, and stores the remaining rows in `blocks`, as rows of 2 k elements in the order of A's
  /// columns. The facts are valid for rank 0.
  ECHELON_ANYWHERE NodeFacts eliminate(T* blocks, std::int32_t* kept, std::int64_t k) {
    fill_window();
    for (std::int64_t step = 0; step < node_.steps; ++step) eliminate_column(step);
    store_block(blocks, kept, k);
    facts_.largest = group_.largest(facts_.largest);
    return facts_;
  }

 private:
  /// Elements that a thread loads ahead of their use.
  static constexpr int prefetched = 4;

  /// Magnitude for the search of a pivot; NaN counts as infinite, so that it becomes a pivot and is detected.
  ECHELON_ANYWHERE static Real<T> pivot_magnitude(T value) {
    const auto size = static_cast<Real<T>>(magnitude(value));
    return size == size ? size : Real<T>{INFINITY};
  }
  ECHELON_ANYWHERE T* row(std::int32_t slot) const {
    return window_ + static_cast<std::int64_t>(slot) * width_;
  }
  /// Place in a window row of column d after the first, or of the left interface's column d - ahead.
  ECHELON_ANYWHERE std::int32_t place(std::int32_t d) const {
    if (d >= node_.ahead) return d;
    const std::int32_t at = first_ + d;
    return at < node_.ahead ? at : at - node_.ahead;
  }
  ECHELON_ANYWHERE T element(std::int64_t t, std::int64_t step, std::int32_t d) const {
    if (t >= node_.rows) return T{0};
    return d < node_.ahead ? rows_.ahead(node_, t, step + d) : rows_.left(node_, t, d - node_.ahead);
  }

  ECHELON_ANYWHERE void fill_window() {
    for (std::int32_t s = group_.line(); s < node_.slots; s += group_.lines()) {
      for (std::int32_t d = group_.lane(); d < width_; d += group_.lanes()) row(s)[d] = element(s, 0, d);
    }
    for (std::int64_t s = group_.rank(); s < node_.slots; s += group_.size()) {
      slot_rows_[s] = s < node_.rows ? static_cast<std::int32_t>(s) : -1;
    }
    next_row_ = node_.slots;
    group_.sync();
  }

  ECHELON_ANYWHERE void eliminate_column(std::int64_t step) {
    T next[prefetched];
    for (int i = 0; i < prefetched; ++i) {
      const std::int64_t d = group_.rank() + i * group_.size();
      if (d < width_) next[i] = element(next_row_, step + 1, static_cast<std::int32_t>(d));
    }
    const std::int32_t p = group_.find_largest(node_.slots, [this](std::int32_t s) {
      return slot_rows_[s] < 0 ? Real<T>{-1} : pivot_magnitude(row(s)[first_]);
    });
    const T pivot = row(p)[first_];
    const bool zero = !(magnitude(pivot) >= smallest_pivot<T>);
    const T inverse = zero ? T{0} : T{1} / pivot;
    if (zero && facts_.zero_column < 0) facts_.zero_column = node_column(node_, step);
    record(step, p, inverse);
    update(p, inverse);
    group_.sync();
    advance(step, p, next);
    group_.sync();
  }

  /// Stores the pivot row and the multipliers.
  ECHELON_ANYWHERE void record(std::int64_t step, std::int32_t p, T inverse) {
    T* upper = upper_ + step * width_;
    T* lower = lower_ + step * node_.slots;
    for (std::int64_t i = group_.rank(); i < width_; i += group_.size()) {
      const auto d = static_cast<std::int32_t>(i);
      const T value = row(p)[place(d)];
      upper[d] = d == 0 ? inverse : value;
      facts_.largest = larger_magnitude(facts_.largest, magnitude(value));
    }
    for (std::int64_t s = group_.rank(); s < node_.slots; s += group_.size()) {
      lower[s] = s == p ? T{0} : row(static_cast<std::int32_t>(s))[first_] * inverse;
    }
    if (group_.rank() == 0) pivots_[step] = p;
  }

  /// Subtracts multiples of the pivot row from the others, except in the first column.
  ECHELON_ANYWHERE void update(std::int32_t p, T inverse) {
    constexpr int columns = 4;  // that a thread works on at once
    const T* pivot_row = row(p);
    for (std::int32_t begin = 1 + group_.lane(); begin < width_; begin += columns * group_.lanes()) {
      T pivot_elements[columns];
      std::int32_t places[columns];
      for (int c = 0; c < columns; ++c) {
        const std::int32_t d = begin + c * group_.lanes();
        places[c] = d < width_ ? place(d) : -1;
        pivot_elements[c] = d < width_ ? pivot_row[places[c]] : T{0};
      }
      for (std::int32_t s = group_.line(); s < node_.slots; s += group_.lines()) {
        if (s == p) continue;
        T* target = row(s);
        const T multiplier = target[first_] * inverse;
        for (int c = 0; c < columns; ++c) {
          if (places[c] >= 0) target[places[c]] -= multiplier * pivot_elements[c];
        }
      }
    }
  }

  /// Moves the window to the next column, and the next row into slot p.
  ECHELON_ANYWHERE void advance(std::int64_t step, std::int32_t p, const T* next) {
    for (std::int64_t s = group_.rank(); s < node_.slots; s += group_.size()) {
      if (s != p) row(static_cast<std::int32_t>(s))[first_] = T{0};
    }
    if (group_.rank() == 0) {
      slot_rows_[p] = next_row_ < node_.rows ? static_cast<std::int32_t>(next_row_) : -1;
    }
    first_ = first_ + 1 < node_.ahead ? first_ + 1 : 0;
    for (int i = 0; i < prefetched; ++i) {
      const std::int64_t d = group_.rank() + i * group_.size();
      if (d < width_) row(p)[place(static_cast<std::int32_t>(d))] = next[i];
    }
    for (std::int64_t i = group_.rank() + prefetched * group_.size(); i < width_; i += group_.size()) {
      const auto d = static_cast<std::int32_t>(i);
      row(p)[place(d)] = element(next_row_, step + 1, d);
    }
    ++next_row_;
  }

  /// Stores the remaining rows, by slot, with their interfaces in the order of A's columns.
  ECHELON_ANYWHERE void store_block(T* blocks, std::int32_t* kept, std::int64_t k) const {
    std::int32_t r = 0;
    for (std::int32_t s = 0; s < node_.slots && r < node_.block_rows; ++s) {
      if (slot_rows_[s] < 0) continue;
      T* target = blocks + (node_.block_row + r) * 2 * k;
      for (std::int64_t c = group_.rank(); c < k; c += group_.size()) {
        const bool reversed = node_.direction < 0;
        const T right = c + node_.steps < node_.columns ? row(s)[place(static_cast<std::int32_t>(c))] : T{0};
        target[reversed ? k - 1 - c : k + c] = right;
        target[reversed ? k + c : c] = node_.left > 0 ? row(s)[node_.ahead + c] : T{0};
      }
      if (group_.rank() == 0) kept[node_.block_row + r] = s;
      ++r;
    }
  }

  const Group& group_;
  const BandNode& node_;
  const Rows& rows_;
  T* window_;
  std::int32_t* slot_rows_;
  std::int32_t* pivots_;
  T* lower_;
  T* upper_;
  std::int32_t width_;
  std::int32_t first_ = 0;
  std::int64_t next_row_ = 0;
  NodeFacts facts_;
};

}  // namespace echelon::banded

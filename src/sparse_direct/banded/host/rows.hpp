// SPDX-License-Identifier: BSD-3-Clause
/// Rows of nodes, copied to windows on the host.
#pragma once

#include "sparse_direct/banded/factors.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::banded {

/// Rows of a partition. In the node's own order row t has k + 1 elements: from column t - k on if there is a
/// left interface, whose columns are then -k, ..., -1, and from t - `below` on otherwise.
template <class T>
class PartitionLoader {
 public:
  PartitionLoader(const BandElements<T>& A, const BandNode& node)
      : A_(A),
        node_(node),
        k_(A.lower + A.upper),
        offset_(node.left > 0 ? k_ : (node.direction > 0 ? A.lower : A.upper)),
        step_(node.direction * A.column_stride) {}

  /// Copies the elements of row t in columns column, ..., column + ahead_size - 1, and in the `left_size`
  /// columns of the left interface; places of zeros are not written.
  void load(std::int64_t t, std::int64_t column, std::int64_t ahead_size, T* ahead, std::int64_t left_size,
            T* left) const {
    if (t >= node_.rows) return;
    const T* source = first_element(t);
    const std::int64_t first = t - offset_;  // column of element 0
    const std::int64_t begin = std::max<std::int64_t>(0, std::max<std::int64_t>(column, 0) - first);
    const std::int64_t end = std::min({k_ + 1, node_.columns - first, column + ahead_size - first});
    prefetch_column(source);
#pragma GCC unroll 8
    for (std::int64_t e = begin; e < end; ++e) ahead[first + e - column] = source[e * step_];
    for (std::int64_t c = std::max<std::int64_t>(0, first + k_); c < left_size; ++c) {
      left[c] = source[(c - k_ - first) * step_];
    }
  }

  /// True if all k + 1 elements of row t are in columns of the node from `first_column(t)` on.
  [[nodiscard]] bool is_inner(std::int64_t t) const {
    return t >= offset_ && t < node_.rows && t - offset_ + k_ < node_.columns;
  }
  [[nodiscard]] const T* first_element(std::int64_t t) const {
    const std::int64_t i = partition_row(node_, t);
    const std::int64_t j = node_.direction > 0 ? i - A_.lower : i + A_.upper;
    return A_.data + i * A_.row_stride + j * A_.column_stride;
  }
  /// Distance of a row's elements.
  [[nodiscard]] std::int64_t element_step() const {
    return step_;
  }

  /// Prefetches a column that rows will soon reach, if columns are contiguous. The processor does not do so,
  /// since the elements are not used in memory order. `source`: the first element of a row.
  void prefetch_column(const T* source) const {
    constexpr std::int64_t distance = 16;  // columns
    constexpr std::int64_t line = 64 / sizeof(T);
    if (A_.row_stride != 1) return;
    const T* column = source + (k_ + distance) * step_;
    for (std::int64_t e = 0; e <= k_; e += line) __builtin_prefetch(column + node_.direction * e);
  }

 private:
  BandElements<T> A_;
  const BandNode& node_;
  std::int64_t k_;
  std::int64_t offset_;
  std::int64_t step_;
};

/// Rows of two neighbouring reduced blocks, whose common interface is columns 0, ..., k - 1 of the node.
template <class T>
class InterfaceLoader {
 public:
  InterfaceLoader(const T* blocks, std::int64_t k, const BandNode& node)
      : blocks_(blocks), k_(k), node_(node) {}

  /// Loads row t; the arguments are those of PartitionLoader::load.
  void load(std::int64_t t, std::int64_t column, std::int64_t ahead_size, T* ahead, std::int64_t left_size,
            T* left) const {
    if (t >= node_.rows) return;
    const T* row = blocks_ + interface_row(node_, t) * 2 * k_;
    const bool first = t < node_.first_rows;
    const T* interface = first ? row + k_ : row;
    const std::int64_t columns = std::min(first ? k_ : 2 * k_, node_.columns);
    for (std::int64_t g = column; g < std::min(columns, column + ahead_size); ++g) {
      ahead[g - column] = interface[g];
    }
    if (first) std::copy_n(row, left_size, left);
  }

 private:
  const T* blocks_;
  std::int64_t k_;
  const BandNode& node_;
};

}  // namespace echelon::banded

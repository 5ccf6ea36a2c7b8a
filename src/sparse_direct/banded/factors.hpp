// SPDX-License-Identifier: BSD-3-Clause
/// Factors of a band matrix, in the layout of its plan, and the places of its nodes' rows and columns.
#pragma once

#include "sparse_direct/banded/plan.hpp"

#include <cstdint>
#include <limits>

namespace echelon::banded {

/// Smaller pivots count as zero: their reciprocal may overflow.
template <class T>
inline constexpr T smallest_pivot = std::numeric_limits<T>::min();

/// Elements of a band matrix; element (i, j) is at data[i * row_stride + j * column_stride].
template <class T>
struct BandElements {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  /// i and j within the matrix.
  T operator()(std::int64_t i, std::int64_t j) const {
    const std::int64_t diagonal = j - i;
    return diagonal < -lower || diagonal > upper ? T{0} : data[i * row_stride + j * column_stride];
  }
};

/// Pointers to the factors of one matrix.
template <class T>
struct FactorView {
  std::int32_t* pivots = nullptr;  ///< slot of the pivot row of each step
  T* lower = nullptr;              ///< multipliers by slot, 0 in the pivot row's
  T* upper = nullptr;              ///< pivot rows: 1 / pivot, the columns behind it, the left interface
  T* blocks = nullptr;             ///< reduced blocks: 2 k elements a row, left and right interface
  std::int32_t* kept = nullptr;    ///< slot of each row of the reduced blocks at the end of its node
};

/// Outcome of the elimination of a node.
struct NodeFacts {
  double largest = 0;             ///< magnitude of the largest element of its pivot rows; NaN if there is one
  std::int64_t zero_column = -1;  ///< the first column of A without a pivot, or -1
};

/// Row of A that row t of a partition is.
inline std::int64_t partition_row(const BandNode& node, std::int64_t t) {
  return node.first_row + node.direction * t;
}
/// Row among the rows of all reduced blocks that row t of an interface node is.
inline std::int64_t interface_row(const BandNode& node, std::int64_t t) {
  return t < node.first_rows ? node.first_row + t : node.second_row + (t - node.first_rows);
}
/// Column of A that column g of a node is.
inline std::int64_t node_column(const BandNode& node, std::int64_t g) {
  return g < node.steps ? node.column + node.direction * g : node.right + node.direction * (g - node.steps);
}

}  // namespace echelon::banded

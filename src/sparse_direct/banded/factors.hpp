// SPDX-License-Identifier: BSD-3-Clause
/// Factors of a band matrix, in the layout of its plan, and the places of its nodes' rows and columns.
#pragma once

#include "linalg/determinant_product.hpp"
#include "sparse_direct/banded/plan.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::banded {

/// Threshold below which pivots count as zero, since their reciprocals may overflow.
template <class T>
inline constexpr Real<T> smallest_pivot = std::numeric_limits<Real<T>>::min();

/// Elements of a band matrix; element (i, j) is at data[i * row_stride + j * column_stride].
template <class T>
struct BandElements {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;

  /// Element (i, j), which must be within the matrix.
  ECHELON_ANYWHERE T operator()(std::int64_t i, std::int64_t j) const {
    const std::int64_t diagonal = j - i;
    return diagonal < -lower || diagonal > upper ? T{0} : data[i * row_stride + j * column_stride];
  }
  [[nodiscard]] BandElements transposed() const { return {data, column_stride, row_stride, upper, lower}; }
};

/// Pointers to the factors of one matrix.
template <class T>
struct FactorView {
  std::int32_t* pivots = nullptr;  ///< slot of the pivot row of each step
  T* lower = nullptr;              ///< multipliers by slot, 0 in the pivot row's
  T* upper = nullptr;              ///< pivot rows: 1 / pivot, the columns after it, the left interface
  T* blocks = nullptr;             ///< reduced blocks: 2 k elements a row, left and right interface
  std::int32_t* kept = nullptr;    ///< slot of each row of the reduced blocks at the end of its node
};

/// Outcome of the elimination of a node.
struct NodeFacts {
  double largest = 0;             ///< magnitude of the largest element of its pivot rows; NaN if there is one
  std::int64_t zero_column = -1;  ///< the first column of A without a pivot, or -1
};

/// The larger of two magnitudes; NaN if one of them is.
ECHELON_ANYWHERE inline double larger_magnitude(double a, double b) {
  return b > a || b != b ? b : a;
}

/// Row of A for row t of a partition.
ECHELON_ANYWHERE inline std::int64_t partition_row(const BandNode& node, std::int64_t t) {
  return node.first_row + node.direction * t;
}
/// Row among the rows of all reduced blocks for row t of an interface node.
ECHELON_ANYWHERE inline std::int64_t interface_row(const BandNode& node, std::int64_t t) {
  return t < node.first_rows ? node.first_row + t : node.second_row + (t - node.first_rows);
}
/// Column of A for column g of a node.
ECHELON_ANYWHERE inline std::int64_t node_column(const BandNode& node, std::int64_t g) {
  return g < node.steps ? node.column + node.direction * g : node.right + node.direction * (g - node.steps);
}

/// The rows of a partition: element of row t in column g of the node, or in column c of its left interface.
template <class T>
struct PartitionRows {
  BandElements<T> A;

  ECHELON_ANYWHERE T ahead(const BandNode& node, std::int64_t t, std::int64_t g) const {
    if (g >= node.columns) return T{0};
    return A(partition_row(node, t), node.column + node.direction * g);
  }
  ECHELON_ANYWHERE T left(const BandNode& node, std::int64_t t, std::int64_t c) const {
    return A(node.first_row + t, node.left_column + c);
  }
};

/// The rows of two neighbouring reduced blocks, whose common interface is columns 0, ..., k - 1 of the node.
template <class T>
struct InterfaceRows {
  const T* blocks;
  std::int64_t k;

  ECHELON_ANYWHERE T ahead(const BandNode& node, std::int64_t t, std::int64_t g) const {
    if (g >= node.columns) return T{0};
    if (t >= node.first_rows) return row(node, t)[g];
    return g < k ? row(node, t)[k + g] : T{0};
  }
  ECHELON_ANYWHERE T left(const BandNode& node, std::int64_t t, std::int64_t c) const {
    return t < node.first_rows ? row(node, t)[c] : T{0};
  }

 private:
  ECHELON_ANYWHERE const T* row(const BandNode& node, std::int64_t t) const {
    return blocks + interface_row(node, t) * 2 * k;
  }
};

/// Product of the pivots with the sign of the row exchanges, for factors on the host of an A that has a pivot
/// in every column. Follows the rows through the windows of the nodes. O(n + the rows of all blocks).
template <class T>
DeterminantProduct band_determinant(const BandPlan& plan, const std::vector<std::int32_t>& pivots,
                                    const std::vector<std::int32_t>& kept, const T* upper) {
  DeterminantProduct product;
  std::vector<std::int64_t> pivot_row(static_cast<std::size_t>(plan.n));  // of each column
  std::vector<std::int64_t> block_row(static_cast<std::size_t>(plan.block_rows));
  std::vector<std::int64_t> window;  // row of A in each slot
  for (std::size_t k = 0; k < plan.nodes.size(); ++k) {
    const BandNode& node = plan.nodes[k];
    const bool is_interface = static_cast<std::int64_t>(k) >= plan.level_begin[1];
    const auto row = [&](std::int64_t t) {
      if (t >= node.rows) return std::int64_t{-1};
      return is_interface ? block_row[static_cast<std::size_t>(interface_row(node, t))]
                          : partition_row(node, t);
    };
    window.resize(static_cast<std::size_t>(node.slots));
    for (std::int32_t s = 0; s < node.slots; ++s) window[static_cast<std::size_t>(s)] = row(s);
    for (std::int64_t step = 0; step < node.steps; ++step) {
      std::int64_t& slot = window[static_cast<std::size_t>(pivots[node.first_step + step])];
      pivot_row[static_cast<std::size_t>(node_column(node, step))] = slot;
      slot = row(node.slots + step);
      const auto inverse = static_cast<Dot<T>>(upper[node.upper_offset + step * node.width()]);
      if constexpr (is_complex<T>) {
        product.multiply(Dot<T>{1} / inverse);
      } else {
        product.divide(inverse);
      }
    }
    for (std::int64_t r = node.block_row; r < node.block_row + node.block_rows; ++r)
      block_row[static_cast<std::size_t>(r)] = window[static_cast<std::size_t>(kept[r])];
  }
  product.permute(pivot_row);
  return product;
}

}  // namespace echelon::banded

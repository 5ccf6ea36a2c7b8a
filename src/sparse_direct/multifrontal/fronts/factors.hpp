// SPDX-License-Identifier: BSD-3-Clause
/// The result of a multifrontal factorisation: the factors of all fronts, in flat arrays.
#pragma once

#include "sparse_direct/multifrontal/fronts/factor_facts.hpp"
#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Places of the factors of a front. Pivots are numbered in the order of their elimination.
struct FrontRecord {
  std::int64_t values = 0;       ///< offset of its panels
  std::int64_t below = 0;        ///< offset into the numbers of the rows and columns that follow its pivots
  std::int32_t size = 0;         ///< rows and columns of the front
  std::int32_t pivots = 0;       ///< fully summed ones, those delayed by children included
  std::int32_t eliminated = 0;   ///< those eliminated here; the others were delayed to the parent
  std::int32_t first_pivot = 0;  ///< number of the first
};

/// P A Q = L U, L L^H, L D L^T or L D L^H, without the rows and columns of a border. The panel of a front
/// holds `lower`, size by pivots, then, for LU, `upper`, size - pivots by pivots, or, where there is D, two
/// elements of it for each pivot; see the fronts' types.
template <class T>
struct MultifrontalFactors {
  FactorKind kind = FactorKind::cholesky;
  std::int64_t n = 0;
  Array<T> values;    ///< panels of fronts as the layout has them
  Array<T> overflow;  ///< larger panels, of fronts that took over delayed pivots: offsets continue here
  /// The Schur complement of the border, column-major; its lower triangle unless the kind is lu.
  Array<T> border;
  std::vector<FrontRecord> fronts;
  /// Rows of each front after its pivots, by their own numbers; and columns, which are the same ones unless
  /// the kind is lu.
  std::vector<std::int32_t> row_numbers;
  std::vector<std::int32_t> column_numbers;
  std::vector<std::int32_t>
      row_order;  ///< row of A that is eliminated as k-th; then those without pivot, then the border
  std::vector<std::int32_t> column_order;  ///< column of A that is eliminated as k-th
  std::int32_t largest_front = 0;
  FactorFacts facts;

  [[nodiscard]] const T* panel(const FrontRecord& front) const {
    return front.values < values.size() ? values.data() + front.values
                                        : overflow.data() + (front.values - values.size());
  }
  [[nodiscard]] FactoredFront<T> front(const FrontRecord& record) const {
    const T* lower = panel(record);
    const T* right = lower + static_cast<std::int64_t>(record.size) * record.pivots;
    return {record.size, record.pivots, record.eliminated, lower, right};
  }
  [[nodiscard]] std::size_t bytes() const {
    return values.bytes() + overflow.bytes() + border.bytes() + fronts.size() * sizeof(FrontRecord) +
           (row_numbers.size() + column_numbers.size() + row_order.size() + column_order.size()) *
               sizeof(std::int32_t);
  }
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// A row of a prolongation, computed by one thread.
#pragma once

#include "multigrid/coarsening/classical/row_map.hpp"
#include "multigrid/coarsening/classical/weights.hpp"

#include <cstdint>

namespace echelon::multigrid::classical {

/// Computes row r, of point i, into `rows`: by `row` or, if its weights exceed max_row_norm, by the direct
/// formula; the row stays empty if both fail. False if the container of candidates is full.
template <class T, class Row, class C>
ECHELON_ANYWHERE bool interpolate_row(const Row& row, const SplitMatrix<T>& matrix, std::int64_t i,
                                      C& candidates, const PaddedView<T>& rows, std::int64_t r) {
  RowFactors factors;
  if (!row.accumulate(i, candidates, factors)) return false;
  if (factors.scale == 0 || write_row(candidates, factors, rows, r)) return true;
  candidates.clear();
  RowFactors direct;
  if (!interpolate_directly(matrix, i, candidates, direct)) return false;
  write_row(candidates, direct, rows, r);
  return true;
}

/// Computes the row of a coarse or a fine point, or the empty row of an isolated one. Marks rows for which
/// the container of candidates is full.
template <class T, class Row, class C>
struct InterpolatePoint {
  Row row;
  SplitMatrix<T> matrix;
  RowMap map;
  PaddedView<T> rows;
  std::uint8_t* is_long;
  ECHELON_ANYWHERE void operator()(std::int64_t r) const {
    const std::int64_t i = map[r];
    const std::int32_t coarse = matrix.coarse_index[i];
    is_long[r] = 0;
    rows.counts[r] = coarse >= 0 ? 1 : 0;
    if (coarse >= 0) {
      rows.columns[r * rows.width] = coarse;
      rows.values[r * rows.width] = 1;
    } else if (coarse == fine_index) {
      C candidates;
      if (!interpolate_row(row, matrix, i, candidates, rows, r)) is_long[r] = 1;
    }
  }
};

}  // namespace echelon::multigrid::classical

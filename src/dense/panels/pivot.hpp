// SPDX-License-Identifier: BSD-3-Clause
/// Pivots of Gauss-Jordan elimination: how one is assessed, where they are recorded, and the state of an
/// elimination between columns.
#pragma once

#include <echelon/annotate.hpp>

#include <cfloat>
#include <cstdint>

namespace echelon {

/// Rank and pivot statistics of an elimination after some columns; lives in the backend's memory.
///
/// A column about to be eliminated holds x in the rows that have pivots and s in the others: it equals the
/// combination x of the pivot columns up to s. The size of its pivot, the largest element of s, is
/// ||s||_inf / max(1, ||x||_inf): A has to change by about that much for the column to become dependent.
struct EliminationState {
  std::int64_t rank = 0;
  double smallest_accepted = DBL_MAX;  ///< size of a pivot
  double largest_rejected = -1;        ///< size; negative: every column had a pivot
  std::int64_t overflow_column = -1;   ///< first column whose pivot is not finite: elimination stops there
  double tolerance = 0;                ///< pivots of this size or less are rejected
};

enum class PivotStatus { accepted, rejected, overflow };

struct PivotAssessment {
  PivotStatus status;
  double size;  ///< see EliminationState
};

/// Assesses a pivot by the magnitudes of the largest elements of s (`pivot`) and of x (`above`).
ECHELON_ANYWHERE inline PivotAssessment assess_pivot(double pivot, double above, double tolerance) {
  if (!(pivot + above <= DBL_MAX)) return {PivotStatus::overflow, 0};
  const double size = pivot / (above > 1 ? above : 1);
  return {size <= tolerance ? PivotStatus::rejected : PivotStatus::accepted, size};
}

/// Adds the pivot of a column to the statistics; the rank is the caller's to increase.
ECHELON_ANYWHERE inline void record(const PivotAssessment& assessment, std::int64_t column,
                                    EliminationState& state) {
  const double size = assessment.size;
  switch (assessment.status) {
    case PivotStatus::accepted:
      if (size < state.smallest_accepted) state.smallest_accepted = size;
      break;
    case PivotStatus::rejected:
      if (size > state.largest_rejected) state.largest_rejected = size;
      break;
    case PivotStatus::overflow:
      state.overflow_column = column;
  }
}

/// Row exchanges, columns and values of the pivots, in their order; in the backend's memory.
template <class T>
struct PivotList {
  std::int64_t* rows;     ///< rows[k] >= k was exchanged with row k, as in LAPACK's ipiv
  std::int64_t* columns;  ///< ascending
  T* values;
};

/// Pivots [first, last).
struct PivotRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const { return last - first; }
};

}  // namespace echelon

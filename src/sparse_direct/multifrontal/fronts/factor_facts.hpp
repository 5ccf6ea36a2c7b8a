// SPDX-License-Identifier: BSD-3-Clause
/// Results of a numeric factorisation on any device.
#pragma once

#include <cstdint>
#include <optional>

namespace echelon::sparse_direct {

/// Facts about the pivots of complete factors. Columns are delayed and pivots perturbed on the host only.
struct FactorFacts {
  std::int64_t rank = 0;            ///< pivots eliminated
  std::int64_t delayed_pivots = 0;  ///< columns passed to a parent, counted each time
  std::int64_t perturbed_pivots = 0;
  std::int64_t two_by_two_pivots = 0;
  std::int64_t positive = 0;  ///< of a symmetric factorisation: eigenvalues of A by their sign
  std::int64_t negative = 0;
  double largest_element = 0;   ///< on the host: in magnitude, of the pivot columns when they were eliminated
  double largest_rejected = 0;  ///< on the host: of the pivots at the end of the roots that decide the rank
  /// On a GPU, of lu and ldlt: largest |element| of L, at least 1. Partial pivoting of a whole column keeps
  /// it at 1; rows outside the fully summed ones of a front are not candidates, and may exceed it.
  double largest_multiplier = 1;
  /// On a GPU: the smallest magnitude of a pivot of the scaled matrix divided by the largest.
  double pivot_ratio = 1;
  bool kept_pivots = false;  ///< on a GPU: new values were factored with the pivots of earlier ones
};

/// Column without an acceptable pivot: not positive for cholesky, zero for lu and ldlt.
struct FailedPivot {
  std::int64_t column = 0;           ///< of A
  std::optional<double> value = {};  ///< of the pivot, if it is known
};

enum class FactorEnd {
  finished,
  no_pivot,   ///< see FailedPivot
  cancelled,  ///< there are no factors
};

struct FactorResult {
  FactorEnd end = FactorEnd::finished;
  std::optional<FailedPivot> failed = {};
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/matching/scaling.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

template <class T>
struct LeftLookingFactors;

/// The elimination of new values in the pattern of left-looking factors, right-looking: each step divides a
/// column of L by its pivot and subtracts its products with a row of U where a list says. Steps depend on
/// those of lower levels only, and are sorted by levels and by the lengths of their loops, so that processors
/// predict the ends of these. "Places" are in LeftLookingFactors::values.
struct EliminationSchedule {
  struct Step {
    std::int32_t pivot = 0;
    std::int32_t lower = 0;    ///< place of the first entry of its column of L
    std::int32_t rows = 0;     ///< entries of the column of L
    std::int32_t columns = 0;  ///< entries of the row of U
  };

  /// Entries first, ..., first + length - 1 of LeftLookingFactors::upper or lower: those of one row.
  struct Sum {
    std::int32_t row = 0;
    std::int32_t length = 0;
    std::int64_t first = 0;
  };

  Array<std::int32_t> places;       ///< of the elements of A
  Array<double> scales;             ///< of the elements of A
  std::vector<Step> steps;          ///< empty: the list of targets would be too long
  Array<std::int32_t> multipliers;  ///< places of the entries of rows of U, step by step
  Array<std::int32_t> targets;      ///< places of the products: for each multiplier one for each row
  /// Sums of forward and back substitution, those of each block together, sorted likewise.
  std::vector<Sum> forward, backward;

  [[nodiscard]] std::size_t bytes() const {
    return places.bytes() + scales.bytes() + multipliers.bytes() + targets.bytes() +
           steps.size() * sizeof(Step) + (forward.size() + backward.size()) * sizeof(Sum);
  }
};

/// The schedule for complete factors of R A C. It has no steps where its targets would take more than a few
/// times the memory of the factors, a place does not fit 32 bits, or a product of scale factors is no normal
/// number; the orders of substitutions are there in any case. O(flops) time: about that of two updates.
/// Throws std::bad_alloc.
template <class T>
[[nodiscard]] EliminationSchedule schedule_elimination(const Csr<T>& a, const Scaling& scaling,
                                                       const LeftLookingFactors<T>& factors);

}  // namespace echelon::sparse_direct

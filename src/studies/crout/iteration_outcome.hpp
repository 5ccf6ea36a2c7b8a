// SPDX-License-Identifier: BSD-3-Clause
/// Outcome and statistics of Crout's iteration for a report.
#pragma once

#include "solver/factor_status.hpp"
#include "studies/crout/iteration.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::crout {

/// Outcome of the iteration; `first` is the column of A at which the factored matrix begins. Without pivoting
/// a zero on the diagonal does not show that A is singular.
template <class Result>
[[nodiscard]] Outcome outcome_of(const Result& result, std::int64_t first, bool pivoting) {
  if (result.cancelled) return cancelled_factorization();
  if (result.zero_pivot >= 0) {
    const std::int64_t pivot = first + result.zero_pivot;
    if (pivoting) return zero_pivot(pivot);
    return {Status::breakdown,
            "pivot " + std::to_string(pivot) +
                " (from 0) is zero, and rows are not exchanged; pivoting=true exchanges them",
            pivot};
  }
  if (result.converged) return {};
  return {Status::breakdown,
          "Crout's iteration took more sweeps than it can need without overflow: elements of a section "
          "became larger "
          "than the floating-point range before those that they depend on converged"};
}

[[nodiscard]] inline std::vector<Statistic> statistics_of(const IterationCounts& counts) {
  return {{"sections", counts.sections},
          {"diagonal_sweeps", counts.diagonal_sweeps},
          {"most_diagonal_sweeps", counts.most_diagonal_sweeps},
          {"lower_sweeps", counts.lower_sweeps},
          {"upper_sweeps", counts.upper_sweeps},
          {"row_exchanges", counts.exchanges},
          {"processed_elements", counts.elements}};
}

}  // namespace echelon::crout

// SPDX-License-Identifier: BSD-3-Clause
/// Rank decisions of Gauss-Jordan elimination, and the determinant.
#pragma once

#include "dense/panels/pivot.hpp"
#include "support/machine_epsilon.hpp"
#include "support/text.hpp"

#include <echelon/rref.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Default of the relative tolerance below which pivots are rejected. In products of random matrices with n
/// up to 1000, rounding leaves pivots of about 0.1 sqrt(n) eps ||A||_inf in dependent columns; the default is
/// 40 times as large.
template <class T>
double default_tolerance(std::int64_t rows, std::int64_t columns) {
  return 4 * std::sqrt(static_cast<double>(std::max(rows, columns))) * machine_epsilon<T>;
}

/// Facts about the rank from the state after an elimination. `tolerance`: absolute. `distance`: 1 /
/// ||C^-1||_inf for the matrix C of pivot rows and columns. Sizes are divided by 2^exponent, by which A was
/// multiplied.
inline RankFacts rank_facts(const EliminationState& state, double tolerance, double distance, int exponent) {
  const auto unscaled = [&](double value) { return std::ldexp(value, -exponent); };
  RankFacts facts;
  facts.rank = state.rank;
  facts.tolerance = unscaled(tolerance);
  if (state.largest_rejected >= 0) facts.largest_rejected_pivot = unscaled(state.largest_rejected);
  if (state.rank == 0) return facts;
  facts.smallest_accepted_pivot = unscaled(state.smallest_accepted);
  facts.distance_to_lower_rank = unscaled(distance);
  constexpr double clear_gap = 1000;
  constexpr double clear_of_tolerance = 10;
  facts.doubtful = state.smallest_accepted <= clear_gap * state.largest_rejected ||
                   state.smallest_accepted <= clear_of_tolerance * tolerance || !(distance > tolerance);
  return facts;
}

/// Text for a report, such as "A has rank 3 of 5 (...)".
inline std::string describe_rank(const RankFacts& facts, std::int64_t columns) {
  const auto number = [](const std::optional<double>& value) {
    return value ? short_number(*value) : std::string("none");
  };
  return "A has rank " + std::to_string(facts.rank) + " of " + std::to_string(columns) +
         (facts.doubtful ? " (doubtful: smallest pivot " : " (smallest pivot ") +
         number(facts.smallest_accepted_pivot) + ", largest rejected " +
         number(facts.largest_rejected_pivot) + ", tolerance " + short_number(facts.tolerance) + ")";
}

/// The product of n pivots, with the sign of the row exchanges and divided by 2^(exponent n); 0 for fewer
/// pivots.
template <class T>
Determinant determinant_of(const std::vector<T>& pivots, std::int64_t exchanges, std::int64_t n,
                           int exponent) {
  if (static_cast<std::int64_t>(pivots.size()) < n) return {};
  Determinant result{exchanges % 2 == 0 ? 1 : -1, 0.5, 1 - exponent * n};
  for (const T pivot : pivots) {
    int shift = 0;
    result.mantissa = std::frexp(result.mantissa * std::abs(static_cast<double>(pivot)), &shift);
    result.exponent += shift;
    if (pivot < 0) result.sign = -result.sign;
  }
  return result;
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Rank decisions of Gauss-Jordan elimination, and the determinant.
#pragma once

#include "dense/panels/pivot.hpp"
#include "exact/decide_rank.hpp"
#include "linalg/determinant_product.hpp"
#include "support/machine_epsilon.hpp"
#include "support/text.hpp"

#include <echelon/rref.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon {

/// Default of the relative tolerance below which pivots are rejected. In products of random matrices with n
/// up to 1000, rounding leaves pivots of about 0.1 sqrt(n) eps ||A||_inf in dependent columns; the default is
/// 40 times as large.
template <class T>
double default_tolerance(std::int64_t rows, std::int64_t columns) {
  return 4 * std::sqrt(static_cast<double>(std::max(rows, columns))) * machine_epsilon<T>;
}

/// Facts about the rank from the state after an elimination. `tolerance`: absolute. `rounding`: size up to
/// which rounding errors explain a rejected pivot. `distance`: 1 / ||C^-1||_inf for the matrix C of pivot
/// rows and columns. Sizes are divided by 2^exponent, by which A was multiplied.
template <class T>
RankFacts rank_facts(const EliminationState& state, double tolerance, double rounding, double distance,
                     int exponent) {
  const auto unscaled = [&](double value) { return std::ldexp(value, -exponent); };
  // In float the default tolerance is a thousandth of the pivots of many matrices of full rank.
  constexpr double clear_of_tolerance = std::is_same_v<Real<T>, double> ? 1000 : 10;
  const double rejected = state.largest_rejected;
  RankFacts facts;
  facts.rank = state.rank;
  facts.tolerance = unscaled(tolerance);
  facts.doubtful = rejected > rounding && rejected >= tolerance / clear_of_tolerance;
  if (rejected >= 0) facts.largest_rejected_pivot = unscaled(rejected);
  if (state.rank == 0) return facts;
  facts.smallest_accepted_pivot = unscaled(state.smallest_accepted);
  facts.distance_to_lower_rank = unscaled(distance);
  facts.doubtful = facts.doubtful || state.smallest_accepted <= doubtful_gap * rejected ||
                   state.smallest_accepted <= clear_of_tolerance * tolerance || !(distance > tolerance);
  return facts;
}

/// Whether the exact rank of A is to be asked: a tolerance of the caller, or sizes that are not to be
/// equilibrated, decide otherwise.
inline bool asks_exact_rank(const GaussJordanOptions& options) {
  return !options.tolerance && options.equilibrate;
}

/// Whether a doubtful rank may be replaced by a larger exact rank. In float, rounded products of smaller rank
/// have gaps of some hundreds, and Hilbert's matrices of less than 50.
template <class T>
bool is_open(const RankFacts& facts, std::int64_t full) {
  constexpr double clear_gap_in_float = 50;
  return facts.doubtful &&
         (std::is_same_v<Real<T>, double> || facts.rank == full || facts.gap() < clear_gap_in_float);
}

/// Text for a report, such as "A has rank 3 of 5 (...)".
inline std::string describe_rank(const RankFacts& facts, std::int64_t columns) {
  const auto number = [](const std::optional<double>& value) {
    return value ? short_number(*value) : std::string("none");
  };
  return "A has rank " + std::to_string(facts.rank) + " of " + std::to_string(columns) +
         (facts.proven     ? " (proven: "
          : facts.doubtful ? " (doubtful: "
                           : " (") +
         "smallest pivot " + number(facts.smallest_accepted_pivot) + ", largest rejected " +
         number(facts.largest_rejected_pivot) + ", tolerance " + short_number(facts.tolerance) + ")";
}

/// The product of n pivots, with the sign of the row exchanges and divided by 2^(exponent n); 0 for fewer
/// pivots.
template <class T>
Determinant determinant_of(const std::vector<T>& pivots, std::int64_t exchanges, std::int64_t n,
                           int exponent) {
  if (static_cast<std::int64_t>(pivots.size()) < n) return {};
  DeterminantProduct product;
  if (exchanges % 2 != 0) product.exchange();
  for (const T pivot : pivots) product.multiply(static_cast<Dot<T>>(pivot));
  product.multiply_by_power_of_two(-exponent * n);
  return product.value();
}

}  // namespace echelon

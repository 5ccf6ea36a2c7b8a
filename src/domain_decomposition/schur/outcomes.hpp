// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of eliminations, in the same words for all kinds of matrices. Rows and columns count from 0, in
/// A.
#pragma once

#include "domain_decomposition/schur/implementation.hpp"
#include "solver/factor_status.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::schur {

/// Outcome for a factorisation of symmetric matrices.
inline Outcome asymmetric(SchurFactorization factorization, std::int64_t row, std::int64_t column) {
  return not_symmetric(row, column,
                       factorization == SchurFactorization::cholesky ? Status::not_spd : Status::breakdown);
}

/// `value` completes "the pivot of column ... is ...".
inline Outcome interior_not_positive(std::int64_t column, const std::string& value) {
  return {Status::not_spd,
          "the interior block of A is not positive definite: the pivot of column " + std::to_string(column) +
              " (from 0) is " + value,
          column};
}

/// Outcome for an interior block of `size` rows that lacks pivots in these columns of A.
inline Outcome rank_deficient(std::int64_t size, std::int64_t rank, std::vector<std::int32_t> columns,
                              const char* structural = "") {
  std::sort(columns.begin(), columns.end());
  constexpr std::size_t most = 8;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, columns.size()); ++k)
    list += (k > 0 ? ", " : "") + std::to_string(columns[k]);
  if (columns.size() > most) list += ", ...";
  Outcome outcome{Status::singular,
                  "the interior block of A is singular: its " + std::string(structural) + "rank is " +
                      std::to_string(rank) + " of " + std::to_string(size) +
                      (columns.size() == 1 ? ", and column " : ", and columns ") + list +
                      (columns.size() == 1 ? " (from 0) has" : " (from 0) have") +
                      " no pivot; with such unknowns in the interface the others can be eliminated"};
  if (!columns.empty()) outcome.row = columns.front();
  outcome.rank = rank;
  return outcome;
}

/// `unmatched` are columns of the interior block.
inline Outcome structurally_singular(const Partition& partition, std::int64_t rank,
                                     const std::vector<std::int32_t>& unmatched) {
  std::vector<std::int32_t> columns;
  columns.reserve(unmatched.size());
  for (const std::int32_t k : unmatched) columns.push_back(partition.interior[static_cast<std::size_t>(k)]);
  return rank_deficient(static_cast<std::int64_t>(partition.interior.size()), rank, std::move(columns),
                        "structural ");
}

/// Outcome with the reciprocal condition number of the interior block.
template <class T>
Outcome assess_interior(double reciprocal_condition) {
  Outcome outcome = assess_condition<T>(reciprocal_condition);
  if (!outcome.ok()) {
    outcome.message =
        "the interior block of A is singular to working precision: its reciprocal condition number is "
        "about " +
        short_number(reciprocal_condition);
  }
  return outcome;
}

}  // namespace echelon::schur

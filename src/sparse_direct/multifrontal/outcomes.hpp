// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of sparse factorisations, in the same words on every device. Rows and columns count from 0.
#pragma once

#include "solver/factor_status.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Outcome for a matrix of `size` rows, "A" or a block of it, that lacks pivots in these columns of A.
inline Outcome rank_deficient(const std::string& matrix, std::int64_t size, std::int64_t rank,
                              std::vector<std::int32_t> columns, bool structural = false) {
  std::sort(columns.begin(), columns.end());
  const bool one = columns.size() == 1;
  Outcome outcome{Status::singular, matrix + " is singular: its " + (structural ? "structural " : "") +
                                        "rank is " + std::to_string(rank) + " of " + std::to_string(size) +
                                        (one ? ", and column " : ", and columns ") + list_of(columns) +
                                        (one ? " (from 0) has no pivot" : " (from 0) have no pivot")};
  if (!columns.empty()) outcome.row = columns.front();
  outcome.rank = rank;
  return outcome;
}

inline Outcome not_symmetric(Place place, Status status = Status::not_spd) {
  return echelon::not_symmetric(place.row, place.column, status);
}

}  // namespace echelon::sparse_direct

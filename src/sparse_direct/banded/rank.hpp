// SPDX-License-Identifier: BSD-3-Clause
/// Rank of a singular band matrix.
#pragma once

#include "sparse_direct/banded/factors.hpp"

#include <cstdint>
#include <vector>

namespace echelon::banded {

struct BandRank {
  std::int64_t rank = 0;
  std::vector<std::int64_t> dependent_columns;  ///< each depends on the columns before it
  std::vector<std::int64_t> dependent_rows;     ///< each depends on the rows that remain without them
  double smallest_pivot = 0;                    ///< accepted
  double largest_rejected = 0;                  ///< magnitude; 0: none was rejected
};

/// Row echelon form of an n-by-n band matrix on the host, whose rows and columns are of magnitude about 1, by
/// elimination with partial pivoting. A column whose candidates are all at most `tolerance` depends on those
/// before it and is passed over. n (lower + upper) (lower + d) flops for a rank of n - d.
template <class T>
[[nodiscard]] BandRank find_rank(const BandElements<T>& A, std::int64_t n, double tolerance);

}  // namespace echelon::banded

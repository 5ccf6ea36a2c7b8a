// SPDX-License-Identifier: BSD-3-Clause
/// Sizes that the plan of a factorisation of symmetric indefinite fronts needs on the host.
#pragma once

#include <algorithm>
#include <cstdint>

namespace echelon::tiles {

/// Columns of a block in which pivots are chosen.
inline constexpr std::int32_t indefinite_width = 64;

/// Elements of IndefiniteFront::work.
constexpr std::int64_t indefinite_work_size(std::int64_t rows, std::int64_t pivots) {
  const std::int64_t width = std::min<std::int64_t>(pivots, indefinite_width);
  return 2 * width * (width + rows);
}

/// Number of spare columns of a front with `pivots` columns to eliminate. A random matrix has a few columns
/// in a thousand that are rejected in their block. A front with a single block rejects none.
constexpr std::int64_t spare_columns(std::int64_t pivots) {
  if (pivots <= indefinite_width) return 0;
  const std::int64_t blocks = (pivots / 64 + indefinite_width - 1) / indefinite_width;
  return indefinite_width * std::max<std::int64_t>(1, blocks);
}

}  // namespace echelon::tiles

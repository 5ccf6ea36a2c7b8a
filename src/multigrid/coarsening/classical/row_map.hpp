// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::multigrid::classical {

/// Map of result rows to points: row r belongs to point points[r], or to point r if `points` is null.
struct RowMap {
  const std::int32_t* points;
  ECHELON_ANYWHERE std::int64_t operator[](std::int64_t r) const { return points == nullptr ? r : points[r]; }
};

}  // namespace echelon::multigrid::classical

// SPDX-License-Identifier: BSD-3-Clause
/// Number of partitions that a band matrix is divided into.
#pragma once

#include "sparse_direct/banded/plan.hpp"

#include <echelon/device.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon::banded {

/// A band matrix's shape, and how many there are.
struct BandShape {
  std::int64_t n = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t count = 1;

  [[nodiscard]] std::int64_t interface() const { return lower + upper; }
  friend bool operator==(const BandShape&, const BandShape&) = default;
};

/// Columns that the blocked kernel eliminates at once. A partition has one row less than that in its
/// window besides those that a column can have, so that the rows of a block of columns are all there.
inline constexpr std::int32_t block_columns = 8;

/// Two partitions, eliminated from the ends towards the middle, cost no more than one: neither has a left
/// interface. Further partitions cost up to four times as much per row and pay for as many threads. Short
/// matrices and batches are not divided: there, a thread has a matrix of its own. `asked`: the number of
/// partitions, or 0.
[[nodiscard]] inline PartitionRule partition_rule(const Device& device, const BandShape& shape,
                                                  std::int64_t asked) {
  PartitionRule rule;
  const bool narrow =
      shape.lower == shape.upper && shape.lower > 0 && shape.lower <= 2 && shape.n > shape.interface();
  rule.extra_slots = narrow ? 0 : block_columns - 1;
  rule.end_weight = shape.interface() <= 4 ? 2 : 3.5;
  const std::int64_t threads = std::max(device.threads(), 2);
  const bool undivided = shape.count > 1 || shape.n < 16 * (shape.interface() + 8);
  rule.partitions = asked > 0 ? asked : undivided ? 1 : (threads > 3 ? threads : 2);
  return rule;
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
#include "relaxation/gauss_seidel/level_schedule.hpp"

#include <algorithm>

namespace echelon {

namespace {

/// The level of each row, from 0.
std::vector<std::int32_t> levels_of(std::int64_t rows, const std::int64_t* row_offsets,
                                    const std::int32_t* column_indices, bool backward) {
  std::vector<std::int32_t> level(static_cast<std::size_t>(rows), 0);
  for (std::int64_t step = 0; step < rows; ++step) {
    const std::int64_t i = backward ? rows - 1 - step : step;
    std::int32_t own = 0;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const std::int64_t j = column_indices[k];
      if (backward ? j > i : j < i) own = std::max(own, level[static_cast<std::size_t>(j)] + 1);
    }
    level[static_cast<std::size_t>(i)] = own;
  }
  return level;
}

}  // namespace

/// Counting sort of the rows by level, in row order within a level.
Levels::Levels(std::int64_t rows, const std::int64_t* row_offsets, const std::int32_t* column_indices,
               bool backward, std::int64_t least_rows) {
  const std::vector<std::int32_t> level = levels_of(rows, row_offsets, column_indices, backward);
  if (level.empty()) return;
  const std::int32_t count = *std::max_element(level.begin(), level.end()) + 1;
  if (rows / count < least_rows) return;
  starts_.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const std::int32_t l : level) ++starts_[static_cast<std::size_t>(l) + 1];
  for (std::size_t l = 1; l < starts_.size(); ++l) starts_[l] += starts_[l - 1];
  std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
  rows_.resize(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    rows_[static_cast<std::size_t>(next[static_cast<std::size_t>(level[i])]++)] =
        static_cast<std::int32_t>(i);
  }
}

}  // namespace echelon

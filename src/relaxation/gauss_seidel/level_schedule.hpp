// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

/// Rows grouped into levels, such that a row depends on rows of earlier levels only: the rows of a level can
/// be computed at the same time. On the host.
class Levels {
 public:
  Levels() = default;
  /// Row i depends on the rows of its columns less than i, or greater than i if the rows are computed
  /// `backward`. Empty if levels have fewer than `least_rows` rows on average. O(nonzeros).
  Levels(std::int64_t rows, const std::int64_t* row_offsets, const std::int32_t* column_indices,
         bool backward, std::int64_t least_rows);

  [[nodiscard]] std::size_t bytes() const {
    return rows_.size() * sizeof(std::int32_t) + starts_.size() * sizeof(std::int64_t);
  }
  [[nodiscard]] bool empty() const { return starts_.empty(); }

  [[nodiscard]] std::size_t count() const { return starts_.empty() ? 0 : starts_.size() - 1; }
  /// Rows of one level, ascending.
  [[nodiscard]] std::span<const std::int32_t> rows(std::size_t level) const {
    const auto begin = static_cast<std::size_t>(starts_[level]);
    return {rows_.data() + begin, static_cast<std::size_t>(starts_[level + 1]) - begin};
  }
  /// Rows of all levels, one level after another, and the end of each level.
  [[nodiscard]] std::span<const std::int32_t> rows() const { return rows_; }
  [[nodiscard]] std::span<const std::int64_t> ends() const {
    return starts_.empty() ? std::span<const std::int64_t>() : std::span(starts_).subspan(1);
  }

 private:
  std::vector<std::int32_t> rows_;
  std::vector<std::int64_t> starts_;
};

}  // namespace echelon

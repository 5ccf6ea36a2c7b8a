// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace echelon {

/// Rows of a triangular matrix grouped so that a row depends on rows of earlier groups only: the rows of a
/// group can be solved at the same time. Empty when there is too little to share per group; rows then go one
/// after another.
class Levels {
 public:
  Levels() = default;
  /// From the part of each row before its diagonal element, which is at diagonal[i].
  static Levels of_lower(std::int64_t rows, const std::int64_t* row_offsets,
                         const std::int32_t* column_indices, const std::int64_t* diagonal);
  /// From the part after it.
  static Levels of_upper(std::int64_t rows, const std::int64_t* row_offsets,
                         const std::int32_t* column_indices, const std::int64_t* diagonal);

  [[nodiscard]] std::size_t bytes() const {
    return rows_.size() * sizeof(std::int32_t) + starts_.size() * sizeof(std::int64_t);
  }

  /// Calls f for every row after the rows that it depends on; `ascending` for the lower triangle.
  template <class F>
  void for_each_row(std::int64_t rows, int threads, bool ascending, const F& f) const {
    if (starts_.empty()) {
      for (std::int64_t i = 0; i < rows; ++i) f(ascending ? i : rows - 1 - i);
      return;
    }
#pragma omp parallel num_threads(threads)
    for (std::size_t level = 0; level + 1 < starts_.size(); ++level) {
#pragma omp for schedule(static)
      for (std::int64_t k = starts_[level]; k < starts_[level + 1]; ++k)
        f(rows_[static_cast<std::size_t>(k)]);
    }
  }

 private:
  void sort_rows(const std::vector<std::int32_t>& level);

  std::vector<std::int32_t> rows_;
  std::vector<std::int64_t> starts_;
};

}  // namespace echelon

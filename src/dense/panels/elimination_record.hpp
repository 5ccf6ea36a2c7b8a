// SPDX-License-Identifier: BSD-3-Clause
/// Results of an elimination other than the matrix: pivots, ranks and state.
#pragma once

#include "dense/panels/pivot.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon {

/// First of n columns that is not in the ascending list; n if there is none.
inline std::int64_t first_without_pivot(const std::vector<std::int64_t>& pivot_columns, std::int64_t n) {
  std::int64_t column = 0;
  for (const std::int64_t pivot : pivot_columns) {
    if (pivot != column) break;
    ++column;
  }
  return std::min(column, n);
}

/// Pivots of a completed elimination, on the host.
template <class T>
struct EliminationRecord {
  std::vector<std::int64_t> rows;     ///< rows[k] >= k was exchanged with row k
  std::vector<std::int64_t> columns;  ///< of the pivots
  std::vector<T> values;

  /// The original index of each of the m rows.
  [[nodiscard]] std::vector<std::int64_t> origins(std::int64_t m) const {
    std::vector<std::int64_t> result(static_cast<std::size_t>(m));
    std::iota(result.begin(), result.end(), std::int64_t{0});
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::swap(result[k], result[static_cast<std::size_t>(rows[k])]);
    }
    return result;
  }
};

/// State, ranks and pivots of an elimination in one allocation in a backend's memory, so that one copy brings
/// all of them to the host.
template <class T>
class EliminationRecordBuffer {
 public:
  EliminationRecordBuffer(const Device& device, std::int64_t panels, std::int64_t max_pivots)
      : panels_(panels),
        max_pivots_(max_pivots),
        bytes_(device, static_cast<std::int64_t>(sizeof(EliminationState) +
                                                 sizeof(std::int64_t) * integers(panels, max_pivots) +
                                                 sizeof(T) * static_cast<std::size_t>(max_pivots))) {}

  [[nodiscard]] EliminationState* state() { return reinterpret_cast<EliminationState*>(bytes_.data()); }
  [[nodiscard]] const EliminationState* state() const {
    return reinterpret_cast<const EliminationState*>(bytes_.data());
  }
  /// The ranks before each panel and after the last one.
  [[nodiscard]] std::int64_t* ranks() {
    return reinterpret_cast<std::int64_t*>(bytes_.data() + sizeof(EliminationState));
  }
  [[nodiscard]] const std::int64_t* rows() const {
    return reinterpret_cast<const std::int64_t*>(bytes_.data() + sizeof(EliminationState)) + panels_ + 1;
  }
  [[nodiscard]] const std::int64_t* columns() const { return rows() + max_pivots_; }
  [[nodiscard]] PivotList<T> pivots() {
    std::int64_t* const first = ranks() + panels_ + 1;
    return {first, first + max_pivots_, reinterpret_cast<T*>(first + 2 * max_pivots_)};
  }

  /// A copy on the host; waits.
  [[nodiscard]] EliminationRecordBuffer on_host() const {
    return {panels_, max_pivots_, bytes_.to(Device())};
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_.bytes(); }

 private:
  EliminationRecordBuffer(std::int64_t panels, std::int64_t max_pivots, Array<unsigned char> bytes)
      : panels_(panels), max_pivots_(max_pivots), bytes_(std::move(bytes)) {}

  static std::size_t integers(std::int64_t panels, std::int64_t max_pivots) {
    return static_cast<std::size_t>(panels + 1 + 2 * max_pivots);
  }

  std::int64_t panels_;
  std::int64_t max_pivots_;
  Array<unsigned char> bytes_;
};

}  // namespace echelon

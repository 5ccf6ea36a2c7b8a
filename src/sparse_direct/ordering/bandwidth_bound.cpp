// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/bandwidth_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Breadth-first searches in one graph.
class BandwidthSearch {
 public:
  explicit BandwidthSearch(const Pattern& a) : a_(a), last_search_(static_cast<std::size_t>(a.n), -1) {}

  /// Number of steps from one row until `rows` rows have been reached.
  [[nodiscard]] std::int64_t steps_from(std::int32_t row, std::size_t rows) {
    start(row);
    std::int64_t steps = 0;
    while (found_.size() < rows && take_step()) ++steps;
    return steps;
  }

  /// Lower bound from the rows around one row.
  [[nodiscard]] std::int64_t from(std::int32_t row, std::int64_t enough) {
    start(row);
    std::int64_t bound = 0;
    for (std::int64_t steps = 1; steps <= 2 * enough && bound <= enough && take_step(); ++steps) {
      const auto others = static_cast<std::int64_t>(found_.size()) - 1;
      bound = std::max(bound, (others + 2 * steps - 1) / (2 * steps));
    }
    return bound;
  }

 private:
  void start(std::int32_t row) {
    ++search_;
    found_.clear();
    level_begin_ = 0;
    visit(row);
  }

  /// Visits the neighbours of the last level; false if they contain no new row.
  bool take_step() {
    const std::size_t level_end = found_.size();
    for (std::size_t k = level_begin_; k < level_end; ++k) {
      for (const std::int32_t neighbour : a_.row(found_[k])) visit(neighbour);
    }
    level_begin_ = level_end;
    return found_.size() > level_end;
  }

  void visit(std::int32_t row) {
    if (last_search_[row] == search_) return;
    last_search_[row] = search_;
    found_.push_back(row);
  }

  Pattern a_;
  std::vector<std::int32_t> last_search_;  // number of the last search that reached a row
  std::vector<std::int32_t> found_;
  std::size_t level_begin_ = 0;
  std::int32_t search_ = -1;
};

}  // namespace

std::int64_t half_bandwidth_bound(const Pattern& a, std::int64_t enough) {
  constexpr std::int64_t searches = 3;
  BandwidthSearch search(a);
  std::int64_t bound = 0;
  for (std::int64_t i = 0; i < searches && a.n > 0 && bound <= enough; ++i) {
    bound =
        std::max(bound, search.from(static_cast<std::int32_t>((2 * i + 1) * a.n / (2 * searches)), enough));
  }
  return bound;
}

std::int64_t steps_to_meet(const Pattern& a, std::int64_t rows) {
  if (a.n == 0) return 0;
  const auto inside = static_cast<std::int32_t>(0.618 * static_cast<double>(a.n));
  return BandwidthSearch(a).steps_from(inside, static_cast<std::size_t>(rows));
}

}  // namespace echelon::sparse_direct

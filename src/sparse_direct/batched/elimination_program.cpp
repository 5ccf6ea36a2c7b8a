// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/batched/elimination_program.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace echelon::sparse_direct {

namespace {

std::vector<std::int32_t> inverse_of(const std::vector<std::int32_t>& permutation) {
  std::vector<std::int32_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int32_t>(i);
  }
  return inverse;
}

/// Column indices of a row that grows by merging others into it, in ascending order.
class MergedRow {
 public:
  explicit MergedRow(std::size_t n) : next_(n + 1, none) {}

  /// Starts with these indices.
  void reset(std::span<const std::int32_t> sorted) {
    first_ = none;
    std::int32_t* link = &first_;
    for (const std::int32_t j : sorted) {
      *link = j;
      link = &next_[static_cast<std::size_t>(j)];
    }
    *link = none;
  }
  /// Merges ascending indices that are larger than k, which is in the row.
  void merge_after(std::int32_t k, std::span<const std::int32_t> sorted) {
    std::int32_t previous = k;
    for (const std::int32_t j : sorted) {
      while (after(previous) != none && after(previous) < j) previous = after(previous);
      if (after(previous) != j) {
        next_[static_cast<std::size_t>(j)] = after(previous);
        next_[static_cast<std::size_t>(previous)] = j;
      }
      previous = j;
    }
  }
  [[nodiscard]] std::int32_t first() const { return first_; }
  [[nodiscard]] std::int32_t after(std::int32_t j) const { return next_[static_cast<std::size_t>(j)]; }

  static constexpr std::int32_t none = -1;

 private:
  std::int32_t first_ = none;
  std::vector<std::int32_t> next_;
};

std::span<const std::int32_t> right_of_diagonal(const EliminationProgram& program, std::int32_t k) {
  const auto row = static_cast<std::size_t>(k);
  const auto begin = static_cast<std::size_t>(program.diagonal[row]) + 1;
  return std::span(program.indices)
      .subspan(begin, static_cast<std::size_t>(program.offsets[row + 1]) - begin);
}

/// Appends the pattern of row i of the factors, and returns the number of its targets.
std::int64_t append_row(std::int32_t i, std::span<const std::int32_t> sorted, MergedRow& row,
                        EliminationProgram& program) {
  row.reset(sorted);
  std::int64_t targets = 0;
  for (std::int32_t k = row.first(); k != MergedRow::none && k < i; k = row.after(k)) {
    const auto merged = right_of_diagonal(program, k);
    targets += static_cast<std::int64_t>(merged.size());
    row.merge_after(k, merged);
  }
  for (std::int32_t j = row.first(); j != MergedRow::none; j = row.after(j)) program.indices.push_back(j);
  program.offsets.push_back(static_cast<std::int64_t>(program.indices.size()));
  const auto begin = program.indices.begin() + program.offsets[static_cast<std::size_t>(i)];
  program.diagonal.push_back(std::lower_bound(begin, program.indices.end(), i) - program.indices.begin());
  return targets;
}

/// Fills `place` with the places of the columns of row i, counted from its first element.
void number_columns(const EliminationProgram& program, std::size_t i, std::vector<std::int32_t>& place) {
  for (std::int64_t e = program.offsets[i]; e < program.offsets[i + 1]; ++e) {
    place[static_cast<std::size_t>(program.indices[static_cast<std::size_t>(e)])] =
        static_cast<std::int32_t>(e - program.offsets[i]);
  }
}

void append_targets(std::size_t i, const std::vector<std::int32_t>& place, EliminationProgram& program) {
  for (std::int64_t e = program.offsets[i]; e < program.diagonal[i]; ++e) {
    for (const std::int32_t j : right_of_diagonal(program, program.indices[static_cast<std::size_t>(e)])) {
      program.targets.push_back(place[static_cast<std::size_t>(j)]);
    }
  }
  program.target_offsets.push_back(static_cast<std::int64_t>(program.targets.size()));
}

void find_followers(EliminationProgram& program) {
  const auto n = static_cast<std::int32_t>(program.n());
  program.followers.assign(static_cast<std::size_t>(n), -1);
  for (std::int32_t k = 0; k < n; ++k) {
    const auto own = right_of_diagonal(program, k);
    if (own.empty()) continue;
    const auto others = right_of_diagonal(program, own.front());
    const auto rest = own.subspan(1);
    if (std::equal(rest.begin(), rest.end(), others.begin(), others.end()))
      program.followers[static_cast<std::size_t>(k)] = own.front();
  }
}

/// Sorts rows by levels, which are 0, 1, ...
RowLevels sorted_by_level(const std::vector<std::int32_t>& level) {
  RowLevels result;
  const auto levels = level.empty() ? 0 : *std::max_element(level.begin(), level.end()) + 1;
  result.offsets.assign(static_cast<std::size_t>(levels) + 1, 0);
  for (const std::int32_t l : level) ++result.offsets[static_cast<std::size_t>(l) + 1];
  for (std::size_t l = 1; l < result.offsets.size(); ++l) result.offsets[l] += result.offsets[l - 1];
  std::vector<std::int64_t> place(result.offsets.begin(), result.offsets.end() - 1);
  result.rows.resize(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    result.rows[static_cast<std::size_t>(place[static_cast<std::size_t>(level[i])]++)] =
        static_cast<std::int32_t>(i);
  }
  return result;
}

void find_levels(EliminationProgram& program) {
  const auto n = static_cast<std::size_t>(program.n());
  std::vector<std::int32_t> level(n, 0);
  const auto raise = [&](std::size_t i, std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) {
      const auto k = static_cast<std::size_t>(program.indices[static_cast<std::size_t>(e)]);
      level[i] = std::max(level[i], level[k] + 1);
    }
  };
  for (std::size_t i = 0; i < n; ++i) raise(i, program.offsets[i], program.diagonal[i]);
  program.forward = sorted_by_level(level);
  std::fill(level.begin(), level.end(), 0);
  for (std::size_t i = n; i-- > 0;) raise(i, program.diagonal[i] + 1, program.offsets[i + 1]);
  program.backward = sorted_by_level(level);
}

}  // namespace

std::optional<EliminationProgram> plan_elimination(const BatchPattern& A, std::vector<std::int32_t> rows,
                                                   std::vector<std::int32_t> columns,
                                                   std::int64_t most_targets) {
  const std::size_t n = rows.size();
  EliminationProgram program;
  program.rows = std::move(rows);
  program.columns = std::move(columns);
  program.offsets = {0};
  program.target_offsets = {0};
  program.places.resize(A.indices.size());
  const std::vector<std::int32_t> new_column = inverse_of(program.columns);
  MergedRow row(n);
  std::vector<std::int32_t> sorted;
  std::vector<std::int32_t> place(n);
  std::int64_t targets = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto source = static_cast<std::size_t>(program.rows[i]);
    sorted.assign(1, static_cast<std::int32_t>(i));  // the pivot, which may be fill-in
    for (std::int64_t e = A.offsets[source]; e < A.offsets[source + 1]; ++e) {
      sorted.push_back(new_column[static_cast<std::size_t>(A.indices[static_cast<std::size_t>(e)])]);
    }
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    targets += append_row(static_cast<std::int32_t>(i), sorted, row, program);
    if (targets > most_targets) return std::nullopt;
    number_columns(program, i, place);
    append_targets(i, place, program);
    for (std::int64_t e = A.offsets[source]; e < A.offsets[source + 1]; ++e) {
      const auto j = static_cast<std::size_t>(
          new_column[static_cast<std::size_t>(A.indices[static_cast<std::size_t>(e)])]);
      program.places[static_cast<std::size_t>(e)] = program.offsets[i] + place[j];
    }
  }
  find_followers(program);
  find_levels(program);
  return program;
}

}  // namespace echelon::sparse_direct

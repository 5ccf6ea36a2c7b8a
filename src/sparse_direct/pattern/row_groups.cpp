// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/pattern/row_groups.hpp"

#include "sparse_direct/pattern/chunks.hpp"
#include "support/hash.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Hash of a row number (SplitMix64). Sums of hashes agree for equal sets of rows, and rarely for different
/// ones.
std::uint64_t hash(std::uint64_t row) {
  return hash_bits(row + golden_ratio_64);
}

/// Sums of the hashes of the entries of each row, the diagonal included.
std::vector<std::uint64_t> hashes_of_rows(const Pattern& a, int threads) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(a.n));
  for_each_chunk(a.n, threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      std::uint64_t sum = hash(static_cast<std::uint64_t>(i));
      for (const std::int32_t j : a.row(i)) sum += j == i ? 0 : hash(static_cast<std::uint64_t>(j));
      hashes[i] = sum;
    }
  });
  return hashes;
}

/// Entries of a row, the diagonal included, ascending.
void list_closed_row(const Pattern& a, std::int32_t i, std::vector<std::int32_t>& entries) {
  entries.assign(1, i);
  for (const std::int32_t j : a.row(i)) {
    if (j != i) entries.push_back(j);
  }
  std::sort(entries.begin(), entries.end());
}

RowGroups groups_of(std::span<const std::int32_t> group_of, std::int32_t count) {
  RowGroups groups;
  groups.begin.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const std::int32_t group : group_of) ++groups.begin[group + 1];
  std::partial_sum(groups.begin.begin(), groups.begin.end(), groups.begin.begin());
  groups.rows.resize(group_of.size());
  std::vector<std::int32_t> next(groups.begin.begin(), groups.begin.end());
  for (std::int32_t row = 0; row < std::ssize(group_of); ++row) groups.rows[next[group_of[row]]++] = row;
  return groups;
}

std::vector<std::int32_t> group_of_rows(const RowGroups& groups) {
  std::vector<std::int32_t> group_of(groups.rows.size());
  for (std::int32_t group = 0; group < groups.size(); ++group) {
    for (const std::int32_t row : groups.of(group)) group_of[row] = group;
  }
  return group_of;
}

}  // namespace

std::vector<std::int32_t> first_equal_rows(const Pattern& a, int threads) {
  const std::vector<std::uint64_t> hashes = hashes_of_rows(a, threads);
  std::vector<std::int32_t> first_row(static_cast<std::size_t>(a.n));
  for_each_chunk(a.n, threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
    std::vector<std::int32_t> entries;
    std::vector<std::int32_t> others;
    for (auto i = static_cast<std::int32_t>(first); i < end; ++i) {
      first_row[i] = i;
      // Equal rows have entries in each other, since each has its diagonal.
      for (const std::int32_t j : a.row(i)) {
        if (j >= first_row[i] || hashes[j] != hashes[i]) continue;
        list_closed_row(a, i, entries);
        list_closed_row(a, j, others);
        if (entries == others) first_row[i] = j;
      }
    }
  });
  return first_row;
}

RowGroups groups_by_first_row(std::span<const std::int32_t> first_row) {
  std::vector<std::int32_t> group_of(first_row.size());
  std::int32_t count = 0;
  for (std::size_t row = 0; row < first_row.size(); ++row) {
    const bool is_first = first_row[row] == static_cast<std::int32_t>(row);
    group_of[row] = is_first ? count++ : group_of[first_row[row]];
  }
  return groups_of(group_of, count);
}

RowGroups indistinguishable_rows(const Pattern& a, int threads) {
  return groups_by_first_row(first_equal_rows(a, threads));
}

RowGroups pairs(std::span<const std::int32_t> partner) {
  std::vector<std::int32_t> first_row(partner.size());
  for (std::size_t i = 0; i < partner.size(); ++i)
    first_row[i] = std::min(static_cast<std::int32_t>(i), partner[i]);
  return groups_by_first_row(first_row);
}

PatternStorage compressed_pattern(const Pattern& a, const RowGroups& groups) {
  const std::vector<std::int32_t> group_of = group_of_rows(groups);
  std::vector<std::int32_t> seen(static_cast<std::size_t>(groups.size()),
                                 -1);  // last group connected to each
  PatternStorage result;
  result.row_begin.reserve(static_cast<std::size_t>(groups.size()) + 1);
  result.row_begin.push_back(0);
  for (std::int32_t group = 0; group < groups.size(); ++group) {
    seen[group] = group;
    for (const std::int32_t row : groups.of(group)) {
      for (const std::int32_t j : a.row(row)) {
        const std::int32_t other = group_of[j];
        if (std::exchange(seen[other], group) != group) result.columns.push_back(other);
      }
    }
    result.row_begin.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

std::vector<std::int32_t> expanded_ordering(const RowGroups& groups,
                                            std::span<const std::int32_t> order_of_groups) {
  std::vector<std::int32_t> order;
  order.reserve(groups.rows.size());
  for (const std::int32_t group : order_of_groups) {
    const auto rows = groups.of(group);
    order.insert(order.end(), rows.begin(), rows.end());
  }
  return order;
}

PatternStorage merged_pattern(const Pattern& a, const RowGroups& groups) {
  const PatternStorage compressed = compressed_pattern(a, groups);
  const std::vector<std::int32_t> group_of = group_of_rows(groups);
  PatternStorage result;
  result.row_begin.reserve(static_cast<std::size_t>(a.n) + 1);
  result.row_begin.push_back(0);
  const Pattern pattern = compressed.view();
  for (std::int32_t i = 0; i < a.n; ++i) {
    const auto append = [&](std::int32_t group) {
      const auto rows = groups.of(group);
      result.columns.insert(result.columns.end(), rows.begin(), rows.end());
    };
    append(group_of[i]);
    for (const std::int32_t group : pattern.row(group_of[i])) append(group);
    result.row_begin.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

}  // namespace echelon::sparse_direct

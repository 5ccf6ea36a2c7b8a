// SPDX-License-Identifier: BSD-3-Clause
/// Groups of rows that an ordering treats as one: the rows of a node in a mesh with several unknowns per
/// node, or the two rows of a 2-by-2 pivot.
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// A partition of the rows 0, ..., n - 1.
struct RowGroups {
  std::vector<std::int32_t> begin;  ///< offsets into rows, one more than there are groups
  std::vector<std::int32_t> rows;   ///< of each group, ascending

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  [[nodiscard]] std::span<const std::int32_t> of(std::int64_t group) const {
    return std::span(rows).subspan(static_cast<std::size_t>(begin[group]),
                                   static_cast<std::size_t>(begin[group + 1] - begin[group]));
  }
};

/// First row with the same entries as each row, the diagonal counted as one. O(entries) time if few rows are
/// equal.
[[nodiscard]] std::vector<std::int32_t> first_equal_rows(const Pattern& a, int threads = 1);

/// Groups given by the smallest row of each row's group, by which they are numbered.
[[nodiscard]] RowGroups groups_by_first_row(std::span<const std::int32_t> first_row);

/// Groups of rows with equal entries, the diagonal counted as one: eliminated one after the other, they form
/// a supernode. C. Ashcraft, Compressed graphs and the minimum degree algorithm, SIAM J. Sci. Comput. 16
/// (1995).
[[nodiscard]] RowGroups indistinguishable_rows(const Pattern& a, int threads = 1);

/// Pairs {i, partner[i]}, or groups of one row where partner[i] == i.
[[nodiscard]] RowGroups pairs(std::span<const std::int32_t> partner);

/// The pattern of groups: two are connected if a row of one is connected to a row of the other.
[[nodiscard]] PatternStorage compressed_pattern(const Pattern& a, const RowGroups& groups);

/// The rows of the groups, in the order of these.
[[nodiscard]] std::vector<std::int32_t> expanded_ordering(const RowGroups& groups,
                                                          std::span<const std::int32_t> order_of_groups);

/// The pattern in which the rows of a group are connected with each other and with all that one of them is
/// connected to. In an ordering with adjacent groups, each group is then part of one supernode.
[[nodiscard]] PatternStorage merged_pattern(const Pattern& a, const RowGroups& groups);

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Partitions of a band matrix, and the tree in which the interfaces between them are eliminated.
///
/// A partition is the rows [s, e) of a matrix with `lower` diagonals below the main one and `upper` above. No
/// other row has elements in its interior columns s + upper, ..., e - 1 - lower. As A is nonsingular only if
/// these columns have full rank, elimination of them with row exchanges inside the partition finds a pivot in
/// every column. It leaves at most k = lower + upper rows, the partition's reduced block, which couple two
/// interfaces of k columns, one on each side. Elimination of the interface between two neighbouring reduced
/// blocks leaves a block of the same shape. The whole is Gaussian elimination with partial pivoting of A with
/// its columns permuted.
#pragma once

#include <echelon/annotate.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::banded {

/// Elimination of `steps` columns from `rows` rows: of a partition, or of two neighbouring reduced blocks and
/// the interface between them. Its columns are numbered from the first eliminated one; those after the
/// eliminated ones are the right interface. The rows pass through a window of `slots` rows and `ahead`
/// columns, the first of which is eliminated next. The row in slot `pivots[step]` is the pivot row of a step,
/// and its slot takes the next row. The columns of the left interface are kept next to the window.
struct BandNode {
  std::int64_t rows = 0;
  std::int64_t steps = 0;
  std::int64_t columns = 0;       ///< eliminated columns and right interface; the window has zeros after them
  std::int64_t first_row = 0;     ///< of A; for an interface: row of all reduced blocks, of the first child
  std::int64_t second_row = 0;    ///< of an interface: first row of the second child's block
  std::int64_t column = 0;        ///< column of A that is eliminated first
  std::int64_t right = 0;         ///< column of A that column number `steps` is
  std::int64_t left_column = 0;   ///< first column of A in the left interface
  std::int64_t first_step = 0;    ///< place of its steps among those of all nodes
  std::int64_t lower_offset = 0;  ///< of its multipliers: `slots` for each step
  std::int64_t upper_offset = 0;  ///< of its pivot rows: `width()` elements for each step
  std::int64_t block_row = 0;     ///< first row of its reduced block among the rows of all blocks
  std::int64_t first_child = -1;  ///< of an interface: numbers of its children among the nodes
  std::int64_t second_child = -1;
  std::int32_t block_rows = 0;
  std::int32_t first_rows = 0;  ///< of an interface: rows of the first child
  std::int32_t slots = 0;
  std::int32_t extra_slots = 0;  ///< of `slots`, for blocked kernels
  std::int32_t ahead = 0;
  std::int32_t left = 0;       ///< columns of the left interface; 0 where there is none
  std::int32_t direction = 1;  ///< -1: rows and columns of A are taken in descending order

  [[nodiscard]] ECHELON_ANYWHERE std::int32_t width() const { return ahead + left; }
};

/// Rule for the division of a matrix into partitions.
struct PartitionRule {
  std::int64_t partitions = 1;  ///< wanted; fewer where the matrix is too short
  double end_weight = 1;        ///< rows of the first and the last partition, relative to those of the others
  std::int32_t extra_slots = 0;  ///< window rows beyond those that a column can have: for blocked kernels
};

/// Nodes by level: the partitions, then the interfaces between two neighbours each, up to a single one. The
/// last of several partitions is eliminated from its end, and therefore needs no left interface.
struct BandPlan {
  std::int64_t n = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::vector<BandNode> nodes;
  std::vector<std::int64_t> level_begin;  ///< nodes of level l: [level_begin[l], level_begin[l + 1])
  std::int64_t partitions = 0;
  std::int64_t lower_size = 0;  ///< elements of all multipliers
  std::int64_t upper_size = 0;  ///< elements of all pivot rows
  std::int64_t block_rows = 0;  ///< rows of all reduced blocks
  std::int64_t most_slots = 0;

  /// Columns of an interface.
  [[nodiscard]] std::int64_t interface() const { return lower + upper; }
  [[nodiscard]] std::int64_t levels() const { return static_cast<std::int64_t>(level_begin.size()) - 1; }
};

/// Plan for an n-by-n matrix. A partition has at least 2 (lower + upper) + 1 rows unless it is the only one.
[[nodiscard]] BandPlan make_band_plan(std::int64_t n, std::int64_t lower, std::int64_t upper,
                                      const PartitionRule& rule);

/// Bytes of the factors and reduced blocks of such a plan for elements of `element_size` bytes.
[[nodiscard]] std::size_t factor_bytes(const BandPlan& plan, std::size_t element_size);

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
/// Elimination in a known order, without a search: the pattern of the factors, and where each product goes.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Rows in an order in which each comes after all on which it depends, and the ranges of rows that depend on
/// none of their own range.
struct RowLevels {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets;  ///< levels + 1
  [[nodiscard]] std::int64_t levels() const { return std::ssize(offsets) - 1; }
};

/// L and U of a permuted matrix with the pattern of A, by rows: L without its unit diagonal, then U. The
/// pattern is that of the worst case, in which no element becomes zero.
struct EliminationProgram {
  std::vector<std::int32_t> rows;     ///< row i of the factors is this row of A
  std::vector<std::int32_t> columns;  ///< and column j this column
  std::vector<std::int64_t> offsets;  ///< of the rows of the factors, n + 1
  std::vector<std::int64_t> diagonal;
  std::vector<std::int32_t> indices;  ///< column indices of the factors
  std::vector<std::int64_t> places;   ///< of A's elements in the factors
  /// For each row k, the first column right of its diagonal if U's row of that number has the other columns
  /// of row k, and -1 otherwise: rows of a supernode, whose multiples are subtracted together.
  std::vector<std::int32_t> followers;
  /// For each row i, each k of L's row i, and each element right of the diagonal in U's row k: the place of
  /// its column in row i, counted from the row's first element. `target_offsets` are by rows.
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> target_offsets;
  RowLevels forward, backward;

  [[nodiscard]] std::int64_t n() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(indices.size()); }
};

/// A pattern on the host: rows of column indices.
struct BatchPattern {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> indices;
};

/// The program for eliminating A's rows and columns in these orders; empty if it has more than `most_targets`
/// targets. Takes about as long as a factorisation without arithmetic.
[[nodiscard]] std::optional<EliminationProgram> plan_elimination(const BatchPattern& A,
                                                                 std::vector<std::int32_t> rows,
                                                                 std::vector<std::int32_t> columns,
                                                                 std::int64_t most_targets);

}  // namespace echelon::sparse_direct

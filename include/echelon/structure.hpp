// SPDX-License-Identifier: BSD-3-Clause
/// What a matrix looks like, for `echelon info` and for choosing a method.
#pragma once

#include <echelon/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace echelon {

/// What the diagonal and Gershgorin's circles say of a symmetric matrix. Hints: only `positive_definite`,
/// `positive_semidefinite` and `indefinite` are proofs.
enum class Definiteness {
  unknown,
  positive_definite,        ///< symmetric, positive diagonal, strictly diagonally dominant
  positive_semidefinite,    ///< symmetric, nonnegative diagonal, weakly diagonally dominant
  maybe_positive_definite,  ///< symmetric, positive diagonal, every 2-by-2 principal minor positive
  indefinite,               ///< symmetric, and a diagonal element or 2-by-2 minor shows it
};
[[nodiscard]] std::string_view to_string(Definiteness definiteness);

struct Structure {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;        ///< stored elements
  std::int64_t explicit_zeros = 0;  ///< stored elements that are zero
  bool symmetric_pattern = false;
  bool symmetric_values = false;  ///< a_ij == a_ji exactly
  /// max |a_ij - a_ji| / max |a_ij|; infinity when rectangular.
  double asymmetry = 0;
  std::int64_t lower_bandwidth = 0;  ///< max i - j over nonzeros
  std::int64_t upper_bandwidth = 0;  ///< max j - i
  std::int64_t longest_row = 0;
  std::int64_t shortest_row = 0;
  std::int64_t empty_rows = 0;
  std::int64_t empty_columns = 0;
  std::int64_t zero_diagonals = 0;  ///< missing or zero
  std::int64_t positive_diagonals = 0;
  /// Rows in which |a_ii| > / >= the sum of the other magnitudes.
  std::int64_t strictly_dominant_rows = 0;
  std::int64_t weakly_dominant_rows = 0;
  double largest_magnitude = 0;
  double smallest_magnitude = 0;  ///< of the nonzero values; 0 when there are none
  Definiteness definiteness = Definiteness::unknown;
  /// First NaN or Inf in row order, if any.
  std::optional<std::int64_t> nonfinite_row;
  std::optional<std::int64_t> nonfinite_column;
};

/// O(nonzeros) time; for symmetry, a transpose in 12 bytes a nonzero. A on a GPU is copied to the host.
template <class T>
[[nodiscard]] Structure analyze_structure(MatrixRef<T> A);

/// The largest number of nonzeros no two of which share a row or a column: an upper bound of the rank.
/// Explicit zeros do not count. Hopcroft-Karp (1973): O(nonzeros sqrt(rows)).
template <class T>
[[nodiscard]] std::int64_t structural_rank(MatrixRef<T> A);

}  // namespace echelon

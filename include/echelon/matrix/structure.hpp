// SPDX-License-Identifier: BSD-3-Clause
/// Structure and properties of a matrix, for `echelon info` and for choosing a method.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace echelon {

/// Definiteness of a symmetric or Hermitian matrix by its diagonal and Gershgorin's circles. These are hints:
/// only `positive_definite`, `positive_semidefinite` and `indefinite` are proofs.
enum class Definiteness {
  unknown,
  /// Symmetric, with a positive diagonal, every row diagonally dominant, and each strictly so or connected
  /// through nonzeros to a strictly dominant row.
  positive_definite,
  positive_semidefinite,    ///< symmetric, nonnegative diagonal, weakly diagonally dominant
  maybe_positive_definite,  ///< symmetric, positive diagonal, every 2-by-2 principal minor positive
  indefinite,               ///< symmetric, and a diagonal element or 2-by-2 minor shows it
};
/// The enumerator's name.
[[nodiscard]] ECHELON_API std::string_view to_string(Definiteness definiteness);

/// Properties of a matrix. Of a complex one, those about signs, dominance and minors are those of the
/// magnitudes of its elements, with the signs of real elements on its diagonal. All except `nonzeros` and
/// `explicit_zeros` describe the elements that differ from zero (NaN does), as if explicit zeros were not
/// stored.
struct ECHELON_API Structure {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;        ///< stored elements
  std::int64_t explicit_zeros = 0;  ///< stored elements that are zero
  bool symmetric_pattern = false;
  bool symmetric_values = false;  ///< a_ij == a_ji exactly
  bool hermitian_values = false;  ///< a_ij == conj(a_ji) exactly; for a real matrix the same
  /// max |a_ij - a_ji| / max |a_ij|; infinity when rectangular, NaN when an element is not finite.
  double asymmetry = 0;
  std::int64_t lower_bandwidth = 0;  ///< max i - j, at least 0
  std::int64_t upper_bandwidth = 0;  ///< max j - i, at least 0
  std::int64_t longest_row = 0;
  std::int64_t shortest_row = 0;
  std::int64_t empty_rows = 0;
  std::int64_t empty_columns = 0;
  std::int64_t zero_diagonals = 0;  ///< missing or zero
  std::int64_t positive_diagonals = 0;
  /// Rows in which |a_ii| > / >= the sum of the other magnitudes beyond doubt: the rounding of the sum is
  /// accounted for.
  std::int64_t strictly_dominant_rows = 0;
  std::int64_t weakly_dominant_rows = 0;
  double largest_magnitude = 0;   ///< NaN when an element is
  double smallest_magnitude = 0;  ///< of the nonzero values; 0 when there are none
  Definiteness definiteness = Definiteness::unknown;
  /// First NaN or Inf in row order, if any.
  std::optional<std::int64_t> nonfinite_row;
  std::optional<std::int64_t> nonfinite_column;
};

/// O(nonzeros log(longest row)) time, in parallel on `openmp`; 9 bytes a row and 1 a column. A on a GPU is
/// copied to the host.
template <class T>
[[nodiscard]] ECHELON_API Structure analyze_structure(MatrixRef<T> A);

/// The largest number of nonzeros no two of which share a row or a column: an upper bound of the rank.
/// Explicit zeros do not count. Hopcroft-Karp (1973): O(nonzeros sqrt(rows)) time, 40 bytes a row and 8 a
/// column. A on a GPU is copied to the host.
template <class T>
[[nodiscard]] ECHELON_API std::int64_t structural_rank(MatrixRef<T> A);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Structure of sparse matrices as far as the choice of methods depends on it.
#pragma once

#include "linalg/dominance.hpp"
#include "matrix/stencil/grid.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/structure.hpp>

#include <cmath>
#include <cstdint>
#include <optional>

namespace echelon {

/// Counts of the rows of a square sparse A, and facts about all of them. Magnitudes are summed as if in twice
/// the precision; explicit zeros count in the length of a row.
struct SparseRowSummary {
  std::int64_t longest = 0;
  std::int64_t zero_diagonals = 0;
  std::int64_t positive_diagonals = 0;
  std::int64_t strictly_dominant = 0;  ///< by more than the rounding of a diagonal element that is a sum
  std::int64_t weakly_dominant = 0;
  std::int64_t strongly_dominant = 0;  ///< by a twentieth of a positive diagonal element or more
  std::int64_t lower_bandwidth = 0;
  std::int64_t upper_bandwidth = 0;
  double smallest_diagonal = INFINITY;
  double largest_diagonal = -INFINITY;
  bool has_positive = false;  ///< off the diagonal
  bool has_excess = false;    ///< a significant one, see DominanceFacts
  bool is_deficient = false;  ///< a row with a significant negative excess, or with a NaN

  /// Class of an A that is symmetric.
  [[nodiscard]] DominanceKind kind() const;
};

/// Reads A, on the host, once. O(nonzeros), in parallel.
template <class T>
[[nodiscard]] SparseRowSummary summarize_rows(const Csr<T>& A);

/// Whether a square A on the host equals its transpose, as is_probably_symmetric; O(1) for most others.
template <class T>
[[nodiscard]] bool is_symmetric(const Csr<T>& A);

/// Structure of A by the summary of its rows: sizes, diagonal, dominance, symmetry, and `asymmetry`, which is
/// infinity where A is clearly unsymmetric. `known_symmetric`: is_symmetric(A) has been found true.
/// Definiteness of a symmetric A is `positive_definite` where all rows are strictly dominant, and
/// `indefinite` where the diagonal is positive and a 2-by-2 minor shows it; otherwise it is unknown. The
/// other properties stay unset. O(nonzeros), and O(nonzeros log(longest row)) for an A that is nearly
/// symmetric.
template <class T>
[[nodiscard]] Structure structure_of_sparse(const Csr<T>& A, const SparseRowSummary& rows,
                                            bool known_symmetric);

/// Sizes of A, as far as a choice by the pattern of its rows alone needs them.
template <class T>
[[nodiscard]] Structure sizes_of(const Csr<T>& A, const SparseRowSummary& rows);

/// Whether sampled rows are dominant up to the rounding of their elements.
template <class T>
[[nodiscard]] bool sample_is_dominant(const Csr<T>& A);

/// A box whose points the rows of a matrix couple with their neighbours only.
struct BoxStencil {
  Grid grid;              ///< in two or three dimensions, with its periodic axes
  bool constant = false;  ///< whether all rows of a region of the grid have the same coefficients
};

/// The box that the first row of a square A on the host shows, if every row is a stencil there. Reads A once
/// if the rows that stand for the regions are, and those rows otherwise.
template <class T>
[[nodiscard]] std::optional<BoxStencil> find_box_stencil(const Csr<T>& A);

/// Facts about an A with constant coefficients on a grid, of which some rows of each region tell all. O(1).
template <class T>
[[nodiscard]] SparseRowSummary summarize_constant_rows(const Csr<T>& A, const Grid& grid);
template <class T>
[[nodiscard]] bool is_symmetric_constant(const Csr<T>& A, const Grid& grid);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// S P = Q R for a sparse S of any shape and rank, by fronts.
#pragma once

#include "linalg/determinant_product.hpp"
#include "sparse_direct/qr/analysis.hpp"
#include "sparse_direct/qr/kernels.hpp"
#include "support/setup_control.hpp"
#include "support/uninitialized_vector.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// S by rows: its pattern and its values in the order of that.
template <class T>
struct QrMatrix {
  RectangularPattern pattern;
  std::span<const T> values;
};

/// Scratch memory of solves with the factors, which grows in the first one.
template <class T>
struct QrSpace {
  std::vector<T> rows, conjugates;  // of a front, of a reflection
  std::vector<T> x, y;              // in the order of the columns of R, in that of the rows of S
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(T) * (rows.size() + conjugates.size() + x.size() + y.size());
  }
};

/// The factors. R has a row for each of its columns that do not depend on those before them, up to the
/// tolerance; these columns are its pivots, and the others *dependent*. A vector of Q^H b has the elements of
/// the rows of R at rows of S, as the fronts have ordered them.
///
/// T. Davis, Algorithm 915, SuiteSparseQR, ACM Trans. Math. Softw. 38 (2011); M. Heath, Some extensions of an
/// algorithm for sparse linear least squares problems, SIAM J. Sci. Stat. Comput. 3 (1982).
template <class T>
class QrFactors {
 public:
  /// Factors S, of which `analysis` is; it has to outlive the factors. A column is dependent if what is left
  /// of it has a norm of at most `tolerance`. False if a stop was requested.
  [[nodiscard]] bool factor(const QrAnalysis& analysis, const QrMatrix<T>& S, double tolerance,
                            const SetupControl& control);

  /// y = Q^H y, or Q y, for y of m elements.
  void multiply_by_q(bool adjoint, T* y, QrSpace<T>& space) const;
  /// Solves R x = y for the pivots of x, with the dependent elements of x given. x is in the order of the
  /// columns of R; elements of y in rows of R are changed.
  void solve(T* y, T* x, QrSpace<T>& space) const;
  /// Solves R^H y = g for the elements of y in rows of R, from the pivots of g; changes g, and leaves the
  /// other elements of y.
  void solve_adjoint(T* g, T* y, QrSpace<T>& space) const;

  /// Makes the elements of y in rows of R zero.
  void clear_pivots(T* y) const;

  [[nodiscard]] std::int64_t rank() const { return rank_; }
  /// Columns of R without a row, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& dependent() const { return dependent_; }
  [[nodiscard]] double smallest_pivot() const { return smallest_pivot_; }    ///< 0: there is none
  [[nodiscard]] double largest_dropped() const { return largest_dropped_; }  ///< norm of a dependent column
  /// Multiplies by the determinant of a square S of full rank, without that of the scales.
  void multiply_determinant(DeterminantProduct& product) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// A factored front: offsets into the arrays of all.
  struct Front {
    std::int64_t rows_begin, factor_begin, vectors_begin, reflections_begin;
    std::int32_t rows, rank, reflections;
  };
  class Elimination;

  void factor_singletons(const QrMatrix<T>& S, std::span<const std::int32_t> position);
  /// Counts a column of R after the singletons as a pivot, in this row of its front.
  void note_pivot(std::int64_t pivot, std::int32_t row, double size);
  void solve_front(std::int64_t s, T* y, T* x, std::vector<T>& rows) const;
  void solve_front_adjoint(std::int64_t s, T* g, T* y, std::vector<T>& rows) const;

  const QrAnalysis* analysis_ = nullptr;
  std::vector<std::int64_t> singletons_begin_;   // offsets into the elements of their rows
  std::vector<std::int32_t> singleton_columns_;  // of R; the singleton's own is the first
  std::vector<T> singleton_values_;
  std::vector<Front> fronts_;
  std::vector<std::int32_t> front_rows_;  // rows of S by the rows of the fronts
  UninitializedVector<T> factor_;         // R of each front, column-major, rank by columns
  UninitializedVector<T> vectors_;        // of reflections, one after the other
  std::vector<Reflection<T>> reflections_;
  std::vector<std::int32_t> pivot_rows_;  // in the front, of each column after the singletons; -1: dependent
  std::vector<std::int32_t> dependent_;
  std::int64_t rank_ = 0;
  double smallest_pivot_ = 0;
  double largest_dropped_ = 0;
};

}  // namespace echelon::sparse_direct

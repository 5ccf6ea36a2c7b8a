// SPDX-License-Identifier: BSD-3-Clause
/// Reduced row echelon form, rank, null space, inverse, and systems of any shape.
#pragma once

#include <echelon/export.h>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/dense/gauss_jordan.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace echelon {

/// Rank that an elimination determined, and how reliable it is.
///
/// The elimination writes each column a_j as a combination C x of the accepted columns C before it, plus a
/// remainder s in the rows without a pivot. The pivot is the largest element of s. Its scaled magnitude
/// ||s||_inf / max(1, ||x||_inf) is about the smallest change of A that makes the column dependent on the
/// others; it decides whether the column is accepted. Pivots below are scaled magnitudes. Where rows or
/// columns of A differ by more than 1000 times in size they are equilibrated first, by powers of two, and
/// sizes below are those of the equilibrated matrix.
///
/// Where rounding errors leave the rank open, or it is not full, the exact rank of A, with its elements as
/// they are stored, is computed if that takes at most some tenths of a second (see rank_modulo.hpp), or read
/// off a triangular A. It replaces a doubtful rank. A rank that is not doubtful, with pivots clearly apart,
/// stands even where the exact rank is larger: rounding errors of A's elements make almost every matrix of
/// deficient rank one of full rank.
struct ECHELON_API RankFacts {
  /// Number of accepted pivots.
  std::int64_t rank = 0;
  /// Largest scaled magnitude that is rejected: the relative tolerance times ||A||_inf.
  double tolerance = 0;
  /// Empty for rank 0.
  std::optional<double> smallest_accepted_pivot;
  /// Empty if no column was rejected.
  std::optional<double> largest_rejected_pivot;
  /// Estimate of 1 / ||C^-1||_inf for the square matrix C of the accepted rows and columns, which is about
  /// the smallest change of A that lowers its rank. Empty for rank 0.
  std::optional<double> distance_to_lower_rank;
  /// Whether another reasonable tolerance gives another rank: the smallest accepted pivot is less than 1000
  /// times the largest rejected one or the tolerance (10 times the tolerance in float), the largest rejected
  /// one is above the level of rounding errors and not 1000 times below the tolerance, or C is singular to
  /// within the tolerance. A proven rank is not doubtful.
  bool doubtful = false;
  /// Whether the rank is that of A in exact arithmetic: full rank is proven, a lower one is found modulo two
  /// primes.
  bool proven = false;

  /// The smallest accepted pivot over the largest rejected one; infinite if there is none of either kind, or
  /// if the rejected ones are zero.
  [[nodiscard]] double gap() const;
};

/// T P A = R, where P exchanges rows and T is nonsingular.
template <class T>
struct ECHELON_API EchelonForm {
  Dense<T> R;  ///< m by n; its rows from `rank` on are zero
  RankFacts facts;
  std::vector<std::int64_t> pivot_columns;    ///< ascending; one for each row before `rank`
  std::vector<std::int64_t> row_permutation;  ///< row i of P A is row row_permutation[i] of A
  std::optional<Determinant> determinant;     ///< of a square A
  Report report;  ///< status `direct`, or `not_a_number`; a doubtful rank is a warning
};

/// Basis of the null space of A: an n by n - rank matrix. Column k is 1 in the k-th column of A without a
/// pivot and 0 in the others without one. In the memory of R; n (n - rank) elements.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> null_space(const EchelonForm<T>& form);

/// All solutions of A X = B: X plus any combination of null_space's columns. With a NaN or Inf in A only the
/// report is set, with one in B everything except X.
template <class T>
struct ECHELON_API GeneralSolution {
  Dense<T> X;           ///< n by k: zero in the rows whose column of A has no pivot
  Dense<T> null_space;  ///< n by n - rank
  RankFacts facts;
  std::vector<std::int64_t> pivot_columns;
  /// Status `direct`: the solution is unique. `underdetermined`: there are others. `inconsistent`: there is
  /// none, and `row` is a row of A that contradicts the others. `columns` has an entry for each right-hand
  /// side.
  Report report;
};

/// Gauss-Jordan elimination with partial pivoting, blocked: nearly all of its work is multiplication of large
/// matrices, from the first panel to the last.
///
/// A column is rejected (dependent on the columns before it) when its pivot, scaled as RankFacts describes,
/// is at most tolerance * ||A||_inf; the tolerance is 4 sqrt(max(m, n)) eps unless the option says otherwise.
/// The same bits come out on every run and for any number of OpenMP threads.
///
/// Streams and library handles on a GPU are kept between operations. A RowReduction may be shared by threads;
/// copies share its streams and handles.
///
/// With a lower `factor_precision`, `solve` (square A) and `invert` try an elimination in that precision
/// first, and accept it if the answer is as accurate as requested; if not, they repeat it in T, and
/// `factor_precision` of the report gives the reason. This takes n^2 additional floats.
template <class T>
class ECHELON_API RowReduction {
 public:
  /// Throws BadOption for an option out of range, NotBuilt, NoDevice.
  explicit RowReduction(const Device& device = {}, const GaussJordanOptions& options = {});

  /// The reduced row echelon form of an m by n matrix of rank r: 2 m r (n - r / 2) flops, in the memory of A
  /// plus O(block (m + n)), and that of a copy of A if the exact rank may decide. Waits for the result.
  /// Throws DeviceMismatch, OutOfMemory.
  [[nodiscard]] EchelonForm<T> reduce(Dense<T> A) const;
  /// Reduces a dense copy of a sparse matrix or a view.
  [[nodiscard]] EchelonForm<T> reduce(MatrixRef<T> A) const;

  /// All solutions of A X = B for any m by n matrix A and m by k B. The elimination takes the flops of
  /// `reduce`, each right-hand side 2 m r more, twice that with a step of refinement.
  /// Whether a system is consistent is decided row by row on the residual of X, computed from A: with
  /// |b - A x|_i > 10 tolerance (||a_i||_1 ||x||_inf + |b_i|) in a row i, it is not; the tolerance is the
  /// option's, or the default where that is larger.
  /// In lower precision X is refined, 4 n^2 flops a step, until its backward error meets `accuracy`, or
  /// without that for as long as steps halve the residual; the report's iterations count the steps. Throws
  /// DimensionMismatch, DeviceMismatch, OutOfMemory.
  [[nodiscard]] GeneralSolution<T> solve(MatrixRef<T> A, DenseView<const T> B) const;

  /// Replaces a square A by its inverse: 2 n^3 flops, O(block n) memory.
  /// `direct`, or `singular`: with `column`, the first column that has no pivot, A is left half eliminated;
  /// without it A is singular to working precision, and holds what was computed. `breakdown`: the backward
  /// error is above 1e-10 (1e-4 in float), or growth of elements left nothing but rounding errors.
  /// `not_a_number`: A has a NaN or Inf, or something overflowed; A need not be what it was. The figures in
  /// the report are measured with two random vectors, and are those of the worse side: relative_residual is
  /// ||A^-1 (A v) - v||_2 / ||v||_2, or the same from the right; backward_error divides by ||A||_inf
  /// ||A^-1||_inf instead, in the infinity norm. reciprocal_condition is 1 / (||A||_inf ||A^-1||_inf),
  /// computed. Where rows or columns of A differ by more than 1000 times in size, the other figures are those
  /// of the equilibrated matrix and its inverse, and its condition number decides whether A is singular. An
  /// inverse is not refined: one in lower precision is tried only for a given `accuracy`, which its backward
  /// error, measured in T, has to meet. Throws DimensionMismatch, DeviceMismatch, OutOfMemory.
  Report invert(DenseView<T> A) const;

  [[nodiscard]] const Device& device() const { return device_; }

 private:
  class Workspaces;

  Device device_;
  GaussJordanOptions options_;
  std::shared_ptr<Workspaces> workspaces_;
};

extern template class RowReduction<float>;
extern template class RowReduction<double>;

}  // namespace echelon

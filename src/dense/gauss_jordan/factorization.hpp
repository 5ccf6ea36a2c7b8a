// SPDX-License-Identifier: BSD-3-Clause
/// A matrix eliminated by Gauss-Jordan elimination with partial pivoting, kept for solving.
#pragma once

#include "backend/store.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/null_space.hpp"
#include "dense/gauss_jordan/panel_width.hpp"
#include "dense/gauss_jordan/rank.hpp"
#include "dense/gauss_jordan/scaling.hpp"
#include "dense/panels/blocked_elimination.hpp"
#include "exact/decide_rank.hpp"
#include "linalg/condition.hpp"
#include "solver/implementation.hpp"
#include "support/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace factorization_detail {

/// Computes Y(i, j) = B(i, j) scale[i].
template <class T>
struct ScaleRows {
  DenseView<const T> B;
  const T* scale;  // null: 1
  DenseView<T> Y;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % B.rows();
    const std::int64_t j = e / B.rows();
    const T element = B.data()[j * B.leading() + i];
    Y.data()[j * Y.leading() + i] = scale == nullptr ? element : scale[i] * element;
  }
};

/// Computes X(column of pivot k, j) += factor Y(k, j), with the scaling of the columns undone.
template <class T>
struct AddAtPivots {
  DenseView<const T> Y;
  std::int64_t rank;
  const std::int64_t* columns;
  const T* scale;  // null: 1
  T factor;
  DenseView<T> X;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / rank;
    const std::int64_t column = columns[e % rank];
    const T element = factor * Y.data()[j * Y.leading() + e % rank];
    X.data()[j * X.leading() + column] += scale == nullptr ? element : scale[column] * element;
  }
};

/// x[places[i]] = v[i].
template <class T>
struct Scatter {
  const std::int64_t* places;
  const T* v;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[places[i]] = v[i]; }
};

}  // namespace factorization_detail

/// Whether rows and columns are scaled before the elimination.
enum class Equilibration { never, if_uneven, always };

/// The scaled matrix S = R A C (or 2^e A), eliminated in place, with the pivots, the facts about the rank,
/// and a condition estimate.
template <class B, class T>
class GaussJordanFactorization {
 public:
  /// Constructor; `workspace` must outlive the factorisation.
  GaussJordanFactorization(EliminationWorkspace<B>& workspace, const GaussJordanOptions& options)
      : workspace_(workspace), backend_(workspace.backend), device_(backend_.device()), options_(options) {}
  GaussJordanFactorization(const GaussJordanFactorization&) = delete;
  GaussJordanFactorization& operator=(const GaussJordanFactorization&) = delete;

  /// Scales and eliminates A. Pivots are rejected by `pivot_tolerance`, relative to the norm of the scaled
  /// matrix; the rank facts always refer to the tolerance of the options. `left_product`: columns() elements
  /// for v^T S, see dependence.hpp; null: not computed. Not ok when A is not finite, or the elimination
  /// overflowed or was cancelled; a rank that is not full is no failure.
  Outcome factor(Dense<T> A, Equilibration equilibration, std::optional<double> pivot_tolerance = {},
                 T* left_product = nullptr) {
    elimination_.reset();
    scales_ = {};
    nonfinite_column_.reset();
    row_sums_ = Array<double>(device_, A.rows());
    matrix_ = std::move(A);
    elimination_ = std::make_unique<BlockedElimination<B, T>>(
        workspace_, matrix_.view(), panel_width<T>(backend_, options_, rows(), columns()));
    const Scans scans =
        scan_and_eliminate(equilibration, pivot_tolerance.value_or(relative_tolerance()), left_product);
    given_norm_ = scans.given.norm_inf;
    if (scans.given.row >= 0) return not_finite(scans.given);
    if (elimination_->cancelled()) return {Status::cancelled, "stopped by the caller during the elimination"};
    const std::int64_t overflow = elimination_->state().overflow_column;
    if (overflow >= 0) return overflowed(overflow);
    norm_ = scans.scaled.norm_inf;
    largest_ = scans.scaled.largest;
    read_pivots();
    distance_ = rank() > 0 ? find_distance(scans.eliminated.norm_inf) : 0;
    const double rounding = default_tolerance<T>(rows(), columns()) / 4 * norm_;
    facts_ =
        rank_facts<T>(elimination_->state(), relative_tolerance() * norm_, rounding, distance_, exponent_);
    return {};
  }

  /// Eliminates A with the tolerance 0, and again without the smallest pivots, until the rank is that which
  /// exact arithmetic has found; false if no tolerance gives this rank. A is copied.
  bool factor_with_rank(const MatrixRef<T>& A, Equilibration equilibration, std::int64_t exact,
                        T* left_product = nullptr) {
    constexpr int most_eliminations = 20;
    double tolerance = 0;
    for (int k = 0; k < most_eliminations; ++k) {
      if (!factor(to_dense(A), equilibration, tolerance, left_product).ok() || rank() < exact) return false;
      if (rank() == exact) {
        confirm_rank();
        return true;
      }
      tolerance = elimination_->state().smallest_accepted / norm_ * (1 + 4 * machine_epsilon<T>);
    }
    return false;
  }
  /// The rank for `decide_rank`.
  [[nodiscard]] NumericalRank found_rank() const {
    return {rank(), is_open<T>(facts_, std::min(rows(), columns()))};
  }
  /// Marks the rank as proven.
  void confirm_rank() {
    facts_.proven = true;
    facts_.doubtful = false;
  }

  [[nodiscard]] std::int64_t rows() const { return matrix_.rows(); }
  [[nodiscard]] std::int64_t columns() const { return matrix_.columns(); }
  [[nodiscard]] std::int64_t rank() const { return elimination_->state().rank; }
  [[nodiscard]] const RankFacts& facts() const { return facts_; }
  [[nodiscard]] double norm_inf() const { return given_norm_; }   ///< of A as it was given
  [[nodiscard]] double scaled_norm_inf() const { return norm_; }  ///< of S
  /// Sums of magnitudes of the rows of A as it was given, in the backend's memory.
  [[nodiscard]] const double* row_sums() const { return row_sums_.data(); }
  /// First column with a NaN or Inf, or the column where the elimination overflowed.
  [[nodiscard]] std::optional<std::int64_t> nonfinite_column() const { return nonfinite_column_; }
  [[nodiscard]] double relative_tolerance() const {
    return options_.tolerance.value_or(default_tolerance<T>(rows(), columns()));
  }
  /// Estimate of 1 / (||S||_inf ||C^-1||_inf) for the matrix C of pivot rows and columns of S.
  [[nodiscard]] double reciprocal_condition() const {
    if (rank() == 0) return rows() == 0 || columns() == 0 ? 1 : 0;
    return norm_ > 0 ? std::min(1.0, distance_ / norm_) : 0;
  }
  /// Largest pivot over the largest element of S: growth of elements shows in the pivots, which are the
  /// largest elements of their columns.
  [[nodiscard]] double pivot_growth() const {
    double largest = 0;
    for (const T pivot : elimination_->record().values) largest = std::max(largest, magnitude(pivot));
    return largest_ > 0 ? largest / largest_ : 1;
  }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const {
    return elimination_->record().columns;
  }
  /// The first column without a pivot; columns() if there is none.
  [[nodiscard]] std::int64_t first_without_pivot() const {
    return echelon::first_without_pivot(pivot_columns(), columns());
  }
  /// Row i of the permuted matrix is row row_permutation()[i] of A.
  [[nodiscard]] const std::vector<std::int64_t>& row_permutation() const { return row_permutation_; }
  [[nodiscard]] Determinant determinant() const {
    Determinant determinant = determinant_of(elimination_->record().values, exchanges_, rows(), exponent_);
    if (determinant.sign == 0 || scales_.empty()) return determinant;
    for (const Array<T>* scale : {&scales_.rows, &scales_.columns}) {
      for (const T factor : scale->to_vector()) determinant.exponent -= std::ilogb(real(factor));
    }
    return determinant;
  }
  /// The factors by which rows and columns were multiplied, in the backend's memory; null: not equilibrated.
  [[nodiscard]] const T* row_scale() const { return pointer(scales_.rows); }
  [[nodiscard]] const T* column_scale() const { return pointer(scales_.columns); }
  /// The eliminated matrix: the transformation in the columns with a pivot, the reduced form in the others.
  [[nodiscard]] Dense<T>& matrix() { return matrix_; }
  [[nodiscard]] const BlockedElimination<B, T>& elimination() const { return *elimination_; }
  [[nodiscard]] std::size_t bytes() const {
    return matrix_.bytes() + (elimination_ ? elimination_->bytes() : 0) + scales_.bytes() + row_sums_.bytes();
  }

  [[nodiscard]] Dense<T> null_space() {
    return null_basis<B, T>(backend_, matrix_.view(), pivot_columns(), column_scale());
  }

  /// Computes X = X + a particular solution for the right-hand sides, with zeros in the unknowns without a
  /// pivot. `transformed`: workspace of rows() by rhs.columns() elements. 2 m r flops a column; queued on
  /// `backend`.
  void add_solution(B& backend, DenseView<const T> rhs, DenseView<T> transformed,
                    PanelWorkspace<T>& panel_workspace, DenseView<T> X) const {
    using namespace factorization_detail;
    backend.for_each(rows() * rhs.columns(), ScaleRows<T>{rhs, row_scale(), transformed});
    elimination_->transform(backend, transformed, panel_workspace);
    const T factor = static_cast<Real<T>>(std::ldexp(1.0, exponent_));
    backend.for_each(rank() * rhs.columns(),
                     AddAtPivots<T>{transformed, rank(), elimination_->columns(), column_scale(), factor, X});
  }

 private:
  struct Scans {
    MatrixScan given, scaled, eliminated;
  };

  static const T* pointer(const Array<T>& array) { return array.size() > 0 ? array.data() : nullptr; }

  Outcome not_finite(const MatrixScan& scan) {
    nonfinite_column_ = scan.column;
    return {Status::not_a_number,
            "A has a NaN or Inf at row " + std::to_string(scan.row) + ", column " +
                std::to_string(scan.column) + ", counted from 0",
            scan.row};
  }
  Outcome overflowed(std::int64_t column) {
    nonfinite_column_ = column;
    return {Status::not_a_number,
            "the elimination overflowed at column " + std::to_string(column) + " (from 0)"};
  }

  /// Scans, scales, scans again and eliminates. Without scaling everything is queued before the host waits.
  Scans scan_and_eliminate(Equilibration equilibration, double pivot_tolerance, T* left_product) {
    auto* const scans = workspace_.pinned.template at<Scans>();
    Array<double> other_sums(device_, rows());
    const auto eliminate_scanned = [&](const MatrixScan* scanned) {
      if (left_product != nullptr) multiply_by_test_vector(left_product);
      elimination_->reduce(scanned, pivot_tolerance, other_sums.data(), &scans->eliminated);
    };
    scan<T>(backend_, matrix_.view(), row_sums_.data(), &scans->given);
    exponent_ = 0;
    if (equilibration == Equilibration::always) {
      scales_ = equilibrate<B, T>(backend_, matrix_.view(), row_sums_.data());
    } else if (equilibration == Equilibration::if_uneven) {
      scales_ = equilibrate_if_uneven<B, T>(backend_, matrix_.view(), row_sums_.data());
    }
    if (scales_.empty()) {
      eliminate_scanned(&scans->given);
      const Scans found = workspace_.pinned.value(scans);
      if (found.given.row < 0) {
        exponent_ = bring_into_range<B, T>(backend_, matrix_.view(), found.given.largest);
      }
      if (exponent_ == 0) return {found.given, found.given, found.eliminated};
    }
    scan<T>(backend_, matrix_.view(), other_sums.data(), &scans->scaled);
    eliminate_scanned(&scans->scaled);
    return workspace_.pinned.value(scans);
  }

  /// Computes v^T S for the test vector v.
  void multiply_by_test_vector(T* product) {
    Array<T> v(device_, rows());
    backend_.for_each(rows(), SetTestVector<T>{v.data()});
    multiply_transposed<T>(backend_, T{1}, DenseView<const T>(matrix_.view()), v.data(), T{0}, product);
  }

  void read_pivots() {
    const EliminationRecord<T>& record = elimination_->record();
    row_permutation_ = record.origins(rows());
    exchanges_ = 0;
    for (std::size_t k = 0; k < record.rows.size(); ++k) {
      exchanges_ += record.rows[k] != static_cast<std::int64_t>(k) ? 1 : 0;
    }
  }

  /// Returns 1 / ||C^-1||_inf; estimated unless the product of the panels was multiplied out.
  /// `norm_eliminated`: norm of the eliminated matrix, which is C^-1 if the product was multiplied out and A
  /// has full rank.
  double find_distance(double norm_eliminated) {
    PanelWorkspace<T> panel_workspace = elimination_->make_panel_workspace(1);
    double inverse = norm_eliminated;
    if (!elimination_->multiplied_out()) {
      inverse = estimate_inverse(panel_workspace);
    } else if (rank() < rows() || rank() < columns()) {
      inverse = elimination_->inverse_norm(panel_workspace);
    }
    return std::isfinite(inverse) && inverse > 0 ? 1 / inverse : 0;
  }

  /// An estimate of ||C^-1||_inf: the 1-norm estimator on the transpose. C^-1 is the leading part of T.
  double estimate_inverse(PanelWorkspace<T>& panel_workspace) {
    using namespace factorization_detail;
    const std::int64_t r = rank();
    const Array<std::int64_t> places(device_, std::span<const std::int64_t>(row_permutation_));
    Array<T> x(device_, rows());
    const auto solve = [&](bool transposed, T* v) {
      backend_.fill(rows(), T{0}, x.data());
      if (transposed) {
        backend_.for_each(r, Scatter<T>{places.data(), v, x.data()});
        elimination_->transform(backend_, {x.data(), rows(), 1, rows(), device_}, panel_workspace);
        backend_.copy(r, x.data(), v);
      } else {
        backend_.copy(r, v, x.data());
        elimination_->transform_transposed(backend_, x.data(), panel_workspace);
        backend_.for_each(r, GatherElement{places.data(), std::as_const(x).data(), v});
      }
    };
    return estimate_inverse_norm_one<T>(backend_, r, solve);
  }

  EliminationWorkspace<B>& workspace_;
  B& backend_;
  Device device_;
  GaussJordanOptions options_;
  Dense<T> matrix_;
  Array<double> row_sums_;
  Scales<T> scales_;
  int exponent_ = 0;  // A was multiplied by 2^exponent_
  double given_norm_ = 0;
  double norm_ = 0;      // of the scaled matrix
  double largest_ = 0;   // magnitude in the scaled matrix
  double distance_ = 0;  // of the scaled matrix to lower rank
  std::unique_ptr<BlockedElimination<B, T>> elimination_;
  RankFacts facts_;
  std::vector<std::int64_t> row_permutation_;
  std::int64_t exchanges_ = 0;
  std::optional<std::int64_t> nonfinite_column_;
};

}  // namespace echelon

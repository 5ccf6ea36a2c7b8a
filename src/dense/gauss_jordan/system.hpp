// SPDX-License-Identifier: BSD-3-Clause
/// A matrix that Gauss-Jordan elimination has gone through, what it says about the rank, and solving with it.
#pragma once

#include "backend/store.hpp"
#include "dense/gauss_jordan/contraction.hpp"
#include "dense/panels/blocked_elimination.hpp"
#include "linalg/condition.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"

#include <echelon/error.hpp>
#include <echelon/gauss_jordan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace gauss_jordan_detail {

/// The power of two that brings `magnitude` to about 1; within what T's reciprocals can hold.
template <class T>
ECHELON_ANYWHERE T balancing_scale(double magnitude) {
  if (!(magnitude > 0)) return T{1};
  constexpr int most = std::numeric_limits<T>::max_exponent - 8;
  const int exponent = -std::ilogb(magnitude);
  return static_cast<T>(std::ldexp(1.0, exponent < -most ? -most : (exponent > most ? most : exponent)));
}

template <class T>
struct BalanceRow {
  const double* row_sums;
  T* row_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { row_scale[i] = balancing_scale<T>(row_sums[i]); }
};

/// The magnitude of element e, column after column, with its row scaled.
template <class T>
struct RowScaledMagnitude {
  DenseView<const T> A;
  const T* row_scale;
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    return {std::fabs(static_cast<double>(A.data()[e / A.rows() * A.leading() + i] * row_scale[i]))};
  }
};

template <class T>
struct BalanceColumn {
  const Largest* largest;
  T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    column_scale[j] = balancing_scale<T>(largest[j].value);
  }
};

template <class T>
struct ScaleRowsAndColumns {
  DenseView<T> A;
  const T* row_scale;
  const T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    T& element = A.data()[j * A.leading() + i];
    element = element * row_scale[i] * column_scale[j];
  }
};

/// 0, step, 2 step, ...
struct Multiples {
  std::int64_t step;
  std::int64_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = i * step; }
};

template <class T>
struct ScaleElements {
  DenseView<T> A;
  T scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    A.data()[e / A.rows() * A.leading() + e % A.rows()] *= scale;
  }
};

/// Y(i, j) = B(i, j) * scale[i].
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

/// X(column of pivot k, j) += Y(k, j), unscaled.
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

/// x[i] = v[i], at the places of a permutation or from them.
template <class T>
struct ToPlaces {
  const std::int64_t* places;
  const T* v;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[places[i]] = v[i]; }
};
template <class T>
struct FromPlaces {
  const std::int64_t* places;
  const T* x;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { v[i] = x[places[i]]; }
};

template <class T>
struct MagnitudeOf {
  const T* x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {std::fabs(static_cast<double>(x[i]))}; }
};

/// The row that is furthest from being satisfied, in its own measure.
struct WorstRow {
  double error = -1;
  FirstIndex row = {};
  friend ECHELON_ANYWHERE WorstRow combine(WorstRow a, WorstRow b) {
    return a.error > b.error || (a.error == b.error && a.row.value < b.row.value) ? a : b;
  }
};

template <class T>
struct RowError {
  const T* r;
  const T* b;
  const double* row_sums;
  double x_norm;
  ECHELON_ANYWHERE WorstRow operator()(std::int64_t i) const {
    const double size = row_sums[i] * x_norm + std::fabs(static_cast<double>(b[i]));
    const double residual = std::fabs(static_cast<double>(r[i]));
    return {size > 0 ? residual / size : 0, {i}};
  }
};

/// Element (i, k) of the null space's basis.
template <class T>
struct NullSpaceElement {
  DenseView<const T> R;
  const std::int64_t* pivots;  // the pivot's number for each column of R; negative: none
  const std::int64_t* free;
  const T* scale;  // of the columns of R; null: 1
  T* basis;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % R.columns();
    const std::int64_t column = free[e / R.columns()];
    const std::int64_t pivot = pivots[i];
    if (pivot < 0) {
      basis[e] = i == column ? T{1} : T{0};
    } else {
      const T element = T{0} - R.data()[column * R.leading() + pivot];
      basis[e] = scale == nullptr ? element : element * (scale[i] / scale[column]);
    }
  }
};

}  // namespace gauss_jordan_detail

/// Rounding leaves about 0.1 sqrt(n) eps ||A||_inf of a dependent column in the measure of EliminationState.
template <class T>
double default_tolerance(std::int64_t rows, std::int64_t columns) {
  return 4 * std::sqrt(static_cast<double>(std::max(rows, columns))) *
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Wide panels make the multiplications more efficient, and cost more themselves.
template <class T, class B>
std::int64_t panel_columns(const B& backend, const GaussJordanOptions& options, std::int64_t rows,
                           std::int64_t columns) {
  if constexpr (std::is_same_v<B, Cuda>) {
    if (options.block > 0) return std::min(options.block, widest_panel);
    return fastest_panel<T>(backend, rows, columns);
  } else {
    if (options.block > 0) return options.block;
    return std::clamp(std::min(rows, columns) / 8 / 32 * 32, std::int64_t{32}, std::int64_t{128});
  }
}

/// Where magnitudes are far from 1, A is multiplied by 2 to the power that is returned.
template <class B, class T>
int bring_into_range(B& backend, DenseView<T> A, double magnitude) {
  if (!far_from_one<T>(magnitude)) return 0;
  const T scale = gauss_jordan_detail::balancing_scale<T>(magnitude);
  backend.for_each(A.rows() * A.columns(), gauss_jordan_detail::ScaleElements<T>{A, scale});
  return std::ilogb(scale);
}

/// A basis of the null space, n by n - rank, from the columns of R that have no pivot. `scale`: what the
/// columns were multiplied by before, or null.
template <class B, class T>
Dense<T> null_basis(B& backend, DenseView<const T> R, const std::vector<std::int64_t>& pivot_columns,
                    const T* scale) {
  const auto rank = static_cast<std::int64_t>(pivot_columns.size());
  if (rank == R.columns()) return Dense<T>(R.device(), R.columns(), 0);
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(R.columns()), -1);
  for (std::size_t k = 0; k < pivot_columns.size(); ++k) {
    pivots[static_cast<std::size_t>(pivot_columns[k])] = static_cast<std::int64_t>(k);
  }
  std::vector<std::int64_t> free;
  for (std::size_t j = 0; j < pivots.size(); ++j) {
    if (pivots[j] < 0) free.push_back(static_cast<std::int64_t>(j));
  }
  using Places = Array<std::int64_t>;
  const Places pivots_there(R.device(), std::span<const std::int64_t>(pivots));
  const Places free_there(R.device(), std::span<const std::int64_t>(free));
  Dense<T> basis(R.device(), R.columns(), free_there.size());
  backend.for_each(basis.rows() * basis.columns(),
                   gauss_jordan_detail::NullSpaceElement<T>{R, pivots_there.data(), free_there.data(), scale,
                                                            basis.data()});
  backend.synchronize();
  return basis;
}

/// R = B - A X, for views in columns.
template <class B, class T>
void form_residual(B& backend, const MatrixRef<T>& A, DenseView<const T> right, DenseView<const T> X,
                   DenseView<T> R) {
  for (std::int64_t j = 0; j < X.columns(); ++j) backend.copy(R.rows(), right.column(j), R.column(j));
  if (X.columns() > 1 && !A.is_sparse()) {
    gemm<T>(backend, T{-1}, A.dense(), X, T{1}, R);
  } else {
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      multiply(backend, T{-1}, A, X.column(j), T{1}, R.column(j));
    }
  }
}

/// Keeps the eliminated matrix; A itself is only referred to, for residuals.
template <class B, class T>
class EliminatedSystem {
  using Facts = RankFacts;

 public:
  /// For solves of up to `columns_at_once` right-hand sides at a time.
  struct Space : Workspace {
    /// With a backend of its own, or with `shared`.
    Space(const EliminatedSystem& system, std::int64_t columns, B* shared)
        : own(shared == nullptr ? std::make_unique<B>(system.device_) : nullptr),
          backend(shared == nullptr ? *own : *shared),
          transformed(system.device_, system.rows(), columns),
          residual(system.device_, system.rows(), columns),
          candidate(system.device_, system.columns(), columns),
          panel(system.elimination_->make_scratch(columns)),
          largest(system.device_, 1),
          worst(system.device_, 1) {}
    [[nodiscard]] std::size_t bytes() const override {
      return transformed.bytes() + residual.bytes() + candidate.bytes() + panel.rows.bytes() +
             panel.columns.bytes();
    }
    std::unique_ptr<B> own;
    B& backend;
    Dense<T> transformed, residual, candidate;
    PanelScratch<T> panel;
    Array<Largest> largest;
    Array<gauss_jordan_detail::WorstRow> worst;
  };
  static constexpr std::int64_t columns_at_once = 64;

  /// `tools` are used as long as it lives.
  EliminatedSystem(EliminationTools<B>& tools, const GaussJordanOptions& options)
      : tools_(tools), backend_(tools.backend), device_(backend_.device()), options_(options) {}
  EliminatedSystem(const EliminatedSystem&) = delete;
  EliminatedSystem& operator=(const EliminatedSystem&) = delete;

  /// Eliminates a copy of A for solving. Not ok when A is not finite, or the elimination overflowed; a rank
  /// that is not full is no failure.
  ///
  /// The default tolerance is meant for deciding a rank, and ||A||_inf is about sqrt(n) times ||A||_2 for a
  /// dense A: a random matrix of floats loses a column from n = 2000 on although its condition number leaves
  /// digits. So when columns of a square A are rejected, A is eliminated again with the tolerance eps, and
  /// regarded as regular if its reciprocal condition number is at least eps, as `judge_condition` has it, and
  /// errors contract under refinement. For a singular A they do not, whatever rounding made of its pivots: a
  /// vector of the null space is left as it is.
  Outcome eliminate_for_solving(const MatrixRef<T>& A) {
    Outcome outcome = eliminate(to_dense(A), options_.equilibrate);
    if (outcome.ok() && is_regularity_possible()) {
      try {
        retry_as_regular(A);
      } catch (const OutOfMemory&) {  // what the first elimination found stands
      }
    }
    return outcome;
  }

  /// Not ok when A is not finite, or the elimination overflowed. A rank that is not full is no failure.
  Outcome eliminate(Dense<T> A, bool equilibrate) {
    elimination_.reset();
    row_scale_ = column_scale_ = Array<T>();
    row_sums_ = Array<double>(device_, A.rows());
    matrix_ = std::move(A);
    elimination_ = std::make_unique<Elimination<B, T>>(
        tools_, matrix_.view(), panel_columns<T>(backend_, options_, rows(), columns()));
    const Findings found = eliminate_scaled(equilibrate);
    nonfinite_column_.reset();
    given_norm_ = found.given.norm_inf;
    if (found.given.row >= 0) return not_finite(found.given);
    const std::int64_t overflow = elimination_->state().overflow_column;
    if (overflow >= 0) return overflowed(overflow);
    norm_ = found.scaled.norm_inf;
    look_at_pivots(found.after.norm_inf);
    return {};
  }

  [[nodiscard]] std::int64_t rows() const { return matrix_.rows(); }
  [[nodiscard]] std::int64_t columns() const { return matrix_.columns(); }
  [[nodiscard]] std::int64_t rank() const { return facts_.rank; }
  [[nodiscard]] double norm_inf() const { return given_norm_; }  ///< of A as it was given
  [[nodiscard]] Dense<T> null_space() {
    return null_basis<B, T>(backend_, matrix_.view(), pivot_columns(), pointer(column_scale_));
  }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::optional<std::int64_t> nonfinite_column() const { return nonfinite_column_; }
  /// 1 / (||A||_inf ||C^-1||_inf), about; see RankFacts.
  [[nodiscard]] double reciprocal_condition() const {
    if (rank() == 0) return rows() == 0 || columns() == 0 ? 1 : 0;
    return norm_ > 0 ? std::min(1.0, scaled_distance_ / norm_) : 0;
  }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const {
    return elimination_->record().columns;
  }
  [[nodiscard]] const std::vector<std::int64_t>& row_permutation() const { return row_permutation_; }
  [[nodiscard]] const std::vector<T>& pivots() const { return elimination_->record().values; }
  /// What the rows and columns of A were multiplied by, or null; in the backend's memory.
  [[nodiscard]] const T* row_scale() const { return pointer(row_scale_); }
  [[nodiscard]] const T* column_scale() const { return pointer(column_scale_); }
  /// How many exchanges of two rows there were.
  [[nodiscard]] std::int64_t exchanges() const { return exchanges_; }
  /// A was multiplied by 2 to this power.
  [[nodiscard]] int exponent() const { return exponent_; }
  /// Where the transformation is, and the columns of R that have no pivot.
  [[nodiscard]] Dense<T>& matrix() { return matrix_; }
  [[nodiscard]] B& backend() const { return backend_; }
  [[nodiscard]] const Elimination<B, T>& elimination() const { return *elimination_; }
  [[nodiscard]] std::size_t bytes() const {
    return matrix_.bytes() + (elimination_ ? elimination_->bytes() : 0) + row_scale_.bytes() +
           column_scale_.bytes() + row_sums_.bytes();
  }

  [[nodiscard]] std::unique_ptr<Space> make_space(std::int64_t columns, B* shared = nullptr) const {
    return std::make_unique<Space>(*this, std::min(columns, columns_at_once), shared);
  }

  /// A particular solution of A X = B, refined, for views in columns.
  void solve(Space& space, const MatrixRef<T>& A, DenseView<const T> right, DenseView<T> X) const {
    const std::int64_t at_once = space.transformed.columns();
    for (std::int64_t begin = 0; begin < right.columns(); begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, right.columns());
      solve_some(space, A, column_range(right, begin, end), column_range(X, begin, end));
    }
  }

  /// X = X + a particular solution for the right-hand sides.
  void add_solution(Space& space, DenseView<const T> right, DenseView<T> X) const {
    using namespace gauss_jordan_detail;
    B& backend = space.backend;
    const DenseView<T> Y = column_range(space.transformed.view(), 0, right.columns());
    backend.for_each(rows() * right.columns(), ScaleRows<T>{right, pointer(row_scale_), Y});
    elimination_->transform(backend, Y, space.panel);
    const T factor = static_cast<T>(std::ldexp(1.0, exponent_));
    backend.for_each(rank() * right.columns(),
                     AddAtPivots<T>{Y, rank(), elimination_->columns(), pointer(column_scale_), factor, X});
  }

  /// r = b - A x for one column; the row where it is largest beside ||a_i||_1 ||x||_inf + |b_i|.
  gauss_jordan_detail::WorstRow worst_row(Space& space, const MatrixRef<T>& A, const T* b, const T* x) const {
    using namespace gauss_jordan_detail;
    B& backend = space.backend;
    T* r = space.residual.data();
    backend.copy(rows(), b, r);
    multiply(backend, T{-1}, A, x, T{1}, r);
    const double x_norm = largest(backend, space, columns(), x);
    backend.reduce(rows(), RowError<T>{r, b, row_sums_.data(), x_norm}, Store<WorstRow>{space.worst.data()});
    return backend.read(space.worst.data());
  }
  /// A row with a larger error than this is not satisfied.
  [[nodiscard]] double acceptable_row_error() const {
    return 10 * std::max(relative_tolerance(), default_tolerance<T>(rows(), columns()));
  }

  /// What is wrong with the system for which x was computed, when its rank is not that of a regular matrix.
  [[nodiscard]] Outcome judge(Space& space, const MatrixRef<T>& A, const T* b, const T* x) const {
    if (rank() < rows()) {
      const gauss_jordan_detail::WorstRow worst = worst_row(space, A, b, x);
      if (!(worst.error <= acceptable_row_error())) {
        return {Status::inconsistent,
                "row " + std::to_string(worst.row.value) +
                    " (from 0) contradicts the others: its residual is " + short_number(worst.error) +
                    " of its size",
                worst.row.value};
      }
    }
    if (rank() < columns()) {
      return {Status::underdetermined,
              rank_words() + ": x is the solution with zeros in the unknowns without a pivot, and the null " +
                  "space, which can be added, has dimension " + std::to_string(columns() - rank())};
    }
    return {};
  }

  /// "A has rank 3 of 5 (...)".
  [[nodiscard]] std::string rank_words() const {
    const Facts& f = facts_;
    return "A has rank " + std::to_string(f.rank) + " of " + std::to_string(columns()) +
           (f.doubtful ? ", doubtfully" : "") + " (smallest pivot " +
           (f.smallest_accepted_pivot ? short_number(*f.smallest_accepted_pivot) : "none") +
           ", largest rejected " +
           (f.largest_rejected_pivot ? short_number(*f.largest_rejected_pivot) : "none") + ", tolerance " +
           short_number(f.tolerance) + ")";
  }

 private:
  static const T* pointer(const Array<T>& array) { return array.size() > 0 ? array.data() : nullptr; }

  [[nodiscard]] double relative_tolerance() const {
    return options_.tolerance.value_or(default_tolerance<T>(rows(), columns()));
  }

  static constexpr double unit_roundoff = static_cast<double>(std::numeric_limits<T>::epsilon());

  /// Whether A may be regular although columns were rejected. The size of a rejected pivot bounds the
  /// distance to a singular matrix from above: below eps ||A||_inf it settles the matter.
  [[nodiscard]] bool is_regularity_possible() const {
    return !options_.tolerance && rows() == columns() && rank() < columns() &&
           elimination_->state().largest_rejected > unit_roundoff * norm_;
  }

  /// Replaces what was found by a full rank where the condition number and a contraction test allow it.
  void retry_as_regular(const MatrixRef<T>& A) {
    EliminatedSystem regular(tools_, options_);
    regular.pivot_tolerance_ = unit_roundoff;
    const Outcome outcome = regular.eliminate(to_dense(A), options_.equilibrate);
    if (!outcome.ok() || regular.rank() < columns()) return;
    if (!(regular.reciprocal_condition() >= unit_roundoff) || !regular.contracts(A)) return;
    take(regular);
  }

  /// Whether refinement with this elimination reduces errors.
  [[nodiscard]] bool contracts(const MatrixRef<T>& A) const {
    const std::int64_t n = columns();
    const std::unique_ptr<Space> space = make_space(1, &backend_);
    const auto subtract = [&](T* product, T* v) {
      backend_.for_each(n, gauss_jordan_detail::ScaleElements<T>{{product, n, 1, n, device_}, T{-1}});
      add_solution(*space, {product, n, 1, n, device_}, {v, n, 1, n, device_});
    };
    return !find_no_contraction(backend_, A, pointer(column_scale_), space->candidate.data(),
                                space->residual.data(), space->largest.data(), subtract);
  }

  void take(EliminatedSystem& other) {
    matrix_ = std::move(other.matrix_);
    row_sums_ = std::move(other.row_sums_);
    row_scale_ = std::move(other.row_scale_);
    column_scale_ = std::move(other.column_scale_);
    exponent_ = other.exponent_;
    given_norm_ = other.given_norm_;
    norm_ = other.norm_;
    scaled_distance_ = other.scaled_distance_;
    elimination_ = std::move(other.elimination_);
    facts_ = other.facts_;
    row_permutation_ = std::move(other.row_permutation_);
    exchanges_ = other.exchanges_;
  }

  Outcome not_finite(const MatrixScan& found) {
    nonfinite_column_ = found.column;
    return {Status::not_a_number,
            "A has a NaN or Inf at row " + std::to_string(found.row) + ", column " +
                std::to_string(found.column) + ", counted from 0",
            found.row};
  }
  Outcome overflowed(std::int64_t column) {
    nonfinite_column_ = column;
    return {Status::not_a_number,
            "the elimination overflowed at column " + std::to_string(column) + " (from 0)"};
  }

  struct Findings {
    MatrixScan given, scaled, after;
  };
  /// Scans the matrix, scales it, scans it again, and eliminates, before anything is looked at.
  Findings eliminate_scaled(bool equilibrate) {
    auto* const found = tools_.mailbox.template at<Findings>();
    Array<double> other_sums(device_, rows());
    const auto eliminate_scanned = [&](const MatrixScan* scanned) {
      elimination_->reduce(scanned, pivot_tolerance_.value_or(relative_tolerance()), other_sums.data(),
                           &found->after);
    };
    scan<T>(backend_, matrix_.view(), row_sums_.data(), &found->given);
    exponent_ = 0;
    if (!equilibrate) {
      eliminate_scanned(&found->given);
      if (found->given.row < 0)
        exponent_ = bring_into_range<B, T>(backend_, matrix_.view(), found->given.largest);
      if (exponent_ == 0) return {found->given, found->given, found->after};
    } else {
      balance();
    }
    scan<T>(backend_, matrix_.view(), other_sums.data(), &found->scaled);
    eliminate_scanned(&found->scaled);
    return *found;
  }

  void balance() {
    using namespace gauss_jordan_detail;
    row_scale_ = Array<T>(device_, rows());
    column_scale_ = Array<T>(device_, columns());
    backend_.for_each(rows(), BalanceRow<T>{row_sums_.data(), row_scale_.data()});
    Array<std::int64_t> offsets(device_, columns() + 1);
    Array<Largest> largest(device_, columns());
    backend_.for_each(columns() + 1, Multiples{rows(), offsets.data()});
    backend_.segmented_reduce(columns(), offsets.data(),
                              RowScaledMagnitude<T>{matrix_.view(), row_scale_.data()}, largest.data());
    backend_.for_each(columns(), BalanceColumn<T>{largest.data(), column_scale_.data()});
    backend_.for_each(rows() * columns(),
                      ScaleRowsAndColumns<T>{matrix_.view(), row_scale_.data(), column_scale_.data()});
  }

  void look_at_pivots(double norm_after) {
    const EliminationState& state = elimination_->state();
    const EliminationRecord<T>& record = elimination_->record();
    row_permutation_ = record.origins(rows());
    exchanges_ = 0;
    for (std::size_t k = 0; k < record.rows.size(); ++k) {
      exchanges_ += record.rows[k] != static_cast<std::int64_t>(k) ? 1 : 0;
    }
    const auto unscaled = [&](double value) { return std::ldexp(value, -exponent_); };
    facts_ = {};
    facts_.rank = state.rank;
    const double tolerance = relative_tolerance() * norm_;
    facts_.tolerance = unscaled(tolerance);
    if (state.largest_rejected >= 0) facts_.largest_rejected_pivot = unscaled(state.largest_rejected);
    scaled_distance_ = 0;
    if (state.rank == 0) return;
    facts_.smallest_accepted_pivot = unscaled(state.smallest_accepted);
    scaled_distance_ = find_distance(norm_after);
    facts_.distance_to_lower_rank = unscaled(scaled_distance_);
    constexpr double clear_gap = 1000;
    constexpr double clear_of_tolerance = 10;
    facts_.doubtful = state.smallest_accepted <= clear_gap * state.largest_rejected ||
                      state.smallest_accepted <= clear_of_tolerance * tolerance ||
                      !(scaled_distance_ > tolerance);
  }

  /// 1 / ||C^-1||_inf. C^-1 is the leading part of T: its norm, or the estimator's 1-norm of the transpose.
  /// `norm_after`: of the eliminated matrix, which is C^-1 where it has full rank, and was multiplied out.
  double find_distance(double norm_after) {
    PanelScratch<T> scratch = elimination_->make_scratch(1);
    double inverse = norm_after;
    if (!elimination_->multiplied_out()) {
      inverse = estimate_inverse(scratch);
    } else if (rank() < rows() || rank() < columns()) {
      inverse = elimination_->inverse_norm(scratch);
    }
    return std::isfinite(inverse) && inverse > 0 ? 1 / inverse : 0;
  }

  double estimate_inverse(PanelScratch<T>& scratch) {
    using namespace gauss_jordan_detail;
    const std::int64_t r = rank();
    const Array<std::int64_t> places(device_, std::span<const std::int64_t>(row_permutation_));
    Array<T> x(device_, rows());
    const auto solve = [&](bool transposed, T* v) {
      backend_.fill(rows(), T{0}, x.data());
      if (transposed) {
        backend_.for_each(r, ToPlaces<T>{places.data(), v, x.data()});
        elimination_->transform(backend_, {x.data(), rows(), 1, rows(), device_}, scratch);
        backend_.copy(r, x.data(), v);
      } else {
        backend_.copy(r, v, x.data());
        elimination_->transform_transposed(backend_, x.data(), scratch);
        backend_.for_each(r, FromPlaces<T>{places.data(), x.data(), v});
      }
    };
    return estimate_inverse_norm_one<T>(backend_, r, solve);
  }

  static double largest(B& backend, Space& space, std::int64_t n, const T* x) {
    backend.reduce(n, gauss_jordan_detail::MagnitudeOf<T>{x}, Store<Largest>{space.largest.data()});
    return backend.read(space.largest.data()).value;
  }

  void solve_some(Space& space, const MatrixRef<T>& A, DenseView<const T> right, DenseView<T> X) const {
    B& backend = space.backend;
    for (std::int64_t j = 0; j < X.columns(); ++j) backend.fill(X.rows(), T{0}, X.column(j));
    add_solution(space, right, X);
    refine(backend, space, A, right, X);
  }

  /// Adds the solutions for the residuals, to each column as long as that makes its residual smaller.
  void refine(B& backend, Space& space, const MatrixRef<T>& A, DenseView<const T> right,
              DenseView<T> X) const {
    if (options_.refine == 0) return;
    const DenseView<T> residual = column_range(space.residual.view(), 0, right.columns());
    const DenseView<T> candidate = column_range(space.candidate.view(), 0, right.columns());
    const DenseView<T> next = column_range(space.transformed.view(), 0, right.columns());
    std::vector<double> before = form_residual(backend, space, A, right, X, residual);
    bool better = true;
    for (std::int64_t step = 0; step < options_.refine && better; ++step) {
      for (std::int64_t j = 0; j < X.columns(); ++j) backend.copy(X.rows(), X.column(j), candidate.column(j));
      add_solution(space, residual, candidate);
      const std::vector<double> after = form_residual(backend, space, A, right, candidate, next);
      better = false;
      for (std::int64_t j = 0; j < X.columns(); ++j) {
        const auto number = static_cast<std::size_t>(j);
        if (!(after[number] < before[number])) continue;
        backend.copy(X.rows(), candidate.column(j), X.column(j));
        backend.copy(residual.rows(), next.column(j), residual.column(j));
        before[number] = after[number];
        better = true;
      }
    }
  }

  /// R = B - A X; the largest magnitude in each column.
  std::vector<double> form_residual(B& backend, Space& space, const MatrixRef<T>& A, DenseView<const T> right,
                                    DenseView<const T> X, DenseView<T> R) const {
    echelon::form_residual<B, T>(backend, A, right, X, R);
    std::vector<double> norms;
    for (std::int64_t j = 0; j < X.columns(); ++j)
      norms.push_back(largest(backend, space, R.rows(), R.column(j)));
    return norms;
  }

  EliminationTools<B>& tools_;
  B& backend_;
  Device device_;
  GaussJordanOptions options_;
  std::optional<double> pivot_tolerance_;  // in place of that by which the facts are judged
  Dense<T> matrix_;
  Array<double> row_sums_;
  Array<T> row_scale_, column_scale_;  // empty: not scaled
  int exponent_ = 0;
  double given_norm_ = 0;
  double norm_ = 0;  // of the matrix that was eliminated
  double scaled_distance_ = 0;
  std::unique_ptr<Elimination<B, T>> elimination_;
  Facts facts_;
  std::vector<std::int64_t> row_permutation_;
  std::int64_t exchanges_ = 0;
  std::optional<std::int64_t> nonfinite_column_;
};

}  // namespace echelon

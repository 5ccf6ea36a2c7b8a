// SPDX-License-Identifier: BSD-3-Clause
/// Errors of the answers of direct methods, measured by the solution d of A d = b - A x.
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/direct/refinement.hpp"
#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Error of an x as a fraction of ||x||_inf with which it has two thirds of the digits of T.
template <class T>
[[nodiscard]] inline double two_thirds_of_digits() {
  return std::pow(machine_epsilon<T>, 2.0 / 3);
}

/// An x that was measured: its facts, those of its residual, the estimate of ||x - x*||_inf / ||x||_inf, and
/// the correction d of x from which it was made.
struct MeasuredColumn {
  VectorFacts x, r;
  double error = 0;
  double correction = 0;  ///< ||d||_inf
};

/// Memory of a measurement: n by k matrices of residuals and corrections, and one candidate.
template <class T>
struct MeasurementWorkspace {
  Dense<T> residuals, corrections, candidate;
  [[nodiscard]] std::size_t bytes() const {
    return residuals.bytes() + corrections.bytes() + candidate.bytes();
  }
  void fit(const Device& device, std::int64_t n, std::int64_t columns) {
    if (residuals.rows() == n && residuals.columns() >= columns) return;
    residuals = corrections = candidate = Dense<T>();
    residuals = Dense<T>(device, n, columns);
    corrections = Dense<T>(device, n, columns);
    candidate = Dense<T>(device, n, 1);
  }
};

/// Measures the columns of X and corrects those that have fewer than two thirds of their digits, as long as
/// each correction is at most half as large as the one before (J. Demmel et al., Error bounds from
/// extra-precise iterative refinement, ACM Trans. Math. Softw. 32 (2006)). A square and factored;
/// column-major views in the memory of the device. `project`, unless empty, removes null vectors of A: the
/// error is that of the x of least norm.
template <class T>
class ErrorMeasurement {
 public:
  ErrorMeasurement(const SolverImplementation<T>& implementation, Workspace& method,
                   ResidualCheck<T>& residual_check, MeasurementWorkspace<T>& workspace,
                   const MatrixRef<T>& A, const Outcome& setup, double matrix_norm,
                   std::function<void(T*)> project)
      : implementation_(implementation),
        method_(method),
        check_(residual_check),
        own_(workspace),
        A_(A),
        setup_(setup),
        matrix_norm_(matrix_norm),
        project_(std::move(project)) {}

  /// How corrections by the factors shrink errors: a null vector of A, or one that rounding errors of the
  /// factors hide, does not shrink.
  Contraction contraction(const Device& device, std::int64_t n) {
    own_.fit(device, n, 1);
    const DenseView<T> product(own_.residuals.data(), n, 1, n, device);
    const DenseView<T> d(own_.corrections.data(), n, 1, n, device);
    return check_.contraction(A_, own_.candidate.data(), product.data(), [&](T*, T* v) {
      const Control quiet;
      std::vector<Job> jobs = {job(0, check_.vector(n, product.data()), quiet)};
      implementation_.solve(method_, product, d, jobs);
      check_.add(n, d.data(), v);
      if (project_) project_(v);
    });
  }

  /// Measures and corrects X. `trusted`: the factors are known to be accurate enough that d is right to a few
  /// digits, and where X was not `refined`, without refinement of d. Otherwise x is corrected as long as
  /// corrections shrink, which shows what they miss, and so does a correction of the last d.
  std::vector<MeasuredColumn> run(DenseView<const T> B, DenseView<T> X, bool trusted, bool refined) {
    trusted_ = trusted;
    refines_ = refined || !trusted;
    own_.fit(X.device(), X.rows(), X.columns());
    std::vector<MeasuredColumn> columns = measure(B, X);
    is_current_ = X.columns() == 1;
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      MeasuredColumn& column = columns[static_cast<std::size_t>(j)];
      const bool exact = column.error <= rounding_level<T>;
      if (exact || (trusted_ && column.error <= two_thirds_of_digits<T>())) continue;
      correct(column_of(B, j), column_of(X, j), own_.corrections.view().column(j), column);
    }
    for (std::int64_t j = 0; j < X.columns() && !trusted_; ++j) {
      MeasuredColumn& column = columns[static_cast<std::size_t>(j)];
      if (column.correction > 0 && column.error < 1)
        add_error_of_correction(column_of(B, j), column_of(X, j), column);
    }
    for (MeasuredColumn& column : columns) {
      const double least = trusted_ ? machine_epsilon<T> / 2.0 : rounding_level<T>;
      column.error = std::max(column.error, least);
    }
    return columns;
  }

 private:
  /// Corrections of one x, excluding those that leave at most `fast` of the error. Where x is small because
  /// large elements of A^-1 b cancel or are scaled down, as many of these as the range of T allows are
  /// needed.
  static constexpr int most_slow_steps = 10;
  static constexpr double fast = 1e-3;

  template <class V>
  static DenseView<V> column_of(DenseView<V> M, std::int64_t j) {
    return {M.column(j), M.rows(), 1, M.rows(), M.device()};
  }

  [[nodiscard]] Job job(std::int64_t number, const VectorFacts& rhs, const Control& control) const {
    return {.number = number,
            .right_hand_side_norm = rhs.norm2,
            .right_hand_side_norm_inf = rhs.norm_inf,
            .matrix_norm = matrix_norm_,
            .control = &control,
            .refines = refines_,
            .outcome = setup_};
  }

  /// Facts and errors of all columns of X; the corrections of column j remain in own_.corrections.
  std::vector<MeasuredColumn> measure(DenseView<const T> B, DenseView<const T> X) {
    const std::int64_t n = X.rows();
    const std::int64_t k = X.columns();
    const DenseView<T> R(own_.residuals.data(), n, k, n, X.device());
    const DenseView<T> D(own_.corrections.data(), n, k, n, X.device());
    std::vector<MeasuredColumn> columns;
    std::vector<Job> jobs;
    const Control quiet;
    for (std::int64_t j = 0; j < k; ++j) {
      const AnswerFacts found = check_.accurate_answer(A_, B.column(j), X.column(j), R.column(j));
      columns.push_back({found.answer, found.residual});
      jobs.push_back(job(j, columns.back().r, quiet));
      if (project_) project_(R.column(j));
    }
    implementation_.solve(method_, R, D, jobs);
    for (std::int64_t j = 0; j < k; ++j) {
      MeasuredColumn& column = columns[static_cast<std::size_t>(j)];
      if (project_) project_(D.column(j));
      column.correction = check_.vector(n, D.column(j)).norm_inf;
      column.error = column.correction == 0 ? 0 : column.correction / column.x.norm_inf;
      if (!std::isfinite(column.error)) column.error = std::numeric_limits<double>::infinity();
    }
    return columns;
  }

  /// Adds the correction of d, A^-1 (r - A d), to the error that d tells. Where the columns of A differ in
  /// size, the largest element of x can be a small one of the scaled unknowns, in which d is less accurate
  /// than in the others.
  void add_error_of_correction(DenseView<const T> b, DenseView<const T> x, MeasuredColumn& column) {
    const std::int64_t n = x.rows();
    const MeasuredColumn last = is_current_ ? column : measure(b, x).front();
    T* const d = own_.corrections.data();
    T* const r = own_.candidate.data();
    const VectorFacts remaining = check_.accurate_residual(A_, own_.residuals.data(), d, r);
    if (project_) project_(r);
    const Control quiet;
    std::vector<Job> jobs = {job(0, remaining, quiet)};
    implementation_.solve(method_, DenseView<const T>(r, n, 1, n, x.device()),
                          DenseView<T>(d, n, 1, n, x.device()), jobs);
    if (project_) project_(d);
    const double error = (last.correction + check_.vector(n, d).norm_inf) / column.x.norm_inf;
    column.error = std::isfinite(error) ? std::max(column.error, error) : 1;
  }

  /// Policy of refine() for one x with the correction d: accepts candidates x + d whose own correction is at
  /// most half as large; ends at the first other one, after too many that shrink slowly, and where the error
  /// is at most `target`.
  class ShrinkingCorrections {
   public:
    ShrinkingCorrections(ErrorMeasurement& measurement, DenseView<const T> b, MeasuredColumn& column,
                         double target)
        : measurement_(measurement), b_(b), column_(column), target_(target) {}

    /// The column has been measured.
    void begin(const RefinementViews<T>& /*views*/) {}

    [[nodiscard]] std::span<const std::int64_t> columns() const {
      static constexpr std::int64_t only[] = {0};
      if (!shrinks_ || slow_steps_ == most_slow_steps || (shrunk_ && column_.error <= target_)) return {};
      return only;
    }

    void assess(std::span<const std::int64_t> /*columns*/, const RefinementViews<T>& views) {
      const MeasuredColumn next = measurement_.measure(b_, views.candidate).front();
      const double ratio = next.correction / column_.correction;
      shrinks_ = ratio <= 0.5;
      measurement_.is_current_ = measurement_.is_current_ && shrinks_;
      if (shrinks_) {
        measurement_.check_.copy(views.solution.rows(), views.candidate.data(), views.solution.data());
        column_ = next;
        shrunk_ = true;
        slow_steps_ += ratio > fast ? 1 : 0;
        return;
      }
      // Corrections that shrink by the ratio q add up to 1 / (1 - q) times the first one. Without any
      // contraction they say nothing about the error.
      column_.error = std::max(column_.error, shrunk_ ? next.error / std::max(1 - ratio, 0.05) : 1.0);
    }

   private:
    ErrorMeasurement& measurement_;
    DenseView<const T> b_;
    MeasuredColumn& column_;
    double target_;
    int slow_steps_ = 0;
    bool shrinks_ = true;  // the last correction
    bool shrunk_ = false;  // some correction
  };

  /// Corrects one x, whose next correction is d. The later ones stand in column 0 of own_.corrections.
  void correct(DenseView<const T> b, DenseView<T> x, const T* d, MeasuredColumn& column) {
    ShrinkingCorrections policy(*this, b, column, trusted_ ? two_thirds_of_digits<T>() : rounding_level<T>);
    const RefinementViews<T> views{x, own_.residuals.view(), column_of(own_.candidate.view(), 0)};
    refine(std::numeric_limits<int>::max(), views, policy,
           [&](std::span<const std::int64_t>, const RefinementViews<T>& all) {
             check_.copy(x.rows(), all.solution.data(), all.candidate.data());
             check_.add(x.rows(), d, all.candidate.data());
             d = own_.corrections.data();
           });
  }

  const SolverImplementation<T>& implementation_;
  Workspace& method_;
  ResidualCheck<T>& check_;
  MeasurementWorkspace<T>& own_;
  MatrixRef<T> A_;
  const Outcome& setup_;
  double matrix_norm_;
  std::function<void(T*)> project_;
  bool trusted_ = false;
  bool refines_ = true;      // corrections are refined by the method
  bool is_current_ = false;  // the residual and the correction in own_ are those of the only x
};

}  // namespace echelon

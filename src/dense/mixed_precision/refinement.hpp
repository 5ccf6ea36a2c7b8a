// SPDX-License-Identifier: BSD-3-Clause
/// Solutions in T from an approximate inverse C of A: classical iterative refinement, then GMRES
/// preconditioned by C, to the backward error of a factorisation in T.
///
/// E. Carson and N. J. Higham, A new analysis of iterative refinement and its application to accurate
/// solution of ill-conditioned sparse linear systems, SIAM J. Sci. Comput. 39 (2017), and Accelerating the
/// solution of linear systems by iterative refinement in three precisions, SIAM J. Sci. Comput. 40 (2018).
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "dense/mixed_precision/gmres.hpp"
#include "dense/mixed_precision/refine_from_zero.hpp"
#include "linalg/spmv/form_residual.hpp"
#include "matrix/column_range.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

namespace echelon::mixed_precision {

/// Infinity norms of a residual and of a solution.
struct Norms {
  Largest residual, solution;
  friend ECHELON_ANYWHERE Norms combine(Norms a, Norms b) {
    return {combine(a.residual, b.residual), combine(a.solution, b.solution)};
  }
};

template <class T>
struct NormsAt {
  const T* r;
  const T* x;
  ECHELON_ANYWHERE Norms operator()(std::int64_t i) const {
    return {{std::fabs(static_cast<double>(r[i]))}, {std::fabs(static_cast<double>(x[i]))}};
  }
};

/// The refinement of one right-hand side.
struct Refined {
  std::int64_t steps = 0;        ///< classical steps after the first solution
  std::int64_t gmres_steps = 0;  ///< steps of GMRES
  double backward_error = 0;     ///< ||b - A x|| / (||A|| ||x||) in the infinity norm
  bool accurate = false;         ///< the backward error is at most sqrt(n) u
};

/// Refines up to `columns` right-hand sides of n equations at a time.
template <class B, class T>
class Refinement {
 public:
  static constexpr std::int64_t max_steps = 30;
  static constexpr std::int64_t max_cycles = 3;

  Refinement(const Device& device, std::int64_t n, std::int64_t columns)
      : residual_(device, n, columns),
        next_(device, n, columns),
        candidate_(device, n, columns),
        norms_(device, 1) {}
  [[nodiscard]] std::int64_t columns() const { return residual_.columns(); }
  [[nodiscard]] std::size_t bytes() const {
    return residual_.bytes() + next_.bytes() + candidate_.bytes() + (gmres_ ? gmres_->bytes() : 0);
  }

  /// Solves A X = B for column-major views of at most columns() columns. `add_correction(R, X)` queues
  /// X = X + C R. Classical steps continue while each halves the residual, then cycles of GMRES while each
  /// divides it by ten, until ||b - A x|| <= sqrt(n) u ||A|| ||x|| in the infinity norm, as in LAPACK's
  /// dsgesv; then at most `more_steps` classical steps that make the residual smaller. X is the best solution
  /// found.
  template <class AddCorrection>
  std::vector<Refined> solve(B& backend, const MatrixRef<T>& A, double norm_inf, DenseView<const T> rhs,
                             DenseView<T> X, std::int64_t more_steps, const std::stop_token& cancel,
                             const AddCorrection& add_correction) {
    norm_inf_ = norm_inf;
    const std::int64_t k = X.columns();
    const RefinementViews<T> views{X, column_range(residual_.view(), 0, k),
                                   column_range(candidate_.view(), 0, k)};
    std::vector<Column> columns =
        refine_from_zero<B, T>(backend, A, rhs, views, column_range(next_.view(), 0, k), max_steps,
                               ClassicalSteps{*this, backend, more_steps, cancel}, add_correction);
    std::vector<Refined> results;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const auto number = static_cast<std::int64_t>(j);
      if (!columns[j].result.accurate && !cancel.stop_requested()) {
        solve_by_gmres(backend, A, rhs.column(number), X.column(number), residual_.view().column(number),
                       add_correction, columns[j]);
      }
      results.push_back(columns[j].result);
    }
    return results;
  }

 private:
  struct ColumnState {
    Refined result;
    double residual = 0;        // infinity norm
    double solution = 0;        // infinity norm of x, or where x = 0 of the first candidate
    std::int64_t accepted = 0;  // candidates, the first solution included
    std::int64_t accepted_when_accurate = 0;
    bool accurate = false;  // further steps only make the residual smaller
    bool finished = false;
  };

  /// Rule of StepsFromZero.
  struct ClassicalSteps {
    using Column = ColumnState;
    Refinement& refinement;
    B& backend;
    std::int64_t more_steps;
    const std::stop_token& cancel;

    /// For a right-hand side of zeros x = 0 is the solution.
    [[nodiscard]] Column initial(double b_norm) const {
      Column column;
      column.residual = b_norm;
      column.finished = b_norm == 0;
      column.result = {0, 0, column.finished ? 0.0 : 1.0, column.finished};
      return column;
    }
    Norms norms(const T* r, const T* x) const { return refinement.norms(backend, r, x); }
    [[nodiscard]] bool stops() const { return cancel.stop_requested(); }

    /// Whether the candidate is better than the solution.
    bool take_step(Column& column, const Norms& found) const {
      const bool better = found.residual.value < column.residual;
      const bool halved = found.residual.value <= column.residual / 2;
      if (better) {
        column.result.steps = column.accepted++;
        refinement.accept(column, found);
      } else if (column.accepted == 0) {
        column.solution = found.solution.value;
      }
      if (!column.accurate) {
        column.finished = !halved;
        if (column.result.accurate) {
          column.accurate = true;
          column.finished = false;
          column.accepted_when_accurate = column.accepted;
        }
      }
      const std::int64_t further = column.accepted - column.accepted_when_accurate;
      if (column.accurate && (!better || further >= more_steps || column.residual == 0))
        column.finished = true;
      return better;
    }
  };
  using Column = ColumnState;

  void accept(Column& column, const Norms& found) const {
    column.residual = found.residual.value;
    column.solution = found.solution.value;
    column.result.backward_error = column.residual > 0 ? column.residual / (norm_inf_ * column.solution) : 0;
    column.result.accurate = column.residual <= accepted_residual(column.solution);
  }

  /// sqrt(n) u ||A|| ||x||.
  [[nodiscard]] double accepted_residual(double solution_norm) const {
    const double unit_roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    return std::sqrt(static_cast<double>(residual_.rows())) * unit_roundoff * norm_inf_ * solution_norm;
  }

  template <class AddCorrection>
  void solve_by_gmres(B& backend, const MatrixRef<T>& A, const T* b, T* x, T* r,
                      const AddCorrection& add_correction, Column& column) {
    const std::int64_t n = residual_.rows();
    const Device& device = residual_.device();
    if (!gmres_) gmres_.emplace(device, n);
    const auto precondition = [&](const T* v, T* z) {
      backend.fill(n, T{0}, z);
      add_correction(DenseView<const T>(v, n, 1, n, device), DenseView<T>(z, n, 1, n, device));
    };
    const DenseView<T> candidate(candidate_.data(), n, 1, n, device);
    const DenseView<T> next(next_.data(), n, 1, n, device);
    for (std::int64_t cycle = 0; cycle < max_cycles && !column.result.accurate; ++cycle) {
      backend.copy(n, x, candidate.data());
      const double target = accepted_residual(column.solution) / 2;  // x may still become smaller
      column.result.gmres_steps +=
          gmres_->cycle(backend, A, r, column.residual, target, candidate.data(), precondition);
      form_residual<B, T>(backend, A, {b, n, 1, n, device}, candidate, next);
      const Norms found = norms(backend, next.data(), candidate.data());
      const bool progress = found.residual.value <= column.residual / 10;
      if (found.residual.value < column.residual) {
        accept(column, found);
        backend.copy(n, candidate.data(), x);
        backend.copy(n, next.data(), r);
      }
      if (!progress) break;
    }
  }

  Norms norms(B& backend, const T* r, const T* x) {
    backend.reduce(residual_.rows(), NormsAt<T>{r, x}, Store<Norms>{norms_.data()});
    return backend.read(norms_.data());
  }

  Dense<T> residual_, next_, candidate_;
  Array<Norms> norms_;
  std::optional<FlexibleGmres<B, T>> gmres_;
  double norm_inf_ = 0;
};

}  // namespace echelon::mixed_precision

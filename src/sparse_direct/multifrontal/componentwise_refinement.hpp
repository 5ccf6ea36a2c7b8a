// SPDX-License-Identifier: BSD-3-Clause
/// Refinement of solutions of sparse systems by their componentwise backward errors.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/direct/refinement.hpp"
#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Errors of x as a solution of A x = b, by the residual r = b - A x.
struct BackwardError {
  /// max |r_i| / (|A| |x| + |b|)_i: x solves a system whose elements differ from the given ones by at most
  /// that fraction.
  Largest componentwise = {};
  Largest scaled_residual = {};  ///< max |s_i r_i| for the scale factors of the rows
  double least_denominator = std::numeric_limits<double>::infinity();  ///< min (|A| |x| + |b|)_i
  std::int64_t longest_row = 0;                                        ///< elements
  friend BackwardError combine(const BackwardError& a, const BackwardError& b) {
    return {combine(a.componentwise, b.componentwise), combine(a.scaled_residual, b.scaled_residual),
            std::min(a.least_denominator, b.least_denominator), std::max(a.longest_row, b.longest_row)};
  }
};

/// Computes elements of r = b - A x.
template <class T>
struct ResidualRows {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const double* row_scale;  ///< null: 1
  const T* b;
  const T* x;
  T* r;
  /// Norm of x, if positive: where (|A| |x| + |b|)_i is so small that rounding errors of other elements would
  /// dominate it, (|A| |x|)_i + ||A_i||_1 ||x||_inf takes its place, and the backward error is that of a
  /// perturbation of b there. M. Arioli, J. Demmel, I. Duff, Solving sparse linear systems with sparse
  /// backward error, SIAM J. Matrix Anal. Appl. 10 (1989).
  double x_norm = 0;

  [[nodiscard]] BackwardError operator()(std::int64_t begin, std::int64_t end) const {
    Largest componentwise;
    Largest scaled;
    double least = std::numeric_limits<double>::infinity();
    std::int64_t longest = 0;
    std::int64_t first = offsets[begin];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t last = offsets[i + 1];
      longest = std::max(longest, last - first);
      auto residual = static_cast<Dot<T>>(b[i]);
      double terms = 0;
      for (std::int64_t k = first; k < last; ++k) {
        const Dot<T> product = static_cast<Dot<T>>(values[k]) * static_cast<Dot<T>>(x[columns[k]]);
        residual -= product;
        terms += magnitude(product);
      }
      first = last;
      r[i] = static_cast<T>(residual);
      const double error = magnitude(residual);
      const double denominator = denominator_of(i, terms);
      least = std::min(least, denominator);
      // A row of zeros is satisfied.
      componentwise = combine(componentwise, Largest{error / (denominator + (error == 0 ? 1 : 0))});
      scaled = combine(scaled, Largest{row_scale == nullptr ? error : error * row_scale[i]});
    }
    return {componentwise, scaled, least, longest};
  }

  [[nodiscard]] double denominator_of(std::int64_t i, double terms) const {
    const double of_b = magnitude(b[i]);
    if (!(x_norm > 0)) return terms + of_b;
    const double others = row_norm(i) * x_norm;
    const auto length = static_cast<double>(offsets[i + 1] - offsets[i]);
    const bool tiny = terms + of_b <= 1000 * machine_epsilon<T> * length * (others + of_b);
    return terms + (tiny && std::isfinite(others) ? others : of_b);
  }
  [[nodiscard]] double row_norm(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += magnitude(values[k]);
    return sum;
  }
};

/// Computes r = b - A x on a host backend. `row_scale` and `x_norm` as in ResidualRows; empty: 1.
template <class B, class T>
BackwardError form_residual(B& backend, const Csr<T>& A, const std::vector<double>& row_scale, const T* b,
                            const T* x, T* r, double x_norm = 0) {
  const ResidualRows<T> rows{A.row_offsets().data(),
                             A.column_indices().data(),
                             A.values().data(),
                             row_scale.empty() ? nullptr : row_scale.data(),
                             b,
                             x,
                             r,
                             x_norm};
  constexpr std::int64_t rows_worth_threads = 1 << 15;
  std::vector<BackwardError> errors(static_cast<std::size_t>(backend.threads()));
  backend.parallel(A.rows() > rows_worth_threads, [&](int part, int parts) {
    errors[static_cast<std::size_t>(part)] = rows(A.rows() * part / parts, A.rows() * (part + 1) / parts);
  });
  return std::accumulate(
      errors.begin(), errors.end(), BackwardError(),
      [](const BackwardError& one, const BackwardError& other) { return combine(one, other); });
}

/// Outcome for a right-hand side b of A, if it cannot be known from the set-up: x solves the equations up to
/// r. Empty: it is known.
template <class T>
using SolutionAssessment = std::function<Outcome(const Csr<T>& A, const T* b, const T* x, const T* r)>;

/// Policy of refinement that accepts smaller componentwise backward errors: refines each column while its
/// error exceeds `negligible_error`, and halves.
template <class B, class T>
class ComponentwiseRefinement {
 public:
  /// `row_scale`: of the equations of the task.
  ComponentwiseRefinement(const direct::RefinementTask<B, T>& task, const std::vector<double>& row_scale,
                          SolutionAssessment<T> assess)
      : task_(task),
        A_(*task.A.csr()),
        row_scale_(row_scale),
        assess_(std::move(assess)),
        states_(static_cast<std::size_t>(task.rhs.columns())) {}

  void begin(const RefinementViews<T>& views) {
    for (std::int64_t c = 0; c < task_.rhs.columns(); ++c)
      states_[static_cast<std::size_t>(c)].error =
          residual(task_.rhs.column(c), views.solution.column(c), views.residual.column(c));
    begun_ = true;
  }

  std::span<const std::int64_t> columns() {
    active_.clear();
    for (std::size_t c = 0; c < states_.size(); ++c) {
      ColumnState& state = states_[c];
      Job& job = task_.jobs[c];
      if (!state.finished && job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
        state.finished = true;
      }
      if (!(state.error.componentwise.value > negligible_error)) state.finished = true;
      if (!state.finished) active_.push_back(static_cast<std::int64_t>(c));
    }
    return active_;
  }

  void assess(std::span<const std::int64_t> columns, const RefinementViews<T>& views) {
    const std::int64_t n = views.solution.rows();
    for (std::size_t a = 0; a < columns.size(); ++a) {
      const std::int64_t c = columns[a];
      ColumnState& state = states_[static_cast<std::size_t>(c)];
      const T* const candidate = views.candidate.column(static_cast<std::int64_t>(a));
      const BackwardError error = residual(task_.rhs.column(c), candidate, views.residual.column(c));
      const double before = state.error.componentwise.value;
      const double after = error.componentwise.value;
      // The scaled residual converges first if unknowns differ in size by more than 1 / eps.
      const bool converges = error.scaled_residual.value <= state.error.scaled_residual.value / 2;
      state.finished = !(after <= before / 2 || converges);
      if (!(after < before || (converges && after <= 2 * before))) continue;
      state.error = error;
      ++state.steps;
      std::copy_n(candidate, n, views.solution.column(c));
    }
  }

  /// Reports steps and errors, and assesses the solutions.
  void report(std::span<Job> jobs, const RefinementViews<T>& views) {
    if (!begun_) begin(views);
    T* const r = views.residual.data();
    for (std::size_t c = 0; c < jobs.size(); ++c) {
      const T* b = task_.rhs.column(static_cast<std::int64_t>(c));
      const T* x = views.solution.column(static_cast<std::int64_t>(c));
      const double error = reported_error(states_[c].error, jobs[c], b, x, r);
      jobs[c].statistics = {{"refinement_steps", states_[c].steps}, {"componentwise_backward_error", error}};
      jobs[c].refined = states_[c].steps > 0;
      if (!assess_ || jobs[c].outcome.status == Status::cancelled) continue;
      residual(b, x, r);
      jobs[c].outcome = assess_(A_, b, x, r);
    }
  }

 private:
  /// Backward error of a row of some tens of elements: less changes x by less than data of full precision
  /// leave open, and a step costs as much as the solution.
  static constexpr double negligible_error =
      32 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

  struct ColumnState {
    BackwardError error;
    std::int64_t steps = 0;
    bool finished = false;
  };

  BackwardError residual(const T* b, const T* x, T* r, double x_norm = 0) {
    return form_residual(task_.backend, A_, row_scale_, b, x, r, x_norm);
  }

  /// The componentwise backward error to report, for a column whose plain one is `error`. They are equal
  /// where no denominator is tiny.
  double reported_error(const BackwardError& error, const Job& job, const T* b, const T* x, T* r) {
    const double plain = error.componentwise.value;
    if (plain <= 10 * machine_epsilon<T>) return plain;
    Largest largest;
    task_.backend.reduce(A_.columns(), LargestMagnitude<const T*>{x}, Store<Largest>{&largest});
    const double x_norm = largest.value;
    const double terms = job.matrix_norm * x_norm + job.right_hand_side_norm_inf;
    const double tiny = 1000 * machine_epsilon<T> * static_cast<double>(error.longest_row) * terms;
    if (job.matrix_norm > 0 && error.least_denominator > tiny) return plain;
    return residual(b, x, r, x_norm).componentwise.value;
  }

  direct::RefinementTask<B, T> task_;
  const Csr<T>& A_;
  const std::vector<double>& row_scale_;
  SolutionAssessment<T> assess_;
  std::vector<ColumnState> states_;
  std::vector<std::int64_t> active_;
  bool begun_ = false;
};

}  // namespace echelon::sparse_direct

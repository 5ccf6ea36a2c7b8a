// SPDX-License-Identifier: BSD-3-Clause
/// Set-up of a method for A: the scaling of A, what is known of its null space, and the report.
#pragma once

#include "backend/check_same_memory.hpp"
#include "matrix/assign.hpp"
#include "matrix/stencil/stencil_state.hpp"
#include "solver/answer/acceptance.hpp"
#include "solver/answer/rhs_scaling.hpp"
#include "solver/answer/solver_state.hpp"
#include "solver/column_report.hpp"
#include "solver/has_factor.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "solver/progress.hpp"
#include "support/machine_epsilon.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace echelon {

/// Report of a set-up: a successful one has the status `ready`.
inline Report as_setup(Report report) {
  if (report.status == Status::direct || report.status == Status::converged) report.status = Status::ready;
  return report;
}

template <class T>
Report report_of(const SolverImplementation<T>& implementation, const Outcome& outcome) {
  Report report = outcome_report(outcome, implementation.name(), implementation.device());
  // A NaN in A is found before the implementation sees A, whose precision is then that of the previous
  // matrix.
  if (outcome.status != Status::not_a_number) report.factor_precision = implementation.factor_precision();
  report.bytes = implementation.bytes();
  return report;
}

/// Makes `copy` 2^exponent A. False, without a copy, if an element would lose bits.
template <class T>
bool scale_matrix(const MatrixRef<T>& A, int exponent, ResidualCheck<T>& residual_check, Matrix<T>& copy) {
  T* elements = nullptr;
  if (const Csr<T>* csr = A.csr()) {
    elements = copy.template emplace<Csr<T>>(csr->to(A.device())).values().data();
  } else {
    Dense<T>& dense = copy.template emplace<Dense<T>>(A.device(), A.rows(), A.columns());
    assign<T>(A.dense(), dense);
    elements = dense.data();
  }
  const bool exact = residual_check.scales_exactly(A.nonzeros(), exponent, elements);
  if (exact) {
    residual_check.scale(A.nonzeros(), exponent, elements);
  } else {
    copy = Matrix<T>();
  }
  return exact;
}

/// 2^exponent A; none if a coefficient would lose bits.
template <class T>
std::optional<Stencil<T>> scaled(const Stencil<T>& A, int exponent, ResidualCheck<T>& residual_check) {
  StencilMatrix<T> copy = StencilAccess::state(A).matrix;
  if (!residual_check.scales_exactly(copy.values.size(), exponent, copy.values.data())) return {};
  residual_check.scale(copy.values.size(), exponent, copy.values.data());
  return to_stencil(std::move(copy));
}

/// Makes the matrix of the state 2^exponent A, a copy of the given one. False if an element would lose bits.
template <class T>
bool scale_state(SolverState<T>& state) {
  if constexpr (!is_complex<T>) {
    if (state.given.is_stencil()) {
      state.scaled_stencil = scaled(*state.given.stencil(), state.exponent, *state.residual_check);
      if (state.scaled_stencil) state.matrix = *state.scaled_stencil;
      return state.scaled_stencil.has_value();
    }
  }
  if (!scale_matrix(state.given, state.exponent, *state.residual_check, state.scaled_copy)) return false;
  state.matrix = state.scaled_copy;
  return true;
}

/// Lower bound of ||A^-1||_2 from the vector 1 of ones: sqrt(n) / ||A 1||_2, and n / (1^T A 1) for a positive
/// definite A, whose smallest eigenvalue is at most the Rayleigh quotient. A weakly grounded network has an
/// eigenvector near 1. Zero if A 1 = 0.
inline double inverse_norm_of_ones(const ProductWithOnes& product, std::int64_t rows, MethodNeeds needs) {
  const auto n = static_cast<double>(rows);
  double bound = product.norm2 > 0 ? std::sqrt(n) / product.norm2 : 0;
  const bool definite =
      needs == MethodNeeds::symmetric_positive_definite || needs == MethodNeeds::diagonally_dominant;
  if (definite && product.sum != 0) bound = std::max(bound, n / std::abs(product.sum));
  return bound;
}

/// Whether the set-up leaves it open that A is singular: that of an iterative method says nothing of it, but
/// the product with ones does.
template <class T>
bool may_be_singular(const SolverState<T>& state, const std::optional<ProductWithOnes>& ones) {
  constexpr double epsilon = machine_epsilon<T>;
  const Outcome& setup = state.setup;
  if (ones) {
    const double rounding = 1000 * epsilon * std::sqrt(static_cast<double>(state.matrix.rows()));
    return setup.ok() && ones->norm2 <= rounding * state.norm_inf;
  }
  if (setup.ok()) return setup.reciprocal_condition && *setup.reciprocal_condition < 1e4 * epsilon;
  return setup.status == Status::underdetermined || (setup.status == Status::singular && !setup.row);
}

/// The null space that solves project out: that of a sparse A, for methods that do not find it, do not take
/// matrices of any rank, and are not made for Laplacians. Vectors that A maps to zero up to rounding do not
/// count where inspection proves A nonsingular.
template <class T>
NullSpaceBasis<T> null_space_to_project(SolverImplementation<T>& method, const SolverState<T>& state,
                                        const std::optional<ProductWithOnes>& ones) {
  const Dense<double>& candidates = method.near_null_space();
  if (candidates.columns() > 0 && candidates.rows() != state.matrix.rows()) {
    throw DimensionMismatch(fmt::format("the near-null-space vectors have {} rows, A has {}",
                                        candidates.rows(), state.matrix.rows()));
  }
  const std::vector<double> elements = candidates.to_vector();
  if (!std::all_of(elements.begin(), elements.end(), [](double v) { return std::isfinite(v); }))
    throw Error("the near-null-space vectors have a NaN or Inf");
  const bool given = ones && state.setup.ok() && candidates.columns() > 0;
  if (!finds_null_spaces<T> || !state.matrix.is_sparse() || !(given || may_be_singular(state, ones)))
    return {};
  const bool knows_it = method.takes_any_rank() ||
                        method_with(method, [](const auto& m) { return m.finds_null_space(); }) != nullptr ||
                        find_method(method.name()).needs == MethodNeeds::diagonally_dominant;
  if (knows_it) return {};
  NullSpaceBasis<T> found = make_projection<T>(method.device())->find(*state.matrix.csr(), candidates);
  const bool is_regular = found.dimension() > found.proven && state.exact->regular_by_inspection();
  return is_regular ? NullSpaceBasis<T>() : std::move(found);
}

/// Sets a method up for A, or for new values of A in its pattern.
template <class T>
Report set_up(SolverImplementation<T>& method, SolverState<T>& state, const MatrixRef<T>& A, bool update,
              const Control& control) {
  const Stopwatch stopwatch;
  const ReportedSetup reported(control, method.name());
  state.ready = false;
  state.workspaces.clear();
  state.transposed.reset();
  state.given = A;
  state.matrix = A;
  MatrixFacts facts = state.residual_check->matrix(A);
  const bool is_scalable = !A.is_operator() || A.is_stencil();
  state.exponent = facts.row || !is_scalable || method.damping() > 0
                       ? 0
                       : state.given_exponent.value_or(moderating_exponent<T>(facts.norm_inf));
  state.scaled_copy = Matrix<T>();
  state.scaled_stencil.reset();
  if (state.exponent != 0 && scale_state(state)) {
    facts = state.residual_check->matrix(state.matrix);
    if (!update) method.analyze(state.matrix);  // an analysis of A itself may have kept scale factors
  } else {
    state.exponent = 0;
  }
  state.exact = std::make_unique<ExactRank<T>>(state.matrix);
  state.norm_inf = facts.norm_inf;
  state.smallest_row = facts.smallest_row;
  state.nonfinite_column = facts.column;
  if (facts.row) {
    state.setup = {Status::not_a_number,
                   facts.column ? fmt::format("A has a NaN or Inf at row {}, column {}, counted from 0",
                                              *facts.row, *facts.column)
                                : fmt::format("A x has a NaN or Inf at row {}, counted from 0, for an x of "
                                              "ones and minus ones",
                                              *facts.row),
                   facts.row};
  } else {
    method.set_control(reported.control());
    state.setup = update ? method.update_values(state.matrix) : method.setup(state.matrix);
    correct_definiteness(*state.exact, state.setup);
    state.column_spread = has_factor(state.setup) ? method.column_spread() : 1;
    method.set_control({});
  }
  const bool square_iterative = method.stop() != nullptr && A.rows() == A.columns();
  std::optional<ProductWithOnes> ones;
  if (square_iterative && !facts.row && (A.is_sparse() || A.is_stencil()) && A.rows() > 0)
    ones = state.residual_check->product_with_ones(state.matrix);
  state.null_space = null_space_to_project(method, state, ones);
  // A constant that is a null vector bounds nothing.
  state.inverse_norm = ones && state.null_space.dimension() == 0
                           ? inverse_norm_of_ones(*ones, A.rows(), find_method(method.name()).needs)
                           : 0;
  state.residual_check->synchronize();
  reported.end(SolverPhase::setup, state.setup.ok());
  state.ready = true;
  Report report = as_setup(report_of(method, state.setup));
  report.column = state.nonfinite_column;
  report.analysis_seconds = state.analysis_seconds;
  report.setup_seconds = state.setup_seconds = stopwatch.seconds();
  return report;
}

/// Has a method chosen and set up.
template <class T>
Report set_up(MethodChooser<T>& chooser, SolverState<T>& state, const MatrixRef<T>& A, bool update,
              const Control& control) {
  state.ready = false;
  state.given = state.matrix = A;
  Report report = chooser.setup(A, update, control);
  state.setup = {.status = report.ready() ? Status::direct : report.status, .message = report.message};
  state.ready = true;
  return report;
}

}  // namespace echelon

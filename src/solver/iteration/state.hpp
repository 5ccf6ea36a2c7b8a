// SPDX-License-Identifier: BSD-3-Clause
/// State of an iteration on its device, the rules by which it ends, and the workspace of a right-hand side.
#pragma once

#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/implementation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon {

enum class Phase : std::int32_t {
  running,
  converged,
  restart,
  stagnated,
  limit,
  breakdown,
  not_spd,
  diverged,
  idle,       ///< too many steps without progress
  stationary  ///< the residual is orthogonal to the columns of A: x has the least residual
};

/// State of an iteration whose scalars are real or complex, in the backend's memory.
template <class S>
struct IterationStateOf {
  static constexpr std::int64_t history_size = 64;

  double tolerance = 0;   ///< on the residual norm
  double divergence = 0;  ///< residual norms above it, or NaN, end the iteration
  double initial = 0;     ///< ||r||_2 at the (re)start
  double residual = 0;    ///< ||r||_2 after `iteration` iterations
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  std::int64_t inner = 0;  ///< steps since the (re)start
  Phase phase = Phase::running;
  std::int32_t padding = 0;
  double history[history_size] = {};  ///< residual after iteration k at [(k-1) % history_size]
  double alphas[history_size] = {};   ///< of iteration k at the same places, for methods that record them
  double betas[history_size] = {};
  /// Lower bound of ||A^-1||_2 for the matrix of the iteration; 0: none.
  double inverse_norm = 0;
  double condition = 0;  ///< lower bound of the preconditioned condition number; 0: none

  S rho = 0;  ///< scalars of the methods, by their usual letters
  S alpha = 0;
  S beta = 0;
  S omega = 0;

  [[nodiscard]] ECHELON_ANYWHERE bool running() const { return phase == Phase::running; }

  /// Completes an iteration with this residual norm.
  ECHELON_ANYWHERE void record(double norm) {
    history[iteration % history_size] = norm;
    ++iteration;
    ++inner;
    residual = norm;
    if (norm <= tolerance) {
      phase = Phase::converged;
    } else if (!(norm <= divergence)) {
      phase = Phase::diverged;
    } else if (iteration >= max_iterations) {
      phase = Phase::limit;
    }
  }
};

using IterationState = IterationStateOf<double>;

/// States of right-hand sides that are solved together, side by side, so that the host waits once for all.
template <class S>
struct IterationStates {
  static constexpr std::size_t capacity = usual_columns;
  IterationStateOf<S> at[capacity];
};

/// Ends an iteration: records ||r|| = sqrt((r, r)).
template <class S>
struct RecordResidual {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (state->running()) state->record(std::sqrt(r_r.value));
  }
};
template <class S>
RecordResidual(IterationStateOf<S>*) -> RecordResidual<S>;

/// x += z unless the iteration has ended.
template <class T>
struct AddCorrection {
  const IterationStateOf<Dot<T>>* state;
  const T* z;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) x[i] += z[i];
  }
};

/// Number of steps to queue on a GPU before the next check: three quarters of those that the mean rate of
/// convergence predicts, between 1 and 16. `iterations` have reduced the residual norm from `first` to
/// `last`.
inline std::int64_t steps_before_check(std::int64_t iterations, double first, double last, double tolerance) {
  constexpr std::int64_t most = 16;
  constexpr std::int64_t unknown = 4;  // before there is a rate
  if (iterations == 0) return unknown;
  const double predicted =
      static_cast<double>(iterations) * std::log(tolerance / last) / std::log(last / first);
  if (!(last < first && predicted < most)) return most;
  return std::max<std::int64_t>(static_cast<std::int64_t>(0.75 * predicted), 1);
}

/// Powers of two by which an iteration scales its system, (2^matrix A) y = 2^rhs r, so that squares of norms
/// neither overflow nor underflow; then x = 2^(matrix - rhs) y.
struct IterationScale {
  int matrix = 0;
  int rhs = 0;
  int preconditioned = 0;  ///< 2^preconditioned M^-1 r is about as large as r
  [[nodiscard]] double matrix_factor() const { return std::ldexp(1.0, matrix); }
};

template <class B, class T>
struct IterationWorkspace : Workspace {
  using State = IterationStateOf<Dot<T>>;
  using States = IterationStates<Dot<T>>;

  IterationWorkspace(const Device& device, std::int64_t size) : IterationWorkspace(device, size, size) {}
  IterationWorkspace(const Device& device, std::int64_t rows, std::int64_t unknowns)
      : n(rows),
        columns(unknowns),
        backend(device),
        state_array(device, 1),
        r(device, rows),
        operands(device, unknowns, 0),
        products(device, rows, 0) {}
  [[nodiscard]] std::size_t bytes() const override {
    const std::size_t shared = preconditioner ? preconditioner->bytes() : 0;  // counted by each of the others
    std::size_t bytes = r.bytes() + iterate.bytes() + restart_iterate.bytes() + states.bytes() +
                        operands.bytes() + products.bytes() + shared;
    for (const auto& workspace : others) bytes += workspace->bytes() - shared;
    return bytes;
  }
  [[nodiscard]] State* state() { return state_array.data(); }
  /// Adds a workspace for a further column, whose state is put next to that of this one.
  void add_column(std::unique_ptr<Workspace> other) {
    constexpr std::size_t capacity = States::capacity;
    const Device& device = backend.device();
    if (others.empty()) {
      states = Array<States>(device, most_columns / capacity);
      state_array = Array<State>::borrow(device, states.data()->at, 1);
    }
    others.push_back(std::move(other));
    const std::size_t number = others.size();
    State* const place = states.data()[number / capacity].at + number % capacity;
    static_cast<IterationWorkspace&>(*others.back()).state_array = Array<State>::borrow(device, place, 1);
  }

  std::int64_t n;        ///< equations
  std::int64_t columns;  ///< unknowns
  B backend;
  Array<State> state_array;
  State host_state;                  ///< copy of the state, from the last read
  std::int64_t cycles = 0;           ///< number of (re)starts of the solve in progress
  const Control* control = nullptr;  ///< of the solve in progress
  Array<T> r;                        ///< b - A x at a (re)start
  Array<T> iterate;                  ///< x during the solve, once it was asked for
  Array<T> restart_iterate;          ///< x at a restart near the tolerance
  MultiVectorArray<T> operands;      ///< copies of vectors that a linear operator multiplies together
  MultiVectorArray<T> products;      ///< A times the operands
  std::unique_ptr<ResidualCheck<T>> residual_check;
  std::shared_ptr<Workspace> preconditioner;  ///< of the method's operator M, for all columns together
  Array<T> consistent_rhs;                    ///< the part of b in the range of a singular A
  Array<double> null_space_parts;             ///< coefficients of the rest of b, one for each null vector
  IterationScale scale;                       ///< of the solve in progress
  /// Workspaces of further columns, which the first solve with several right-hand sides makes.
  std::vector<std::unique_ptr<Workspace>> others;
  Array<States> states;  ///< of this column and the others, if there are any
};

/// Epilogue of a product: y = factor A x.
template <class T>
struct StoreScaled {
  T factor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { y[i] = factor * sum; }
};

}  // namespace echelon

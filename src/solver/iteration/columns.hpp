// SPDX-License-Identifier: BSD-3-Clause
/// Right-hand sides that an iterative method solves in one loop.
#pragma once

#include "linalg/vector/column_list.hpp"
#include "solver/inconsistent.hpp"
#include "solver/iteration/state.hpp"
#include "solver/nested_solver.hpp"
#include "support/machine_epsilon.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon {

/// A right-hand side and its iterate.
template <class B, class T>
struct IteratedColumn {
  IterationWorkspace<B, T>* workspace;
  const T* b;
  T* x;
};

/// Part of the tolerance at which iterations end. The rest is for rounding errors of their residuals: the
/// report has a residual that is computed in another order, or in higher precision.
template <class T>
inline constexpr double iteration_tolerance = 1 - 4096 * machine_epsilon<T>;

/// A right-hand side in the course of its solve.
template <class B, class T>
struct SolvedColumn : IteratedColumn<B, T> {
  Job* job;
  std::size_t number = 0;       ///< place among the columns that are solved together
  double tolerance = 0;         ///< on the norms that the steps record
  OutsideRange outside = {};    ///< norms of the part of b that is not in the range of A
  double norm = 0;              ///< of the residual
  double least = 0;             ///< the least norm since the (re)start, but for progress of less than 1 %
  std::int64_t idle = 0;        ///< steps since `least` decreased
  std::int64_t next_check = 0;  ///< length of the history at which stagnation is tested next
  bool is_running = true;       ///< in the loop that iterates all columns
  bool is_near = false;         ///< the cycle began near the tolerance, with x in workspace.restart_iterate

  /// Whether the column is in the loop and its state was running when it was last read.
  [[nodiscard]] bool is_iterated() const { return is_running && this->workspace->host_state.running(); }
  /// Whether b was replaced by its part in the range of A.
  [[nodiscard]] bool is_in_range() const { return this->b == this->workspace->consistent_rhs.data(); }
  /// Tolerance on ||b - A x||_2.
  [[nodiscard]] double asked_tolerance() const { return is_in_range() ? tolerance : job->tolerance; }
  /// Tolerance on its value with rounding errors.
  [[nodiscard]] double residual_tolerance() const {
    return is_in_range() ? tolerance : iteration_tolerance<T> * job->tolerance;
  }
};

/// Columns that are solved together, each with its number in the list.
template <class B, class T>
using SolvedColumns = ColumnList<SolvedColumn<B, T>>;

/// Reads states of columns that are solved together, waiting once for States::capacity of them.
template <class B, class T>
class StateReader {
  using States = IterationStates<Dot<T>>;

 public:
  explicit StateReader(SolvedColumns<B, T>& columns)
      : first_(columns.begin()->workspace), alone_(columns.size() == 1) {}
  [[nodiscard]] const IterationStateOf<Dot<T>>& state_of(const SolvedColumn<B, T>& column) {
    const std::size_t group = column.number / States::capacity;
    const std::size_t place = column.number % States::capacity;
    if (alone_) {
      states_.at[place] = first_->backend.read(first_->state());
    } else if (group != group_) {
      states_ = first_->backend.read(first_->states.data() + group);
      group_ = group;
    }
    return states_.at[place];
  }

 private:
  IterationWorkspace<B, T>* first_;
  bool alone_;
  std::size_t group_ = SIZE_MAX;
  States states_;
};

/// Number of steps until the next check: the largest that a column in the loop predicts.
template <class B, class T>
[[nodiscard]] std::int64_t steps_before_check(SolvedColumns<B, T>& columns) {
  std::int64_t steps = 1;
  for (const SolvedColumn<B, T>& column : columns) {
    const Job& job = *column.job;
    if (!column.is_iterated()) continue;
    steps = std::max(
        steps, steps_before_check(job.iterations, job.history.front(), job.history.back(), job.tolerance));
  }
  return steps;
}

}  // namespace echelon

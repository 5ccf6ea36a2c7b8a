// SPDX-License-Identifier: BSD-3-Clause
/// Refinement from x = 0 by an inverse of lower precision: the first step finds the solution.
#pragma once

#include "linalg/spmv/form_residual.hpp"
#include "solver/direct/refinement.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mixed_precision {

/// Policy of refine(), decided on the host. All columns take each step until `Rule` has finished with all of
/// them. views.residual remains that of X: the residuals of candidates are formed in `next`. Rule has
///   Column                    state of a column, with a member finished;
///   initial(b_norm)           that of x = 0;
///   norms(r, x)               of a residual and its x; waits;
///   take_step(column, norms)  updates the state, and returns whether the candidate is accepted;
///   stops()                   whether no further step is wanted.
template <class B, class T, class Rule>
class StepsFromZero {
 public:
  using Column = typename Rule::Column;

  StepsFromZero(B& backend, const MatrixRef<T>& A, DenseView<const T> rhs, DenseView<T> next, Rule rule)
      : backend_(backend),
        A_(A),
        rhs_(rhs),
        next_(next),
        rule_(std::move(rule)),
        columns_(static_cast<std::size_t>(rhs.columns())) {
    std::iota(columns_.begin(), columns_.end(), std::int64_t{0});
  }

  /// Sets X = 0 and its residuals.
  void begin(const RefinementViews<T>& views) {
    for (const std::int64_t j : columns_) {
      backend_.fill(views.solution.rows(), T{0}, views.solution.column(j));
      backend_.copy(rhs_.rows(), rhs_.column(j), views.residual.column(j));
      states_.push_back(rule_.initial(rule_.norms(rhs_.column(j), views.solution.column(j)).residual.value));
    }
  }

  [[nodiscard]] std::span<const std::int64_t> columns() const {
    const auto is_finished = [](const Column& column) { return column.finished; };
    if (rule_.stops() || std::all_of(states_.begin(), states_.end(), is_finished)) return {};
    return columns_;
  }

  void assess(std::span<const std::int64_t> columns, const RefinementViews<T>& views) {
    form_residual<B, T>(backend_, A_, rhs_, views.candidate, next_);
    const std::int64_t n = views.solution.rows();
    for (const std::int64_t j : columns) {
      Column& column = states_[static_cast<std::size_t>(j)];
      if (column.finished) continue;
      if (!rule_.take_step(column, rule_.norms(next_.column(j), views.candidate.column(j)))) continue;
      backend_.copy(n, views.candidate.column(j), views.solution.column(j));
      backend_.copy(n, next_.column(j), views.residual.column(j));
    }
  }

  [[nodiscard]] std::vector<Column>& states() { return states_; }

 private:
  B& backend_;
  const MatrixRef<T>& A_;
  DenseView<const T> rhs_;
  DenseView<T> next_;
  Rule rule_;
  std::vector<std::int64_t> columns_;
  std::vector<Column> states_;
};

/// Solves A X = B for square A by at most `max_steps` steps of StepsFromZero. `add_correction(R, X)` queues
/// X = X + C R for the inverse C. Returns the states of the columns.
template <class B, class T, class Rule, class AddCorrection>
std::vector<typename Rule::Column> refine_from_zero(B& backend, const MatrixRef<T>& A, DenseView<const T> rhs,
                                                    const RefinementViews<T>& views, DenseView<T> next,
                                                    std::int64_t max_steps, Rule rule,
                                                    const AddCorrection& add_correction) {
  StepsFromZero<B, T, Rule> policy(backend, A, rhs, next, std::move(rule));
  refine(max_steps, views, policy, [&](std::span<const std::int64_t> columns, const RefinementViews<T>& all) {
    for (const std::int64_t j : columns) {
      backend.copy(all.solution.rows(), all.solution.column(j), all.candidate.column(j));
    }
    add_correction(all.residual, all.candidate);
  });
  return std::move(policy.states());
}

}  // namespace echelon::mixed_precision

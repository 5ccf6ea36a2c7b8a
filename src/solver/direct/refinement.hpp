// SPDX-License-Identifier: BSD-3-Clause
/// Iterative refinement of solutions of A X = B by an approximate inverse C of A:
///
///   R = B - A X;  repeat  Y = X + C R,  and X = Y for the columns whose candidate the policy accepts.
///
/// N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 12.
#pragma once

#include "backend/backend.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/column_range.hpp"
#include "solver/implementation.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Normwise backward error of the level of rounding errors, up to which SmallerResidual takes no step for
/// factorisations that say so: ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf).
template <class T>
[[gnu::visibility("hidden")]] inline constexpr double rounding_backward_error = 4 * machine_epsilon<T>;

/// Columns under refinement. Candidates and residuals have as many columns as X, or more.
template <class T>
struct RefinementViews {
  DenseView<T> solution;   ///< X
  DenseView<T> residual;   ///< R = B - A X
  DenseView<T> candidate;  ///< Y
};

/// Refines X in at most `max_steps` steps. The policy says which columns a step treats and which candidates
/// it accepts:
///   begin(views)           forms the residuals of X;
///   columns()              columns that the next step treats; none: the end;
///   assess(columns, views)  forms the residuals of their candidates, which are the first columns of
///                          views.candidate, and accepts some.
/// `correct(columns, views)` queues x + C r for them, in the first columns of views.candidate.
template <class T, class Policy, class Correct>
void refine(std::int64_t max_steps, const RefinementViews<T>& views, Policy& policy, const Correct& correct) {
  if (max_steps <= 0 || views.solution.rows() == 0) return;
  policy.begin(views);
  for (std::int64_t step = 0; step < max_steps; ++step) {
    const std::span<const std::int64_t> columns = policy.columns();
    if (columns.empty()) return;
    correct(columns, views);
    policy.assess(columns, views);
  }
}

/// Progress of the refinement of one column, in the backend's memory.
struct RefinementState {
  double residual = 0;        ///< ||b - A x||_inf
  double solution = 0;        ///< ||x||_inf at the beginning, if it was asked for
  std::int32_t running = 0;   ///< further steps may change x
  std::int32_t accepted = 0;  ///< the last candidate is better than x
};

namespace refinement_detail {

struct TakeSolution {
  RefinementState* state;
  ECHELON_ANYWHERE void operator()(Largest x) const { state->solution = x.value; }
};

struct Begin {
  RefinementState* state;
  ECHELON_ANYWHERE void operator()(Largest residual) const {
    state->residual = residual.value;
    state->running = residual.value > 0;
    state->accepted = 0;
  }
};

struct AssessCandidate {
  RefinementState* state;
  ECHELON_ANYWHERE void operator()(Largest residual) const {
    const bool better = state->running != 0 && residual.value < state->residual;
    state->accepted = better;
    state->running = better && residual.value > 0;
    if (better) state->residual = residual.value;
  }
};

template <class T>
struct TakeIfAccepted {
  const RefinementState* state;
  const T* candidate;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->accepted != 0) x[i] = candidate[i];
  }
};

}  // namespace refinement_detail

/// Residuals and candidates of columns of n elements, and their progress: 2 n elements a column.
template <class T>
struct RefinementArrays {
  RefinementArrays(const Device& device, std::int64_t n)
      : residual(device, n, 1), candidate(device, n, 1), states(device, 1) {}
  /// Makes room for `columns` columns.
  void fit(std::int64_t columns) {
    if (residual.columns() >= columns) return;
    const Device device = residual.device();
    const std::int64_t n = residual.rows();
    residual = candidate = Dense<T>();
    residual = Dense<T>(device, n, columns);
    candidate = Dense<T>(device, n, columns);
    states = Array<RefinementState>(device, columns);
  }
  [[nodiscard]] std::size_t bytes() const { return residual.bytes() + candidate.bytes() + states.bytes(); }
  [[nodiscard]] RefinementViews<T> views(DenseView<T> X) {
    return {X, column_range(residual.view(), 0, X.columns()), column_range(candidate.view(), 0, X.columns())};
  }
  Dense<T> residual, candidate;
  Array<RefinementState> states;
};

/// Where it is decided whether a candidate is accepted.
enum class Decision {
  on_host,  ///< norms are read in each step, and steps end once no column improves
  queued,   ///< on the device, without waiting: all steps are queued, and those of no use change nothing
};

/// Accepts candidates with a smaller residual in the infinity norm; the first one that has none, or a
/// residual of zero, ends the refinement of its column. `form_residual(X, R)` queues R = B - A X for all
/// columns.
template <Decision decision, class B, class T, class FormResidual>
class SmallerResidual {
 public:
  /// `states`: of `columns` columns, in the backend's memory.
  SmallerResidual(B& backend, RefinementState* states, std::int64_t columns, FormResidual form_residual)
      : backend_(backend),
        states_(states),
        form_residual_(std::move(form_residual)),
        columns_(static_cast<std::size_t>(columns)),
        running_(static_cast<std::size_t>(columns), true),
        steps_(static_cast<std::size_t>(columns), 0) {
    std::iota(columns_.begin(), columns_.end(), std::int64_t{0});
  }

  /// Does not refine column j where the norm of its residual is at most `limit(j, ||x||_inf)`. For decisions
  /// on the host.
  void set_negligible(std::function<double(std::int64_t j, double x_norm)> limit) {
    negligible_ = std::move(limit);
  }

  void begin(const RefinementViews<T>& views) {
    form_residual_(views.solution, views.residual);
    for (const std::int64_t j : columns_) {
      if (negligible_) measure(j, views.solution, refinement_detail::TakeSolution{states_ + j});
      measure(j, views.residual, refinement_detail::Begin{states_ + j});
      if constexpr (decision == Decision::on_host) {
        RefinementState state = backend_.read(states_ + j);
        const double limit = negligible_ ? negligible_(j, state.solution) : 0;
        const bool runs = state.residual > limit;
        running_[static_cast<std::size_t>(j)] = runs;
        state.running = 0;
        if (!runs && columns_.size() > 1) backend_.write(state, states_ + j);
      }
    }
  }

  [[nodiscard]] std::span<const std::int64_t> columns() const {
    const bool some = std::find(running_.begin(), running_.end(), true) != running_.end();
    return some ? std::span<const std::int64_t>(columns_) : std::span<const std::int64_t>();
  }

  void assess(std::span<const std::int64_t> columns, const RefinementViews<T>& views) {
    const std::int64_t n = views.solution.rows();
    form_residual_(views.candidate, views.residual);
    for (const std::int64_t j : columns) {
      RefinementState* const state = states_ + j;
      measure(j, views.residual, refinement_detail::AssessCandidate{state});
      if constexpr (decision == Decision::queued) {
        backend_.for_each(n, refinement_detail::TakeIfAccepted<T>{state, views.candidate.column(j),
                                                                  views.solution.column(j)});
      } else {
        take(j, backend_.read(state), views);
      }
    }
  }

  /// Steps accepted for each column, of decisions on the host.
  [[nodiscard]] const std::vector<std::int64_t>& steps() const { return steps_; }
  /// Reports them.
  void report(std::span<Job> jobs, const RefinementViews<T>& /*views*/) const {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if constexpr (decision == Decision::on_host) {
        jobs[j].statistics = {{"refinement_steps", steps_[j]}};
        jobs[j].refined = steps_[j] > 0;
      } else {
        jobs[j].refined = true;
      }
    }
  }

 private:
  template <class Finish>
  void measure(std::int64_t j, const DenseView<T>& V, const Finish& finish) {
    backend_.reduce(V.rows(), LargestMagnitude<const T*>{V.column(j)}, finish);
  }

  void take(std::int64_t j, const RefinementState& state, const RefinementViews<T>& views) {
    const auto number = static_cast<std::size_t>(j);
    running_[number] = state.running != 0;
    if (state.accepted == 0) return;
    backend_.copy(views.solution.rows(), views.candidate.column(j), views.solution.column(j));
    ++steps_[number];
  }

  B& backend_;
  RefinementState* states_;
  FormResidual form_residual_;
  std::vector<std::int64_t> columns_;
  std::vector<bool> running_;
  std::vector<std::int64_t> steps_;
  std::function<double(std::int64_t, double)> negligible_;
};

}  // namespace echelon

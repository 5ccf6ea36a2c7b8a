// SPDX-License-Identifier: BSD-3-Clause
/// Solvers of the C interface: a method by name with its options, and the Solver that it becomes for a
/// matrix.
#pragma once

#include "c/held_matrix.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/linalg/determinant.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::c {

/// Requests to cancel the calls for a solver that are running.
class Cancellation {
 public:
  /// Only sets a flag, which a signal handler may do.
  void request() noexcept { requested_ = true; }
  [[nodiscard]] const std::atomic<bool>* flag() const { return &requested_; }
  /// The first of the calls that run at once forgets requests to earlier ones.
  void enter() noexcept {
    if (running_.fetch_add(1) == 0) requested_ = false;
  }
  void leave() noexcept { running_.fetch_sub(1); }

 private:
  std::atomic<bool> requested_ = false;
  std::atomic<int> running_ = 0;
};

/// Functions of the caller that are called in set-ups and solves, and their first arguments.
struct Callbacks {
  echelon_progress progress = nullptr;
  void* progress_user = nullptr;
  echelon_iterate iterate = nullptr;
  void* iterate_user = nullptr;

  [[nodiscard]] bool any() const { return progress != nullptr || iterate != nullptr; }

  /// Calls them. False if one of them asks to end the call.
  [[nodiscard]] bool go_on(const Progress& p) const {
    if (progress != nullptr &&
        progress(progress_user, static_cast<std::int32_t>(p.phase), p.fraction.value_or(-1), p.iteration,
                 p.relative_residual, p.tolerance) != 0) {
      return false;
    }
    return iterate == nullptr ||
           std::visit([&](const auto& source) { return go_on_from(p, source); }, p.source);
  }

 private:
  [[nodiscard]] static bool go_on_from(const Progress& /*p*/, std::monostate /*none*/) { return true; }
  [[nodiscard]] bool go_on_from(const Progress& p, const auto& form) const {
    return iterate(iterate_user, p.right_hand_side, p.iteration, form().data()) == 0;
  }
};

/// Facts about a solver that do not depend on the type of its elements.
struct SolverSettings {
  std::string method;
  Device device;
  Options options;
  Control control;  ///< tolerances and what to measure
  std::optional<Dense<double>> near_null_space;
  Callbacks callbacks;
  Cancellation cancellation;
  std::int64_t changes = 0;  ///< of what acts at the next set-up
};

/// A running call of a set-up or a solve, with its callbacks and cancellation.
class RunningCall {
 public:
  explicit RunningCall(SolverSettings& settings)
      : control(settings.control), cancellation_(settings.cancellation) {
    if (settings.callbacks.any()) {
      stop_ = std::stop_source();
      control.on_progress = [this, callbacks = settings.callbacks](const Progress& p) {
        if (!callbacks.go_on(p)) stop_.request_stop();
      };
    }
    control.cancel = CancellationToken(stop_.get_token(), cancellation_.flag());
    cancellation_.enter();
  }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  ~RunningCall() { cancellation_.leave(); }

  Control control;

 private:
  Cancellation& cancellation_;
  std::stop_source stop_{std::nostopstate};
};

/// A Solver with all that it refers to.
template <class T>
struct PreparedSolver {
  explicit PreparedSolver(Solver<T> made) : solver(std::move(made)) {}
  Solver<T> solver;
  std::shared_ptr<const PreparedSolver> preconditioner;
  std::shared_ptr<const HeldMatrix<T>> matrix;
  bool is_set_up = false;
  mutable WorkspacePool<PreconditionerApplication<T>> applications;
};

/// A solver by the name of its method. The one place of the C interface that makes a Solver<T>.
template <class T>
class HeldSolver {
 public:
  void set_preconditioner(std::shared_ptr<const HeldSolver> solver) {
    preconditioner_ = std::move(solver);
    product_ = nullptr;
  }
  void set_preconditioner(echelon_product product, void* user) {
    product_ = product;
    product_user_ = user;
    preconditioner_ = nullptr;
  }

  Report analyze(const SolverSettings& settings, const std::shared_ptr<const HeldMatrix<T>>& A,
                 const Control& control) {
    return prepare(settings, A, [&] { return prepared_->solver.analyze(A->ref(), control); });
  }
  Report setup(const SolverSettings& settings, const std::shared_ptr<const HeldMatrix<T>>& A,
               const Control& control) {
    Report report = prepare(settings, A, [&] { return prepared_->solver.setup(A->ref(), control); });
    prepared_->is_set_up = true;
    return report;
  }
  /// New values for the pattern of the last set-up.
  Report update(const std::shared_ptr<const HeldMatrix<T>>& A, const Control& control) {
    require_set_up();
    Report report = refer_to(A, [&] { return prepared_->solver.update_values(A->ref(), control); });
    prepared_->is_set_up = true;
    return report;
  }

  /// Rows of B and X in A X = B, or in the transposed system.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> rows(Operation operation) const {
    const MatrixRef<T> A = set_up().matrix->ref();
    return operation == Operation::none ? std::pair(A.rows(), A.columns()) : std::pair(A.columns(), A.rows());
  }
  Report solve(DenseView<const T> B, DenseView<T> X, const Control& control) const {
    return set_up().solver.solve(B, X, control);
  }
  void apply(const T* r, T* z) const {
    const PreparedSolver<T>& prepared = set_up();
    const auto make = [&] {
      return std::make_unique<PreconditionerApplication<T>>(prepared.solver, prepared.matrix->ref().rows());
    };
    prepared.applications.with_workspace(make, [&](PreconditionerApplication<T>& application) {
      application(r, z);
      return true;
    });
  }
  [[nodiscard]] MatrixFactors<T> factors() const { return set_up().solver.factors(); }
  [[nodiscard]] Determinant determinant() const { return set_up().solver.determinant(); }
  [[nodiscard]] Inertia inertia() const { return set_up().solver.inertia(); }
  [[nodiscard]] std::size_t bytes() const { return prepared_ == nullptr ? 0 : prepared_->solver.bytes(); }

 private:
  [[nodiscard]] const PreparedSolver<T>& set_up() const {
    require_set_up();
    return *prepared_;
  }
  void require_set_up() const {
    if (prepared_ == nullptr || !prepared_->is_set_up)
      throw Refusal(ECHELON_NOT_SET_UP, "the solver has not been set up: call echelon_setup before");
  }

  /// Calls `step` with the Solver, which is kept, with its analysis, until the settings change.
  template <class Step>
  Report prepare(const SolverSettings& settings, const std::shared_ptr<const HeldMatrix<T>>& A,
                 const Step& step) {
    if (prepared_ == nullptr || changes_ != settings.changes) make(settings);
    return refer_to(A, step);
  }

  void make(const SolverSettings& settings) {
    auto made = std::make_shared<PreparedSolver<T>>(
        make_solver<T>(settings.method, settings.device, settings.options));
    if (settings.near_null_space) take_near_null_space(made->solver, *settings.near_null_space);
    if (product_ != nullptr) {
      made->solver.set_preconditioner(
          Preconditioner<T>(product_function<T>(product_, product_user_), settings.device));
    } else if (preconditioner_ != nullptr) {
      preconditioner_->require_set_up();
      made->preconditioner = preconditioner_->prepared_;
      made->solver.set_preconditioner(made->preconditioner->solver);
    }
    prepared_ = std::move(made);
    changes_ = settings.changes;
  }

  static void take_near_null_space(Solver<T>& solver, const Dense<double>& vectors) {
    if constexpr (is_complex<T>) {
      throw Refusal(ECHELON_BAD_ARGUMENT, "near null spaces are for real matrices");
    } else {
      set_near_null_space(solver, vectors);
    }
  }

  /// Calls a step of the Solver that makes it refer to A. If the step throws, or is an analysis, the solver
  /// is not set up.
  template <class Step>
  Report refer_to(const std::shared_ptr<const HeldMatrix<T>>& A, const Step& step) {
    prepared_->is_set_up = false;
    prepared_->applications.clear();
    const auto previous = std::exchange(prepared_->matrix, A);
    return step();
  }

  std::shared_ptr<PreparedSolver<T>> prepared_;
  std::int64_t changes_ = 0;
  std::shared_ptr<const HeldSolver> preconditioner_;
  echelon_product product_ = nullptr;
  void* product_user_ = nullptr;
};

}  // namespace echelon::c

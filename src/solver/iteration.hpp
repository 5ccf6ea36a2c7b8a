// SPDX-License-Identifier: BSD-3-Clause
/// What all iterative methods share: the loop around their steps, and its state on the device.
///
/// A method's scalars live where its vectors live. Steps are queued without waiting, and every `check_every`
/// steps the host reads the state once. When the state stops running (converged, broken down, ...), later
/// steps change nothing, so the answer and the iteration count do not depend on how often the host looks.
#pragma once

#include "backend/target.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/implementation.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

enum class Phase : std::int32_t { running, converged, restart, limit, breakdown, not_spd, diverged };

/// Lives in the backend's memory.
struct IterationState {
  static constexpr std::int64_t history_size = 64;

  double tolerance = 0;   ///< on the residual norm
  double divergence = 0;  ///< residual norms above it, or NaN, end the iteration
  double residual = 0;    ///< ||r||_2 after `iteration` iterations
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  std::int64_t inner = 0;  ///< steps since the (re)start
  Phase phase = Phase::running;
  std::int32_t padding = 0;
  double history[history_size] = {};  ///< residual after iteration k at [(k-1) % history_size]

  double rho = 0;  ///< scalars of the methods, by their usual letters
  double alpha = 0;
  double beta = 0;
  double omega = 0;

  [[nodiscard]] ECHELON_ANYWHERE bool running() const { return phase == Phase::running; }

  /// An iteration is complete, with this residual norm.
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

template <class B, class T>
struct IterationWorkspace : Workspace {
  IterationWorkspace(const Device& device, std::int64_t size)
      : n(size), backend(device), state_array(device, 1), r(device, size) {}
  [[nodiscard]] std::size_t bytes() const override {
    return r.bytes() + (preconditioner ? preconditioner->bytes() : 0);
  }
  [[nodiscard]] IterationState* state() { return state_array.data(); }

  std::int64_t n;
  B backend;
  Array<IterationState> state_array;
  IterationState seen;  ///< the state as the host last read it
  Array<T> r;           ///< b - A x when a method (re)starts
  std::unique_ptr<Audit<T>> audit;
  std::unique_ptr<Workspace> preconditioner;
};

template <class B, class T>
class IterativeMethod : public SolverImplementation<T> {
 public:
  using Space = IterationWorkspace<B, T>;

  IterativeMethod(const Device& device, Stop stop) : SolverImplementation<T>(device), stop_(stop) {
    if (stop_.check_every == 0) stop_.check_every = device.on_host() ? 1 : 16;
  }
  [[nodiscard]] const Stop* stop() const override { return &stop_; }

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    return preconditioner_ ? named(preconditioner_->implementation().setup(A)) : Outcome{};
  }
  Outcome update_values(const MatrixRef<T>& A) override {
    A_ = A;
    return preconditioner_ ? named(preconditioner_->implementation().update_values(A)) : Outcome{};
  }
  [[nodiscard]] std::size_t bytes() const override {
    return preconditioner_ ? preconditioner_->implementation().bytes() : 0;
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& space = static_cast<Space&>(workspace);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      run(space, right.column(j), left.column(j), jobs[static_cast<std::size_t>(j)]);
    }
  }

 protected:
  /// Begins from the residual in space.r.
  virtual void start(Space& space, const T* b, T* x) const = 0;
  /// Queues one iteration, which ends with IterationState::record.
  virtual void step(Space& space, const T* b, T* x) const = 0;
  /// Brings x up to date, for methods that do not keep it so.
  virtual void finish(Space& /*space*/, T* /*x*/) const {}

  [[nodiscard]] const MatrixRef<T>& matrix() const { return A_; }
  [[nodiscard]] bool preconditioned() const { return preconditioner_.has_value(); }

  /// Nests the method that an option names.
  void nest(const std::string& name, const Options& options) {
    if (name == "none" || name.empty()) {
      if (options.empty()) return;
      throw BadOption("preconditioner." + options.entries().front().first,
                      "options are given for a preconditioner, but there is none");
    }
    const Method& method = find_method(name);
    if (!method.usable_as_preconditioner) {
      throw BadOption("preconditioner", "method '" + name + "' cannot be used as a preconditioner");
    }
    preconditioner_ = make_solver<T>(name, this->device(), options);
  }

  /// Completes a workspace that a method made.
  template <class Own>
  std::unique_ptr<Workspace> equip(std::unique_ptr<Own> space) const {
    space->audit = make_audit<ThisTarget, T>(this->device());
    if (preconditioner_) space->preconditioner = preconditioner_->implementation().make_workspace();
    return space;
  }

  void precondition(Space& space, const T* r, T* z) const {
    preconditioner_->implementation().apply(*space.preconditioner, r, z);
  }

 private:
  void run(Space& space, const T* b, T* x, Job& job) const {
    B& backend = space.backend;
    backend.fill(space.n, T{0}, x);
    backend.copy(space.n, b, space.r.data());
    double norm = job.right_hand_side_norm;
    job.history.push_back(norm);
    if (norm <= job.tolerance) return;
    for (;;) {
      if (job.iterations >= stop_.max_iterations) {
        job.outcome = {Status::max_iterations, limit_text(norm, job)};
        return;
      }
      const bool cancelled = iterate(space, b, x, norm, job);
      const double before = norm;
      norm = space.audit->residual(A_, b, x, space.r.data()).norm2;
      if (norm <= job.tolerance) return;
      job.outcome = ended(cancelled, space.seen.phase, before, norm, job);
      if (!job.outcome.ok()) {
        forget_unless_better(space, x, norm, job);
        return;
      }
    }
  }

  /// From a (re)start until the state stops running; true when the caller asked to stop.
  bool iterate(Space& space, const T* b, T* x, double norm, Job& job) const {
    constexpr double hopeless = 1e10;
    IterationState fresh;
    fresh.tolerance = job.tolerance;
    fresh.divergence = hopeless * job.right_hand_side_norm;
    fresh.residual = norm;
    fresh.iteration = job.iterations;
    fresh.max_iterations = stop_.max_iterations;
    space.seen = fresh;
    space.backend.write(fresh, space.state());
    start(space, b, x);
    bool cancelled = false;
    while (space.seen.running() && !cancelled) {
      for (std::int64_t k = 0; k < stop_.check_every; ++k) step(space, b, x);
      space.seen = space.backend.read(space.state());
      while (job.iterations < space.seen.iteration) {
        job.history.push_back(space.seen.history[job.iterations % IterationState::history_size]);
        ++job.iterations;
      }
      cancelled = job.control->cancel.stop_requested();
      if (job.control->on_progress) {
        job.control->on_progress({this->name(), job.number, job.iterations,
                                  space.seen.residual / job.right_hand_side_norm,
                                  job.tolerance / job.right_hand_side_norm});
      }
    }
    finish(space, x);
    return cancelled;
  }

  /// What to make of an iteration that ended without meeting the tolerance: an ok outcome means go on from
  /// the true residual.
  Outcome ended(bool cancelled, Phase phase, double before, double norm, const Job& job) const {
    const bool progress = norm < 0.5 * before;
    const std::string reached = "relative residual " + short_number(norm / job.right_hand_side_norm) +
                                " after " + std::to_string(job.iterations) + " iterations";
    if (cancelled) return {Status::cancelled, "stopped by the caller at " + reached};
    if (!std::isfinite(norm)) {
      return {Status::diverged, "x is not finite after " + std::to_string(job.iterations) + " iterations"};
    }
    switch (phase) {
      case Phase::limit:
        return {Status::max_iterations, limit_text(norm, job)};
      case Phase::diverged:
        return {Status::diverged, reached};
      case Phase::not_spd:
        return {Status::not_spd,
                "A, or the preconditioner, is not positive definite: a direction of negative or zero "
                "curvature at " +
                    reached};
      case Phase::breakdown:
        if (progress) break;
        return {Status::breakdown, "division by zero in the recurrence at " + reached};
      case Phase::converged:
        if (progress) break;
        return {Status::stagnated, "rounding errors keep the true residual from falling: " + reached};
      case Phase::restart:
        if (norm < (1 - 1e-6) * before) break;
        return {Status::stagnated, "a restart cycle brought nothing: " + reached};
      case Phase::running:
        break;
    }
    return {Status::converged};
  }

  [[nodiscard]] std::string limit_text(double norm, const Job& job) const {
    return "relative residual " + short_number(norm / job.right_hand_side_norm) + " at the limit of " +
           std::to_string(stop_.max_iterations) + " iterations";
  }

  /// An iterate worse than x = 0 helps nobody.
  void forget_unless_better(Space& space, T* x, double norm, Job& job) const {
    if (norm <= job.right_hand_side_norm) return;
    space.backend.fill(space.n, T{0}, x);
    job.outcome.message += "; x is returned as zero, which no iterate improved on";
  }

  Outcome named(Outcome outcome) const {
    if (!outcome.ok())
      outcome.message = "preconditioner " + preconditioner_->describe() + ": " + outcome.message;
    return outcome;
  }

  Stop stop_;
  MatrixRef<T> A_;
  std::optional<Solver<T>> preconditioner_;
};

}  // namespace echelon

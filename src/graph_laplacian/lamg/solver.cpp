// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/parallel/engine.hpp"
#include "graph_laplacian/laplacian_form.hpp"
#include "multigrid/level_statistics.hpp"
#include "multigrid/method.hpp"
#include "solver/instantiate.hpp"
#include "solver/nested_solver.hpp"
#include "solver/rounding_level.hpp"
#include "support/text.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/lamg.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#ifndef __CUDACC__
#include "graph_laplacian/lamg/sequential_engine.hpp"
#endif

namespace echelon {

namespace lamg {

namespace {

/// Makes the algorithm of a backend. One core is several times faster with the sequential one.
template <class B, class T>
std::unique_ptr<Engine<B, T>> make_engine(const LamgOptions& options) {
#ifndef __CUDACC__
  if (!options.parallel) return std::make_unique<SequentialEngine<B, T>>(options);
#endif
  return std::make_unique<parallel::ParallelEngine<B, T>>(options);
}

/// x += dx.
template <class T>
struct AddVector {
  const T* dx;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += dx[i]; }
};

template <class B, class T>
class LamgMethod final : public SolverImplementation<T>,
                         public multigrid::HierarchyOwner,
                         public VariableOperator {
  using Form = graph_laplacian::LaplacianForm<B, T>;

  struct Vectors final : Workspace {
    explicit Vectors(const LamgMethod& method)
        : backend(method.device()),
          form(method.form_.make_workspace(backend)),
          r(method.device(), method.form_.rows()),
          dx(method.device(), method.form_.rows()),
          y(method.device(), method.form_.vertices()),
          cycle(method.engine_->make_vectors(backend)),
          check(make_residual_check<ThisTarget, T>(method.device())) {}
    [[nodiscard]] std::size_t bytes() const override {
      return form.bytes() + r.bytes() + dx.bytes() + y.bytes() + cycle->bytes();
    }
    B backend;
    typename Form::Workspace form;
    Array<T> r, dx;  ///< residual and correction, in the rows of A
    Array<T> y;      ///< right-hand side and solution, in the vertices of the Laplacian
    std::unique_ptr<Workspace> cycle;
    std::unique_ptr<ResidualCheck<T>> check;
  };

 public:
  LamgMethod(const Device& device, const LamgOptions& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {}

  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }

  Outcome setup(const MatrixRef<T>& A) override { return build(A, false); }
  Outcome update_values(const MatrixRef<T>& A) override { return build(A, engine_ != nullptr); }

  [[nodiscard]] const HierarchyDescription& description() const override { return description_; }
  /// Varying, because recombination of iterates makes a cycle nonlinear.
  [[nodiscard]] AppliedOperator applied_operator() const override { return AppliedOperator::varying; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + form_.bytes() + (engine_ ? engine_->bytes() : 0);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(*this);
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<Vectors&>(workspace);
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      solve_column(own, right.column(j), left.column(j), jobs[static_cast<std::size_t>(j)]);
    }
  }

  /// Does one cycle, a nonlinear function of r.
  void apply(Workspace& workspace, const T* r, T* z) const override {
    auto& own = static_cast<Vectors&>(workspace);
    form_.lift(own.backend, own.form, r, own.y.data());
    engine_->apply(own.backend, *own.cycle, own.y.data());
    form_.restore(own.backend, own.form, own.y.data(), z);
  }

 private:
  Outcome build(const MatrixRef<T>& A, bool update) {
    if (!update) engine_ = make_engine<B, T>(options_);
    description_ = {};
    A_ = A;
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    Outcome accepted = form_.setup(backend_, A.is_sparse() ? *A.csr() : copy_);
    if (accepted.ok()) accepted = engine_->setup(backend_, form_.laplacian(), this->cancel(), update);
    if (accepted.ok() && this->cancel().stop_requested()) {
      accepted = {Status::cancelled, "stopped by the caller"};
    }
    if (!accepted.ok()) {
      engine_.reset();
      return accepted;
    }
    description_ = engine_->description();
    Outcome outcome;
    outcome.statistics = multigrid::level_statistics(description_);
    outcome.statistics.push_back({"components", form_.components()});
    return outcome;
  }

  void solve_column(Vectors& v, const T* b, T* x, Job& job) const {
    const std::int64_t n = form_.rows();
    double norm = job.right_hand_side_norm;
    if (job.control->use_initial_guess && norm > 0) {
      norm = v.check->residual(A_, b, x, v.r.data()).norm2;
    } else {
      v.backend.fill(n, T{0}, x);
      v.backend.copy(n, b, v.r.data());
    }
    job.history.push_back(norm);
    job.unreachable = form_.lift(v.backend, v.form, v.r.data(), v.y.data());
    // Rounding alone makes sums differ from zero.
    const double rounding = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(n));
    if (job.unreachable <= rounding * job.right_hand_side_norm) job.unreachable = 0;
    if (options_.strict && job.unreachable > job.tolerance) {
      v.backend.fill(n, T{0}, x);
      job.outcome = {Status::inconsistent,
                     "b does not sum to zero over every component of the graph: no x reaches a part of " +
                         short_number(job.unreachable / job.right_hand_side_norm) + " of ||b||"};
      return;
    }
    iterate(v, b, x, norm, job);
    if (job.outcome.ok() && job.unreachable > 0) {
      job.outcome.message = graph_laplacian::unreachable_text(job.unreachable, job.right_hand_side_norm);
    }
    job.statistics.push_back({"removed_norm", job.unreachable});
  }

  /// Norm of the part of a residual, of the given norm, that lies in the range of A.
  static double reachable(double norm, const Job& job) {
    return std::sqrt(std::max(norm * norm - job.unreachable * job.unreachable, 0.0));
  }

  /// Runs cycles, and restarts from the true residual while this exceeds the tolerance and decreases.
  void iterate(Vectors& v, const T* b, T* x, double norm, Job& job) const {
    const std::int64_t n = form_.rows();
    job.outcome = {Status::converged};
    norm = reachable(norm, job);
    while (norm > job.tolerance) {
      const std::optional<Outcome> ended = run_cycles(v, norm, job);
      form_.restore(v.backend, v.form, v.y.data(), v.dx.data());
      v.backend.for_each(n, AddVector<T>{v.dx.data(), x});
      const double before = norm;
      const VectorFacts residual = v.check->residual(A_, b, x, v.r.data());
      norm = reachable(residual.norm2, job);
      if (norm <= job.tolerance || std::isnan(norm)) return;
      if (ended && ended->status == Status::cancelled) {
        job.outcome = *ended;
        return;
      }
      if (!(norm < 0.5 * before)) {
        if (!limited_by_rounding(v, residual, x, job)) job.outcome = ended.value_or(stagnation(norm, job));
        return;
      }
      if (ended && ended->status == Status::max_iterations) {
        job.outcome = *ended;
        return;
      }
      form_.lift(v.backend, v.form, v.r.data(), v.y.data());
    }
  }

  static std::string reached(double norm, const Job& job) {
    return "relative residual " + short_number(norm / job.right_hand_side_norm) + " after " +
           std::to_string(job.iterations) + " cycles";
  }
  static Outcome stagnation(double norm, const Job& job) {
    return {Status::stagnated, "cycles no longer reduce the true residual: " + reached(norm, job)};
  }

  /// Runs cycles for the right-hand side in v.y, which the solution overwrites. Returns the reason why they
  /// ended, unless it is a residual within the tolerance.
  std::optional<Outcome> run_cycles(Vectors& v, double norm, Job& job) const {
    constexpr double progress = 0.99;
    engine_->start(v.backend, *v.cycle, v.y.data());
    std::optional<Outcome> ended;
    double best = norm;
    for (int idle = 0; norm > job.tolerance && !ended;) {
      if (job.iterations >= options_.stop.max_iterations) {
        ended = {Status::max_iterations, reached(norm, job)};
        break;
      }
      norm = engine_->step(v.backend, *v.cycle);
      ++job.iterations;
      job.history.push_back(norm);
      idle = norm < progress * best ? 0 : idle + 1;
      best = std::min(best, norm);
      if (!std::isfinite(norm)) {
        ended = {Status::diverged,
                 "the residual is not finite after " + std::to_string(job.iterations) + " cycles"};
      } else if (job.control->cancel.stop_requested()) {
        ended = {Status::cancelled, "stopped by the caller at " + reached(norm, job)};
      } else if (idle >= engine_->idle_steps()) {
        ended = stagnation(norm, job);
      }
      if (job.control->on_progress) {
        job.control->on_progress({this->name(), job.number, job.iterations, norm / job.right_hand_side_norm,
                                  job.tolerance / job.right_hand_side_norm});
      }
    }
    engine_->finish(v.backend, *v.cycle, v.y.data());
    return ended;
  }

  /// Accepts an x whose backward error is at the level of rounding, as other iterative methods do.
  bool limited_by_rounding(Vectors& v, const VectorFacts& residual, const T* x, Job& job) const {
    const auto norms = [&] {
      return AnswerNorms{residual.norm_inf, v.check->vector(form_.rows(), x).norm_inf};
    };
    if (!error_at_rounding_level<T>(job, reachable(residual.norm2, job), norms)) return false;
    job.outcome = {Status::converged, "rounding limits the residual: " + reached(residual.norm2, job)};
    job.limited_by_rounding = true;
    return true;
  }

  LamgOptions options_;
  B backend_;
  MatrixRef<T> A_;
  Csr<T> copy_;  // A in CSR if A is dense
  Form form_;
  std::unique_ptr<Engine<B, T>> engine_;
  HierarchyDescription description_;
};

}  // namespace

}  // namespace lamg

template <>
struct MethodWith<LamgOptions> {
  template <class B, class T>
  using Type = lamg::LamgMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const LamgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const LamgOptions&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// The method lamg. Set-up and cycles run on one thread on every host device.
#include "graph_laplacian/lamg/cycle.hpp"
#include "graph_laplacian/laplacian_form.hpp"
#include "multigrid/level_statistics.hpp"
#include "multigrid/method.hpp"
#include "solver/instantiate.hpp"
#include "solver/nested_solver.hpp"
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

namespace echelon {

namespace lamg {

namespace {

SetupOptions setup_options(const LamgOptions& options) {
  SetupOptions result;
  result.aggregation.ratio = result.work_guard / options.cycle_index;
  result.aggregation.strength = options.strength;
  result.aggregation.veto = options.veto;
  result.aggregation.energy_ratio = options.energy_ratio;
  result.coarse_size = static_cast<std::int32_t>(options.coarse_size);
  result.max_levels = static_cast<std::size_t>(options.max_levels);
  result.test_sweeps = static_cast<int>(options.test_sweeps);
  result.cycle_index = options.cycle_index;
  return result;
}

CycleOptions cycle_options(const LamgOptions& options) {
  return {.pre_sweeps = static_cast<int>(options.pre_sweeps),
          .post_sweeps = static_cast<int>(options.post_sweeps),
          .combined_iterates = static_cast<std::size_t>(options.combined_iterates)};
}

/// Describes the hierarchy; each elimination is listed as a level of its own.
template <class T>
HierarchyDescription describe(const Hierarchy<T>& hierarchy) {
  HierarchyDescription description;
  description.coarsening = "affinity";
  description.end = hierarchy.end;
  description.null_space = hierarchy.coarsest.components();
  double rows = 0;
  double nonzeros = 0;
  for (const Level<T>& level : hierarchy.levels) {
    const auto add = [&](std::int64_t n, std::int64_t edges, std::int64_t prolongation, std::string method) {
      description.levels.push_back({.rows = n,
                                    .nonzeros = n + 2 * edges,
                                    .prolongation_nonzeros = prolongation,
                                    .method = std::move(method)});
      rows += static_cast<double>(n);
      nonzeros += static_cast<double>(n + 2 * edges);
    };
    const Elimination<T>& elimination = level.elimination;
    if (!elimination.vertices.empty()) {
      const auto coefficients =
          static_cast<std::int64_t>(elimination.coefficients.size() + elimination.kept.size());
      add(elimination.fine, level.fine_edges, coefficients, "elimination");
      description.levels.back().bytes = elimination.bytes();
    }
    const bool coarsest = &level == &hierarchy.levels.back();
    if (level.matrix.n == 0 && !description.levels.empty()) {
      description.levels.back().seconds = level.seconds;
      continue;
    }
    add(level.matrix.n, level.edges, level.aggregate.size(),
        coarsest && hierarchy.direct ? "dense elimination" : "gauss-seidel");
    description.levels.back().bytes = level.matrix.bytes() + level.aggregate.bytes();
    description.levels.back().seconds = level.seconds;
  }
  if (description.levels.empty()) return description;
  const LevelDescription& finest = description.levels.front();
  description.grid_complexity = finest.rows > 0 ? rows / static_cast<double>(finest.rows) : 1;
  description.operator_complexity = finest.nonzeros > 0 ? nonzeros / static_cast<double>(finest.nonzeros) : 1;
  return description;
}

template <class B, class T>
class LamgMethod final : public SolverImplementation<T>,
                         public multigrid::HierarchyOwner,
                         public VariableOperator {
  using Form = graph_laplacian::LaplacianForm<B, T>;

  struct Vectors final : Workspace {
    explicit Vectors(const LamgMethod& method)
        : backend(method.device()),
          form(method.form_.make_workspace(backend)),
          r(Device::serial(), method.form_.rows()),
          dx(Device::serial(), method.form_.rows()),
          y(Device::serial(), method.form_.vertices()),
          cycle(*method.hierarchy_, cycle_options(method.options_)),
          check(make_residual_check<HostTarget, T>(method.device())) {}
    [[nodiscard]] std::size_t bytes() const override {
      return form.bytes() + r.bytes() + dx.bytes() + y.bytes() + cycle.bytes();
    }
    B backend;
    typename Form::Workspace form;
    Array<T> r, dx;  ///< residual and correction, in the rows of A
    Array<T> y;      ///< right-hand side and solution, in the vertices of the Laplacian
    CycleVectors<T> cycle;
    std::unique_ptr<ResidualCheck<T>> check;
  };

 public:
  LamgMethod(const Device& device, const LamgOptions& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {}

  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }

  Outcome setup(const MatrixRef<T>& A) override { return build(A, nullptr); }
  Outcome update_values(const MatrixRef<T>& A) override {
    const std::optional<Hierarchy<T>> previous = std::exchange(hierarchy_, std::nullopt);
    return build(A, previous ? &*previous : nullptr);
  }

  [[nodiscard]] const HierarchyDescription& description() const override { return description_; }
  /// Varying, because recombination of iterates makes a cycle nonlinear.
  [[nodiscard]] AppliedOperator applied_operator() const override { return AppliedOperator::varying; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + form_.bytes() + (hierarchy_ ? hierarchy_->bytes() : 0);
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
    const Cycle<T> cycle(*hierarchy_, cycle_options(options_));
    form_.lift(own.backend, own.form, r, own.y.data());
    cycle.start(own.cycle, own.y.data());
    cycle.step(own.cycle);
    cycle.finish(own.cycle, own.y.data());
    form_.restore(own.backend, own.form, own.y.data(), z);
  }

 private:
  Outcome build(const MatrixRef<T>& A, const Hierarchy<T>* previous) {
    hierarchy_.reset();
    description_ = {};
    A_ = A;
    copy_ = A.is_sparse() ? Csr<T>() : to_csr(A);
    Outcome accepted = form_.setup(backend_, A.is_sparse() ? *A.csr() : copy_);
    if (!accepted.ok()) return accepted;
    const Csr<T>& laplacian = form_.laplacian();
    if (laplacian.nonzeros() > std::numeric_limits<std::int32_t>::max()) {
      return {Status::out_of_memory, "lamg has 32-bit indices, and A has " +
                                         std::to_string(laplacian.nonzeros()) +
                                         " nonzeros: use amg, or approximate-cholesky"};
    }
    hierarchy_ = make_hierarchy(graph_of(laplacian), setup_options(options_), this->cancel(), previous);
    if (this->cancel().stop_requested()) return {Status::cancelled, "stopped by the caller"};
    description_ = describe(*hierarchy_);
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
      std::fill(x, x + n, T{0});
      std::copy(b, b + n, v.r.data());
    }
    job.history.push_back(norm);
    job.unreachable = form_.lift(v.backend, v.form, v.r.data(), v.y.data());
    // Rounding alone makes sums differ from zero.
    const double rounding = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(n));
    if (job.unreachable <= rounding * job.right_hand_side_norm) job.unreachable = 0;
    if (options_.strict && job.unreachable > job.tolerance) {
      std::fill(x, x + n, T{0});
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
      for (std::int64_t i = 0; i < n; ++i) x[i] += v.dx[i];
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
    constexpr int idle_cycles = 5;  // largest number of consecutive cycles without progress
    constexpr double progress = 0.99;
    const Cycle<T> cycle(*hierarchy_, cycle_options(options_));
    cycle.start(v.cycle, v.y.data());
    std::optional<Outcome> ended;
    double best = norm;
    for (int idle = 0; norm > job.tolerance && !ended;) {
      if (job.iterations >= options_.stop.max_iterations) {
        ended = {Status::max_iterations, reached(norm, job)};
        break;
      }
      norm = cycle.step(v.cycle);
      ++job.iterations;
      job.history.push_back(norm);
      idle = norm < progress * best ? 0 : idle + 1;
      best = std::min(best, norm);
      if (!std::isfinite(norm)) {
        ended = {Status::diverged,
                 "the residual is not finite after " + std::to_string(job.iterations) + " cycles"};
      } else if (job.control->cancel.stop_requested()) {
        ended = {Status::cancelled, "stopped by the caller at " + reached(norm, job)};
      } else if (idle >= idle_cycles) {
        ended = stagnation(norm, job);
      }
      if (job.control->on_progress) {
        job.control->on_progress({this->name(), job.number, job.iterations, norm / job.right_hand_side_norm,
                                  job.tolerance / job.right_hand_side_norm});
      }
    }
    cycle.finish(v.cycle, v.y.data());
    return ended;
  }

  /// Accepts an x whose backward error is at the level of rounding, as other iterative methods do.
  bool limited_by_rounding(Vectors& v, const VectorFacts& residual, const T* x, Job& job) const {
    const double roundoff = std::numeric_limits<T>::epsilon();
    if (job.tolerance < roundoff * job.right_hand_side_norm) return false;
    if (!(reachable(residual.norm2, job) <= std::sqrt(roundoff) * job.right_hand_side_norm)) return false;
    const double scale =
        job.matrix_norm * v.check->vector(form_.rows(), x).norm_inf + job.right_hand_side_norm_inf;
    if (!(residual.norm_inf <= rounding_level<T> * scale)) return false;
    job.outcome = {Status::converged, "rounding limits the residual: " + reached(residual.norm2, job)};
    job.limited_by_rounding = true;
    return true;
  }

  LamgOptions options_;
  B backend_;
  MatrixRef<T> A_;
  Csr<T> copy_;  // A in CSR if A is dense
  Form form_;
  std::optional<Hierarchy<T>> hierarchy_;
  HierarchyDescription description_;
};

}  // namespace

}  // namespace lamg

template <>
struct MethodWith<LamgOptions> {
  template <class B, class T>
  using Type = lamg::LamgMethod<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LamgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const LamgOptions&);

}  // namespace echelon

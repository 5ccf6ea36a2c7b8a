// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/parallel/engine.hpp"
#include "graph_laplacian/laplacian_form.hpp"
#include "linalg/residual_check.hpp"
#include "multigrid/level_statistics.hpp"
#include "multigrid/method.hpp"
#include "solver/inconsistent.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration.hpp"
#include "solver/nested_solver.hpp"
#include "solver/rounding_level.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/lamg.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
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

template <class T>
struct SetZero {
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = T{0}; }
};
template <class T>
struct CopyVector {
  const T* source;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = source[i]; }
};
/// x += dx.
template <class T>
struct AddVector {
  const T* dx;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += dx[i]; }
};

template <class B, class T>
class LamgMethod final : public SolverImplementation<T> {
  using Form = graph_laplacian::LaplacianForm<B, T>;
  using Lifted = typename Form::template Lifted<T>;
  using Restored = typename Form::template Restored<T>;

  struct Vectors final : Workspace {
    explicit Vectors(const LamgMethod& method)
        : backend(method.device()),
          form(method.form_.make_workspace(backend)),
          r(method.device(), method.form_.rows()),
          y(method.device(), method.form_.vertices()),
          cycle(method.engine_->make_vectors(backend)),
          check(make_residual_check<ThisTarget, T>(method.device())) {}
    [[nodiscard]] std::size_t bytes() const override {
      std::size_t bytes = form.bytes() + r.bytes() + y.bytes() + b.bytes() + cycle->bytes();
      for (const auto& other : others) bytes += other->bytes();
      return bytes;
    }
    B backend;
    typename Form::Workspace form;
    Array<T> r;  ///< residual, then correction, in the rows of A
    Array<T> y;  ///< right-hand side, then solution, in the vertices of the Laplacian
    Array<T> b;  ///< part of the right-hand side in the range of A, if the rest exceeds the tolerance
    std::unique_ptr<Workspace> cycle;
    std::unique_ptr<ResidualCheck<T>> check;
    std::vector<std::unique_ptr<Vectors>> others;  ///< of the second and further columns solved together
  };

 public:
  LamgMethod(const Device& device, const LamgOptions& options)
      : SolverImplementation<T>(device), options_(options), backend_(device) {}

  [[nodiscard]] const Stop* stop() const override { return &options_.stop; }

  Outcome setup(const MatrixRef<T>& A) override { return build(A, false); }
  Outcome update_values(const MatrixRef<T>& A) override { return build(A, engine_ != nullptr); }

  [[nodiscard]] const HierarchyDescription* hierarchy() const override { return &description_; }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    return engine_ ? engine_->level_matrix(level) : std::nullopt;
  }
  /// Varying, because recombination of iterates makes a cycle nonlinear.
  [[nodiscard]] OperatorTraits traits() const override { return {.kind = AppliedOperator::varying}; }
  [[nodiscard]] std::size_t bytes() const override {
    return copy_.bytes() + form_.bytes() + (engine_ ? engine_->bytes() : 0);
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Vectors>(*this);
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<Vectors&>(workspace);
    const auto width = static_cast<std::int64_t>(engine_->width());
    for (std::int64_t first = 0; first < right.columns(); first += width) {
      const std::int64_t end = std::min(first + width, right.columns());
      std::vector<Column> columns;
      for (std::int64_t j = first; j < end; ++j) {
        columns.push_back({&vectors_of(own, j - first), right.column(j), left.column(j),
                           &jobs[static_cast<std::size_t>(j)]});
      }
      solve_together(own.backend, columns);
    }
  }

  /// Does one cycle, a nonlinear function of each r.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (r.columns() == 0) return;
    auto& own = static_cast<Vectors&>(workspace);
    std::array<Lifted, most_columns> lifted{};
    std::array<Workspace*, most_columns> cycles{};
    std::array<Restored, most_columns> restored{};
    MultiVector<T> y(form_.vertices());
    const auto count = static_cast<std::size_t>(r.columns());
    for (std::size_t c = 0; c < count; ++c) {
      const auto column = static_cast<int>(c);
      Vectors& v = vectors_of(own, column);
      lifted[c] = {&v.form, r[column], v.y.data()};
      cycles[c] = v.cycle.get();
      restored[c] = {&v.form, v.y.data(), z[column]};
      y.add(v.y.data());
    }
    static_cast<void>(form_.lift(own.backend, std::span<const Lifted>(lifted.data(), count)));
    engine_->apply(own.backend, {cycles.data(), count}, y, y);
    form_.restore(own.backend, std::span<const Restored>(restored.data(), count));
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

  /// A right-hand side in the course of its solve.
  struct Column {
    Vectors* vectors;
    const T* b;
    T* x;
    Job* job;
    OutsideRange outside = {};  ///< part of the given right-hand side
    double tolerance = 0;       ///< on the residual of the part in the range of A
    double norm = 0;            ///< of the true residual
    bool is_running = false;
    // Since the last restart:
    double recurred = 0;  ///< norm of the residual by the recurrence of the iteration
    double best = 0;      ///< the least of these
    int idle = 0;         ///< steps since `best` decreased
    Outcome ended = {
        Status::converged};  ///< reason for the end, unless it is a residual within the tolerance
  };
  /// Some of the columns that are solved together.
  class Group {
   public:
    void add(Column& column) { columns_[count_++] = &column; }
    [[nodiscard]] std::span<Column* const> span() const { return {columns_.data(), count_}; }

   private:
    std::array<Column*, most_columns> columns_{};
    std::size_t count_ = 0;
  };
  static Group running(std::vector<Column>& columns) {
    Group group;
    for (Column& column : columns) {
      if (column.is_running) group.add(column);
    }
    return group;
  }

  /// Vectors of column `number` among those that are solved together.
  Vectors& vectors_of(Vectors& first, std::int64_t number) const {
    if (number == 0) return first;
    const auto other = static_cast<std::size_t>(number - 1);
    while (first.others.size() <= other) {
      first.others.push_back(std::make_unique<Vectors>(*this));
      engine_->share_memory(*first.cycle, *first.others.back()->cycle);
    }
    return *first.others[other];
  }

  /// Runs cycles for all columns, and restarts those from the true residual where this exceeds the tolerance
  /// and decreases.
  void solve_together(B& backend, std::vector<Column>& columns) const {
    begin(backend, columns);
    while (true) {
      const Group group = running(columns);
      if (group.span().empty()) break;
      run_cycles(backend, group.span());
      check_iterates(backend, group.span());
    }
    for (const Column& column : columns) report_removed(backend, column);
  }

  /// Computes the first residuals, and which columns are to be iterated.
  void begin(B& backend, std::vector<Column>& columns) const {
    Group all;
    for (Column& column : columns) all.add(column);
    for_each_column(backend, form_.rows(), all.span(), [](const Column* column) {
      return CopyVector<T>{column->b, column->vectors->r.data()};
    });
    const auto outside = lift_residuals(backend, all.span());
    Group guessed;
    Group others;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Column& column = columns[c];
      column.outside = outside[c];
      column.tolerance = tolerance_in_range<T>(column.outside, form_.rows(), *column.job);
      column.norm = column.job->right_hand_side_norm;
      replace_inconsistent(backend, column);
      (column.job->control->use_initial_guess && column.norm > 0 ? guessed : others).add(column);
    }
    compute_residuals(*columns.front().vectors->check, guessed.span());
    static_cast<void>(lift_residuals(backend, guessed.span()));
    for_each_column(backend, form_.rows(), others.span(),
                    [](const Column* column) { return SetZero<T>{column->x}; });
    for (Column& column : columns) {
      column.job->history.push_back(column.norm);
      column.job->outcome = {Status::converged};
      column.is_running = column.norm > column.job->tolerance;
    }
  }

  /// Replaces b by its part in the range of A if the rest exceeds the tolerance.
  void replace_inconsistent(B& backend, Column& column) const {
    if (!is_outside_range<T>(column.outside, form_.rows(), *column.job)) return;
    Vectors& v = *column.vectors;
    if (v.b.size() != form_.rows()) v.b = Array<T>(this->device(), form_.rows());
    form_.part_in_range(backend, v.form, v.y.data(), v.b.data());
    column.b = v.b.data();
    column.norm = v.check->vector(form_.rows(), column.b).norm2;
  }

  /// Computes the true residuals and their norms.
  std::vector<VectorFacts> compute_residuals(ResidualCheck<T>& check,
                                             std::span<Column* const> columns) const {
    MultiVector<const T> b(form_.rows());
    MultiVector<const T> x(form_.rows());
    MultiVector<T> r(form_.rows());
    for (const Column* column : columns) {
      b.add(column->b);
      x.add(column->x);
      r.add(column->vectors->r.data());
    }
    std::vector<VectorFacts> facts = check.residuals(A_, b, x, r);
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c]->norm = facts[c].norm2;
    return facts;
  }

  /// Makes the residuals right-hand sides of the engine. Returns the norms of the parts that this removes.
  std::array<OutsideRange, Form::most_vectors> lift_residuals(B& backend,
                                                              std::span<Column* const> columns) const {
    std::array<Lifted, most_columns> lifted{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Vectors& v = *columns[c]->vectors;
      lifted[c] = {&v.form, v.r.data(), v.y.data()};
    }
    return form_.lift(backend, std::span<const Lifted>(lifted.data(), columns.size()));
  }

  void report_removed(B& backend, const Column& column) const {
    Job& job = *column.job;
    job.statistics.push_back({"removed_norm", column.outside.norm()});
    if (!is_outside_range<T>(column.outside, form_.rows(), job)) return;
    name_part_outside_range<T>(form_.verified(backend, column.outside), form_.rows(), job);
  }

  /// Adds the iterates to x, computes the true residuals, and which columns go on from them.
  void check_iterates(B& backend, std::span<Column* const> columns) const {
    std::array<Restored, most_columns> restored{};
    std::array<double, most_columns> before{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Vectors& v = *columns[c]->vectors;
      restored[c] = {&v.form, v.y.data(), v.r.data()};
      before[c] = columns[c]->norm;
    }
    form_.restore(backend, std::span<const Restored>(restored.data(), columns.size()));
    for_each_column(backend, form_.rows(), columns, [](const Column* column) {
      return AddVector<T>{column->vectors->r.data(), column->x};
    });
    const std::vector<VectorFacts> residuals = compute_residuals(*columns.front()->vectors->check, columns);
    Group unfinished;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Column& column = *columns[c];
      column.is_running = !is_final(column, before[c], residuals[c]);
      if (column.is_running) unfinished.add(column);
    }
    static_cast<void>(lift_residuals(backend, unfinished.span()));
  }

  /// Whether the true residual is the last one, with the column's outcome.
  bool is_final(Column& column, double before, const VectorFacts& residual) const {
    Job& job = *column.job;
    if (column.norm <= job.tolerance || std::isnan(column.norm)) return true;
    const Outcome& ended = column.ended;
    if (ended.status == Status::cancelled) {
      job.outcome = ended;
      return true;
    }
    if (!(column.norm < 0.5 * before)) {
      if (!limited_by_rounding(*column.vectors, residual, column.x, job)) {
        job.outcome = ended.ok() ? stagnation(column.norm, job) : ended;
      }
      return true;
    }
    if (ended.status == Status::max_iterations) {
      job.outcome = ended;
      return true;
    }
    return false;
  }

  static std::string reached(double norm, const Job& job) {
    return "relative residual " + short_number(norm / job.right_hand_side_norm) + " after " +
           std::to_string(job.iterations) + " cycles";
  }
  static Outcome stagnation(double norm, const Job& job) {
    return {Status::stagnated, "cycles no longer reduce the true residual: " + reached(norm, job)};
  }

  /// Runs cycles for the right-hand sides in the columns' y, which the solutions overwrite, until each has
  /// converged by its recurrence or ended otherwise.
  void run_cycles(B& backend, std::span<Column* const> columns) const {
    std::array<StartedColumn<T>, most_columns> started{};
    std::array<FinishedColumn<T>, most_columns> finished{};
    std::array<Column*, most_columns> running{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Column& column = *columns[c];
      Vectors& v = *column.vectors;
      started[c] = {v.cycle.get(), v.y.data(), column.tolerance};
      finished[c] = {v.cycle.get(), v.y.data()};
      column.recurred = column.best = column.norm;
      column.idle = 0;
      column.ended = {Status::converged};
      running[c] = &column;
    }
    engine_->start(backend, {started.data(), columns.size()});
    std::size_t count = columns.size();
    while (true) {
      const auto end = std::remove_if(running.begin(), running.begin() + count,
                                      [&](Column* column) { return !may_continue(*column); });
      count = static_cast<std::size_t>(end - running.begin());
      if (count == 0) break;
      step(backend, {running.data(), count});
    }
    engine_->finish(backend, {finished.data(), columns.size()});
  }

  /// False once a column has converged or ended otherwise.
  bool may_continue(Column& column) const {
    if (!column.ended.ok() || !(column.recurred > column.tolerance)) return false;
    if (column.job->iterations < options_.stop.max_iterations) return true;
    column.ended = {Status::max_iterations, reached(column.recurred, *column.job)};
    return false;
  }

  /// Does some cycles for each of the columns.
  void step(B& backend, std::span<Column* const> columns) const {
    std::array<Workspace*, most_columns> vectors{};
    std::array<StepNorms, most_columns> norms{};
    for (std::size_t c = 0; c < columns.size(); ++c) vectors[c] = columns[c]->vectors->cycle.get();
    engine_->step(backend, {vectors.data(), columns.size()}, steps_before_check(columns),
                  {norms.data(), columns.size()});
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::int64_t s = 0; s < norms[c].count; ++s) {
        record(*columns[c], norms[c].at[static_cast<std::size_t>(s)]);
      }
    }
  }

  /// Number of cycles until the next check: the largest that a column predicts, and no more than any may do.
  [[nodiscard]] std::int64_t steps_before_check(std::span<Column* const> columns) const {
    std::int64_t predicted = 1;
    std::int64_t allowed = most_steps;
    for (const Column* column : columns) {
      const Job& job = *column->job;
      allowed = std::min(allowed, options_.stop.max_iterations - job.iterations);
      if (this->device().on_host()) continue;
      predicted = std::max(predicted, echelon::steps_before_check(job.iterations, job.history.front(),
                                                                  job.history.back(), column->tolerance));
    }
    const std::int64_t check_every = options_.stop.check_every;
    return std::min(check_every > 0 ? check_every : predicted, allowed);
  }

  /// Records the norm of a residual, and ends the column for a reason other than convergence.
  void record(Column& column, double norm) const {
    constexpr double progress = 0.99;
    Job& job = *column.job;
    ++job.iterations;
    job.history.push_back(norm);
    column.recurred = norm;
    column.idle = norm < progress * column.best ? 0 : column.idle + 1;
    column.best = std::min(column.best, norm);
    if (!std::isfinite(norm)) {
      column.ended = {Status::diverged,
                      "the residual is not finite after " + std::to_string(job.iterations) + " cycles"};
    } else if (job.control->cancel.stop_requested()) {
      column.ended = {Status::cancelled, "stopped by the caller at " + reached(norm, job)};
    } else if (column.idle >= engine_->idle_steps()) {
      column.ended = stagnation(norm, job);
    }
    if (job.control->on_progress) {
      job.control->on_progress({this->name(), job.number, job.iterations, norm / job.right_hand_side_norm,
                                job.tolerance / job.right_hand_side_norm});
    }
  }

  /// Accepts an x whose backward error is at the level of rounding, as other iterative methods do.
  bool limited_by_rounding(Vectors& v, const VectorFacts& residual, const T* x, Job& job) const {
    const auto norms = [&] {
      return AnswerNorms{residual.norm_inf, v.check->vector(form_.rows(), x).norm_inf};
    };
    if (!error_at_rounding_level<T>(job, residual.norm2, norms)) return false;
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

// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/refined_system.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "matrix/assign.hpp"
#include "solver/instantiate.hpp"
#include "support/stopwatch.hpp"

#include <algorithm>
#include <mutex>

namespace echelon {

namespace {

Report new_report(const Device& device, const Outcome& outcome) {
  Report report;
  report.status = outcome.status;
  report.message = outcome.message;
  report.row = outcome.row;
  report.method = std::string(GaussJordanOptions::name);
  report.device = device;
  return report;
}

/// Column k of R's pivots becomes the k-th unit vector.
template <class T>
struct SetUnitColumns {
  DenseView<T> A;
  const std::int64_t* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t k = e / A.rows();
    const std::int64_t i = e % A.rows();
    A.data()[columns[k] * A.leading() + i] = i == k ? T{1} : T{0};
  }
};

template <class T>
Determinant determinant_of(const std::vector<T>& pivots, std::int64_t exchanges, std::int64_t n,
                           int exponent) {
  if (static_cast<std::int64_t>(pivots.size()) < n) return {};
  Determinant result{exchanges % 2 == 0 ? 1 : -1, 0.5, 1 - exponent * n};
  for (const T pivot : pivots) {
    int shift = 0;
    result.mantissa = std::frexp(result.mantissa * std::abs(static_cast<double>(pivot)), &shift);
    result.exponent += shift;
    if (pivot < 0) result.sign = -result.sign;
  }
  return result;
}

template <class B, class T>
EchelonForm<T> reduce_with(EliminationTools<B>& tools, const GaussJordanOptions& options, Dense<T> A) {
  const Stopwatch stopwatch;
  const Device& device = tools.backend.device();
  EchelonForm<T> form;
  EliminatedSystem<B, T> system(tools, options);
  const bool square = A.rows() == A.columns();
  Outcome outcome = system.eliminate(std::move(A), false);
  form.report = new_report(device, outcome);
  form.report.factor_precision =
      tell_factor_precision<B, T>(options, "the reduced form needs the working precision");
  form.report.column = system.nonfinite_column();
  form.report.bytes = system.bytes() - system.matrix().bytes();
  if (!outcome.ok()) return form;
  form.facts = system.facts();
  form.pivot_columns = system.pivot_columns();
  form.row_permutation = system.row_permutation();
  if (square) {
    form.determinant = determinant_of(system.pivots(), system.exchanges(), system.rows(), system.exponent());
    form.report.reciprocal_condition = system.rank() < system.rows() ? 0 : system.reciprocal_condition();
  }
  if (form.facts.doubtful) form.report.warnings.push_back(system.rank_words());
  Dense<T>& R = system.matrix();
  B& backend = system.backend();
  backend.for_each(R.rows() * system.rank(), SetUnitColumns<T>{R.view(), system.elimination().columns()});
  Array<double> row_sums(device, R.rows());
  const MatrixScan found = scan<T>(backend, R.view(), row_sums.data());
  if (found.row >= 0) {
    form.report.status = Status::not_a_number;
    form.report.message = "the reduced form overflows at row " + std::to_string(found.row) + ", column " +
                          std::to_string(found.column) + ", counted from 0";
    form.report.row = found.row;
    form.report.column = found.column;
  }
  form.R = std::move(R);
  form.report.setup_seconds = stopwatch.seconds();
  return form;
}

/// Measures a column of X against A and b as they were given.
template <class B, class T>
ColumnReport measure(Audit<T>& audit, const MatrixRef<T>& A, double norm_inf, const T* b, const T* x, T* r,
                     Outcome& outcome, double& residual_norm) {
  const auto [right, answer, left_over] = audit.solution(A, b, x, r);
  ColumnReport column;
  residual_norm = left_over.norm2;
  column.relative_residual = right.norm2 > 0 ? left_over.norm2 / right.norm2 : left_over.norm2;
  const double scale = norm_inf * answer.norm_inf + right.norm_inf;
  column.backward_error = scale > 0 ? left_over.norm_inf / scale : left_over.norm_inf;
  if (right.nonfinite) {
    outcome = {Status::not_a_number,
               "b has a NaN or Inf at row " + std::to_string(*right.nonfinite) + " (from 0)",
               right.nonfinite};
  } else if (answer.nonfinite) {
    outcome = {Status::not_a_number,
               "x has a NaN or Inf, first at element " + std::to_string(*answer.nonfinite) + ": overflow",
               answer.nonfinite};
  }
  column.status = outcome.status;
  return column;
}

/// Which of two outcomes a report should speak of.
int severity(Status status) {
  if (status == Status::direct) return 0;
  if (status == Status::underdetermined) return 1;
  return status == Status::not_a_number ? 3 : 2;
}

/// Makes the report speak of the worst column.
template <class T>
void add_column(const ColumnReport& column, const Outcome& outcome, double residual_norm, Report& report) {
  const bool worst = report.columns.empty() || severity(column.status) > severity(report.status) ||
                     (column.status == report.status && column.backward_error > report.backward_error);
  report.columns.push_back(column);
  report.iterations = std::max(report.iterations, column.iterations);
  if (!worst) return;
  report.status = outcome.status;
  report.message = outcome.message;
  report.row = outcome.row;
  report.residual_norm = residual_norm;
  report.relative_residual = column.relative_residual;
  report.backward_error = column.backward_error;
}

template <class B, class T>
void solve_columns(const EliminatedSystem<B, T>& system, Audit<T>& audit, const MatrixRef<T>& A,
                   DenseView<const T> right, DenseView<T> X, Report& report) {
  const auto space = system.make_space(std::max(right.columns(), std::int64_t{1}), &system.backend());
  system.solve(*space, A, right, X);
  const Outcome from_condition =
      system.rank() == system.columns() ? judge_condition<T>(system.reciprocal_condition()) : Outcome{};
  for (std::int64_t j = 0; j < right.columns(); ++j) {
    Outcome outcome = system.judge(*space, A, right.column(j), X.column(j));
    if (outcome.ok()) outcome = from_condition;
    double residual_norm = 0;
    const ColumnReport column = measure<B, T>(audit, A, system.norm_inf(), right.column(j), X.column(j),
                                              space->residual.data(), outcome, residual_norm);
    add_column<T>(column, outcome, residual_norm, report);
  }
  report.bytes = system.bytes() + space->bytes();
}

constexpr const char* not_square = "A is not square";

/// Fills in a solution from an elimination in lower precision, or says why it would not do.
template <class B, class T>
std::string solve_refined(BackendSpace<B, T>& own, FloatProducts products, const GaussJordanOptions& options,
                          const MatrixRef<T>& A, DenseView<const T> right, GeneralSolution<T>& solution) {
  const Stopwatch stopwatch;
  if (A.rows() != A.columns()) return not_square;
  RefinedSystem<B, T> system(own.lower().tools, products, options);
  std::string why = system.eliminate(A);
  if (!why.empty()) return why;
  solution.report.setup_seconds = stopwatch.seconds();
  solution.X = Dense<T>(own.device, A.columns(), right.columns());
  const DenseView<T> X = solution.X.view();
  const auto space = system.make_space(std::max(right.columns(), std::int64_t{1}), &system.backend());
  const std::vector<Refinement> columns = system.solve(*space, A, right, X);
  why = too_inaccurate(columns);
  if (!why.empty()) return why;
  for (std::int64_t j = 0; j < right.columns(); ++j) {
    Outcome outcome = judge_condition<T>(system.reciprocal_condition());
    double residual_norm = 0;
    ColumnReport column = measure<B, T>(*own.audit, A, system.norm_inf(), right.column(j), X.column(j),
                                        space->residual.data(), outcome, residual_norm);
    column.iterations = columns[static_cast<std::size_t>(j)].steps;
    add_column<T>(column, outcome, residual_norm, solution.report);
  }
  solution.facts = system.facts();
  solution.pivot_columns = system.pivot_columns();
  solution.null_space = Dense<T>(own.device, A.columns(), 0);
  solution.report.reciprocal_condition = system.reciprocal_condition();
  solution.report.bytes = system.bytes() + space->bytes();
  solution.report.solve_seconds = stopwatch.seconds() - solution.report.setup_seconds;
  return why;
}

template <class B, class T>
GeneralSolution<T> solve_in_working_precision(BackendSpace<B, T>& own, const GaussJordanOptions& options,
                                              const MatrixRef<T>& A, DenseView<const T> right) {
  const Stopwatch stopwatch;
  GeneralSolution<T> solution;
  EliminatedSystem<B, T> system(own.tools, options);
  const Outcome outcome = system.eliminate_for_solving(A);
  solution.report = new_report(own.device, outcome);
  solution.report.setup_seconds = stopwatch.seconds();
  if (!outcome.ok()) {
    solution.report.column = system.nonfinite_column();
    return solution;
  }
  solution.facts = system.facts();
  solution.pivot_columns = system.pivot_columns();
  if (system.rank() == A.columns()) solution.report.reciprocal_condition = system.reciprocal_condition();
  if (solution.facts.doubtful) solution.report.warnings.push_back(system.rank_words());
  const Stopwatch solving;
  solution.X = Dense<T>(own.device, A.columns(), right.columns());
  solve_columns(system, *own.audit, A, right, solution.X.view(), solution.report);
  solution.null_space = system.null_space();
  solution.report.solve_seconds = solving.seconds();
  return solution;
}

template <class B, class T>
GeneralSolution<T> solve_with(BackendSpace<B, T>& own, const GaussJordanOptions& options,
                              const MatrixRef<T>& A, DenseView<const T> right) {
  const Stopwatch stopwatch;
  Dense<T> in_columns;
  if (right.layout() == Layout::row_major) {
    in_columns = Dense<T>(own.device, right.rows(), right.columns());
    assign<T>(right, in_columns);
    right = in_columns.view();
  }
  const std::optional<FloatProducts> products = lower_products<B, T>(options);
  std::string why;
  if (products) {
    GeneralSolution<T> solution;
    solution.report = new_report(own.device, {});
    why = solve_refined(own, *products, options, A, right, solution);
    solution.report.factor_precision = tell_factor_precision<B, T>(options, why);
    if (why.empty()) return solution;
  }
  const double lost = stopwatch.seconds();
  GeneralSolution<T> solution = solve_in_working_precision(own, options, A, right);
  solution.report.factor_precision = tell_factor_precision<B, T>(options, why);
  solution.report.setup_seconds += lost;
  return solution;
}

/// Gauss-Jordan as a Solver, with everything that solvers have.
template <class B, class T>
class GaussJordanImplementation final : public SolverImplementation<T> {
  using System = EliminatedSystem<B, T>;
  using Space = typename System::Space;
  using Refined = RefinedSystem<B, T>;

 public:
  GaussJordanImplementation(const Device& device, const GaussJordanOptions& options)
      : SolverImplementation<T>(device),
        options_(options),
        products_(lower_products<B, T>(options)),
        tools_(device),
        system_(tools_, options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }

  /// A rank that is not full leaves every right-hand side to tell its own story.
  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    eliminated_ = false;
    const std::string why = set_up_refined();
    factor_precision_ = tell_factor_precision<B, T>(options_, why);
    if (refined_ == nullptr) return eliminate();
    Outcome outcome = judge_condition<T>(refined_->reciprocal_condition());
    outcome.rank = A.columns();
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if (refined_ != nullptr) return refined_->make_space(System::columns_at_once);
    return system_.make_space(System::columns_at_once);
  }
  [[nodiscard]] std::size_t bytes() const override {
    return system_.bytes() + (refined_ != nullptr ? refined_->bytes() : 0);
  }
  [[nodiscard]] std::optional<FactorPrecision> factor_precision() const override { return factor_precision_; }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (refined_ == nullptr) {
      solve_eliminated(static_cast<Space&>(workspace), right, X, jobs);
      return;
    }
    auto& space = static_cast<typename Refined::Space&>(workspace);
    const std::vector<Refinement> columns = refined_->solve(space, A_, right, X);
    for (std::size_t j = 0; j < columns.size(); ++j) jobs[j].iterations = columns[j].steps;
    const std::string why = too_inaccurate(columns);
    if (!why.empty()) solve_in_working_precision(right, X, jobs, why);
  }

  void apply(Workspace& workspace, const T* r, T* z) const override {
    const std::int64_t n = A_.rows();
    if (n == 0) return;
    if (refined_ != nullptr) {
      refined_->apply(static_cast<typename Refined::Space&>(workspace), r, z);
      return;
    }
    auto& space = static_cast<Space&>(workspace);
    space.backend.fill(n, T{0}, z);
    system_.add_solution(space, {r, n, 1, n, this->device()}, {z, n, 1, n, this->device()});
  }

 private:
  std::string set_up_refined() {
    refined_.reset();
    if (!products_) return {};
    if (A_.rows() != A_.columns()) return not_square;
    if (lower_tools_ == nullptr) lower_tools_ = std::make_unique<EliminationTools<B>>(this->device());
    auto refined = std::make_unique<Refined>(*lower_tools_, *products_, options_);
    std::string why = refined->eliminate(A_);
    if (why.empty()) refined_ = std::move(refined);
    return why;
  }

  Outcome eliminate() const {
    Outcome outcome = system_.eliminate_for_solving(A_);
    if (!outcome.ok()) return outcome;
    eliminated_ = true;
    if (system_.rank() == A_.columns()) {
      outcome = judge_condition<T>(system_.reciprocal_condition());
    } else {
      const bool square = A_.rows() == A_.columns();
      outcome = {square ? Status::singular : Status::underdetermined, system_.rank_words()};
    }
    outcome.rank = system_.rank();
    if (outcome.ok() && system_.facts().doubtful) outcome.warnings.push_back(system_.rank_words());
    return outcome;
  }

  void solve_eliminated(Space& space, DenseView<const T> right, DenseView<T> X,
                        std::vector<Job>& jobs) const {
    system_.solve(space, A_, right, X);
    for (Job& job : jobs) {
      const Outcome outcome = system_.judge(space, A_, right.column(job.number), X.column(job.number));
      if (!outcome.ok()) job.outcome = outcome;
    }
  }

  /// For right-hand sides that refinement does not serve. The first of them has A eliminated again.
  void solve_in_working_precision(DenseView<const T> right, DenseView<T> X, std::vector<Job>& jobs,
                                  const std::string& why) const {
    const std::lock_guard lock(working_);
    Outcome outcome = eliminated_ ? Outcome{} : eliminate();
    outcome.message = "by an elimination in the working precision, since " + why +
                      (outcome.message.empty() ? "" : "; " + outcome.message);
    for (Job& job : jobs) job.iterations = 0, job.outcome = outcome;
    if (!eliminated_) return;
    const auto space = system_.make_space(System::columns_at_once);
    solve_eliminated(*space, right, X, jobs);
  }

  GaussJordanOptions options_;
  std::optional<FloatProducts> products_;
  MatrixRef<T> A_;
  EliminationTools<B> tools_;
  std::unique_ptr<EliminationTools<B>> lower_tools_;
  std::unique_ptr<Refined> refined_;
  std::optional<FactorPrecision> factor_precision_;
  mutable std::mutex working_;  // guards what follows once refined_ is there
  mutable System system_;
  mutable bool eliminated_ = false;
};

}  // namespace

template <>
struct MethodWith<GaussJordanOptions> {
  template <class B, class T>
  using Type = GaussJordanImplementation<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const GaussJordanOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const GaussJordanOptions&);

template <class Target, class T>
std::unique_ptr<EliminationSpace> make_elimination_space(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<EliminationSpace> {
    return std::make_unique<BackendSpace<B, T>>(device);
  });
}
template <class Target, class T>
EchelonForm<T> reduce_on(EliminationSpace& space, const GaussJordanOptions& options, Dense<T> A) {
  return on_backend(space.device, [&]<class B>() {
    return reduce_with<B, T>(space_of<B, T>(space).tools, options, std::move(A));
  });
}
template <class Target, class T>
GeneralSolution<T> solve_on(EliminationSpace& space, const GaussJordanOptions& options, const MatrixRef<T>& A,
                            DenseView<const T> right) {
  return on_backend(space.device,
                    [&]<class B>() { return solve_with<B, T>(space_of<B, T>(space), options, A, right); });
}
template <class Target, class T>
Dense<T> null_space_on(const EchelonForm<T>& form) {
  return on_backend(form.R.device(), [&]<class B>() {
    B backend(form.R.device());
    return null_basis<B, T>(backend, form.R.view(), form.pivot_columns, nullptr);
  });
}

template std::unique_ptr<EliminationSpace> make_elimination_space<ThisTarget, float>(const Device&);
template std::unique_ptr<EliminationSpace> make_elimination_space<ThisTarget, double>(const Device&);
template EchelonForm<float> reduce_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&, Dense<float>);
template EchelonForm<double> reduce_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&,
                                                   Dense<double>);
template GeneralSolution<float> solve_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&,
                                                     const MatrixRef<float>&, DenseView<const float>);
template GeneralSolution<double> solve_on<ThisTarget>(EliminationSpace&, const GaussJordanOptions&,
                                                      const MatrixRef<double>&, DenseView<const double>);
template Dense<float> null_space_on<ThisTarget>(const EchelonForm<float>&);
template Dense<double> null_space_on<ThisTarget>(const EchelonForm<double>&);

}  // namespace echelon

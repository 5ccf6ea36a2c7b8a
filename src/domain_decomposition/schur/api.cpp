// SPDX-License-Identifier: BSD-3-Clause
// SchurComplement: arguments, the choice of the factorisation, reports, and solves of the whole system.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "domain_decomposition/schur/implementation.hpp"
#include "linalg/residual_check.hpp"
#include "matrix/shape.hpp"
#include "solver/direct/refinement.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace schur;

InterfacePartition partition_of(std::int64_t n, std::span<const std::int32_t> interface) {
  InterfacePartition partition;
  partition.interface.assign(interface.begin(), interface.end());
  partition.number.assign(static_cast<std::size_t>(n), 0);
  for (std::size_t k = 0; k < interface.size(); ++k) {
    const std::int32_t row = interface[k];
    if (row < 0 || row >= n) {
      throw InvalidMatrix(fmt::format(
          "element {} of the interface is {}, and A has the rows 0 to {}: an interface holds rows of A", k,
          row, n - 1));
    }
    std::int32_t& number = partition.number[static_cast<std::size_t>(row)];
    if (number < 0) {
      throw InvalidMatrix(
          fmt::format("row {} is in the interface twice, as elements {} and {}", row, -1 - number, k));
    }
    number = -1 - static_cast<std::int32_t>(k);
  }
  for (std::int32_t row = 0; row < n; ++row) {
    std::int32_t& number = partition.number[static_cast<std::size_t>(row)];
    if (number < 0) continue;
    number = static_cast<std::int32_t>(partition.interior.size());
    partition.interior.push_back(row);
  }
  return partition;
}

template <class T>
void check_matrix(const MatrixRef<T>& A, const SchurOptions& options) {
  if (A.is_operator()) throw Error("a Schur complement needs the elements of A, and an operator has none");
  require_square(A.rows(), A.columns(), "a Schur complement needs");
  if (options.refine < 0 || options.refine > 20)
    throw BadOption("refine", fmt::format("{} is not in the range 0 to 20", options.refine));
  if (options.device) check_same_memory(*options.device, "the factorisation", A.device(), "A");
}

/// Whether the diagonal of A_II is positive, without which it is not positive definite. Of a matrix on a GPU
/// that is not known.
template <class T>
bool may_be_definite(const MatrixRef<T>& A, const InterfacePartition& partition) {
  if (!A.device().on_host()) return true;
  const auto diagonal = [&](std::int64_t i) {
    if (!A.is_sparse()) return A.dense()(i, i);
    const Csr<T>& a = *A.csr();
    const std::int32_t* const begin = a.column_indices().data() + a.row_offsets()[i];
    const std::int32_t* const end = a.column_indices().data() + a.row_offsets()[i + 1];
    const std::int32_t* const found = std::lower_bound(begin, end, static_cast<std::int32_t>(i));
    return found != end && *found == i ? a.values()[found - a.column_indices().data()] : T{0};
  };
  return std::all_of(partition.interior.begin(), partition.interior.end(),
                     [&](std::int32_t i) { return real(diagonal(i)) > 0; });
}

template <class T>
std::unique_ptr<InteriorElimination<T>> make_elimination(const MatrixRef<T>& A,
                                                         const InterfacePartition& partition,
                                                         const Device& device, const SchurOptions& options) {
  if (A.is_sparse()) {
    if (device.kind() == DeviceKind::opencl)
      return sparse_elimination_on_host(*A.csr(), partition, device, options);
    constexpr Targets targets = has_cuda(targets_of<T>) ? Targets::both : Targets::host;
    return on_target<targets>(device, [&]<class Target>() {
      return sparse_elimination_on<Target>(*A.csr(), partition, device, options);
    });
  }
  return dense_elimination(A.dense(), partition, device, options);
}

/// Whether the dense method of this name takes matrices of T on the device.
template <class T>
bool runs_on(SchurFactorization factorization, const Device& device) {
  const Method& method = find_method(to_string(factorization));
  return is_complex<T> ? method.takes_complex_on(device) : method.runs_on(device);
}

/// Drops the dense factorisations that the device has not. LU is on every device.
template <class T>
void drop_methods_without(const Device& device, std::vector<SchurFactorization>& candidates) {
  std::erase_if(candidates, [&](SchurFactorization candidate) { return !runs_on<T>(candidate, device); });
}

/// Whether another factorisation can succeed where this one, chosen automatically, has not.
bool is_unsuitable(const Outcome& outcome) {
  return outcome.status == Status::not_spd || outcome.status == Status::breakdown;
}

/// Policy of refine() for several columns together: accepts candidates while the largest backward error
/// becomes smaller; ends when a step does not halve it, or when it is at most twice the machine epsilon.
/// `assess(X, R)` sets R = B - A X and returns its facts.
template <class T, class Assess>
class SmallerBackwardError {
 public:
  SmallerBackwardError(Assess assess, const DenseView<T>& X, const DenseView<T>& R)
      : assess_(std::move(assess)), columns_(static_cast<std::size_t>(X.columns())), reports_(assess_(X, R)) {
    std::iota(columns_.begin(), columns_.end(), std::int64_t{0});
  }

  /// The residuals of X are those that the constructor formed.
  void begin(const RefinementViews<T>& /*views*/) {}

  [[nodiscard]] std::span<const std::int64_t> columns() const {
    constexpr double negligible = 2 * machine_epsilon<T>;
    if (!improves_ || !(worst().backward_error > negligible)) return {};
    return columns_;
  }

  void assess(std::span<const std::int64_t> /*columns*/, const RefinementViews<T>& views) {
    const double before = worst().backward_error;
    std::vector<ColumnReport> refined = assess_(views.candidate, views.residual);
    const double after = worst_of(refined).backward_error;
    improves_ = after <= before / 2;
    if (!(after < before)) return;
    add<T>(T{1}, views.candidate, T{0}, views.candidate, views.solution);
    reports_ = std::move(refined);
    ++steps_;
  }

  [[nodiscard]] const std::vector<ColumnReport>& reports() const { return reports_; }
  [[nodiscard]] const ColumnReport& worst() const { return worst_of(reports_); }
  /// Steps accepted.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  static const ColumnReport& worst_of(const std::vector<ColumnReport>& reports) {
    return *std::max_element(
        reports.begin(), reports.end(),
        [](const ColumnReport& a, const ColumnReport& b) { return !(b.backward_error <= a.backward_error); });
  }

  Assess assess_;
  std::vector<std::int64_t> columns_;
  std::vector<ColumnReport> reports_;
  std::int64_t steps_ = 0;
  bool improves_ = true;
};

void take_outcome(Outcome outcome, Report& report) {
  report.status = outcome.ok() ? Status::ready : outcome.status;
  report.message = std::move(outcome.message);
  report.row = outcome.row;
  report.rank = outcome.rank;
  report.reciprocal_condition = outcome.reciprocal_condition;
  if (outcome.reciprocal_condition) report.condition_kind = ConditionKind::factored;
  report.warnings = std::move(outcome.warnings);
  report.statistics.insert(report.statistics.end(), outcome.statistics.begin(), outcome.statistics.end());
}

}  // namespace

template <class T>
struct SchurComplement<T>::State {
  MatrixRef<T> A;
  SchurOptions options;
  Device device;
  InterfacePartition partition;
  Report report;
  SchurFactorization factorization = SchurFactorization::automatic;
  std::unique_ptr<InteriorElimination<T>> elimination;
  double norm = 0;   ///< ||A||_inf
  std::mutex mutex;  // guards what follows
  std::optional<Solver<T>> complement_solver;
  Report complement_report;

  State(MatrixRef<T> matrix, std::span<const std::int32_t> interface, const SchurOptions& schur_options)
      : A(matrix),
        options(schur_options),
        device(options.device.value_or(A.device())),
        partition(partition_of(A.rows(), interface)) {}

  void eliminate();
  [[nodiscard]] Outcome try_factorizations();
  [[nodiscard]] const Solver<T>* solver_of_complement();
  void require_ready() const {
    if (!report.ready())
      throw Error(
          fmt::format("there is no Schur complement: {} ({})", report.message, to_string(report.status)));
  }
  void check(const char* name, std::int64_t rows, std::int64_t needed, std::int64_t columns,
             std::int64_t needed_columns, const Device& memory) const {
    check_same_memory(device, "the Schur complement", memory, name);
    if (rows == needed && columns == needed_columns) return;
    throw DimensionMismatch(
        fmt::format("{} is {} by {}, and {} by {} is needed", name, rows, columns, needed, needed_columns));
  }
  [[nodiscard]] std::int64_t size() const { return A.rows(); }
  [[nodiscard]] std::int64_t border() const { return static_cast<std::int64_t>(partition.interface.size()); }

  void reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const;
  void expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B, DenseView<T> X) const;
  void solve_once(DenseView<const T> B, DenseView<T> X, const Solver<T>* solver) const;
  /// Facts about the worst column of B - A X.
  [[nodiscard]] std::vector<ColumnReport> assess(DenseView<const T> B, DenseView<const T> X,
                                                 DenseView<T> R) const;
};

template <class T>
void SchurComplement<T>::State::eliminate() {
  const Stopwatch watch;
  report.device = device;
  report.method = "schur-complement";
  const MatrixFacts facts = on_target<targets_of<T>>(
      device, [&]<class Target>() { return make_residual_check<Target, T>(device)->matrix(A); });
  norm = facts.norm_inf;
  if (facts.row) {
    report.status = Status::not_a_number;
    report.row = facts.row;
    report.column = facts.column;
    report.message =
        fmt::format("A has a NaN or Inf at row {}, column {} (from 0)", *facts.row, *facts.column);
    return;
  }
  Outcome outcome;
  try {
    outcome = try_factorizations();
  } catch (const OutOfMemory& error) {
    outcome = {Status::out_of_memory, error.what()};
  }
  report.statistics = {{"factorization", std::string(to_string(factorization))},
                       {"interior", static_cast<std::int64_t>(partition.interior.size())},
                       {"interface", border()}};
  take_outcome(std::move(outcome), report);
  if (!report.ready()) {
    elimination.reset();
  } else {
    report.bytes = elimination->bytes();
  }
  report.setup_seconds = watch.seconds();
}

template <class T>
Outcome SchurComplement<T>::State::try_factorizations() {
  std::vector<SchurFactorization> candidates = {options.factorization};
  report.reason = "the factorisation was asked for";
  if (options.factorization == SchurFactorization::automatic) {
    candidates = {SchurFactorization::cholesky, SchurFactorization::ldlt, SchurFactorization::lu};
    if (!may_be_definite(A, partition)) candidates.erase(candidates.begin());
    if (!A.is_sparse()) drop_methods_without<T>(device, candidates);
  }
  Outcome outcome;
  for (const SchurFactorization candidate : candidates) {
    factorization = candidate;
    if (candidates.size() > 1 || options.factorization == SchurFactorization::automatic) {
      const std::string symmetric = is_complex<T> ? "symmetric or Hermitian" : "symmetric";
      report.reason =
          candidate == SchurFactorization::cholesky
              ? std::string(is_complex<T> ? "A is Hermitian" : "A is symmetric") + ", its interior definite"
          : candidate == SchurFactorization::ldlt ? "A is " + symmetric
                                                  : "A is not " + symmetric;
    }
    elimination = make_elimination(A, partition, device, options);
    outcome = elimination->eliminate(candidate);
    if (outcome.ok() || !is_unsuitable(outcome)) break;
  }
  return outcome;
}

/// The solver for S, which is set up by the first call; null if S has no rows.
template <class T>
const Solver<T>* SchurComplement<T>::State::solver_of_complement() {
  if (border() == 0) return nullptr;
  const std::lock_guard lock(mutex);
  if (complement_solver) return &*complement_solver;
  const Dense<T>& S = elimination->complement();
  const auto set_up = [&](std::string_view method) {
    complement_solver.emplace(make_solver<T>(method, device));
    complement_report = complement_solver->setup(S);
  };
  const bool runs = runs_on<T>(factorization, device);
  set_up(to_string(runs ? factorization : SchurFactorization::lu));
  // Definite interior blocks do not make S definite.
  if (complement_report.status == Status::not_spd) set_up(to_string(SchurFactorization::ldlt));
  return &*complement_solver;
}

template <class T>
void SchurComplement<T>::State::solve_once(DenseView<const T> B, DenseView<T> X,
                                           const Solver<T>* solver) const {
  Dense<T> g(device, border(), B.columns());
  Dense<T> x_B(device, border(), B.columns());
  if (solver != nullptr) {
    elimination->reduce(Equations::plain, B, g.view());
    static_cast<void>(solver->solve(g, x_B));
  }
  elimination->expand(Equations::plain, x_B.view(), B, X);
}

template <class T>
std::vector<ColumnReport> SchurComplement<T>::State::assess(DenseView<const T> B, DenseView<const T> X,
                                                            DenseView<T> R) const {
  std::vector<ColumnReport> columns;
  on_target<targets_of<T>>(device, [&]<class Target>() {
    const auto check = make_residual_check<Target, T>(device);
    for (std::int64_t c = 0; c < B.columns(); ++c) {
      const SolutionFacts facts = check->solution(A, B.column(c), X.column(c), R.column(c));
      const double scale = norm * facts.answer.norm_inf + facts.right.norm_inf;
      ColumnReport column;
      column.status = facts.right.nonfinite || facts.answer.nonfinite ? Status::not_a_number : Status::direct;
      column.relative_residual =
          facts.right.norm2 > 0 ? facts.residual.norm2 / facts.right.norm2 : facts.residual.norm2;
      column.backward_error = scale > 0 ? facts.residual.norm_inf / scale : 0;
      columns.push_back(column);
    }
  });
  return columns;
}

template <class T>
SchurComplement<T>::SchurComplement(MatrixRef<T> A, std::span<const std::int32_t> interface,
                                    const SchurOptions& options) {
  at_api_boundary([&] {
    check_matrix(A, options);
    state_ = std::make_unique<State>(A, interface, options);
    state_->eliminate();
  });
}
template <class T>
SchurComplement<T>::SchurComplement(SchurComplement&&) noexcept = default;
template <class T>
SchurComplement<T>& SchurComplement<T>::operator=(SchurComplement&&) noexcept = default;
template <class T>
SchurComplement<T>::~SchurComplement() = default;

template <class T>
const Report& SchurComplement<T>::report() const {
  return state_->report;
}
template <class T>
const Device& SchurComplement<T>::device() const {
  return state_->device;
}
template <class T>
std::span<const std::int32_t> SchurComplement<T>::interface() const {
  return state_->partition.interface;
}
template <class T>
std::span<const std::int32_t> SchurComplement<T>::interior() const {
  return state_->partition.interior;
}
template <class T>
const Dense<T>& SchurComplement<T>::matrix() const {
  state_->require_ready();
  return state_->elimination->complement();
}
template <class T>
std::optional<Inertia> SchurComplement<T>::interior_inertia() const {
  state_->require_ready();
  return state_->elimination->inertia();
}
template <class T>
std::size_t SchurComplement<T>::bytes() const {
  return state_->elimination ? state_->elimination->bytes() : 0;
}

template <class T>
void SchurComplement<T>::State::reduce(Equations equations, DenseView<const T> B, DenseView<T> G) const {
  at_api_boundary([&] {
    require_ready();
    check("B", B.rows(), size(), B.columns(), B.columns(), B.device());
    check("G", G.rows(), border(), G.columns(), B.columns(), G.device());
    elimination->reduce(equations, B, G);
  });
}

template <class T>
void SchurComplement<T>::State::expand(Equations equations, DenseView<const T> X_B, DenseView<const T> B,
                                       DenseView<T> X) const {
  at_api_boundary([&] {
    require_ready();
    check("X_B", X_B.rows(), border(), X_B.columns(), X.columns(), X_B.device());
    check("B", B.rows(), size(), B.columns(), X.columns(), B.device());
    check("X", X.rows(), size(), X.columns(), X.columns(), X.device());
    if (size() > 0) elimination->expand(equations, X_B, B, X);
  });
}

template <class T>
void SchurComplement<T>::reduce(DenseView<const T> B, DenseView<T> G) const {
  state_->reduce(Equations::plain, B, G);
}

template <class T>
void SchurComplement<T>::expand(DenseView<const T> X_B, DenseView<const T> B, DenseView<T> X) const {
  state_->expand(Equations::plain, X_B, B, X);
}

template <class T>
void SchurComplement<T>::reduce_transposed(DenseView<const T> B, DenseView<T> G) const {
  state_->reduce(Equations::transposed, B, G);
}

template <class T>
void SchurComplement<T>::expand_transposed(DenseView<const T> X_B, DenseView<const T> B,
                                           DenseView<T> X) const {
  state_->expand(Equations::transposed, X_B, B, X);
}

template <class T>
void SchurComplement<T>::extend(DenseView<const T> X_B, DenseView<T> X) const {
  at_api_boundary([&] {
    const State& s = *state_;
    s.require_ready();
    s.check("X_B", X_B.rows(), s.border(), X_B.columns(), X.columns(), X_B.device());
    s.check("X", X.rows(), s.size(), X.columns(), X.columns(), X.device());
    if (s.size() > 0) s.elimination->expand(Equations::plain, X_B, {}, X);
  });
}

template <class T>
Report SchurComplement<T>::solve(DenseView<const T> B, DenseView<T> X) const {
  return at_api_boundary([&] {
    State& s = *state_;
    s.check("B", B.rows(), s.size(), B.columns(), B.columns(), B.device());
    s.check("X", X.rows(), s.size(), X.columns(), B.columns(), X.device());
    Report report = s.report;
    if (!report.ready()) return report;
    const Stopwatch watch;
    const Solver<T>* const solver = s.solver_of_complement();
    report.status = Status::direct;
    if (solver != nullptr && !s.complement_report.ready()) {
      report.status = s.complement_report.status;
      report.message = "in the Schur complement: " + s.complement_report.message;
      return report;
    }
    if (solver != nullptr) report.statistics.push_back({"complement_method", s.complement_report.method});
    if (s.size() == 0 || B.columns() == 0) return report;
    Dense<T> rhs(s.device, B.rows(), B.columns());
    Dense<T> x(s.device, B.rows(), B.columns());
    add<T>(T{1}, B, T{0}, B, rhs.view());
    s.solve_once(rhs.view(), x.view(), solver);
    Dense<T> r(s.device, B.rows(), B.columns());
    Dense<T> candidate(s.device, B.rows(), B.columns());
    SmallerBackwardError policy(
        [&](DenseView<const T> Y, DenseView<T> R) { return s.assess(rhs.view(), Y, R); }, x.view(), r.view());
    refine(s.options.refine, RefinementViews<T>{x.view(), r.view(), candidate.view()}, policy,
           [&](std::span<const std::int64_t>, const RefinementViews<T>& views) {
             s.solve_once(views.residual, views.candidate, solver);
             axpy<T>(T{1}, views.solution, views.candidate);
           });
    add<T>(T{1}, x.view(), T{0}, x.view(), X);
    report.columns = policy.reports();
    const ColumnReport worst = policy.worst();
    report.relative_residual = worst.relative_residual;
    report.backward_error = worst.backward_error;
    report.status = worst.status;
    report.statistics.push_back({"refinement_steps", policy.steps()});
    report.solve_seconds = watch.seconds();
    return report;
  });
}

#define ECHELON_INSTANTIATE(T) template class SchurComplement<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

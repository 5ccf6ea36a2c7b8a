// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Jordan elimination as a Solver.
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/refined_system.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "linalg/blas/vector_instructions.hpp"
#include "linalg/determinant_product.hpp"
#include "solver/factor_status.hpp"
#include "solver/has_factor.hpp"
#include "solver/instantiate.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Holds a factorisation in the requested lower precision, or one in the working precision where that is not
/// accurate enough; the second is computed by the set-up, or by the first solve that needs it. Where growth
/// of elements spoilt that too, factors of `lu` take its place.
template <class B, class T>
class GaussJordanImplementation final : public EliminationSolver<T> {
  using System = EliminatedSystem<B, T>;
  using Refined = RefinedSystem<B, T>;
  using SystemWorkspace = typename System::SolveWorkspace;
  using RefinedWorkspace = typename Refined::SolveWorkspace;

 public:
  GaussJordanImplementation(const Device& device, const GaussJordanOptions& options)
      : GaussJordanImplementation(std::make_unique<BackendWorkspace<B, T>>(device), nullptr, options) {}
  /// Set-ups and solves use the backend of `workspace`: one at a time.
  GaussJordanImplementation(BackendWorkspace<B, T>& workspace, const GaussJordanOptions& options)
      : GaussJordanImplementation(nullptr, &workspace, options) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }

  /// Eliminates A. If the rank is not full, each solve decides the status of its right-hand sides.
  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    factored_ = false;
    lu_.reset();
    workspace_.elimination.control = this->control();
    Outcome outcome = factor();
    if (this->device().on_host()) {
      const std::string slow = blas::slow_kernels_warning(std::min(A.rows(), A.columns()));
      if (!slow.empty()) outcome.warnings.push_back(slow);
    }
    workspace_.elimination.control = {};  // it belongs to this set-up, not to solves that factor A again
    return outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if (refined_ == nullptr) return make_working_workspace();
    return refined_->make_workspace(System::columns_at_once, owned_ ? nullptr : &refined_->backend());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return system_.bytes() + (refined_ != nullptr ? refined_->bytes() : 0) + (lu_ ? lu_->bytes() : 0);
  }
  [[nodiscard]] std::optional<FactorPrecision> factor_precision() const override { return factor_precision_; }

  [[nodiscard]] bool has_elimination() const override { return (factored_ && !lu_) || refined_ != nullptr; }
  [[nodiscard]] const RankFacts& facts() const override {
    return factored_ ? system_.facts() : refined_->facts();
  }
  [[nodiscard]] const std::vector<std::int64_t>& pivot_columns() const override {
    return factored_ ? system_.factorization().pivot_columns() : refined_->pivot_columns();
  }
  [[nodiscard]] Dense<T> null_space() const override {
    if (!factored_) return Dense<T>(this->device(), A_.columns(), 0);
    return system_.factorization().null_space();
  }

  [[nodiscard]] Determinant determinant() const override {
    if (A_.rows() != A_.columns()) throw DimensionMismatch("only a square matrix has a determinant");
    if (A_.rows() == 0) return DeterminantProduct().value();
    const std::lock_guard lock(mutex_);
    if (!factored_) {
      const Outcome outcome = factor_in_working_precision();
      if (!factored_) throw Error("there is no determinant without factors: " + outcome.message);
    }
    return lu_ ? lu_->determinant() : system_.factorization().determinant();
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (refined_ == nullptr) {
      solve_in_working_precision(workspace, rhs, X, jobs);
      return;
    }
    const std::vector<RefinementOutcome> columns =
        refined_->solve(static_cast<RefinedWorkspace&>(workspace), A_, rhs, X);
    for (std::size_t j = 0; j < columns.size(); ++j) jobs[j].iterations = columns[j].steps;
    const std::string why = describe_inaccuracy(columns);
    if (!why.empty()) solve_again(rhs, X, jobs, why);
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (A_.rows() == 0) return;
    if (lu_ && refined_ == nullptr) return SolverAccess<T>::implementation(*lu_).apply(workspace, r, z);
    for_matrices(r, z, 1, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      if (refined_ != nullptr) {
        refined_->apply(static_cast<RefinedWorkspace&>(workspace), R.data(), Z.data());
        return;
      }
      auto& system_workspace = static_cast<SystemWorkspace&>(workspace);
      system_workspace.backend.fill(Z.rows(), T{0}, Z.data());
      system_.add_solution(system_workspace, R, Z);
    });
  }

 private:
  /// One of the two workspaces is null.
  GaussJordanImplementation(std::unique_ptr<BackendWorkspace<B, T>> owned, BackendWorkspace<B, T>* borrowed,
                            const GaussJordanOptions& options)
      : EliminationSolver<T>(owned ? owned->device : borrowed->device),
        options_(options),
        products_(requested_products<B, T>(options)),
        owned_(std::move(owned)),
        workspace_(owned_ ? *owned_ : *borrowed),
        system_(workspace_.elimination, options) {
    check_precision<T>(options);
  }

  /// Makes a workspace with a backend of its own, unless the solver may use the backend of the set-up.
  [[nodiscard]] std::unique_ptr<SystemWorkspace> make_system_workspace() const {
    return system_.make_workspace(System::columns_at_once, owned_ ? nullptr : &system_.backend());
  }

  /// Workspace for a solve with factors in the working precision.
  [[nodiscard]] std::unique_ptr<Workspace> make_working_workspace() const {
    if (lu_) return SolverAccess<T>::implementation(*lu_).make_workspace();
    return make_system_workspace();
  }

  /// Factors in the requested precision, or in the working precision where that is not accurate enough.
  Outcome factor() {
    const std::string why = factor_in_lower_precision();
    factor_precision_ = report_factor_precision<B, T>(options_, why);
    if (refined_ == nullptr) return factor_in_working_precision();
    Outcome outcome = assess_condition<T>(refined_->reciprocal_condition());
    outcome.rank = A_.columns();
    return outcome;
  }

  /// Returns the reason why the requested precision is not used, or an empty string.
  std::string factor_in_lower_precision() {
    refined_.reset();
    if (!products_) return {};
    if (A_.rows() != A_.columns()) return not_square;
    std::string why;
    if constexpr (!is_complex<T>) {
      EliminationWorkspace<B>& lower = workspace_.lower().elimination;
      lower.control = this->control();
      auto refined = std::make_unique<Refined>(lower, *products_, options_);
      why = refined->factor(A_);
      if (why.empty()) refined_ = std::move(refined);
    }
    return why;
  }

  Outcome factor_in_working_precision() const {
    Outcome outcome = system_.factor(A_);
    const bool overflowed = outcome.status == Status::not_a_number && !outcome.row;
    if (!outcome.ok()) return overflowed ? factor_by_lu(std::move(outcome)) : outcome;
    const std::string failure = system_.growth_failure(A_);
    if (!failure.empty()) return factor_by_lu({Status::breakdown, failure});
    factored_ = true;
    if (system_.rank() == A_.columns()) {
      outcome = assess_condition<T>(system_.reciprocal_condition());
    } else {
      const bool square = A_.rows() == A_.columns();
      outcome = {square ? Status::singular : Status::underdetermined, system_.rank_description()};
    }
    outcome.rank = system_.rank();
    if (outcome.ok() && system_.facts().doubtful) outcome.warnings.push_back(system_.rank_description());
    return outcome;
  }

  /// Factors a square A by `lu`, which repairs growth of elements, where that, or a condition above 1 / eps,
  /// spoilt the elimination: its rank and condition number say nothing then.
  Outcome factor_by_lu(Outcome failure) const {
    if (A_.rows() != A_.columns()) return failure;
    lu_ = make_solver<T>("lu", this->device());
    SolverImplementation<T>& lu = SolverAccess<T>::implementation(*lu_);
    lu.set_control(this->control().without_progress());
    Outcome outcome = lu.setup(A_);
    lu.set_control({});
    factored_ = has_factor(outcome);
    if (!factored_) {
      lu_.reset();
      return outcome.status == Status::cancelled ? outcome : failure;
    }
    if (outcome.ok()) outcome.rank = A_.columns();
    outcome.warnings.insert(outcome.warnings.begin(), failure.message + ": factored by lu instead");
    return outcome;
  }

  void solve_in_working_precision(Workspace& factors, DenseView<const T> rhs, DenseView<T> X,
                                  std::vector<Job>& jobs) const {
    if (lu_) return SolverAccess<T>::implementation(*lu_).solve(factors, rhs, X, jobs);
    auto& workspace = static_cast<SystemWorkspace&>(factors);
    system_.solve(workspace, A_, rhs, X);
    for (Job& job : jobs) {
      const Outcome outcome =
          system_.assess_solution(workspace, A_, rhs.column(job.number), X.column(job.number));
      if (!outcome.ok()) job.outcome = outcome;
    }
  }

  /// Solves for right-hand sides whose refinement is not accurate; the first call factors A again.
  void solve_again(DenseView<const T> rhs, DenseView<T> X, std::vector<Job>& jobs,
                   const std::string& why) const {
    const std::lock_guard lock(mutex_);
    Outcome outcome = factored_ ? Outcome{} : factor_in_working_precision();
    outcome.message = "by an elimination in the working precision, since " + why +
                      (outcome.message.empty() ? "" : "; " + outcome.message);
    for (Job& job : jobs) {
      job.iterations = 0;
      job.outcome = outcome;
      job.factor_precision = report_factor_precision<B, T>(options_, why);
    }
    if (!factored_) return;
    const auto workspace = make_working_workspace();
    solve_in_working_precision(*workspace, rhs, X, jobs);
  }

  GaussJordanOptions options_;
  std::optional<FloatProducts> products_;
  MatrixRef<T> A_;
  std::unique_ptr<BackendWorkspace<B, T>> owned_;
  BackendWorkspace<B, T>& workspace_;
  std::unique_ptr<Refined> refined_;
  std::optional<FactorPrecision> factor_precision_;
  mutable std::mutex mutex_;  // guards system_, lu_ and factored_ once refined_ exists
  mutable System system_;
  mutable bool factored_ = false;
  mutable std::optional<Solver<T>> lu_;  // in place of system_, where growth of elements spoilt that
};

}  // namespace

template <>
struct MethodWith<GaussJordanOptions> {
  template <class B, class T>
  using Type = GaussJordanImplementation<B, T>;
};

template <class Target, class T>
std::unique_ptr<OperationWorkspace> make_operation_workspace(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<OperationWorkspace> {
    return std::make_unique<BackendWorkspace<B, T>>(device);
  });
}

template <class Target, class T>
std::unique_ptr<EliminationSolver<T>> make_elimination_solver(OperationWorkspace& workspace,
                                                              const GaussJordanOptions& options) {
  return on_backend(workspace.device, [&]<class B>() -> std::unique_ptr<EliminationSolver<T>> {
    return std::make_unique<GaussJordanImplementation<B, T>>(workspace_of<B, T>(workspace), options);
  });
}

#define ECHELON_INSTANTIATE(T)                                                                         \
  template std::unique_ptr<OperationWorkspace> make_operation_workspace<ThisTarget, T>(const Device&); \
  template std::unique_ptr<EliminationSolver<T>> make_elimination_solver<ThisTarget>(                  \
      OperationWorkspace&, const GaussJordanOptions&);                                                 \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(                   \
      const Device&, const GaussJordanOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

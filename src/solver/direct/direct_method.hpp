// SPDX-License-Identifier: BSD-3-Clause
/// A direct method made of a factorisation: set-up with an estimate of the condition number, substitution,
/// refinement, solves with the transpose, and the use as a preconditioner.
#pragma once

#include "backend/target.hpp"
#include "linalg/blas/vector_instructions.hpp"
#include "linalg/condition.hpp"
#include "linalg/determinant_product.hpp"
#include "linalg/residual_check.hpp"
#include "linalg/spmv/form_residual.hpp"
#include "solver/direct/complete_factors.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/direct/refinement.hpp"
#include "solver/direct/scales.hpp"
#include "solver/factor_status.hpp"
#include "solver/host_fallback.hpp"
#include "solver/implementation.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/solver/factors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace echelon {

namespace direct {

struct NoScope {};

/// F::HostMethod, with the matrix that it has factored; empty if there is none.
template <class F, class T>
struct HostMethodOf {
  template <class MethodOptions>
  explicit HostMethodOf(const MethodOptions&) {}
};
template <class F, class T>
requires requires {
  typename F::HostMethod;
}
struct HostMethodOf<F, T> : HostFallback<T> {
  template <class MethodOptions>
  explicit HostMethodOf(const MethodOptions& options)
      : HostFallback<T>([options] { return Solver<T>(typename F::HostMethod(Device(), options)); }) {}
};

}  // namespace direct

/// Solves by the factors that `Method` has of A: A^T X = B.
template <class Method, class T>
class TransposedMethod final : public SolverImplementation<T> {
 public:
  explicit TransposedMethod(const Method& method)
      : SolverImplementation<T>(method.device()), method_(method) {}

  /// Takes A^T; the outcome is that of the set-up for A.
  Outcome setup(const MatrixRef<T>& transpose) override {
    transpose_ = transpose;
    return method_.outcome();
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return method_.make_workspace();
  }
  [[nodiscard]] std::size_t bytes() const override { return method_.bytes(); }
  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    method_.solve(direct::Operation::transpose, transpose_, workspace, rhs, X, jobs);
  }

 private:
  const Method& method_;
  MatrixRef<T> transpose_;
};

/// F is a direct::Factorization. It may also have
///   make_workspace(backend)        memory of a solve in progress, with bytes();
///   clear()                        releases the last factors, before a set-up;
///   reciprocal_condition(context)  1 / condition number, where an estimate is not always needed;
///   conclude(context, outcome)     the set-up's Factored, after factor() was ok and the condition is known;
///   replacement()                  what solves in place of the factors, with solve(transpose, rhs, X, jobs)
///                                  and apply(R, Z); null as long as the factors do;
///   check(backend, space)          called at the end of a solve;
///   determinant(backend)           of the matrix that substitute() inverts, from complete factors; waits;
///   inertia()                      of a symmetric A, from complete factors;
///   column_spread()                see SolverImplementation, where F scales A itself;
///   known_inertia()                the same where pivots are not copied, or nothing;
///   factors(backend)               copies of them: without scales, unless F scales itself, and without a
///                                  permutation where it is the identity;
///   check_matrix(backend, A)       static: whether A has what rounding it to float may bring about;
///   make_policy(task)              its policy of refinement, with a member report(jobs, views);
///   refinement_steps()             the largest number of steps, in place of the option `refine`;
///   analyze(A), predict_cost(A)    as those of SolverImplementation, for a Csr;
/// and these members:
///   Scope                    type of an object, made from (device, n), that lives during set-ups and solves;
///   HostMethod               public type of the method on the host that factors where F cannot;
///   host_copy(A)             static: A for it, on the host;
///   decision                 Decision of the default policy; by default on the host for host backends;
///   columns_at_once          columns that are refined together; by default 1;
///   negligible_error         backward error up to which x is not refined, for decisions on the host;
///   applies_columns          columns are preconditioned together, by one substitution;
///   keeps_analysis           factor() takes new values in the pattern of the last set-up;
///   returns_to_device()      called for new values while the method on the host has the factors: whether F
///                            is to factor them;
///   assesses_condition       factor() assesses the condition number;
///   calls_blas               factor() spends its time in BLAS: set-ups warn of slow kernels;
///   keeps_backend            handles and scratch memory of set-ups are kept for the next one;
///   takes_csr                A is sparse: a dense one is converted.
///
/// Memory: that of F, the scales, and for each solve in progress F's workspace and 2 n elements for each of
/// at most columns_at_once columns.
template <class B, class T, class F>
requires direct::Factorization<F, B, T>
class DirectMethod : public SolverImplementation<T> {
  using Operation = direct::Operation;
  using SystemForm = direct::SystemForm;
  using Space = direct::SpaceOf<B, F>;
  static constexpr bool has_host_method = requires { typename F::HostMethod; };
  static constexpr bool keeps_analysis = requires { requires F::keeps_analysis; };
  static constexpr bool keeps_backend = requires { requires F::keeps_backend; };
  static constexpr bool applies_columns = requires { requires F::applies_columns; };
  static constexpr bool takes_csr = requires { requires F::takes_csr; };
  static constexpr bool calls_blas = requires { requires F::calls_blas; };

  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, const F& factorization, std::int64_t n)
        : backend(device), space(direct::make_space(factorization, backend)), refinement(device, n) {}
    [[nodiscard]] std::size_t bytes() const override { return space.bytes() + refinement.bytes(); }
    B backend;
    Space space;
    RefinementArrays<T> refinement;
  };

 public:
  template <class MethodOptions>
  DirectMethod(const Device& device, const MethodOptions& options)
      : SolverImplementation<T>(device),
        factorization_(device, options),
        refine_(options.refine),
        host_(options) {
    if constexpr (requires { options.condition; }) condition_ = options.condition;
  }

  Outcome analyze(const MatrixRef<T>& A) override {
    if constexpr (requires { factorization_.analyze(*A.csr(), this->control()); }) {
      take(A);
      return factorization_.analyze(*A_.csr(), this->control());
    } else {
      return {};
    }
  }
  [[nodiscard]] std::optional<CostPrediction> predict_cost(const MatrixRef<T>& A) override {
    if constexpr (requires { factorization_.predict_cost(*A.csr(), this->control()); }) {
      take(A);
      return factorization_.predict_cost(*A_.csr(), this->control());
    } else {
      return std::nullopt;
    }
  }
  Outcome setup(const MatrixRef<T>& A) override { return keep(factor(A, false)); }
  Outcome update_values(const MatrixRef<T>& A) override { return keep(factor(A, keeps_analysis)); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    if constexpr (has_host_method) {
      if (host_.active()) return host_.make_workspace();
    }
    return make_own_workspace();
  }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = factorization_.bytes() + scales_.bytes() + converted_.bytes();
    if constexpr (has_host_method) bytes += host_.bytes();
    return bytes;
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    solve(Operation::none, A_, workspace, rhs, X, jobs);
  }
  void solve_transposed(const Csr<T>& transpose, Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
                        std::vector<Job>& jobs) const override {
    solve(Operation::transpose, MatrixRef<T>(transpose), workspace, rhs, X, jobs);
  }
  [[nodiscard]] std::unique_ptr<SolverImplementation<T>> transposed() const override {
    return std::make_unique<TransposedMethod<DirectMethod, T>>(*this);
  }
  [[nodiscard]] MatrixRef<T> factored_matrix() const override {
    std::ignore = outcome();
    return A_;
  }
  [[nodiscard]] Determinant determinant() const override {
    if constexpr (has_host_method) {
      if (host_.active()) return host_.method().determinant();
    }
    if constexpr (requires(B & backend) { factorization_.determinant(backend); }) {
      if (A_.rows() == 0) return DeterminantProduct().value();
      check_eliminated();
      if (!has_full_rank()) return {};
      B backend(this->device());
      DeterminantProduct product = factorization_.determinant(backend);
      product.divide_by_all(scales_.rows.to_vector());
      product.divide_by_all(scales_.columns.to_vector());
      return product.value();
    } else if constexpr (has_host_method) {
      return of_host_factors([](const Solver<T>& solver) { return solver.determinant(); });
    } else {
      return SolverImplementation<T>::determinant();
    }
  }
  [[nodiscard]] Inertia inertia() const override {
    if constexpr (has_host_method) {
      if (host_.active()) return host_.method().inertia();
    }
    if constexpr (requires { factorization_.known_inertia(); }) {
      check_eliminated();
      if (const std::optional<Inertia> known = factorization_.known_inertia()) return *known;
    }
    if constexpr (requires { factorization_.inertia(); }) {
      if (A_.rows() == 0) return {};
      check_eliminated();
      if (outcome().row) throw Error("there is no inertia without factors: " + outcome().message);
      return factorization_.inertia();
    } else if constexpr (has_host_method) {
      return of_host_factors([](const Solver<T>& solver) { return solver.inertia(); });
    } else {
      return SolverImplementation<T>::inertia();
    }
  }
  [[nodiscard]] MatrixFactors<T> factors() const override {
    if constexpr (has_host_method) {
      if (host_.active()) return host_.method().factors();
    }
    if constexpr (requires(B & backend) { factorization_.factors(backend); }) {
      if (A_.rows() == 0) return {};
      check_eliminated();
      if (!has_full_rank()) throw Error("there are no complete factors: " + outcome().message);
      B backend(this->device());
      return direct::complete(factorization_.factors(backend), scales_, A_.rows());
    } else if constexpr (has_host_method) {
      return of_host_factors([](const Solver<T>& solver) { return solver.factors(); });
    } else {
      return SolverImplementation<T>::factors();
    }
  }

  /// Outcome of the last set-up.
  [[nodiscard]] const Outcome& outcome() const {
    if (!outcome_) throw Error("there is no factored matrix: call setup first");
    return *outcome_;
  }

  /// Solves op(A) X = B; `matrix` is op(A), for residuals. With decisions on the device everything is queued,
  /// and nothing is allocated.
  void solve(Operation operation, const MatrixRef<T>& matrix, Workspace& workspace, DenseView<const T> rhs,
             DenseView<T> X, std::vector<Job>& jobs) const {
    if (X.rows() == 0 || X.columns() == 0) return;
    if constexpr (has_host_method) {
      if (host_.active()) {
        return with_transpose(operation, matrix, [&](const Csr<T>* transpose) {
          host_.solve(this->device(), workspace, rhs, X, jobs, transpose);
        });
      }
    }
    if constexpr (requires { factorization_.replacement(); }) {
      if (const auto* const other = factorization_.replacement()) {
        return with_transpose(operation, matrix,
                              [&](const Csr<T>* transpose) { other->solve(transpose, rhs, X, jobs); });
      }
    }
    [[maybe_unused]] const auto scope = make_scope(X.rows());
    auto& own = static_cast<SolveWorkspace&>(workspace);
    substitute(operation, own, rhs, X);
    const std::int64_t at_once = columns_at_once();
    for (std::int64_t begin = 0; begin < X.columns(); begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, X.columns());
      const std::span<Job> some =
          std::span(jobs).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      if (some.front().control->cancel.stop_requested()) {
        for (Job& job : some) job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
      } else {
        refine_columns(operation, matrix, own, column_range(rhs, begin, end), column_range(X, begin, end),
                       some);
      }
    }
    if constexpr (requires { factorization_.check(own.backend, own.space); }) {
      factorization_.check(own.backend, own.space);
    }
  }

  /// Computes X = A^-1 X without refinement, for a column-major X. Queued.
  void substitute(Workspace& workspace, DenseView<T> X) const {
    if (X.rows() == 0) return;
    [[maybe_unused]] const auto scope = make_scope(X.rows());
    substitute(Operation::none, static_cast<SolveWorkspace&>(workspace), X, X);
  }

  /// Substitution without refinement. Does not wait, unless the host or a replacement solves.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation operation) const override {
    if (r.rows() == 0) return;
    if constexpr (has_host_method) {
      if (host_.active()) return host_.apply(this->device(), workspace, r, z, operation);
    }
    if constexpr (requires { factorization_.replacement(); }) {
      if (const auto* const other = factorization_.replacement()) {
        return for_matrices(r, z, 1, this->device(),
                            [&](DenseView<const T> R, DenseView<T> Z) { other->apply(R, Z); });
      }
    }
    [[maybe_unused]] const auto scope = make_scope(r.rows());
    constexpr int together = applies_columns ? static_cast<int>(most_columns) : 1;
    for_matrices(r, z, together, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      substitute(operation, static_cast<SolveWorkspace&>(workspace), R, Z);
    });
  }
  [[nodiscard]] double column_spread() const override {
    if constexpr (requires { factorization_.column_spread(); }) return factorization_.column_spread();
    return spread_of(scales_.columns.to_vector());
  }
  [[nodiscard]] OperatorTraits traits() const override {
    bool by_factors = true;
    if constexpr (requires { factorization_.replacement(); })
      by_factors = factorization_.replacement() == nullptr;
    return {.columns_as_alone = !applies_columns, .is_transposable = by_factors};
  }

  static Outcome check_matrix(B& backend, const MatrixRef<T>& A) requires requires {
    F::check_matrix(backend, A);
  }
  { return F::check_matrix(backend, A); }

 private:
  /// Throws Error unless the last set-up left factors, or found that A is singular.
  void check_eliminated() const {
    const Outcome& end = outcome();
    const bool decided = end.ok() || end.status == Status::singular || end.status == Status::underdetermined;
    if (!decided) throw Error("there are no factors: " + end.message);
  }
  /// Whether the last set-up found a pivot in every column.
  [[nodiscard]] bool has_full_rank() const {
    return !outcome().row && outcome().rank.value_or(A_.rows()) == A_.rows();
  }
  [[nodiscard]] static constexpr std::int64_t columns_at_once() {
    if constexpr (requires { F::columns_at_once; }) return F::columns_at_once;
    return 1;
  }
  [[nodiscard]] static constexpr Decision decision() {
    if constexpr (requires { F::decision; }) return F::decision;
    return B::on_host ? Decision::on_host : Decision::queued;
  }
  [[nodiscard]] std::int64_t refinement_steps() const {
    if constexpr (requires { factorization_.refinement_steps(); }) return factorization_.refinement_steps();
    return refine_;
  }
  [[nodiscard]] auto make_scope(std::int64_t n) const {
    if constexpr (requires { typename F::Scope; }) {
      return typename F::Scope(this->device(), n);
    } else {
      return direct::NoScope();
    }
  }
  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_own_workspace() const {
    return std::make_unique<SolveWorkspace>(this->device(), factorization_, A_.rows());
  }
  template <class U>
  [[nodiscard]] DenseView<U> vector(U* elements) const {
    return {elements, A_.rows(), 1, A_.rows(), this->device()};
  }

  /// A result that F does not give: that of the method on the host, which factors a copy of A once more.
  template <class Result>
  [[nodiscard]] auto of_host_factors(const Result& result) const {
    check_eliminated();
    const auto matrix = F::host_copy(A_);
    return result(host_.factored(matrix));
  }

  /// Calls f with the matrix of transposed equations in CSR form, or with null.
  template <class Call>
  static void with_transpose(Operation operation, const MatrixRef<T>& matrix, const Call& f) {
    if (operation == Operation::none) return f(nullptr);
    if (matrix.is_sparse()) return f(matrix.csr());
    const Csr<T> converted = to_csr(matrix);
    f(&converted);
  }

  const Outcome& keep(Outcome outcome) { return outcome_.emplace(std::move(outcome)); }

  void take(const MatrixRef<T>& A) {
    A_ = A;
    converted_ = Csr<T>();
    if constexpr (takes_csr) {
      if (A.is_sparse()) return;
      converted_ = to_csr(A);
      A_ = MatrixRef<T>(converted_);
    }
  }

  Outcome factor(const MatrixRef<T>& A, bool same_pattern) {
    outcome_.reset();
    take(A);
    if constexpr (has_host_method) {
      if (same_pattern && host_.active() && !returns_to_device())
        return host_.update_values(F::host_copy(A_), this->control());
      host_.deactivate();
    }
    scales_ = {};
    if constexpr (requires { factorization_.clear(); }) {
      if (!same_pattern) factorization_.clear();
    }
    if (A.rows() == 0) return {};
    if (!backend_) backend_.emplace(this->device());
    [[maybe_unused]] const auto scope = make_scope(A.rows());
    const direct::FactorContext<B, T> context{
        *backend_,
        A_,
        scales_,
        same_pattern,
        this->control(),
        [this](const T* b, T* x) { solve_for_test(b, x); },
        [this](const T* b, const T* x) { return backward_error(b, x); },
        [this] { return estimate_condition(); },
    };
    Outcome outcome = conclude(context, factorization_.factor(context));
    if (!keeps_backend) backend_.reset();
    if constexpr (calls_blas) {
      const std::string slow = blas::slow_kernels_warning(A.rows());
      if (!slow.empty()) outcome.warnings.push_back(slow);
    }
    return outcome;
  }

  /// Whether F is to factor new values that the method on the host has factored until now.
  [[nodiscard]] bool returns_to_device() {
    if constexpr (requires { factorization_.returns_to_device(); }) {
      return factorization_.returns_to_device();
    } else {
      return false;
    }
  }

  /// Adds the condition number, and factors on the host where that was asked for.
  Outcome conclude(const direct::FactorContext<B, T>& context, direct::Factored factored) {
    if (!factored.host_reason && factored.outcome.ok()) {
      if (assesses_condition()) {
        const Outcome assessed = assess_condition<T>(reciprocal_condition(context));
        factored.outcome.status = assessed.status;
        factored.outcome.message = assessed.message;
        factored.outcome.reciprocal_condition = assessed.reciprocal_condition;
      }
      if constexpr (requires { factorization_.conclude(context, factored.outcome); }) {
        factored = factorization_.conclude(context, std::move(factored.outcome));
      }
    }
    if constexpr (has_host_method) {
      if (factored.host_reason) {
        if constexpr (requires { factorization_.clear(); }) factorization_.clear();
        scales_ = {};
        return host_.setup(F::host_copy(A_), this->control(), *factored.host_reason);
      }
    }
    return std::move(factored.outcome);
  }

  /// Whether the condition number is assessed here.
  [[nodiscard]] bool assesses_condition() const {
    if constexpr (requires { requires F::assesses_condition; }) return false;
    return condition_;
  }

  [[nodiscard]] double reciprocal_condition(const direct::FactorContext<B, T>& context) {
    if constexpr (requires { factorization_.reciprocal_condition(context); })
      return factorization_.reciprocal_condition(context);
    return context.reciprocal_condition();
  }
  /// 1 / condition number of the scaled matrix, by a few substitutions. Waits.
  [[nodiscard]] double estimate_condition() {
    B& backend = *backend_;
    Space space = direct::make_space(factorization_, backend);
    return estimate_reciprocal_condition<T>(
        backend, A_.rows(), static_cast<double>(factorization_.norm()), [&](bool transposed, T* v) {
          const Operation operation = transposed ? Operation::transpose : Operation::none;
          if constexpr (direct::ScalesItself<F, B, T>) {
            factorization_.substitute(operation, SystemForm::scaled, backend, space, vector<const T>(v),
                                      vector(v));
          } else {
            factorization_.substitute(operation, backend, space, vector(v));
          }
        });
  }

  /// Computes X = op(A)^-1 V by the factors. Queued.
  void substitute(Operation operation, SolveWorkspace& own, DenseView<const T> V, DenseView<T> X) const {
    if constexpr (direct::ScalesItself<F, B, T>) {
      factorization_.substitute(operation, SystemForm::original, own.backend, own.space, V, X);
    } else {
      // A = R^-1 S C^-1: A^-1 = C S^-1 R, and A^-T = R S^-T C.
      const bool transposed = operation == Operation::transpose;
      scale_rows(own.backend, transposed ? scales_.columns : scales_.rows, V, X);
      factorization_.substitute(operation, own.backend, own.space, X);
      scale_rows<B, T>(own.backend, transposed ? scales_.rows : scales_.columns, X, X);
    }
  }

  void refine_columns(Operation operation, const MatrixRef<T>& matrix, SolveWorkspace& own,
                      DenseView<const T> rhs, DenseView<T> X, std::span<Job> jobs) const {
    if (std::none_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.refines; })) return;
    own.refinement.fit(X.columns());
    auto policy = make_policy(operation, matrix, own, rhs, jobs);
    const RefinementViews<T> all = own.refinement.views(X);
    refine(refinement_steps(), all, policy,
           [&](std::span<const std::int64_t> columns, const RefinementViews<T>& views) {
             add_corrections(operation, own, columns, views);
           });
    policy.report(jobs, all);
  }

  [[nodiscard]] auto make_policy(Operation operation, const MatrixRef<T>& matrix, SolveWorkspace& own,
                                 DenseView<const T> rhs, std::span<Job> jobs) const {
    const direct::RefinementTask<B, T> task{own.backend, operation, matrix, rhs, jobs};
    if constexpr (requires { factorization_.make_policy(task); }) {
      return factorization_.make_policy(task);
    } else {
      const auto form = [task](DenseView<const T> solution, DenseView<T> R) {
        form_residual<B, T>(task.backend, task.A, task.rhs, solution, R);
      };
      SmallerResidual<decision(), B, T, decltype(form)> policy(own.backend, own.refinement.states.data(),
                                                               rhs.columns(), form);
      if constexpr (requires { F::negligible_error; }) {
        policy.set_negligible([jobs](std::int64_t j, double x_norm) {
          const Job& job = jobs[static_cast<std::size_t>(j)];
          return F::negligible_error * (job.matrix_norm * x_norm + job.right_hand_side_norm_inf);
        });
      }
      return policy;
    }
  }

  /// Candidates x + A^-1 r of some columns, in the first columns of views.candidate. Queued.
  void add_corrections(Operation operation, SolveWorkspace& own, std::span<const std::int64_t> columns,
                       const RefinementViews<T>& views) const {
    const std::int64_t n = views.solution.rows();
    const auto count = static_cast<std::int64_t>(columns.size());
    const DenseView<T> candidate = column_range(views.candidate, 0, count);
    DenseView<const T> residual = views.residual;
    if (count < residual.columns()) {
      for (std::int64_t k = 0; k < count; ++k) {
        own.backend.copy(n, residual.column(columns[static_cast<std::size_t>(k)]), candidate.column(k));
      }
      residual = candidate;
    }
    substitute(operation, own, residual, candidate);
    for (std::int64_t k = 0; k < count; ++k) {
      const T* const x = views.solution.column(columns[static_cast<std::size_t>(k)]);
      T* const y = candidate.column(k);
      own.backend.for_each(n, AddElement<T, const T*, const T*, T*>{T{1}, x, T{1}, y, y});
    }
  }

  void solve_for_test(const T* b, T* x) const {
    const auto own = make_own_workspace();
    const Control control;
    std::vector<Job> jobs(1);
    jobs.front().control = &control;
    substitute(Operation::none, *own, vector(b), vector(x));
    refine_columns(Operation::none, A_, *own, vector(b), vector(x), jobs);
  }

  [[nodiscard]] double backward_error(const T* b, const T* x) const {
    Array<T> r(this->device(), A_.rows());
    const auto check = make_residual_check<ThisTarget, T>(this->device());
    const double norm = check->matrix(A_).norm_inf;
    const SolutionFacts facts = check->solution(A_, b, x, r.data());
    return facts.residual.norm_inf / (norm * facts.answer.norm_inf + facts.right.norm_inf);
  }

  F factorization_;
  std::int64_t refine_;
  bool condition_ = true;
  MatrixRef<T> A_;
  Csr<T> converted_;  // a dense A, for F::takes_csr
  Scales<T> scales_;
  std::optional<Outcome> outcome_;  // of the last set-up
  std::optional<B> backend_;        // of set-ups
  direct::HostMethodOf<F, T> host_;
};

}  // namespace echelon

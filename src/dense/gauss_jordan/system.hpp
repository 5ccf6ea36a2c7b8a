// SPDX-License-Identifier: BSD-3-Clause
/// Systems of any shape, solved with a factorisation by Gauss-Jordan elimination.
#pragma once

#include "backend/store.hpp"
#include "dense/gauss_jordan/dependence.hpp"
#include "dense/gauss_jordan/factorization.hpp"
#include "dense/gauss_jordan/residual.hpp"
#include "dense/panels/apply_panel.hpp"
#include "exact/decide_rank.hpp"
#include "linalg/contraction.hpp"
#include "solver/direct/growth.hpp"
#include "solver/direct/refinement.hpp"
#include "solver/implementation.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace echelon {

namespace system_detail {

template <class T>
struct Negate {
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = -x[i]; }
};

}  // namespace system_detail

/// System with a factorisation of A; A itself is only referred to, for residuals.
template <class B, class T>
class EliminatedSystem {
 public:
  /// Workspace for solves of up to `columns_at_once` right-hand sides at a time.
  struct SolveWorkspace : Workspace {
    /// Workspace with a backend of its own, or with `shared`.
    SolveWorkspace(const EliminatedSystem& system, std::int64_t columns, B* shared)
        : own(shared == nullptr ? std::make_unique<B>(system.device_) : nullptr),
          backend(shared == nullptr ? *own : *shared),
          transformed(system.device_, system.rows(), columns),
          residual(system.device_, system.rows(), columns),
          candidate(system.device_, system.columns(), columns),
          panel(system.factorization_->elimination().make_panel_workspace(columns)),
          states(system.device_, columns),
          largest(system.device_, 1),
          worst(system.device_, 1) {}
    [[nodiscard]] std::size_t bytes() const override {
      return transformed.bytes() + residual.bytes() + candidate.bytes() + panel.rows.bytes() +
             panel.columns.bytes();
    }
    std::unique_ptr<B> own;
    B& backend;
    Dense<T> transformed, residual, candidate;
    PanelWorkspace<T> panel;
    Array<RefinementState> states;
    Array<Largest> largest;
    Array<WorstRow> worst;
  };
  static constexpr std::int64_t columns_at_once = 64;
  /// Steps of refinement for a nearly singular A.
  static constexpr std::int64_t most_refinement_steps = 10;

  /// `workspace` must outlive the system.
  EliminatedSystem(EliminationWorkspace<B>& workspace, const GaussJordanOptions& options)
      : workspace_(workspace), device_(workspace.backend.device()), options_(options) {
    factorization_ = std::make_unique<GaussJordanFactorization<B, T>>(workspace_, options_);
  }

  /// Factors a copy of A for solving. Not ok when A is not finite, or the elimination overflowed or was
  /// cancelled; a rank that is not full is no failure.
  ///
  /// The default tolerance is meant for deciding a rank relative to ||A||_inf, which is about sqrt(n) times
  /// ||A||_2 for a dense A: random matrices of floats have a pivot below it from n = 2000 on although their
  /// condition numbers leave digits. A square A is therefore eliminated with the tolerance eps. If a pivot is
  /// below the default tolerance, A is regarded as regular only if its reciprocal condition number is at
  /// least eps and errors contract under refinement; otherwise it is eliminated again with the default
  /// tolerance. For a singular A errors do not contract, whatever rounding made of its pivots: a vector of
  /// the null space is unchanged.
  ///
  /// Where the rank remains doubtful, or is not full, the exact rank decides if it is known: see RankFacts.
  Outcome factor(const MatrixRef<T>& A) {
    Outcome outcome = factor_numerically(A);
    if (!outcome.ok() || contracts_ || !asks_exact_rank(options_)) return outcome;
    const std::optional<std::int64_t> exact = decide_rank(A, factorization_->found_rank());
    if (exact == rank()) factorization_->confirm_rank();
    if (!exact || exact == rank()) return outcome;
    return factorization_->factor_with_rank(A, equilibration(), *exact) ? outcome : factor_numerically(A);
  }
  /// Factors a matrix in place, without a copy for refinement; the tolerance decides the rank.
  Outcome factor_in_place(Dense<T> A, bool equilibrated) {
    return factorization_->factor(std::move(A), equilibrated ? Equilibration::always : Equilibration::never);
  }

  [[nodiscard]] std::int64_t rows() const { return factorization_->rows(); }
  [[nodiscard]] std::int64_t columns() const { return factorization_->columns(); }
  [[nodiscard]] std::int64_t rank() const { return factorization_->rank(); }
  [[nodiscard]] const RankFacts& facts() const { return factorization_->facts(); }
  [[nodiscard]] double reciprocal_condition() const { return factorization_->reciprocal_condition(); }
  [[nodiscard]] std::string rank_description() const { return describe_rank(facts(), columns()); }
  [[nodiscard]] GaussJordanFactorization<B, T>& factorization() { return *factorization_; }
  [[nodiscard]] const GaussJordanFactorization<B, T>& factorization() const { return *factorization_; }
  [[nodiscard]] B& backend() const { return workspace_.backend; }
  [[nodiscard]] std::size_t bytes() const { return factorization_->bytes(); }

  [[nodiscard]] std::unique_ptr<SolveWorkspace> make_workspace(std::int64_t columns,
                                                               B* shared = nullptr) const {
    return std::make_unique<SolveWorkspace>(*this, std::min(columns, columns_at_once), shared);
  }

  /// Reason why the rank that was found, below min(m, n), or the condition number is one of rounding errors
  /// after growth of elements; empty if it is confirmed, or if the caller has set the tolerance that decides.
  ///
  /// A column without a pivot is a combination x of the pivot columns, by the elimination. If A has no small
  /// singular value, no x satisfies these equations, however large it is; after growth of elements they are
  /// not satisfied even after refinement. For full rank, with large pivots or a large condition number, a
  /// random right-hand side takes the place of the column. The cost is that of a solution and of up to ten
  /// steps of refinement.
  [[nodiscard]] std::string growth_failure(const MatrixRef<T>& A) const {
    if (options_.tolerance) return {};
    const bool singular = rank() < std::min(rows(), columns());
    const bool grown = !(factorization_->pivot_growth() <= direct::harmless_growth(columns()));
    const bool nearly_singular = !(reciprocal_condition() >= machine_epsilon<T>);
    if (!singular && (rows() != columns() || !(grown || nearly_singular))) return {};
    if (!singular && grown && nearly_singular) {
      return "elements grew " + short_number(factorization_->pivot_growth()) +
             " times in the elimination, so that its condition number is one of rounding errors";
    }
    const std::unique_ptr<SolveWorkspace> workspace = make_workspace(1, &backend());
    Array<T> b(device_, rows());
    Array<T> x(device_, columns());
    if (singular) {
      backend().fill(columns(), T{0}, x.data());
      backend().write(T{1}, x.data() + factorization_->first_without_pivot());
      multiply<T>(backend(), T{1}, A, x.data(), T{0}, b.data());
    } else {
      backend().for_each(rows(), HashedVector<T, T>{nullptr, b.data()});
    }
    solve_columns(*workspace, A, {b.data(), rows(), 1, rows(), device_},
                  {x.data(), columns(), 1, columns(), device_}, most_refinement_steps);
    const WorstRow worst = worst_row(*workspace, A, b.data(), x.data());
    const bool finite = std::isfinite(largest_magnitude(*workspace, columns(), x.data()));
    if (finite && worst.error <= acceptable_row_error()) return {};
    const std::string what = singular ? growth_in_elimination(factorization_->first_without_pivot())
                                      : "elements grew so much in the elimination that refined solutions do "
                                        "not satisfy their equations";
    return what + " (residual " + short_number(worst.error) + " of the size of a row)";
  }

  /// A particular solution of A X = B, refined, for column-major views.
  void solve(SolveWorkspace& workspace, const MatrixRef<T>& A, DenseView<const T> rhs, DenseView<T> X) const {
    const std::int64_t at_once = workspace.transformed.columns();
    for (std::int64_t begin = 0; begin < rhs.columns(); begin += at_once) {
      const std::int64_t end = std::min(begin + at_once, rhs.columns());
      solve_columns(workspace, A, column_range(rhs, begin, end), column_range(X, begin, end),
                    refinement_steps());
    }
  }

  /// Computes X = X + a particular solution for the right-hand sides, unrefined; queued.
  void add_solution(SolveWorkspace& workspace, DenseView<const T> rhs, DenseView<T> X) const {
    factorization_->add_solution(workspace.backend, rhs,
                                 column_range(workspace.transformed.view(), 0, rhs.columns()),
                                 workspace.panel, X);
  }

  /// Outcome for a right-hand side b and the computed x: ok, inconsistent, or underdetermined.
  [[nodiscard]] Outcome assess_solution(SolveWorkspace& workspace, const MatrixRef<T>& A, const T* b,
                                        const T* x) const {
    if (rank() < rows()) {
      const WorstRow worst = worst_row(workspace, A, b, x);
      if (!(worst.error <= acceptable_row_error())) {
        Outcome outcome{Status::inconsistent,
                        "row " + std::to_string(worst.row.value) +
                            " (from 0) contradicts the others: its residual is " + short_number(worst.error) +
                            " of its size",
                        worst.row.value};
        if (is_complex<T> && facts().doubtful) {  // an exact rank decides on real equations
          outcome.status = Status::singular;
          outcome.row.reset();
        }
        return outcome;
      }
    }
    if (rank() < columns()) {
      return {Status::underdetermined,
              rank_description() +
                  ": x is the solution with zeros in the unknowns without a pivot, and the null " +
                  "space, which can be added, has dimension " + std::to_string(columns() - rank())};
    }
    return {};
  }

 private:
  [[nodiscard]] Equilibration equilibration() const {
    return options_.equilibrate ? Equilibration::always : Equilibration::never;
  }

  Outcome factor_numerically(const MatrixRef<T>& A) {
    contracts_ = false;
    if (!options_.tolerance && A.rows() == A.columns()) {
      Outcome outcome = factorization_->factor(to_dense(A), equilibration(), machine_epsilon<T>);
      if (outcome.status == Status::cancelled) return outcome;
      if (outcome.ok() && pivots_exceed_tolerance()) return outcome;
      contracts_ = outcome.ok() && is_regular(A);
      if (contracts_) return outcome;
      factorization_ =
          std::make_unique<GaussJordanFactorization<B, T>>(workspace_, options_);  // frees memory first
    }
    return factorization_->factor(to_dense(A), equilibration());
  }

  /// True if an elimination with the default tolerance would have selected the same pivots.
  [[nodiscard]] bool pivots_exceed_tolerance() const {
    return !facts().smallest_accepted_pivot || *facts().smallest_accepted_pivot > facts().tolerance;
  }

  /// True if the condition number and the contraction of errors prove that A has full rank.
  [[nodiscard]] bool is_regular(const MatrixRef<T>& A) const {
    return rank() == columns() && reciprocal_condition() >= machine_epsilon<T> && contracts(A);
  }

  /// Whether refinement with this factorisation reduces errors.
  [[nodiscard]] bool contracts(const MatrixRef<T>& A) const {
    const std::int64_t n = columns();
    const std::unique_ptr<SolveWorkspace> workspace = make_workspace(1, &backend());
    const auto subtract_solution = [&](T* product, T* v) {
      backend().for_each(n, system_detail::Negate<T>{product});
      add_solution(*workspace, {product, n, 1, n, device_}, {v, n, 1, n, device_});
    };
    const auto apply = [&](const T* v, T* product) { multiply<T>(backend(), T{1}, A, v, T{0}, product); };
    return !measure_contraction(backend(), n, factorization_->column_scale(), workspace->candidate.data(),
                                workspace->residual.data(), workspace->largest.data(), apply,
                                subtract_solution)
                .failed;
  }

  void solve_columns(SolveWorkspace& workspace, const MatrixRef<T>& A, DenseView<const T> rhs, DenseView<T> X,
                     std::int64_t most_steps) const {
    B& backend = workspace.backend;
    for (std::int64_t j = 0; j < X.columns(); ++j) backend.fill(X.rows(), T{0}, X.column(j));
    add_solution(workspace, rhs, X);
    const auto form = [&](DenseView<const T> solution, DenseView<T> R) {
      form_residual<B, T>(backend, A, rhs, solution, R);
    };
    SmallerResidual<Decision::on_host, B, T, decltype(form)> policy(backend, workspace.states.data(),
                                                                    rhs.columns(), form);
    const RefinementViews<T> columns{X, column_range(workspace.residual.view(), 0, rhs.columns()),
                                     column_range(workspace.candidate.view(), 0, rhs.columns())};
    refine(most_steps, columns, policy, [&](std::span<const std::int64_t>, const RefinementViews<T>& views) {
      for (std::int64_t j = 0; j < X.columns(); ++j) {
        backend.copy(X.rows(), X.column(j), views.candidate.column(j));
      }
      add_solution(workspace, views.residual, views.candidate);
    });
  }

  /// Most steps of refinement. The backward error of Gauss-Jordan elimination grows with the condition
  /// number, and a step reduces it by about the condition number times eps: one step is not enough for a
  /// nearly singular A.
  [[nodiscard]] std::int64_t refinement_steps() const {
    constexpr double one_step_suffices = 500 * machine_epsilon<T>;
    const bool nearly_singular = rank() == columns() && reciprocal_condition() < one_step_suffices;
    return nearly_singular && options_.refine > 0
               ? std::max<std::int64_t>(options_.refine, most_refinement_steps)
               : options_.refine;
  }

  static double largest_magnitude(SolveWorkspace& workspace, std::int64_t n, const T* x) {
    workspace.backend.reduce(n, LargestMagnitude<const T*>{x}, Store<Largest>{workspace.largest.data()});
    return workspace.backend.read(workspace.largest.data()).value;
  }

  /// The row with the largest residual |b - A x|_i / (||a_i||_1 ||x||_inf + |b_i|).
  WorstRow worst_row(SolveWorkspace& workspace, const MatrixRef<T>& A, const T* b, const T* x) const {
    B& backend = workspace.backend;
    T* r = workspace.residual.data();
    backend.copy(rows(), b, r);
    multiply(backend, T{-1}, A, x, T{1}, r);
    const double x_norm = largest_magnitude(workspace, columns(), x);
    backend.reduce(rows(), RowError<T>{r, b, factorization_->row_sums(), x_norm},
                   Store<WorstRow>{workspace.worst.data()});
    return backend.read(workspace.worst.data());
  }
  /// Largest relative residual of a row that counts as satisfied.
  [[nodiscard]] double acceptable_row_error() const {
    return 10 * std::max(factorization_->relative_tolerance(), default_tolerance<T>(rows(), columns()));
  }

  EliminationWorkspace<B>& workspace_;
  Device device_;
  GaussJordanOptions options_;
  std::unique_ptr<GaussJordanFactorization<B, T>> factorization_;
  bool contracts_ = false;  // A is regular, with a pivot below the default tolerance
};

}  // namespace echelon

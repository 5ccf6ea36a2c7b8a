// SPDX-License-Identifier: BSD-3-Clause
/// Preconditioner of an iterative method: made from the method's options, or handed over by a user.
#pragma once

#include "solver/implementation.hpp"
#include "solver/preconditioner_option.hpp"
#include "support/setup_control.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace echelon {

template <class T>
class MethodPreconditioner {
 public:
  explicit MethodPreconditioner(const Device& device) : device_(device) {}

  /// Makes the preconditioner that an option names; none for "none".
  void make(const std::string& name, const Options& options) {
    named_ = make_preconditioner<T>(name, device_, options);
  }
  /// Takes a user's preconditioner in place of the named one.
  void replace(const Preconditioner<T>& preconditioner) {
    named_.reset();
    user_ = preconditioner;
  }

  [[nodiscard]] bool exists() const { return named_.has_value() || user_.has_value(); }
  /// The method that an option names; null for none.
  [[nodiscard]] SolverImplementation<T>* named() const {
    return named_ ? &SolverAccess<T>::implementation(*named_) : nullptr;
  }
  [[nodiscard]] std::size_t bytes() const { return named_ ? named()->bytes() : 0; }

  Outcome setup(const MatrixRef<T>& A, const SetupControl& control) {
    if (!named_) return {};
    named()->set_control(control);
    return nested_outcome(named()->setup(A));
  }
  Outcome update_values(const MatrixRef<T>& A, const SetupControl& control) {
    if (!named_) return {};
    named()->set_control(control);
    return nested_outcome(named()->update_values(A));
  }

  /// A workspace for apply(); null if it needs none.
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const {
    if (named_) return named()->make_workspace();
    if (applies_user_solver()) return user_solver().make_workspace();
    return nullptr;
  }

  /// Kind of operator. A user's callable is assumed to be symmetric, as its interface requires.
  [[nodiscard]] AppliedOperator applied_operator() const {
    const SolverImplementation<T>* method = named();
    if (method == nullptr && user_ && user_->is_solver()) {
      method = &user_solver();
      const bool whole_solve =
          !applies_user_solver() && find_method(method->name()).kind != MethodKind::direct;
      if (whole_solve) return AppliedOperator::varying;
    }
    return method != nullptr ? method->traits().kind : AppliedOperator::symmetric;
  }

  /// Computes z = M^-1 r for each column, with the bits that it has alone. Returns z, or r without a
  /// preconditioner.
  MultiVector<const T> apply(Workspace* workspace, const MultiVector<const T>& r,
                             const MultiVector<T>& z) const {
    if (!exists()) return r;
    if (named_ || applies_user_solver()) {
      apply_as_alone(named_ ? *named() : user_solver(), *workspace, r, z);
      return z;
    }
    for (int c = 0; c < r.columns(); ++c) {
      if (user_->is_solver()) {
        solve_with_user_solver(r.rows(), r[c], z[c]);
      } else {
        user_->callable()(r[c], z[c]);
      }
    }
    return z;
  }

 private:
  [[nodiscard]] SolverImplementation<T>& user_solver() const {
    return SolverAccess<T>::implementation(*user_->solver());
  }
  /// Whether the preconditioner is a user's solver whose single application is cheaper than a whole solve.
  [[nodiscard]] bool applies_user_solver() const {
    return user_ && user_->is_solver() && find_method(user_solver().name()).usable_as_preconditioner;
  }
  void solve_with_user_solver(std::int64_t n, const T* r, T* z) const {
    const Report report =
        user_->solver()->solve(DenseView<const T>(r, n, 1, n, device_), DenseView<T>(z, n, 1, n, device_));
    if (report.columns.empty()) throw Error("the preconditioner computed nothing: " + report.message);
  }

  /// Outcome of the nested method's set-up, as part of the outcome of the method that it belongs to.
  Outcome nested_outcome(Outcome outcome) const {
    if (!outcome.ok()) outcome.message = "preconditioner " + named_->describe() + ": " + outcome.message;
    for (Statistic& statistic : outcome.statistics) statistic.name = "preconditioner." + statistic.name;
    return outcome;
  }

  Device device_;
  std::optional<Solver<T>> named_;
  std::optional<Preconditioner<T>> user_;  // replaces named_
};

}  // namespace echelon

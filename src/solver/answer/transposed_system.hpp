// SPDX-License-Identifier: BSD-3-Clause
/// Solves with the transpose and the adjoint of the matrix of a set-up.
#pragma once

#include "backend/dispatch.hpp"
#include "matrix/assign.hpp"
#include "matrix/view_checks.hpp"
#include "solver/answer/solver_state.hpp"
#include "solver/has_factor.hpp"
#include "solver/implementation.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace echelon {

/// A method for symmetric matrices that is set up for A, as one for A^T: the residual, which is that of A^T,
/// shows whether A is symmetric.
template <class T>
class SymmetricMethod final : public SolverImplementation<T> {
 public:
  SymmetricMethod(const SolverImplementation<T>& method, const Outcome& outcome)
      : SolverImplementation<T>(method.device()), method_(method), outcome_(outcome) {}
  Outcome setup(const MatrixRef<T>& /*transpose*/) override { return outcome_; }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return method_.make_workspace();
  }
  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    method_.solve(workspace, B, X, jobs);
  }
  [[nodiscard]] const Stop* stop() const override { return method_.stop(); }
  [[nodiscard]] bool takes_operator() const override { return method_.takes_operator(); }
  [[nodiscard]] bool takes_stencil() const override { return method_.takes_stencil(); }
  [[nodiscard]] std::size_t bytes() const override { return method_.bytes(); }

 private:
  const SolverImplementation<T>& method_;
  const Outcome& outcome_;
};

/// Whether A is known to equal its transpose: both are sparse matrices on the host with the same elements.
template <class T>
bool equals_transpose(const MatrixRef<T>& A, const MatrixRef<T>& transpose) {
  if (!A.is_sparse() || !transpose.is_sparse() || !A.device().on_host()) return false;
  const auto equal = [](const auto& a, const auto& b) {
    return std::equal(a.data(), a.data() + a.size(), b.data(), b.data() + b.size());
  };
  return equal(A.csr()->row_offsets(), transpose.csr()->row_offsets()) &&
         equal(A.csr()->column_indices(), transpose.csr()->column_indices()) &&
         equal(A.csr()->values(), transpose.csr()->values());
}

/// Whether a method that is set up for A may serve as one for A^T. Methods for diagonally dominant matrices
/// take unsymmetric ones as well.
template <class T>
bool serves_transpose(const std::string& name, const MatrixRef<T>& A, const MatrixRef<T>& transpose) {
  const MethodNeeds needs = find_method(name).needs;
  return needs == MethodNeeds::symmetric || needs == MethodNeeds::symmetric_positive_definite ||
         (needs == MethodNeeds::diagonally_dominant && equals_transpose(A, transpose));
}

/// The method for A^T that a set-up for A allows without another one; null if there is none. A Hermitian A
/// differs from its transpose.
template <class T>
std::unique_ptr<SolverImplementation<T>> method_for_transpose(const SolverImplementation<T>& method,
                                                              const SolverState<T>& state,
                                                              const MatrixRef<T>& transpose) {
  if (!has_factor(state.setup)) return nullptr;
  if (auto transposed = method.transposed()) return transposed;
  if (!is_complex<T> && serves_transpose(method.name(), state.given, transpose))
    return std::make_unique<SymmetricMethod<T>>(method, state.setup);
  return nullptr;
}

/// Solves conj(A) X = B by a solver for A: A conj(X) = conj(B).
template <class T>
Report solve_conjugated(const Solver<T>& solver, DenseView<const T> B, DenseView<T> X,
                        const Control& control) {
  check_view(B, "B");
  check_result_view(X, "X");
  check_same_memory(solver.device(), "the solver", B.device(), "B");
  check_same_memory(solver.device(), "the solver", X.device(), "X");
  const auto vectors = on_target<targets_of<T>>(
      solver.device(), [&]<class Target>() { return make_residual_check<Target, T>(solver.device()); });
  const auto conjugate = [&](Dense<T>& vector) {
    vectors->conjugate(vector.rows() * vector.columns(), vector.data());
  };
  Dense<T> b(solver.device(), B.rows(), B.columns());
  Dense<T> x(solver.device(), X.rows(), X.columns());
  assign<T>(B, b);
  assign<T>(X, x);
  conjugate(b);
  conjugate(x);
  Report report = solver.solve(b, x, control);
  conjugate(x);
  assign<T>(x, X);
  return report;
}

}  // namespace echelon

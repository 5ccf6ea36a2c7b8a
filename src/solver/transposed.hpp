// SPDX-License-Identifier: BSD-3-Clause
/// Solution of A^T X = B with the factors of A.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/transform.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Solver for A^T that refers to factors of A.
template <class T>
class TransposedSolver final : public SolverImplementation<T> {
 public:
  /// `setup`: report of the set-up for A.
  TransposedSolver(const SolverImplementation<T>& implementation, const Report& setup)
      : SolverImplementation<T>(implementation.device()),
        implementation_(implementation),
        outcome_{.status = setup.status,
                 .message = setup.message,
                 .row = setup.row,
                 .reciprocal_condition = setup.reciprocal_condition,
                 .rank = setup.rank,
                 .certainty = setup.certainty,
                 .warnings = setup.warnings,
                 .statistics = setup.statistics} {
    this->set_description(implementation.name(), implementation.changed_options());
  }

  Outcome setup(const MatrixRef<T>& transpose) override {
    transpose_ = transpose.csr();
    return outcome_;
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return implementation_.make_workspace();
  }
  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    implementation_.solve_transposed(*transpose_, workspace, B, X, jobs);
  }
  [[nodiscard]] std::size_t bytes() const override { return implementation_.bytes() + transpose_->bytes(); }

 private:
  const SolverImplementation<T>& implementation_;
  Outcome outcome_;
  const Csr<T>* transpose_ = nullptr;
};

/// Solves A^T X = B for a solver whose method has solve_transposed(). The report is that of a solve
/// with the transpose, which is formed; N elements and 8 n bytes of additional memory.
template <class T>
[[nodiscard]] Report solve_with_transpose(const Solver<T>& solver, DenseView<const T> B, DenseView<T> X) {
  const SolverImplementation<T>& implementation = SolverAccess<T>::implementation(solver);
  const MatrixRef<T> A = implementation.factored_matrix();
  const Dense<T> no_rhs(solver.device(), A.rows(), 0);
  Dense<T> nothing(solver.device(), A.rows(), 0);
  Report setup = solver.solve(no_rhs, nothing);  // throws when there was no set-up
  const bool has_factors = setup.status == Status::direct || (setup.status == Status::singular && !setup.row);
  if (!has_factors) return setup;
  const Csr<T> transposed = A.is_sparse() ? transpose(*A.csr()) : transpose(to_csr(A));
  Solver<T> of_transpose(std::make_unique<TransposedSolver<T>>(implementation, setup));
  of_transpose.setup(transposed);
  return of_transpose.solve(B, X);
}

}  // namespace echelon

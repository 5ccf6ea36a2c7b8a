// SPDX-License-Identifier: BSD-3-Clause
/// Base of the methods with incomplete factors: their application by two triangular solves.
#pragma once

#include "backend/target.hpp"
#include "incomplete/factor_by_levels.hpp"
#include "incomplete/triangles.hpp"
#include "relaxation/gauss_seidel/by_levels.hpp"
#include "solver/implementation.hpp"

#include <memory>
#include <vector>

namespace echelon::incomplete {

/// z = U^-1 L^-1 r with factors that the method computes in `update_values`. Neither factor refers to A.
template <class B, class T>
class IncompleteFactorization : public SolverImplementation<T> {
  struct SolveWorkspace : Workspace {
    SolveWorkspace(const Device& device, std::int64_t rows)
        : backend(device), middle(device, rows), scratch(device) {}
    [[nodiscard]] std::size_t bytes() const override { return middle.bytes() + scratch.bytes(); }
    B backend;
    Array<T> middle;  // L^-1 r
    gauss_seidel::SweepWorkspace<B, T> scratch;
  };

 public:
  explicit IncompleteFactorization(const Device& device)
      : SolverImplementation<T>(device), backend_(device) {}

  Outcome setup(const MatrixRef<T>& A) override {
    Outcome outcome = this->analyze(A);
    return outcome.ok() ? this->update_values(A) : outcome;
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<SolveWorkspace>(order_.solve_device(this->device()), factors_.rows());
  }
  [[nodiscard]] std::size_t bytes() const override { return factors_.bytes() + order_.bytes(); }

  /// Applies the preconditioner once to each column; the residual check measures the accuracy.
  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>&) const override {
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      apply(workspace, {right.column(j), right.rows()}, {left.column(j), left.rows()}, Operation::none);
    }
  }

  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    auto& space = static_cast<SolveWorkspace&>(workspace);
    for (int c = 0; c < r.columns(); ++c) {
      solve_lower(workspace, r[c], space.middle.data());
      solve_upper(workspace, space.middle.data(), z[c]);
    }
  }
  /// z = L^-1 r.
  void solve_lower(Workspace& workspace, const T* r, T* z) const {
    solve_triangle(static_cast<SolveWorkspace&>(workspace), factors_.lower, SweepKind::forward, r, z);
  }
  /// z = U^-1 r.
  void solve_upper(Workspace& workspace, const T* r, T* z) const {
    solve_triangle(static_cast<SolveWorkspace&>(workspace), factors_.upper, SweepKind::backward, r, z);
  }

 protected:
  B backend_;
  Triangles<T> factors_;
  RowOrderFor<B, T> order_;

 private:
  static void solve_triangle(SolveWorkspace& space, const Csr<T>& triangle, SweepKind kind, const T* b,
                             T* x) {
    gauss_seidel::sweep(space.backend,
                        gauss_seidel::Sweeps<T>{.A = &triangle,
                                                .right_hand_sides = 1,
                                                .b = b,
                                                .leading_b = triangle.rows(),
                                                .x = x,
                                                .leading_x = triangle.rows(),
                                                .kind = kind,
                                                .sweeps = 1,
                                                .omega = 1,
                                                .triangular = true},
                        space.scratch);
  }
};

}  // namespace echelon::incomplete

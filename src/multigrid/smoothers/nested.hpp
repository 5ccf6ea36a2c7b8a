// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/vector/functors.hpp"
#include "multigrid/smoothers/jacobi.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <echelon/solver.hpp>

namespace echelon::multigrid {

/// Smoother by sweeps x += M^-1 (b - A x), where M is an incomplete factorisation, symmetric if A is.
template <class B, class T>
class NestedSmoother final : public Smoother<B, T> {
 public:
  /// `solver` has been set up for A.
  NestedSmoother(const Csr<T>& A, Solver<T> solver, std::int64_t sweeps)
      : A_(&A), solver_(std::move(solver)), sweeps_(sweeps) {}

  [[nodiscard]] std::size_t bytes() const override { return nested().bytes(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int columns) const override {
    return std::make_unique<Correction>(MultiVectorArray<T>(solver_.device(), A_->rows(), columns),
                                        nested().make_workspace());
  }
  void start(const SmootherArguments<B, T>& a) const override {
    apply_as_alone<T>(nested(), *correction(a).nested, a.b, a.x);
    smooth(a, sweeps_ - 1);
  }
  void start_with_residual(const SmootherArguments<B, T>& arguments) const override {
    start(arguments);
    form_residuals(*A_, arguments);
  }
  void pre_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments, sweeps_); }
  void post_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments, sweeps_); }

 private:
  struct Correction final : Workspace {
    Correction(MultiVectorArray<T> vectors, std::unique_ptr<Workspace> workspace)
        : z(std::move(vectors)), nested(std::move(workspace)) {}
    [[nodiscard]] std::size_t bytes() const override { return z.bytes() + nested->bytes(); }
    MultiVectorArray<T> z;
    std::unique_ptr<Workspace> nested;
  };

  static Correction& correction(const SmootherArguments<B, T>& a) {
    return *static_cast<Correction*>(a.workspace);
  }
  [[nodiscard]] SolverImplementation<T>& nested() const { return SolverAccess<T>::implementation(solver_); }
  void smooth(const SmootherArguments<B, T>& a, std::int64_t sweeps) const {
    const MultiVector<T> z = correction(a).z.first(a.x.columns());
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
      form_residuals(*A_, a);
      apply_as_alone<T>(nested(), *correction(a).nested, a.r, z);
      for (int c = 0; c < z.columns(); ++c)
        a.backend.for_each(A_->rows(), AddVectors<T>{a.x[c], z[c], a.x[c]});
    }
  }

  const Csr<T>* A_;
  Solver<T> solver_;
  std::int64_t sweeps_;
};

}  // namespace echelon::multigrid

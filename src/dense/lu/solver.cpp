// SPDX-License-Identifier: BSD-3-Clause
// Dense LU with partial pivoting as a Solver.
#include "dense/mixed_precision/solver.hpp"

#include "backend/target.hpp"
#include "dense/lu/operations.hpp"
#include "dense/lu/system.hpp"
#include "solver/instantiate.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace echelon {

namespace {

/// Solves by the factors of A or, `transposed`, by those of the transpose of A.
template <class B, class T>
class FactoredSolver : public SolverImplementation<T> {
  using System = lu::System<B, T>;
  using SolveWorkspace = typename System::SolveWorkspace;
  /// Right-hand sides that are refined at a time, so that residuals are products of matrices.
  static constexpr std::int64_t columns_at_once = 32;

 public:
  FactoredSolver(const Device& device, const System& system, bool transposed)
      : SolverImplementation<T>(device), system_(system), transposed_(transposed) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return system_.make_workspace(columns_at_once);
  }
  [[nodiscard]] std::size_t bytes() const override { return system_.bytes(); }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (X.rows() == 0 || X.columns() == 0) return;
    auto& own = static_cast<SolveWorkspace&>(workspace);
    for (std::int64_t j = 0; j < X.columns(); ++j) own.backend.copy(X.rows(), rhs.column(j), X.column(j));
    system_.substitute(own.backend, transposed_, X);
    if (jobs.front().control->cancel.stop_requested()) {
      for (Job& job : jobs) job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
      return;
    }
    const std::vector<std::int64_t> steps = system_.refine(own, matrix_, transposed_, rhs, X);
    for (std::size_t j = 0; j < steps.size(); ++j) jobs[j].statistics = {{"refinement_steps", steps[j]}};
  }

  /// Computes X = A^-1 X without refinement. Queued.
  void substitute(Workspace& workspace, DenseView<T> X) const {
    system_.substitute(static_cast<SolveWorkspace&>(workspace).backend, transposed_, X);
  }
  /// Substitution without refinement.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    if (system_.order() == 0) return;
    B& backend = static_cast<SolveWorkspace&>(workspace).backend;
    for_matrices(r, z, 1, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      backend.copy(R.rows(), R.data(), Z.data());
      system_.substitute(backend, transposed_, Z);
    });
  }

 protected:
  MatrixRef<T> matrix_;  // A, or its transpose

 private:
  const System& system_;
  bool transposed_;
};

/// The outcome of the set-up is that of the matrix whose transpose this is.
template <class B, class T>
class TransposedLu final : public FactoredSolver<B, T> {
 public:
  TransposedLu(const Device& device, const lu::System<B, T>& system, const Outcome& outcome)
      : FactoredSolver<B, T>(device, system, true), outcome_(outcome) {}
  Outcome setup(const MatrixRef<T>& A) override {
    this->matrix_ = A;
    return outcome_;
  }

 private:
  Outcome outcome_;
};

template <class B, class T>
struct SystemHolder {
  SystemHolder(const Device& device, const LuOptions& options) : system(device, options) {}
  lu::System<B, T> system;
};

template <class B, class T>
class LuImplementation final : private SystemHolder<B, T>, public FactoredSolver<B, T> {
 public:
  LuImplementation(const Device& device, const LuOptions& options)
      : SystemHolder<B, T>(device, options), FactoredSolver<B, T>(device, this->system, false) {}

  Outcome setup(const MatrixRef<T>& A) override {
    this->matrix_ = A;
    outcome_ = this->system.factor(A, this->cancel());
    return *outcome_;
  }

  [[nodiscard]] MatrixRef<T> factored_matrix() const override {
    if (!outcome_) throw Error("there is no factored matrix: call setup first");
    return this->matrix_;
  }
  [[nodiscard]] Determinant determinant() const override {
    return outcome_.value().row ? Determinant{} : this->system.determinant();
  }
  [[nodiscard]] std::unique_ptr<SolverImplementation<T>> transposed() const override {
    return std::make_unique<TransposedLu<B, T>>(this->device(), this->system, outcome_.value());
  }

 private:
  std::optional<Outcome> outcome_;
};

/// LU with factors in a lower precision. Determinants and solves with the transpose take factors in the
/// working precision.
template <class B, class T>
class MixedPrecisionLu final : public MixedPrecisionSolver<B, T, LuImplementation, LuOptions> {
  using Base = MixedPrecisionSolver<B, T, LuImplementation, LuOptions>;

 public:
  using Base::Base;
  [[nodiscard]] MatrixRef<T> factored_matrix() const override { return this->matrix(); }
  [[nodiscard]] Determinant determinant() const override { return this->working().determinant(); }
  [[nodiscard]] std::unique_ptr<SolverImplementation<T>> transposed() const override {
    return this->working().transposed();
  }
};

}  // namespace

template <>
std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device& device,
                                                                             const LuOptions& options) {
  return make_in_factor_precision<LuImplementation, MixedPrecisionLu, float>(device, options);
}
template <>
std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device& device,
                                                                              const LuOptions& options) {
  return make_in_factor_precision<LuImplementation, MixedPrecisionLu, double>(device, options);
}

}  // namespace echelon

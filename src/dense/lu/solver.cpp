// SPDX-License-Identifier: BSD-3-Clause
// Dense LU with partial pivoting as a Solver.
#include "backend/target.hpp"
#include "dense/lu/system.hpp"
#include "solver/instantiate.hpp"

#include <memory>
#include <vector>

namespace echelon {

namespace {

template <class B, class T>
class LuImplementation final : public SolverImplementation<T> {
  using System = lu::System<B, T>;
  using SolveWorkspace = typename System::SolveWorkspace;
  /// Right-hand sides that are refined at a time, so that residuals are products of matrices.
  static constexpr std::int64_t columns_at_once = 32;

 public:
  LuImplementation(const Device& device, const LuOptions& options)
      : SolverImplementation<T>(device), system_(device, options) {}

  Outcome setup(const MatrixRef<T>& A) override { return system_.factor(A, this->cancel()); }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return system_.make_workspace(columns_at_once);
  }
  [[nodiscard]] std::size_t bytes() const override { return system_.bytes(); }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    if (X.rows() == 0 || X.columns() == 0) return;
    auto& own = static_cast<SolveWorkspace&>(workspace);
    for (std::int64_t j = 0; j < X.columns(); ++j) own.backend.copy(X.rows(), rhs.column(j), X.column(j));
    system_.substitute(own.backend, false, X);
    if (jobs.front().control->cancel.stop_requested()) {
      for (Job& job : jobs) job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
      return;
    }
    const std::vector<std::int64_t> steps = system_.refine(own, rhs, X);
    for (std::size_t j = 0; j < steps.size(); ++j) jobs[j].statistics = {{"refinement_steps", steps[j]}};
  }

  /// Substitution without refinement.
  void apply(Workspace& workspace, const T* r, T* z) const override {
    const std::int64_t n = system_.order();
    if (n == 0) return;
    B& backend = static_cast<SolveWorkspace&>(workspace).backend;
    backend.copy(n, r, z);
    system_.substitute(backend, false, {z, n, 1, n, this->device()});
  }

 private:
  System system_;
};

}  // namespace

template <>
struct MethodWith<LuOptions> {
  template <class B, class T>
  using Type = LuImplementation<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const LuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(const Device&,
                                                                                       const LuOptions&);

}  // namespace echelon

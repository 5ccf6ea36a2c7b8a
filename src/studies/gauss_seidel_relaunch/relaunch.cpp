// SPDX-License-Identifier: BSD-3-Clause
#include "studies/gauss_seidel_relaunch/relaunch.hpp"

#include "relaxation/gauss_seidel/sweep_solver.hpp"

#include <echelon/methods/gauss_seidel_relaunch.hpp>

namespace echelon {

namespace {

template <class B, class T>
class RelaunchSolver final : public gauss_seidel::SweepSolver<B, T> {
  using Base = gauss_seidel::SweepSolver<B, T>;
  using typename Base::SweepWorkspace;

  struct RelaunchWorkspace : SweepWorkspace {
    RelaunchWorkspace(const Device& device, std::int64_t size)
        : SweepWorkspace(device, size), scratch(device, size) {}
    [[nodiscard]] std::size_t bytes() const override { return SweepWorkspace::bytes() + scratch.bytes(); }
    gauss_seidel::RelaunchWorkspace<T> scratch;
  };

 public:
  RelaunchSolver(const Device& device, const GaussSeidelRelaunchOptions& options)
      : Base(device, options.stop, options.residual_every) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<RelaunchWorkspace>(this->device(), this->matrix().rows()));
  }

 private:
  void sweep(SweepWorkspace& workspace, const IterationState* state, const T* b, T* x) const override {
    gauss_seidel::relaunch_sweep(workspace.backend, this->sparse(), state, b, x,
                                 static_cast<RelaunchWorkspace&>(workspace).scratch);
  }
};

}  // namespace

template <>
struct MethodWith<GaussSeidelRelaunchOptions> {
  template <class B, class T>
  using Type = RelaunchSolver<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(
    const Device&, const GaussSeidelRelaunchOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(
    const Device&, const GaussSeidelRelaunchOptions&);

}  // namespace echelon

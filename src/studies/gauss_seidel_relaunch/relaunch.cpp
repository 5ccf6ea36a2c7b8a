// SPDX-License-Identifier: BSD-3-Clause
#include "studies/gauss_seidel_relaunch/relaunch.hpp"

#include "relaxation/gauss_seidel/sweep_solver.hpp"

#include <echelon/methods/gauss_seidel_relaunch.hpp>

#include <cstdint>
#include <memory>
#include <vector>

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
    std::int64_t launches = 0;  ///< of the sweeps of a solve
    std::int64_t sweeps = 0;    ///< of a solve
  };

 public:
  RelaunchSolver(const Device& device, const GaussSeidelRelaunchOptions& options)
      : Base(device, options.stop, options.residual_every),
        kind_(options.sweep),
        settings_{options.row_passes == 1, options.threads_per_block} {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<RelaunchWorkspace>(this->device(), this->matrix().rows()));
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<RelaunchWorkspace&>(workspace);
    own.launches = 0;
    own.sweeps = 0;
    Base::solve(workspace, right, left, jobs);
    for (Job& job : jobs) job.statistics = {{"launches", own.launches}, {"sweeps", own.sweeps}};
  }

 private:
  void sweep(SweepWorkspace& workspace, const IterationState* state, const T* b, T* x) const override {
    auto& own = static_cast<RelaunchWorkspace&>(workspace);
    if (kind_ != SweepKind::backward) run(own, state, b, x, false);
    if (kind_ != SweepKind::forward) run(own, state, b, x, true);
  }

  void run(RelaunchWorkspace& own, const IterationState* state, const T* b, T* x, bool backward) const {
    own.launches += gauss_seidel::relaunch_sweep(own.backend, this->sparse(), state, b, x, own.scratch,
                                                 backward, settings_);
    ++own.sweeps;
  }

  SweepKind kind_;
  gauss_seidel::LaunchSettings settings_;
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

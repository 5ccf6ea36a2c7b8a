// SPDX-License-Identifier: BSD-3-Clause
// The methods gauss-seidel, sor and ssor.
#include "relaxation/gauss_seidel/by_levels.hpp"
#include "relaxation/gauss_seidel/sweep_solver.hpp"

#include <echelon/methods/gauss_seidel.hpp>
#include <echelon/methods/sor.hpp>
#include <echelon/methods/ssor.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

namespace {

template <class B, class T>
class RelaxationSolver final : public gauss_seidel::SweepSolver<B, T> {
  using Base = gauss_seidel::SweepSolver<B, T>;
  using typename Base::SweepWorkspace;

  struct RelaxationWorkspace : SweepWorkspace {
    RelaxationWorkspace(const Device& device, std::int64_t size)
        : SweepWorkspace(device, size), scratch(device) {}
    [[nodiscard]] std::size_t bytes() const override { return SweepWorkspace::bytes() + scratch.bytes(); }
    gauss_seidel::SweepWorkspace<B, T> scratch;
  };

 public:
  RelaxationSolver(const Device& device, const GaussSeidelOptions& options)
      : Base(device, options.stop, options.residual_every), kind_(options.sweep) {}
  RelaxationSolver(const Device& device, const SorOptions& options)
      : Base(device, options.stop, options.residual_every),
        kind_(options.sweep),
        omega_(static_cast<Real<T>>(options.omega)) {}
  RelaxationSolver(const Device& device, const SsorOptions& options)
      : Base(device, options.stop, options.residual_every),
        kind_(SweepKind::symmetric),
        omega_(static_cast<Real<T>>(options.omega)),
        applied_sweeps_(options.sweeps) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<RelaxationWorkspace>(this->device(), this->matrix().rows()));
  }

  /// Sweeps on A z = r, starting with z = 0.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation /*operation*/) const override {
    auto& own = static_cast<RelaxationWorkspace&>(workspace);
    for (int c = 0; c < r.columns(); ++c) {
      own.backend.fill(own.n, T{0}, z[c]);
      run(own, nullptr, applied_sweeps_, r[c], z[c]);
    }
  }

 private:
  void sweep(SweepWorkspace& workspace, const IterationStateOf<Dot<T>>* state, const T* b,
             T* x) const override {
    run(static_cast<RelaxationWorkspace&>(workspace), state, 1, b, x);
  }

  void run(RelaxationWorkspace& workspace, const IterationStateOf<Dot<T>>* state, std::int64_t sweeps,
           const T* b, T* x) const {
    gauss_seidel::sweep(workspace.backend,
                        gauss_seidel::Sweeps<T>{.A = &this->sparse(),
                                                .right_hand_sides = 1,
                                                .b = b,
                                                .leading_b = workspace.n,
                                                .x = x,
                                                .leading_x = workspace.n,
                                                .kind = kind_,
                                                .sweeps = sweeps,
                                                .omega = omega_,
                                                .state = state},
                        workspace.scratch);
  }

  SweepKind kind_;
  T omega_ = 1;
  std::int64_t applied_sweeps_ = 1;
};

}  // namespace

template <>
struct MethodWith<GaussSeidelOptions> {
  template <class B, class T>
  using Type = RelaxationSolver<B, T>;
};
template <>
struct MethodWith<SorOptions> {
  template <class B, class T>
  using Type = RelaxationSolver<B, T>;
};
template <>
struct MethodWith<SsorOptions> {
  template <class B, class T>
  using Type = RelaxationSolver<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                          \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(                    \
      const Device&, const GaussSeidelOptions&);                                                        \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,      \
                                                                                    const SorOptions&); \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,      \
                                                                                    const SsorOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

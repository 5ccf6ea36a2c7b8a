// SPDX-License-Identifier: BSD-3-Clause
// Stabilised bi-conjugate gradients: the method bicgstab.
#include "krylov/bicgstab.hpp"

#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/bicgstab.hpp>

#include <support/scalar_list.hpp>

#include <utility>

namespace echelon {

namespace {

template <class B, class T>
class BiconjugateGradientsStabilised final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool preconditioned)
        : SolveWorkspace(device, size),
          s(device, size),
          p(device, size),
          v(device, size),
          t(device, size),
          y(device, preconditioned ? size : 0),
          z(device, preconditioned ? size : 0) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + 4 * s.bytes() + 2 * y.bytes();
    }
    Array<T> s, p, v, t, y, z;  // see krylov::BicgstabVectors
  };

 public:
  BiconjugateGradientsStabilised(const Device& device, const BicgstabOptions& options)
      : Base(device, options.stop) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  Outcome complete_setup(Outcome outcome) override {
    return this->with_operator_warning(std::move(outcome), AppliedOperator::linear);
  }

  static krylov::BicgstabVectors<T> vectors_of(Vectors& w) {
    return {w.s.data(), w.p.data(), w.v.data(), w.t.data(), w.y.data(), w.z.data()};
  }
  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& w = static_cast<Vectors&>(workspace);
    krylov::start_bicgstab<B, T>(w.backend, w.n, w.state(), vectors_of(w), w.r.data());
  }
  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& w = static_cast<Vectors&>(workspace);
    krylov::step_bicgstab<B, T>(
        w.backend, w.n, w.state(), vectors_of(w), x, w.r.data(),
        [&](const T* from, T* to) { this->apply_operator(w, from, to); },
        [&](const T* from, T* to) { return this->precondition(w, from, to); });
  }
};

}  // namespace

template <>
struct MethodWith<BicgstabOptions> {
  template <class B, class T>
  using Type = BiconjugateGradientsStabilised<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const BicgstabOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

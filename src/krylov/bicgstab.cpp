// SPDX-License-Identifier: BSD-3-Clause
/// Stabilised bi-conjugate gradients with a preconditioner M and the shadow residual s = r_0:
///
///   p = r + beta (p - omega v),    beta = (s, r) / (s, r)_old alpha / omega,   0 in the first step
///   y = M^-1 p,  v = A y
///   r -= alpha v,                  alpha = (s, r) / (s, v)
///   z = M^-1 r,  t = A z
///   x += alpha y + omega z,  r -= omega t,   omega = (t, r) / (t, t)
///
/// H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/bicgstab.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <utility>

namespace echelon {

namespace {

/// p = r + beta (p - omega v).
template <class T>
struct SetDirection {
  const IterationStateOf<Dot<T>>* state;
  const T* r;
  const T* v;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    p[i] = r[i] + static_cast<T>(state->beta) * (p[i] - static_cast<T>(state->omega) * v[i]);
  }
};

/// alpha = (s, r) / (s, v).
template <class S>
struct SetStepLength {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(SumOf<S> s_v) const {
    if (!state->running()) return;
    if (s_v.value == S{0} || state->rho == S{0}) state->phase = Phase::breakdown;
    state->alpha = state->rho / s_v.value;
  }
};

/// Computes r -= alpha v, the residual after the first half of the step.
template <class T>
struct HalfStep {
  const IterationStateOf<Dot<T>>* state;
  const T* v;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) r[i] -= static_cast<T>(state->alpha) * v[i];
  }
};

/// Contributes to (t, r) and (t, t).
template <class T>
struct ProductAndLength {
  const T* t;
  const T* r;
  ECHELON_ANYWHERE TwoSumsOf<Dot<T>, double> operator()(std::int64_t i) const {
    const auto value = static_cast<Dot<T>>(t[i]);
    return {conj(value) * static_cast<Dot<T>>(r[i]), squared_magnitude(value)};
  }
};

/// Sets omega = (t, r) / (t, t), which minimises the residual; t = 0 means that the residual is zero already.
template <class S>
struct SetOmega {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(TwoSumsOf<S, double> sums) const {
    state->omega = sums.second != 0 ? sums.first / sums.second : S{0};
  }
};

/// x += alpha y + omega z, r -= omega t; contributes to (r, r) and (s, r).
template <class T>
struct CompleteStep {
  IterationStateOf<Dot<T>>* state;
  const T* y;
  const T* z;
  const T* t;
  const T* s;
  T* x;
  T* r;
  ECHELON_ANYWHERE TwoSumsOf<double, Dot<T>> operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const T omega = static_cast<T>(state->omega);
    x[i] += static_cast<T>(state->alpha) * y[i] + omega * z[i];
    r[i] -= omega * t[i];
    const auto value = static_cast<Dot<T>>(r[i]);
    return {squared_magnitude(value), conj(static_cast<Dot<T>>(s[i])) * value};
  }
};

/// Records ||r||; beta = (new rho / rho) (alpha / omega).
template <class S>
struct FinishIteration {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(TwoSumsOf<double, S> sums) const {
    if (!state->running()) return;
    state->record(std::sqrt(sums.first));
    if (state->running() && state->omega == S{0}) state->phase = Phase::breakdown;
    state->beta = sums.second / state->rho * (state->alpha / state->omega);
    state->rho = sums.second;
  }
};

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
    Array<T> s;        // the shadow residual
    Array<T> p, v, t;  // direction, A M^-1 p, A M^-1 r
    Array<T> y, z;     // M^-1 p, M^-1 r
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

  /// s = p = r, rho = (s, r); beta = omega = 0 make the first direction r.
  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& w = static_cast<Vectors&>(workspace);
    w.backend.copy(w.n, w.r.data(), w.s.data());
    w.backend.fill(w.n, T{0}, w.p.data());
    w.backend.fill(w.n, T{0}, w.v.data());
    w.backend.reduce(w.n, Product<T>{w.s.data(), w.r.data()}, StoreSum<Dot<T>>{&w.state()->rho});
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& w = static_cast<Vectors&>(workspace);
    IterationStateOf<Dot<T>>* state = w.state();
    w.backend.for_each(w.n, SetDirection<T>{state, w.r.data(), w.v.data(), w.p.data()});
    const T* y = this->precondition(w, w.p.data(), w.y.data());
    this->apply_operator(w, y, w.v.data());
    w.backend.reduce(w.n, Product<T>{w.s.data(), w.v.data()}, SetStepLength<Dot<T>>{state});
    w.backend.for_each(w.n, HalfStep<T>{state, w.v.data(), w.r.data()});
    // Without a preconditioner z is r itself, which CompleteStep reads at i before it changes r at i.
    const T* z = this->precondition(w, w.r.data(), w.z.data());
    this->apply_operator(w, z, w.t.data());
    w.backend.reduce(w.n, ProductAndLength<T>{w.t.data(), w.r.data()}, SetOmega<Dot<T>>{state});
    w.backend.reduce(w.n, CompleteStep<T>{state, y, z, w.t.data(), w.s.data(), x, w.r.data()},
                     FinishIteration<Dot<T>>{state});
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

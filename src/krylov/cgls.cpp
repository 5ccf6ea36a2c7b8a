// SPDX-License-Identifier: BSD-3-Clause
/// CGLS: conjugate gradients on C^H C y = C^H c (krylov/least_squares.hpp) without that product, from the
/// residual u = c, v = C^H u and gamma = (v, v):
///
///   q = C v,   alpha = gamma / (q, q)
///   x += alpha D v,   u -= alpha q
///   s = C^H u,   beta = (s, s) / gamma,   gamma = (s, s)
///   v = s + beta v
///
/// M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
#include "krylov/least_squares.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/least_squares/cgls.hpp>

#include <support/scalar_list.hpp>

#include <cmath>

namespace echelon {

namespace {

/// gamma = (v, v), which the state keeps as rho; x has the least residual if that is zero.
template <class S>
struct BeginCgls {
  IterationStateOf<S>* state;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    state->rho = S{squares.value};
    state->omega = S{0};
    state->condition = 0;
    tolerance.test(*state, std::sqrt(squares.value), state->initial);
  }
};

/// alpha = gamma / (q, q). The ratios of the largest and the smallest (q, q) / (v, v) bound the condition of
/// C^H C from below: omega keeps the largest, beta the smallest.
template <class S>
struct SetCglsStep {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(Sum q_q) const {
    if (!state->running()) return;
    if (!(q_q.value > 0)) {
      state->phase = Phase::breakdown;
      return;
    }
    state->alpha = state->rho / q_q.value;
  }
};

/// x += alpha D v; contributes to ||D v||^2 and (v, v).
template <class T>
struct AdvanceCglsSolution {
  const IterationStateOf<Dot<T>>* state;
  const T* scale;
  const T* v;
  T* x;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const auto direction = static_cast<Dot<T>>(v[i]);
    const Dot<T> step = scale == nullptr ? direction : echelon::real(scale[i]) * direction;
    x[i] += static_cast<T>(real(state->alpha) * step);
    return {squared_magnitude(step), squared_magnitude(direction)};
  }
};

/// ||A^+|| >= ||D v|| / ||C v||, where ||C v||^2 = gamma / alpha.
template <class S>
struct BoundCglsCondition {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    if (!state->running()) return;
    const double product = real(state->rho) / real(state->alpha);
    const double inverse_norm = std::sqrt(sums.first / product);
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
    const double quotient = product / sums.second;
    if (quotient > real(state->omega)) state->omega = S{quotient};
    if (state->inner == 0 || quotient < real(state->beta)) state->beta = S{quotient};
    state->condition = std::sqrt(real(state->omega) / real(state->beta));
  }
};

/// u -= alpha q; contributes to (u, u).
template <class T>
struct AdvanceCglsResidual {
  const IterationStateOf<Dot<T>>* state;
  const T* q;
  T* u;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const Dot<T> value = static_cast<Dot<T>>(u[i]) - real(state->alpha) * static_cast<Dot<T>>(q[i]);
    u[i] = static_cast<T>(value);
    return {squared_magnitude(value)};
  }
};

/// Tests C^H u after an iteration that record() has completed; alpha becomes the beta of the recurrence.
template <class S>
struct FinishCglsStep {
  IterationStateOf<S>* state;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum s_s) const {
    if (!state->running()) return;
    state->alpha = S{s_s.value / real(state->rho)};
    state->rho = S{s_s.value};
    tolerance.test(*state, std::sqrt(s_s.value), state->residual);
  }
};

/// v = s + beta v, the beta being in alpha.
template <class T>
struct SetCglsDirection {
  const IterationStateOf<Dot<T>>* state;
  const T* s;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running())
      v[i] = static_cast<T>(static_cast<Dot<T>>(s[i]) + real(state->alpha) * static_cast<Dot<T>>(v[i]));
  }
};

template <class B, class T>
class LeastSquaresConjugateGradients final : public krylov::LeastSquaresIteration<B, T> {
  using Base = krylov::LeastSquaresIteration<B, T>;
  using typename Base::SolveWorkspace;
  using typename Base::Vectors;

 public:
  LeastSquaresConjugateGradients(const Device& device, const CglsOptions& options) : Base(device, options) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->template make_vectors<Vectors>();
  }

 private:
  void start(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    this->begin(s, x);
    this->multiply_by_adjoint(s, s.v.data());
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.v.data())},
                     BeginCgls<Dot<T>>{s.state(), this->normal_tolerance(s)});
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    auto* const state = s.state();
    this->multiply_by_c(s, s.v.data(), s.q.data());
    s.backend.reduce(s.length, SquaredMagnitude{static_cast<const T*>(s.q.data())},
                     SetCglsStep<Dot<T>>{state});
    s.backend.reduce(s.columns,
                     AdvanceCglsSolution<T>{state, this->iterate_scales(), s.v.data(), this->iterate(s, x)},
                     BoundCglsCondition<Dot<T>>{state});
    s.backend.reduce(s.length, AdvanceCglsResidual<T>{state, s.q.data(), s.u.data()}, RecordResidual{state});
    this->multiply_by_adjoint(s, s.p.data());
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.p.data())},
                     FinishCglsStep<Dot<T>>{state, this->normal_tolerance(s)});
    s.backend.for_each(s.columns, SetCglsDirection<T>{state, s.p.data(), s.v.data()});
  }
};

}  // namespace

template <>
struct MethodWith<CglsOptions> {
  template <class B, class T>
  using Type = LeastSquaresConjugateGradients<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const CglsOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// CGLS: conjugate gradients on C^T C y = C^T c (krylov/least_squares.hpp) without that product, from the
/// residual u = c, v = C^T u and gamma = (v, v):
///
///   q = C v,   alpha = gamma / (q, q)
///   x += alpha D v,   u -= alpha q
///   s = C^T u,   beta = (s, s) / gamma,   gamma = (s, s)
///   v = s + beta v
///
/// M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
#include "krylov/least_squares.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/least_squares/cgls.hpp>

#include <cmath>

namespace echelon {

namespace {

/// gamma = (v, v), which the state keeps as rho; x has the least residual if that is zero.
struct BeginCgls {
  IterationState* state;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    state->rho = squares.value;
    state->omega = 0;
    state->condition = 0;
    tolerance.test(*state, std::sqrt(squares.value), state->initial);
  }
};

/// alpha = gamma / (q, q). The ratios of the largest and the smallest (q, q) / (v, v) bound the condition of
/// C^T C from below: omega keeps the largest, beta the smallest.
struct SetCglsStep {
  IterationState* state;
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
  const IterationState* state;
  const T* scale;
  const T* v;
  T* x;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const double direction = static_cast<double>(v[i]);
    const double step = scale == nullptr ? direction : static_cast<double>(scale[i]) * direction;
    x[i] += static_cast<T>(state->alpha * step);
    return {step * step, direction * direction};
  }
};

/// ||A^+|| >= ||D v|| / ||C v||, where ||C v||^2 = gamma / alpha.
struct BoundCglsCondition {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(TwoSums sums) const {
    if (!state->running()) return;
    const double product = state->rho / state->alpha;
    const double inverse_norm = std::sqrt(sums.first / product);
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
    const double quotient = product / sums.second;
    if (quotient > state->omega) state->omega = quotient;
    if (state->inner == 0 || quotient < state->beta) state->beta = quotient;
    state->condition = std::sqrt(state->omega / state->beta);
  }
};

/// u -= alpha q; contributes to (u, u).
template <class T>
struct AdvanceCglsResidual {
  const IterationState* state;
  const T* q;
  T* u;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const double value = static_cast<double>(u[i]) - state->alpha * static_cast<double>(q[i]);
    u[i] = static_cast<T>(value);
    return {value * value};
  }
};

/// Tests C^T u after an iteration that record() has completed; alpha becomes the beta of the recurrence.
struct FinishCglsStep {
  IterationState* state;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum s_s) const {
    if (!state->running()) return;
    state->alpha = s_s.value / state->rho;
    state->rho = s_s.value;
    tolerance.test(*state, std::sqrt(s_s.value), state->residual);
  }
};

/// v = s + beta v, the beta being in alpha.
template <class T>
struct SetCglsDirection {
  const IterationState* state;
  const T* s;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running())
      v[i] = static_cast<T>(static_cast<double>(s[i]) + state->alpha * static_cast<double>(v[i]));
  }
};

template <class B, class T>
class LeastSquaresConjugateGradients final : public krylov::LeastSquaresIteration<B, T> {
  using Base = krylov::LeastSquaresIteration<B, T>;
  using typename Base::SolveWorkspace;
  using typename Base::Vectors;

 public:
  LeastSquaresConjugateGradients(const Device& device, const CglsOptions& options)
      : Base(device, options.stop, options.damping, options.scale_columns) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<Vectors>(this->device(), this->matrix().rows(),
                                                              this->matrix().columns(), this->is_damped()));
  }

 private:
  void start(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    this->load_residual(s, x);
    this->multiply_by_transpose(s, s.u.data(), s.v.data());
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.v.data())},
                     BeginCgls{s.state(), this->normal_tolerance(s)});
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    IterationState* const state = s.state();
    this->multiply_by_c(s, s.v.data(), s.q.data());
    s.backend.reduce(s.length, SquaredMagnitude{static_cast<const T*>(s.q.data())}, SetCglsStep{state});
    s.backend.reduce(s.columns, AdvanceCglsSolution<T>{state, this->scales(), s.v.data(), x},
                     BoundCglsCondition{state});
    s.backend.reduce(s.length, AdvanceCglsResidual<T>{state, s.q.data(), s.u.data()}, RecordResidual{state});
    this->multiply_by_transpose(s, s.u.data(), s.p.data());
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.p.data())},
                     FinishCglsStep{state, this->normal_tolerance(s)});
    s.backend.for_each(s.columns, SetCglsDirection<T>{state, s.p.data(), s.v.data()});
  }
};

}  // namespace

template <>
struct MethodWith<CglsOptions> {
  template <class B, class T>
  using Type = LeastSquaresConjugateGradients<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const CglsOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const CglsOptions&);

}  // namespace echelon

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
#pragma once

#include "linalg/vector/functors.hpp"
#include "solver/iteration/state.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::krylov {

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

/// Vectors of the recurrence, of n elements each, in the memory of a backend.
template <class T>
struct BicgstabVectors {
  T* s;  ///< the shadow residual
  T* p;  ///< direction
  T* v;  ///< A M^-1 p
  T* t;  ///< A M^-1 r
  T* y;  ///< M^-1 p; not used without a preconditioner
  T* z;  ///< M^-1 r; not used without a preconditioner
};

/// Begins from the residual r: s = r, rho = (s, r); beta = omega = 0 make the first direction r. Queued.
template <class B, class T>
void start_bicgstab(B& backend, std::int64_t n, IterationStateOf<Dot<T>>* state,
                    const BicgstabVectors<T>& own, const T* r) {
  backend.copy(n, r, own.s);
  backend.fill(n, T{0}, own.p);
  backend.fill(n, T{0}, own.v);
  backend.reduce(n, Product<T>{own.s, r}, StoreSum<Dot<T>>{&state->rho});
}

/// Queues an iteration, which changes nothing unless the state is running. multiply(x, y) queues y = A x;
/// precondition(r, z) queues z = M^-1 r and returns z, or r without a preconditioner.
template <class B, class T, class Multiply, class Precondition>
void step_bicgstab(B& backend, std::int64_t n, IterationStateOf<Dot<T>>* state, const BicgstabVectors<T>& own,
                   T* x, T* r, Multiply multiply, Precondition precondition) {
  backend.for_each(n, SetDirection<T>{state, r, own.v, own.p});
  const T* y = precondition(own.p, own.y);
  multiply(y, own.v);
  backend.reduce(n, Product<T>{own.s, own.v}, SetStepLength<Dot<T>>{state});
  backend.for_each(n, HalfStep<T>{state, own.v, r});
  // Without a preconditioner z is r itself, which CompleteStep reads at i before it changes r at i.
  const T* z = precondition(r, own.z);
  multiply(z, own.t);
  backend.reduce(n, ProductAndLength<T>{own.t, r}, SetOmega<Dot<T>>{state});
  backend.reduce(n, CompleteStep<T>{state, y, z, own.t, own.s, x, r}, FinishIteration<Dot<T>>{state});
}

}  // namespace echelon::krylov

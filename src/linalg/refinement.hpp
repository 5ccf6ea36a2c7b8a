// SPDX-License-Identifier: BSD-3-Clause
/// Iterative refinement of one right-hand side, decided on the device: nothing is read back.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"

#include <echelon/array.hpp>

#include <cmath>
#include <cstdint>

namespace echelon {

/// Progress of the refinement of one column.
struct Refinement {
  double residual = 0;        ///< ||b - A x||_inf
  std::int32_t running = 0;   ///< steps still count
  std::int32_t accepted = 0;  ///< the last candidate is better than x
};

namespace refinement_detail {

struct Begin {
  Refinement* state;
  ECHELON_ANYWHERE void operator()(Largest residual) const {
    *state = {residual.value, residual.value > 0, 0};
  }
};

struct AssessCandidate {
  Refinement* state;
  ECHELON_ANYWHERE void operator()(Largest residual) const {
    const bool better = state->running != 0 && residual.value < state->residual;
    state->accepted = better;
    state->running = better && residual.value > 0;
    if (better) state->residual = residual.value;
  }
};

template <class T>
struct Magnitude {
  const T* x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {std::fabs(static_cast<double>(x[i]))}; }
};

template <class T>
struct Add {
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] += x[i]; }
};

template <class T>
struct TakeIfAccepted {
  const Refinement* state;
  const T* candidate;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->accepted != 0) x[i] = candidate[i];
  }
};

}  // namespace refinement_detail

/// Vectors of n elements that a refinement overwrites, and its state.
template <class T>
struct RefinementArrays {
  RefinementArrays(const Device& device, std::int64_t n)
      : residual(device, n), candidate(device, n), state(device, 1) {}
  [[nodiscard]] std::size_t bytes() const { return residual.bytes() + candidate.bytes() + state.bytes(); }
  Array<T> residual, candidate;
  Array<Refinement> state;
};

/// Adds the solution for the residual to x as long as that makes the residual smaller, at most `steps` times.
/// All steps are queued, and change nothing once a step failed. `residual(x, r)` queues r = b - A x,
/// `solve(r, z)` queues z = A^-1 r by the factors.
template <class B, class T, class Residual, class Solve>
void refine(B& backend, std::int64_t n, std::int64_t steps, T* x, RefinementArrays<T>& arrays,
            const Residual& residual, const Solve& solve) {
  if (steps <= 0 || n == 0) return;
  T* const r = arrays.residual.data();
  T* const candidate = arrays.candidate.data();
  Refinement* const state = arrays.state.data();
  residual(x, r);
  backend.reduce(n, refinement_detail::Magnitude<T>{r}, refinement_detail::Begin{state});
  for (std::int64_t step = 0; step < steps; ++step) {
    solve(r, candidate);
    backend.for_each(n, refinement_detail::Add<T>{x, candidate});
    residual(candidate, r);
    backend.reduce(n, refinement_detail::Magnitude<T>{r}, refinement_detail::AssessCandidate{state});
    backend.for_each(n, refinement_detail::TakeIfAccepted<T>{state, candidate, x});
  }
}

}  // namespace echelon

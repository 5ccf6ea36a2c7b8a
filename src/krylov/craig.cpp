// SPDX-License-Identifier: BSD-3-Clause
/// Craig's method for the x of least norm with A x = b, on the bidiagonalisation of Golub and Kahan
/// (krylov/least_squares.hpp) with C = A, from beta u = r, alpha v = A^H u and zeta = beta / alpha:
///
///   x += zeta v
///   beta u = A v - alpha u,   alpha v = A^H u - beta v
///   zeta = -(beta / alpha) zeta
///
/// with ||b - A x|| = beta |zeta| before the last line. As the v are orthonormal, ||x - x*|| falls.
///
/// E. J. Craig, J. Math. Phys. 34 (1955). C. C. Paige and M. A. Saunders, ACM Trans. Math. Softw. 8 (1982).
#include "krylov/least_squares.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/least_squares/craig.hpp>

#include <support/scalar_list.hpp>

#include <cmath>

namespace echelon {

namespace {

/// Sets alpha and the next zeta, which the state keeps as omega, and the largest alpha as rho. An alpha that
/// rounding made has no zeta: then no x satisfies the equations.
template <class S>
struct SetZeta {
  IterationStateOf<S>* state;
  double epsilon;
  double sign;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    const double alpha = std::sqrt(squares.value);
    const double beta = real(state->beta);
    state->alpha = S{alpha};
    const double previous = sign > 0 ? 1 : real(state->omega);
    if (alpha > epsilon * real(state->rho)) {
      state->omega = S{sign * beta / alpha * previous};
    } else {
      state->phase = beta > 0 ? Phase::breakdown : Phase::converged;
    }
    if (alpha > real(state->rho)) state->rho = S{alpha};
  }
};

/// x += zeta v.
template <class T>
struct AdvanceCraig {
  const IterationStateOf<Dot<T>>* state;
  const T* v;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) x[i] += static_cast<T>(real(state->omega) * static_cast<Dot<T>>(v[i]));
  }
};

/// Records ||b - A x|| = beta |zeta|. ||A v||^2 = alpha^2 + beta^2 bounds the inverse.
template <class S>
struct RecordCraig {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    if (!state->running()) return;
    const double alpha = real(state->alpha);
    const double beta = real(state->beta);
    const double product = std::sqrt(alpha * alpha + beta * beta);
    if (product > 0 && 1 / product > state->inverse_norm) state->inverse_norm = 1 / product;
    state->record(beta * std::fabs(real(state->omega)));
  }
};

template <class B, class T>
class Craigs final : public krylov::LeastSquaresIteration<B, T> {
  using Base = krylov::LeastSquaresIteration<B, T>;
  using typename Base::SolveWorkspace;
  using typename Base::Vectors;

 public:
  Craigs(const Device& device, const CraigOptions& options) : Base(device, options.stop) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->template make_vectors<Vectors>();
  }

 private:
  [[nodiscard]] static SetZeta<Dot<T>> set_zeta(IterationStateOf<Dot<T>>* state, double sign) {
    return {state, machine_epsilon<T>, sign};
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    this->begin_bidiagonalization(s, x, set_zeta(s.state(), 1));
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    auto* const state = s.state();
    s.backend.for_each(s.columns, AdvanceCraig<T>{state, s.v.data(), x});
    this->advance_u(s);
    s.backend.for_each(1, RecordCraig<Dot<T>>{state});
    this->advance_v(s, set_zeta(state, -1));
    s.backend.for_each(s.columns, krylov::DivideByNorm<T>{state, &state->alpha, s.v.data()});
  }
};

}  // namespace

template <>
struct MethodWith<CraigOptions> {
  template <class B, class T>
  using Type = Craigs<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const CraigOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

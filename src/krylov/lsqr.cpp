// SPDX-License-Identifier: BSD-3-Clause
/// LSQR, for c = C y in the sense of least squares (krylov/least_squares.hpp), from beta u = c, alpha v = C^H
/// u, w = v, phi_bar = beta and rho_bar = alpha:
///
///   beta u = C v - alpha u,   alpha v = C^H u - beta v
///   rho = hypot(rho_bar, beta),   c, s = rho_bar / rho, beta / rho
///   theta, rho_bar = s alpha, -c alpha,   phi, phi_bar = c phi_bar, s phi_bar
///   x += (phi / rho) D w,   w = v - (theta / rho) w
///
/// with ||c - C y|| = phi_bar and ||C^H (c - C y)|| = phi_bar alpha |c|. C w / rho is of norm 1.
///
/// C. C. Paige and M. A. Saunders, ACM Trans. Math. Softw. 8 (1982).
#include "krylov/least_squares.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/least_squares/lsqr.hpp>

#include <support/scalar_list.hpp>

#include <cmath>

namespace echelon {

namespace {

/// Scalars of the QR factorisation of the bidiagonal matrix by rotations. In the backend's memory.
struct LsqrState {
  double rho_bar = 0;
  double rho = 1;
  double theta = 0;
  double phi_bar = 0;  ///< the residual norm
  double phi = 0;
  double normal = 0;  ///< ||C^H (c - C y)||
  double largest_rho = 0;
  double smallest_rho = 0;
};

/// Begins with alpha; x has the least residual if that is zero.
template <class S>
struct BeginLsqr {
  IterationStateOf<S>* state;
  LsqrState* own;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    state->alpha = S{std::sqrt(squares.value)};
    *own = {};
    own->rho_bar = real(state->alpha);
    own->phi_bar = real(state->beta);
    tolerance.test(*state, real(state->alpha) * real(state->beta), real(state->beta));
  }
};

/// Sets alpha, and applies the next rotation.
template <class S>
struct RotateLsqr {
  IterationStateOf<S>* state;
  LsqrState* own;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    LsqrState& l = *own;
    const double beta = real(state->beta);
    const double alpha = std::sqrt(squares.value);
    state->alpha = S{alpha};
    l.rho = std::sqrt(l.rho_bar * l.rho_bar + beta * beta);
    if (!(l.rho > 0)) {
      state->phase = Phase::breakdown;
      return;
    }
    const double cosine = l.rho_bar / l.rho;
    const double sine = beta / l.rho;
    l.theta = sine * alpha;
    l.rho_bar = -cosine * alpha;
    l.phi = cosine * l.phi_bar;
    l.phi_bar *= sine;
    l.normal = std::fabs(l.phi_bar * alpha * cosine);
    if (l.rho > l.largest_rho) l.largest_rho = l.rho;
    if (l.smallest_rho == 0 || l.rho < l.smallest_rho) l.smallest_rho = l.rho;
  }
};

/// x += (phi / rho) D w, v = v / alpha, w = v - (theta / rho) w; contributes to ||D w||^2.
template <class T>
struct AdvanceLsqr {
  const IterationStateOf<Dot<T>>* state;
  const LsqrState* own;
  const T* scale;
  T* v;
  T* w;
  T* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const auto direction = static_cast<Dot<T>>(w[i]);
    const Dot<T> step = scale == nullptr ? direction : echelon::real(scale[i]) * direction;
    x[i] += static_cast<T>(own->phi / own->rho * step);
    const Dot<T> next = static_cast<Dot<T>>(v[i]) * krylov::reciprocal_or_zero(real(state->alpha));
    v[i] = static_cast<T>(next);
    w[i] = static_cast<T>(next - own->theta / own->rho * direction);
    return {squared_magnitude(step)};
  }
};

template <class S>
struct FinishLsqrStep {
  IterationStateOf<S>* state;
  const LsqrState* own;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    const double inverse_norm = std::sqrt(squares.value) / own->rho;
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
    state->condition = own->largest_rho / own->smallest_rho;
    state->record(own->phi_bar);
    tolerance.test(*state, own->normal, own->phi_bar);
  }
};

template <class B, class T>
class LeastSquaresQr final : public krylov::LeastSquaresIteration<B, T> {
  using Base = krylov::LeastSquaresIteration<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : Base::Vectors {
    Vectors(const Device& device, std::int64_t rows, std::int64_t unknowns, bool damped)
        : Base::Vectors(device, rows, unknowns, damped), w(device, unknowns), own(device, 1) {}
    [[nodiscard]] std::size_t bytes() const override { return Base::Vectors::bytes() + w.bytes(); }
    Array<T> w;
    Array<LsqrState> own;
  };

 public:
  LeastSquaresQr(const Device& device, const LsqrOptions& options) : Base(device, options) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->template make_vectors<Vectors>();
  }

 private:
  void start(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    this->begin_bidiagonalization(s, x,
                                  BeginLsqr<Dot<T>>{s.state(), s.own.data(), this->normal_tolerance(s)});
    s.backend.copy(s.columns, s.v.data(), s.w.data());
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    auto* const state = s.state();
    LsqrState* const own = s.own.data();
    this->advance_u(s);
    this->advance_v(s, RotateLsqr<Dot<T>>{state, own});
    s.backend.reduce(
        s.columns,
        AdvanceLsqr<T>{state, own, this->iterate_scales(), s.v.data(), s.w.data(), this->iterate(s, x)},
        FinishLsqrStep<Dot<T>>{state, own, this->normal_tolerance(s)});
  }
};

}  // namespace

template <>
struct MethodWith<LsqrOptions> {
  template <class B, class T>
  using Type = LeastSquaresQr<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const LsqrOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// LSMR, for c = C y in the sense of least squares (krylov/least_squares.hpp), from beta u = c, alpha v = C^H
/// u, alpha_bar = alpha, zeta_bar = alpha beta, rho = rho_bar = c_bar = 1, s_bar = 0, h = v and h_bar = 0:
///
///   beta u = C v - alpha u,   alpha v = C^H u - beta v
///   rho = hypot(alpha_bar, beta),   c, s = alpha_bar / rho, beta / rho
///   theta, alpha_bar = s alpha, c alpha
///   theta_bar = s_bar rho,   rho_bar = hypot(c_bar rho, theta),   c_bar, s_bar = c_bar rho / rho_bar, theta
///   / rho_bar zeta, zeta_bar = c_bar zeta_bar, -s_bar zeta_bar h_bar = h - (theta_bar rho / (rho
///   rho_bar)_old) h_bar x += zeta / (rho rho_bar) D h_bar,   h = v - (theta / rho) h
///
/// with ||C^H (c - C y)|| = |zeta_bar|. C h / rho is of norm 1. The norm of c - C y follows from a second QR
/// factorisation of the bidiagonal R, by its transpose.
///
/// D. C.-L. Fong and M. Saunders, SIAM J. Sci. Comput. 33 (2011).
#include "krylov/least_squares.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/least_squares/lsmr.hpp>

#include <support/scalar_list.hpp>

#include <cmath>

namespace echelon {

namespace {

/// Elements of the residual in the basis of the two factorisations, by which its norm is known.
struct LsmrResidual {
  double beta_next = 0;   ///< beta'' of the paper
  double beta_last = 0;   ///< beta-dot
  double rho_last = 1;    ///< rho-dot
  double tau_before = 0;  ///< tau-tilde of the step before
  double theta = 0;       ///< theta-tilde
  double zeta = 0;        ///< of the step before

  /// Takes a step, and returns the norm of the residual.
  ECHELON_ANYWHERE double advance(double cosine, double sine, double theta_bar, double rho_bar,
                                  double next_zeta) {
    const double beta_hat = cosine * beta_next;
    beta_next *= -sine;
    const double rho_tilde = std::sqrt(rho_last * rho_last + theta_bar * theta_bar);
    const double c = rho_last / rho_tilde;
    const double s = theta_bar / rho_tilde;
    const double theta_before = theta;
    theta = s * rho_bar;
    rho_last = c * rho_bar;
    beta_last = c * beta_hat - s * beta_last;
    tau_before = (zeta - theta_before * tau_before) / rho_tilde;
    const double tau_last = (next_zeta - theta * tau_before) / rho_last;
    zeta = next_zeta;
    const double difference = beta_last - tau_last;
    return std::sqrt(difference * difference + beta_next * beta_next);
  }
};

/// Scalars of the two QR factorisations by rotations, in the notation of the paper. In the backend's memory.
struct LsmrState {
  double alpha_bar = 0;
  double rho = 1;
  double theta = 0;
  double rho_bar = 1;
  double cosine_bar = 1;
  double sine_bar = 0;
  double zeta_bar = 0;  ///< the norm of C^H (c - C y), with a sign
  double step = 0;      ///< zeta / (rho rho_bar)
  double ratio = 0;     ///< theta_bar rho / (rho rho_bar)_old
  double shift = 0;     ///< theta / rho
  double inverse = 0;   ///< 1 / alpha, or 0
  double residual_norm = 0;
  double largest_rho = 0;
  double smallest_rho = 0;
  LsmrResidual residual;
};

/// Begins with alpha; x has the least residual if that is zero.
template <class S>
struct BeginLsmr {
  IterationStateOf<S>* state;
  LsmrState* own;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    state->alpha = S{std::sqrt(squares.value)};
    *own = {};
    own->alpha_bar = real(state->alpha);
    own->zeta_bar = real(state->alpha) * real(state->beta);
    own->residual.beta_next = real(state->beta);
    tolerance.test(*state, own->zeta_bar, real(state->beta));
  }
};

/// Sets alpha, and applies the next rotations.
template <class S>
struct RotateLsmr {
  IterationStateOf<S>* state;
  LsmrState* own;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    LsmrState& l = *own;
    const double beta = real(state->beta);
    const double rho_before = l.rho;
    const double rho_bar_before = l.rho_bar;
    const double alpha = std::sqrt(squares.value);
    state->alpha = S{alpha};
    l.rho = std::sqrt(l.alpha_bar * l.alpha_bar + beta * beta);
    if (!(l.rho > 0)) {
      state->phase = Phase::breakdown;
      return;
    }
    const double cosine = l.alpha_bar / l.rho;
    const double sine = beta / l.rho;
    l.theta = sine * alpha;
    l.alpha_bar = cosine * alpha;
    const double theta_bar = l.sine_bar * l.rho;
    const double diagonal = l.cosine_bar * l.rho;
    l.rho_bar = std::sqrt(diagonal * diagonal + l.theta * l.theta);
    l.cosine_bar = diagonal / l.rho_bar;
    l.sine_bar = l.theta / l.rho_bar;
    const double zeta = l.cosine_bar * l.zeta_bar;
    l.zeta_bar *= -l.sine_bar;
    l.ratio = theta_bar * l.rho / (rho_before * rho_bar_before);
    l.step = zeta / (l.rho * l.rho_bar);
    l.shift = l.theta / l.rho;
    l.inverse = krylov::reciprocal_or_zero(alpha);
    l.residual_norm = l.residual.advance(cosine, sine, theta_bar, l.rho_bar, zeta);
    if (l.rho_bar > l.largest_rho) l.largest_rho = l.rho_bar;
    if (l.smallest_rho == 0 || l.rho_bar < l.smallest_rho) l.smallest_rho = l.rho_bar;
  }
};

/// h_bar = h - ratio h_bar, x += step D h_bar, v = v / alpha, h = v - (theta / rho) h; contributes to
/// ||D h||^2.
template <class T>
struct AdvanceLsmr {
  const IterationStateOf<Dot<T>>* state;
  const LsmrState* own;
  const T* scale;
  T* v;
  T* h;
  T* h_bar;
  T* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const double factor = scale == nullptr ? 1 : echelon::real(scale[i]);
    const auto old = static_cast<Dot<T>>(h[i]);
    const Dot<T> direction = old - own->ratio * static_cast<Dot<T>>(h_bar[i]);
    h_bar[i] = static_cast<T>(direction);
    x[i] += static_cast<T>(own->step * factor * direction);
    const Dot<T> next = static_cast<Dot<T>>(v[i]) * own->inverse;
    v[i] = static_cast<T>(next);
    h[i] = static_cast<T>(next - own->shift * old);
    return {squared_magnitude(factor * old)};
  }
};

template <class S>
struct FinishLsmrStep {
  IterationStateOf<S>* state;
  const LsmrState* own;
  krylov::NormalTolerance tolerance;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (!state->running()) return;
    const double inverse_norm = std::sqrt(squares.value) / own->rho;
    if (inverse_norm > state->inverse_norm) state->inverse_norm = inverse_norm;
    state->condition = own->largest_rho / own->smallest_rho;
    state->record(own->residual_norm);
    tolerance.test(*state, std::fabs(own->zeta_bar), own->residual_norm);
  }
};

template <class B, class T>
class LeastSquaresMinimalResiduals final : public krylov::LeastSquaresIteration<B, T> {
  using Base = krylov::LeastSquaresIteration<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : Base::Vectors {
    Vectors(const Device& device, std::int64_t rows, std::int64_t unknowns, bool damped)
        : Base::Vectors(device, rows, unknowns, damped),
          h(device, unknowns),
          h_bar(device, unknowns),
          own(device, 1) {}
    [[nodiscard]] std::size_t bytes() const override { return Base::Vectors::bytes() + 2 * h.bytes(); }
    Array<T> h, h_bar;
    Array<LsmrState> own;
  };

 public:
  LeastSquaresMinimalResiduals(const Device& device, const LsmrOptions& options) : Base(device, options) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->template make_vectors<Vectors>();
  }

 private:
  void start(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    this->begin_bidiagonalization(s, x,
                                  BeginLsmr<Dot<T>>{s.state(), s.own.data(), this->normal_tolerance(s)});
    s.backend.copy(s.columns, s.v.data(), s.h.data());
    s.backend.fill(s.columns, T{0}, s.h_bar.data());
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    auto* const state = s.state();
    LsmrState* const own = s.own.data();
    this->advance_u(s);
    this->advance_v(s, RotateLsmr<Dot<T>>{state, own});
    s.backend.reduce(s.columns,
                     AdvanceLsmr<T>{state, own, this->iterate_scales(), s.v.data(), s.h.data(),
                                    s.h_bar.data(), this->iterate(s, x)},
                     FinishLsmrStep<Dot<T>>{state, own, this->normal_tolerance(s)});
  }
};

}  // namespace

template <>
struct MethodWith<LsmrOptions> {
  template <class B, class T>
  using Type = LeastSquaresMinimalResiduals<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const LsmrOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Minimal residuals with a preconditioner M, from r_1 = 0, r_2 = r and beta = sqrt((r, M^-1 r)):
///
///   v = M^-1 r_2 / beta,   y = A v - (beta / beta_old) r_1,   alpha = (v, y)
///   r_1, r_2 = r_2, y - (alpha / beta) r_2,   beta = sqrt((r_2, M^-1 r_2))
///   gamma, delta, epsilon: column of R in T = Q R by a rotation, for the tridiagonal T of the alpha and beta
///   w = (v - epsilon w_1 - delta w_2) / gamma,   x += phi w
///   r = sine^2 r - (phi_bar cosine / beta) r_2
///
/// C. C. Paige and M. A. Saunders, SIAM J. Numer. Anal. 12 (1975).
#include "linalg/vector/functors.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/minres.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <complex>
#include <utility>

namespace echelon {

namespace {

/// Scalars of the Lanczos process and of the QR factorisation of its tridiagonal matrix by rotations, in the
/// notation of Paige and Saunders. In the backend's memory.
struct LanczosState {
  double alpha = 0;     ///< (v, A v)
  double beta = 0;      ///< of the next Lanczos vector; ||r0|| in the norm of M^-1 at first
  double beta_old = 0;  ///< of the current one
  double cosine = -1;   ///< of the last rotation
  double sine = 0;
  double delta = 0;    ///< element of R above the diagonal
  double epsilon = 0;  ///< element of R two above the diagonal, for this step
  double gamma = 1;    ///< diagonal element of R
  double phi_bar = 0;  ///< the residual norm in the norm of M^-1, and the right-hand side's rotated element
  double phi = 0;      ///< step length along w
  double delta_bar = 0;
  double epsilon_next = 0;
  double largest_gamma = 0;
  double smallest_gamma = 0;
};

template <class S>
struct MinresStatePair {
  IterationStateOf<S>* iteration;
  LanczosState* lanczos;
};

/// A product (v, B v) with a Hermitian B, whose imaginary part is a rounding error; without one, B is not
/// Hermitian.
ECHELON_ANYWHERE inline bool is_real(double /*product*/) {
  return true;
}
ECHELON_ANYWHERE inline bool is_real(std::complex<double> product) {
  return std::fabs(product.imag()) <= 1e-3 * std::fabs(product.real());
}

/// beta_1 = sqrt((r, M^-1 r)), or not_spd when M is not positive definite.
template <class S>
struct StartLanczos {
  MinresStatePair<S> state;
  ECHELON_ANYWHERE void operator()(SumOf<S> r_y) const {
    LanczosState fresh;
    const double product = real(r_y.value);
    if (!(product > 0) || !is_real(r_y.value)) {
      state.iteration->phase = product <= 0 || product > 0 ? Phase::not_spd : Phase::diverged;
    }
    fresh.beta = fresh.phi_bar = std::sqrt(product);
    *state.lanczos = fresh;
  }
};

/// v = y / beta.
template <class T>
struct NormaliseLanczosVector {
  MinresStatePair<Dot<T>> state;
  const T* y;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (!state.iteration->running()) return;
    v[i] = static_cast<T>(static_cast<Dot<T>>(y[i]) / state.lanczos->beta);
  }
};

/// y = A v - (beta / beta_old) r1; contributes to alpha = (v, y).
template <class T>
struct SubtractOlder {
  MinresStatePair<Dot<T>> state;
  const T* v;
  const T* r1;
  T* y;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const {
    if (!state.iteration->running()) return {};
    const double beta_old = state.lanczos->beta_old;
    const double ratio = beta_old > 0 ? state.lanczos->beta / beta_old : 0;
    const Dot<T> value = static_cast<Dot<T>>(y[i]) - ratio * static_cast<Dot<T>>(r1[i]);
    y[i] = static_cast<T>(value);
    return {value * conj(static_cast<Dot<T>>(v[i]))};
  }
};

template <class S>
struct SetMinresAlpha {
  MinresStatePair<S> state;
  ECHELON_ANYWHERE void operator()(SumOf<S> v_y) const {
    if (state.iteration->running()) state.lanczos->alpha = real(v_y.value);
  }
};

/// r1 = r2, r2 = y - (alpha / beta) r2, the next Lanczos vector before normalisation.
template <class T>
struct SubtractOld {
  MinresStatePair<Dot<T>> state;
  const T* y;
  T* r1;
  T* r2;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (!state.iteration->running()) return;
    const double ratio = state.lanczos->alpha / state.lanczos->beta;
    const auto old = static_cast<Dot<T>>(r2[i]);
    r1[i] = r2[i];
    r2[i] = static_cast<T>(static_cast<Dot<T>>(y[i]) - ratio * old);
  }
};

/// The next beta = sqrt((r2, M^-1 r2)), the rotation that annihilates it in R, and the step length.
template <class S>
struct Rotate {
  MinresStatePair<S> state;
  ECHELON_ANYWHERE void operator()(SumOf<S> r_y) const {
    if (!state.iteration->running()) return;
    LanczosState& l = *state.lanczos;
    const double product = real(r_y.value);
    if (product < 0) {
      state.iteration->phase = Phase::not_spd;
      return;
    }
    const double next = std::sqrt(product);
    l.beta_old = l.beta;
    l.beta = next;
    l.epsilon = l.epsilon_next;
    l.delta = l.cosine * l.delta_bar + l.sine * l.alpha;
    const double gamma_bar = l.sine * l.delta_bar - l.cosine * l.alpha;
    l.epsilon_next = l.sine * next;
    l.delta_bar = -l.cosine * next;
    l.gamma = std::sqrt(gamma_bar * gamma_bar + next * next);
    if (l.gamma == 0) {
      state.iteration->phase = Phase::breakdown;
      return;
    }
    l.cosine = gamma_bar / l.gamma;
    l.sine = next / l.gamma;
    l.phi = l.cosine * l.phi_bar;
    l.phi_bar *= l.sine;
    if (l.gamma > l.largest_gamma) l.largest_gamma = l.gamma;
    if (l.smallest_gamma == 0 || l.gamma < l.smallest_gamma) l.smallest_gamma = l.gamma;
  }
};

/// Squares of the norms of r, of the direction w, and of phi A w, by which r changes.
struct AdvanceSums {
  double residual = 0;
  double direction = 0;
  double change = 0;
  friend ECHELON_ANYWHERE AdvanceSums combine(AdvanceSums a, AdvanceSums b) {
    return {a.residual + b.residual, a.direction + b.direction, a.change + b.change};
  }
};

/// w = (v - epsilon w1 - delta w2) / gamma, x += phi w, r = sine^2 r - (phi_bar cosine / beta) r2.
template <class T>
struct AdvanceSolution {
  MinresStatePair<Dot<T>> state;
  const T* v;
  const T* r2;
  T* w1;
  T* w2;
  T* x;
  T* r;
  ECHELON_ANYWHERE AdvanceSums operator()(std::int64_t i) const {
    if (!state.iteration->running()) return {};
    const LanczosState& l = *state.lanczos;
    const Dot<T> w = (static_cast<Dot<T>>(v[i]) - l.epsilon * static_cast<Dot<T>>(w1[i]) -
                      l.delta * static_cast<Dot<T>>(w2[i])) /
                     l.gamma;
    w1[i] = w2[i];
    w2[i] = static_cast<T>(w);
    x[i] += static_cast<T>(l.phi * w);
    const auto before = static_cast<Dot<T>>(r[i]);
    const Dot<T> orthogonal =
        l.beta > 0 ? l.phi_bar * l.cosine / l.beta * static_cast<Dot<T>>(r2[i]) : Dot<T>{0};
    const Dot<T> after = l.sine * l.sine * before - orthogonal;
    r[i] = static_cast<T>(after);
    return {squared_magnitude(after), squared_magnitude(w), squared_magnitude(before - after)};
  }
};

/// Records ||r||; ||A^-1|| >= ||w|| / ||A w||.
template <class S>
struct FinishMinresStep {
  MinresStatePair<S> state;
  ECHELON_ANYWHERE void operator()(AdvanceSums sums) const {
    IterationStateOf<S>& iteration = *state.iteration;
    if (!iteration.running()) return;
    iteration.record(std::sqrt(sums.residual));
    const LanczosState& l = *state.lanczos;
    if (iteration.running() && l.beta == 0) iteration.phase = Phase::breakdown;
    iteration.condition = l.largest_gamma / l.smallest_gamma;
    if (!(sums.change > 0)) return;
    const double inverse_norm = std::sqrt(sums.direction / sums.change) * std::fabs(l.phi);
    if (inverse_norm > iteration.inverse_norm) iteration.inverse_norm = inverse_norm;
  }
};

template <class B, class T>
class MinimalResiduals final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool preconditioned)
        : SolveWorkspace(device, size),
          r1(device, size),
          r2(device, size),
          v(device, size),
          y(device, size),
          z(device, preconditioned ? size : 0),
          w1(device, size),
          w2(device, size),
          lanczos(device, 1) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + 6 * r1.bytes() + z.bytes();
    }
    [[nodiscard]] MinresStatePair<Dot<T>> states() { return {this->state(), lanczos.data()}; }
    Array<T> r1, r2;   // the last two Lanczos vectors, times their betas and M
    Array<T> v, y, z;  // the current Lanczos vector, A v, M^-1 r2
    Array<T> w1, w2;   // the last two directions
    Array<LanczosState> lanczos;
  };

 public:
  MinimalResiduals(const Device& device, const MinresOptions& options) : Base(device, options.stop) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  Outcome complete_setup(Outcome outcome) override {
    return require_hermitian(this->matrix(),
                             this->with_operator_warning(std::move(outcome), AppliedOperator::symmetric),
                             Status::breakdown);
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& s = static_cast<Vectors&>(workspace);
    s.backend.copy(s.n, s.r.data(), s.r2.data());
    for (Array<T>* zero : {&s.r1, &s.w1, &s.w2}) s.backend.fill(s.n, T{0}, zero->data());
    s.backend.reduce(s.n, Product<T>{s.r2.data(), this->precondition(s, s.r2.data(), s.z.data())},
                     StartLanczos<Dot<T>>{s.states()});
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    const MinresStatePair<Dot<T>> states = s.states();
    T* y = s.y.data();
    s.backend.for_each(s.n, NormaliseLanczosVector<T>{
                                states, this->preconditioned() ? s.z.data() : s.r2.data(), s.v.data()});
    this->apply_operator(s, s.v.data(), y);
    s.backend.reduce(s.n, SubtractOlder<T>{states, s.v.data(), s.r1.data(), y},
                     SetMinresAlpha<Dot<T>>{states});
    s.backend.for_each(s.n, SubtractOld<T>{states, y, s.r1.data(), s.r2.data()});
    s.backend.reduce(s.n, Product<T>{s.r2.data(), this->precondition(s, s.r2.data(), s.z.data())},
                     Rotate<Dot<T>>{states});
    s.backend.reduce(
        s.n, AdvanceSolution<T>{states, s.v.data(), s.r2.data(), s.w1.data(), s.w2.data(), x, s.r.data()},
        FinishMinresStep<Dot<T>>{states});
  }

  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    this->add_condition(workspace, workspace.host_state.inverse_norm, workspace.host_state.condition, job);
  }
};

}  // namespace

template <>
struct MethodWith<MinresOptions> {
  template <class B, class T>
  using Type = MinimalResiduals<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const MinresOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

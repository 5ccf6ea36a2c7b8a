// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate residuals with a preconditioner M, from z = M^-1 r, p = 0 and q = A p = 0:
///
///   w = A z,   rho = (z, w)
///   p = z + beta p,   q = w + beta q,   beta = rho / rho_old,   0 in the first step
///   t = M^-1 q,   alpha = rho / (q, t)
///   x += alpha p,   r -= alpha q,   z -= alpha t
///
/// With (x, y) = x^H y, A and M are Hermitian positive definite, and the directions q are orthogonal in the
/// inner product of M^-1. With (x, y) = x^T y, A and M are symmetric: conjugate orthogonal conjugate
/// residuals. Rounding errors of M^-1, which may be computed in float, add up in the recurrence of z: with a
/// preconditioner a cycle ends, and another one begins from the true residual, once the residual has fallen
/// by four decimal digits.
#include "krylov/inner_product.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/cr.hpp>
#include <echelon/methods/krylov/cocr.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <utility>

namespace echelon {

namespace {

using krylov::InnerProduct;

/// Contributes to (x, y).
template <class T>
struct InnerProductOf {
  InnerProduct product;
  const T* x;
  const T* y;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const {
    return {krylov::term(product, x[i], y[i])};
  }
};

/// Phase after the computation of (x, S x) for an operator S. After some steps, rounding errors may be why
/// one of a Hermitian S is not positive, and the next cycle shows whether they are.
template <class S>
ECHELON_ANYWHERE Phase phase_after(std::int64_t steps, InnerProduct product, S value) {
  const Phase phase = krylov::phase_of(product, value);
  return phase == Phase::not_spd && steps > 0 ? Phase::restart : phase;
}

/// beta = rho / rho_old, 0 in the first step after a (re)start, whose residual norm omega keeps.
template <class S>
struct SetResidualBeta {
  IterationStateOf<S>* state;
  InnerProduct product;
  ECHELON_ANYWHERE void operator()(SumOf<S> z_w) const {
    if (!state->running()) return;
    state->phase = phase_after(state->inner, product, z_w.value);
    if (state->inner == 0) state->omega = S{state->residual};
    state->beta = state->inner > 0 ? z_w.value / state->rho : S{0};
    state->rho = z_w.value;
  }
};

/// p = z + beta p, q = w + beta q.
template <class T>
struct UpdateDirections {
  const IterationStateOf<Dot<T>>* state;
  const T* z;
  const T* w;
  T* p;
  T* q;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const T beta = static_cast<T>(state->beta);
    p[i] = z[i] + beta * p[i];
    q[i] = w[i] + beta * q[i];
  }
};

/// alpha = rho / (q, M^-1 q).
template <class S>
struct SetResidualStep {
  IterationStateOf<S>* state;
  InnerProduct product;
  ECHELON_ANYWHERE void operator()(SumOf<S> q_t) const {
    if (!state->running()) return;
    state->phase = phase_after(state->inner, product, q_t.value);
    state->alpha = state->rho / q_t.value;
  }
};

/// x += alpha p, r -= alpha q, and z -= alpha t if z is not r; contributes to r^H r.
template <class T>
struct AdvanceResiduals {
  IterationStateOf<Dot<T>>* state;
  const T* p;
  const T* q;
  const T* t;
  T* x;
  T* r;
  T* z;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const T alpha = static_cast<T>(state->alpha);
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    if (z != r) z[i] -= alpha * t[i];
    return {squared_magnitude(r[i])};
  }
};

/// Records ||r||, and ends the cycle once it has fallen below `reduction` times that of the (re)start.
template <class S>
struct RecordReduction {
  IterationStateOf<S>* state;
  double reduction;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (!state->running()) return;
    state->record(std::sqrt(r_r.value));
    if (state->running() && state->residual <= reduction * real(state->omega)) state->phase = Phase::restart;
  }
};

template <class B, class T>
class ConjugateResiduals final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool preconditioned)
        : SolveWorkspace(device, size),
          p(device, size),
          q(device, size),
          w(device, size),
          z(device, preconditioned ? size : 0),
          t(device, preconditioned ? size : 0) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + 3 * p.bytes() + 2 * z.bytes();
    }
    Array<T> p, q, w;  // direction, A p, A z
    Array<T> z, t;     // M^-1 r, M^-1 q
  };

 public:
  ConjugateResiduals(const Device& device, const CrOptions& options) : Base(device, options.stop) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }
  ConjugateResiduals(const Device& device, const CocrOptions& options)
      : Base(device, options.stop), product_(InnerProduct::bilinear) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  Outcome complete_setup(Outcome outcome) override {
    outcome = this->with_operator_warning(std::move(outcome), AppliedOperator::symmetric);
    if (product_ == InnerProduct::bilinear) return outcome;
    return require_hermitian(this->matrix(), std::move(outcome), Status::not_spd, "cocr");
  }

  [[nodiscard]] double reduction_of_cycle() const {
    const SolverImplementation<T>* const named = this->named_preconditioner();
    return named != nullptr && named->traits().leaves_floats ? 1e-4 : 0;
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    if (this->preconditioned()) this->precondition(v, v.r.data(), v.z.data());
    v.backend.fill(v.n, T{0}, v.p.data());
    v.backend.fill(v.n, T{0}, v.q.data());
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    IterationStateOf<Dot<T>>* const state = v.state();
    T* const z = this->preconditioned() ? v.z.data() : v.r.data();
    this->apply_operator(v, z, v.w.data());
    v.backend.reduce(v.n, InnerProductOf<T>{product_, z, v.w.data()},
                     SetResidualBeta<Dot<T>>{state, product_});
    v.backend.for_each(v.n, UpdateDirections<T>{state, z, v.w.data(), v.p.data(), v.q.data()});
    const T* const t = this->precondition(v, v.q.data(), v.t.data());
    v.backend.reduce(v.n, InnerProductOf<T>{product_, v.q.data(), t},
                     SetResidualStep<Dot<T>>{state, product_});
    v.backend.reduce(v.n, AdvanceResiduals<T>{state, v.p.data(), v.q.data(), t, x, v.r.data(), z},
                     RecordReduction<Dot<T>>{state, reduction_of_cycle()});
  }

  InnerProduct product_ = InnerProduct::sesquilinear;
};

}  // namespace

template <>
struct MethodWith<CrOptions> {
  template <class B, class T>
  using Type = ConjugateResiduals<B, T>;
};
template <>
struct MethodWith<CocrOptions> {
  template <class B, class T>
  using Type = ConjugateResiduals<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                         \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,     \
                                                                                    const CrOptions&); \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&,     \
                                                                                    const CocrOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

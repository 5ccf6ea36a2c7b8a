// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate residuals with a preconditioner M, from z = M^-1 r, p = 0 and q = A p = 0:
///
///   w = A z,   rho = (z, w)
///   p = z + beta p,   q = w + beta q,   beta = rho / rho_old,   0 in the first step
///   t = M^-1 q,   alpha = rho / (q, t)
///   x += alpha p,   r -= alpha q,   z -= alpha t
///
/// The directions q are orthogonal in the inner product of M^-1. z is computed as M^-1 r every few steps, as
/// rounding errors of M^-1, which may be computed in float, add up in its recurrence.
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/cr.hpp>

#include <cmath>

namespace echelon {

namespace {

/// Phase after the computation of a scalar that is positive for symmetric positive definite A and M. After
/// some steps, rounding errors may be the cause, and the next cycle shows whether they are.
ECHELON_ANYWHERE Phase phase_of_scalar(double must_be_positive, std::int64_t steps) {
  if (must_be_positive > 0) return Phase::running;
  if (!(must_be_positive <= 0)) return Phase::diverged;  // NaN
  return steps > 0 ? Phase::restart : Phase::not_spd;
}

/// beta = rho / rho_old, 0 in the first step after a (re)start.
struct SetResidualBeta {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum z_w) const {
    if (!state->running()) return;
    state->phase = phase_of_scalar(z_w.value, state->inner);
    state->beta = state->inner > 0 ? z_w.value / state->rho : 0;
    state->rho = z_w.value;
  }
};

/// p = z + beta p, q = w + beta q.
template <class T>
struct UpdateDirections {
  const IterationState* state;
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
struct SetResidualStep {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum q_t) const {
    if (!state->running()) return;
    state->phase = phase_of_scalar(q_t.value, state->inner);
    state->alpha = state->rho / q_t.value;
  }
};

/// x += alpha p, r -= alpha q, and z -= alpha t if z is not r; contributes to (r, r).
template <class T>
struct AdvanceResiduals {
  IterationState* state;
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
    const double value = static_cast<double>(r[i]);
    return {value * value};
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
    Array<T> p, q, w;        // direction, A p, A z
    Array<T> z, t;           // M^-1 r, M^-1 q
    std::int64_t steps = 0;  // queued since the (re)start
  };
  /// Steps after which z is computed anew.
  static constexpr std::int64_t steps_by_recurrence = 10;

 public:
  ConjugateResiduals(const Device& device, const CrOptions& options) : Base(device, options.stop) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  Outcome setup(const MatrixRef<T>& A) override {
    return this->with_operator_warning(Base::setup(A), AppliedOperator::symmetric);
  }
  Outcome update_values(const MatrixRef<T>& A) override {
    return this->with_operator_warning(Base::update_values(A), AppliedOperator::symmetric);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    v.steps = 0;
    v.backend.fill(v.n, T{0}, v.p.data());
    v.backend.fill(v.n, T{0}, v.q.data());
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    IterationState* const state = v.state();
    T* const z = this->preconditioned() ? v.z.data() : v.r.data();
    if (this->preconditioned() && v.steps++ % steps_by_recurrence == 0) this->precondition(v, v.r.data(), z);
    this->apply_operator(v, z, v.w.data());
    v.backend.reduce(v.n, Product<T>{z, v.w.data()}, SetResidualBeta{state});
    v.backend.for_each(v.n, UpdateDirections<T>{state, z, v.w.data(), v.p.data(), v.q.data()});
    const T* const t = this->precondition(v, v.q.data(), v.t.data());
    v.backend.reduce(v.n, Product<T>{v.q.data(), t}, SetResidualStep{state});
    v.backend.reduce(v.n, AdvanceResiduals<T>{state, v.p.data(), v.q.data(), t, x, v.r.data(), z},
                     RecordResidual{state});
  }
};

}  // namespace

template <>
struct MethodWith<CrOptions> {
  template <class B, class T>
  using Type = ConjugateResiduals<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const CrOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const CrOptions&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration.hpp"

#include <echelon/methods/cg.hpp>

#include <cmath>

namespace echelon {

namespace {

/// What a scalar that must be positive says when it is not.
ECHELON_ANYWHERE Phase phase_of(double must_be_positive) {
  if (must_be_positive > 0) return Phase::running;
  return must_be_positive <= 0 ? Phase::not_spd : Phase::diverged;  // NaN
}

/// alpha = (r, z) / (p, A p).
struct ChooseStepLength {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum p_q) const {
    if (!state->running()) return;
    state->phase = phase_of(p_q.value);
    state->alpha = state->rho / p_q.value;
  }
};

/// x += alpha p, r -= alpha q; contributes to (r, r).
template <class T>
struct Advance {
  IterationState* state;
  const T* p;
  const T* q;
  T* x;
  T* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const T alpha = static_cast<T>(state->alpha);
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    return {static_cast<double>(r[i]) * static_cast<double>(r[i])};
  }
};

/// rho = (r, z).
struct SetRho {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    state->rho = r_z.value;
    state->phase = phase_of(r_z.value);
  }
};

/// beta = (r, z) new / old.
struct ChooseDirection {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum r_z) const {
    if (!state->running()) return;
    state->phase = phase_of(r_z.value);
    state->beta = r_z.value / state->rho;
    state->rho = r_z.value;
  }
};

/// Notes ||r||; without a preconditioner, (r, r) is (r, z).
struct FinishStep {
  IterationState* state;
  bool preconditioned;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (!state->running()) return;
    state->record(std::sqrt(r_r.value));
    if (!preconditioned) ChooseDirection{state}(r_r);
  }
};

/// p = z + beta p.
template <class T>
struct Turn {
  const IterationState* state;
  const T* z;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { p[i] = z[i] + static_cast<T>(state->beta) * p[i]; }
};

template <class B, class T>
class ConjugateGradients final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::Space;

  struct Vectors : Space {
    Vectors(const Device& device, std::int64_t size, bool preconditioned)
        : Space(device, size), z(device, preconditioned ? size : 0), p(device, size), q(device, size) {}
    [[nodiscard]] std::size_t bytes() const override {
      return Space::bytes() + z.bytes() + p.bytes() + q.bytes();
    }
    Array<T> z, p, q;
  };

 public:
  ConjugateGradients(const Device& device, const CgOptions& options) : Base(device, options.stop) {
    this->nest(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->equip(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  /// p = z = M^-1 r, rho = (r, z).
  void start(Space& space, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(space);
    const T* z = preconditioned_residual(v);
    v.backend.copy(v.n, z, v.p.data());
    v.backend.reduce(v.n, Product<T>{v.r.data(), z}, SetRho{v.state()});
  }

  void step(Space& space, const T* /*b*/, T* x) const override {
    auto& v = static_cast<Vectors&>(space);
    multiply(v.backend, T{1}, this->matrix(), v.p.data(), T{0}, v.q.data());
    v.backend.reduce(v.n, Product<T>{v.p.data(), v.q.data()}, ChooseStepLength{v.state()});
    v.backend.reduce(v.n, Advance<T>{v.state(), v.p.data(), v.q.data(), x, v.r.data()},
                     FinishStep{v.state(), this->preconditioned()});
    const T* z = preconditioned_residual(v);
    if (this->preconditioned()) {
      v.backend.reduce(v.n, Product<T>{v.r.data(), z}, ChooseDirection{v.state()});
    }
    v.backend.for_each(v.n, Turn<T>{v.state(), z, v.p.data()});
  }

  const T* preconditioned_residual(Vectors& v) const {
    if (!this->preconditioned()) return v.r.data();
    this->precondition(v, v.r.data(), v.z.data());
    return v.z.data();
  }
};

}  // namespace

template <>
struct MethodWith<CgOptions> {
  template <class B, class T>
  using Type = ConjugateGradients<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const CgOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const CgOptions&);

}  // namespace echelon

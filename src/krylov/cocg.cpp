// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate orthogonal conjugate gradients for A = A^T, with a preconditioner M = M^T:
///
///   z = M^-1 r
///   p = z + beta p,   beta = r^T z / (r^T z)_old,   0 in the first step
///   q = A p
///   x += alpha p,     alpha = r^T z / p^T q
///   r -= alpha q
///
/// The products have no conjugates. For real matrices these are conjugate gradients; for others r^T z may
/// vanish before r does: a breakdown. H. A. van der Vorst and J. B. M. Melissen, IEEE Trans. Magn. 26 (1990).
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/krylov/cocg.hpp>

#include <support/scalar_list.hpp>

#include <cmath>
#include <utility>

namespace echelon {

namespace {

/// x_i y_i, a term of x^T y.
template <class T>
struct BilinearProduct {
  const T* x;
  const T* y;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const {
    return {static_cast<Dot<T>>(x[i]) * static_cast<Dot<T>>(y[i])};
  }
};

/// beta = r^T z / (r^T z)_old; `first`: 0.
template <class S>
struct SetBilinearBeta {
  IterationStateOf<S>* state;
  bool first;
  ECHELON_ANYWHERE void operator()(SumOf<S> r_z) const {
    if (!state->running()) return;
    if (r_z.value == S{0}) state->phase = Phase::breakdown;
    state->beta = first ? S{0} : r_z.value / state->rho;
    state->rho = r_z.value;
  }
};

/// p = z + beta p; `first`: p = z.
template <class T>
struct SetBilinearDirection {
  const IterationStateOf<Dot<T>>* state;
  bool first;
  const T* z;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) p[i] = first ? z[i] : z[i] + static_cast<T>(state->beta) * p[i];
  }
};

/// alpha = r^T z / p^T q.
template <class S>
struct SetBilinearAlpha {
  IterationStateOf<S>* state;
  ECHELON_ANYWHERE void operator()(SumOf<S> p_q) const {
    if (!state->running()) return;
    if (p_q.value == S{0}) state->phase = Phase::breakdown;
    state->alpha = state->rho / p_q.value;
  }
};

/// x += alpha p, r -= alpha q; contributes to (r, r).
template <class T>
struct AdvanceBilinear {
  const IterationStateOf<Dot<T>>* state;
  const T* p;
  const T* q;
  T* x;
  T* r;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const T alpha = static_cast<T>(state->alpha);
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
    return {squared_magnitude(r[i])};
  }
};

template <class B, class T>
class ConjugateOrthogonalGradients final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, bool preconditioned)
        : SolveWorkspace(device, size),
          p(device, size),
          q(device, size),
          z(device, preconditioned ? size : 0) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + p.bytes() + q.bytes() + z.bytes();
    }
    Array<T> p, q, z;
    bool first = true;  // of the steps since the (re)start
  };

 public:
  ConjugateOrthogonalGradients(const Device& device, const CocgOptions& options)
      : Base(device, options.stop) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), this->preconditioned()));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  Outcome complete_setup(Outcome outcome) override {
    return this->with_operator_warning(std::move(outcome), AppliedOperator::symmetric);
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    static_cast<Vectors&>(workspace).first = true;
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* x) const override {
    auto& w = static_cast<Vectors&>(workspace);
    IterationStateOf<Dot<T>>* const state = w.state();
    const bool first = std::exchange(w.first, false);
    const T* const z = this->precondition(w, w.r.data(), w.z.data());
    w.backend.reduce(w.n, BilinearProduct<T>{w.r.data(), z}, SetBilinearBeta<Dot<T>>{state, first});
    w.backend.for_each(w.n, SetBilinearDirection<T>{state, first, z, w.p.data()});
    this->apply_operator(w, w.p.data(), w.q.data());
    w.backend.reduce(w.n, BilinearProduct<T>{w.p.data(), w.q.data()}, SetBilinearAlpha<Dot<T>>{state});
    w.backend.reduce(w.n, AdvanceBilinear<T>{state, w.p.data(), w.q.data(), x, w.r.data()},
                     RecordResidual{state});
  }
};

}  // namespace

template <>
struct MethodWith<CocgOptions> {
  template <class B, class T>
  using Type = ConjugateOrthogonalGradients<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const CocgOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

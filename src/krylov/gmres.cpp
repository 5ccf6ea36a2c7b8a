// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration.hpp"

#include <echelon/methods/gmres.hpp>

#include <algorithm>
#include <cmath>

namespace echelon {

namespace {

/// The small least-squares problem min ||g - H y||, kept triangular by Givens rotations. Column j of H is at
/// h + j * (restart + 1).
struct LeastSquares {
  double* h;
  double* cosine;
  double* sine;
  double* g;
  double* y;
  std::int64_t restart;
};

/// The first basis vector's length.
struct SetLength {
  IterationState* state;
  LeastSquares small;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    state->beta = std::sqrt(r_r.value);
    small.g[0] = state->beta;
  }
};

/// v = w / beta.
template <class T>
struct Normalise {
  const IterationState* state;
  const T* w;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) v[i] = static_cast<T>(static_cast<double>(w[i]) / state->beta);
  }
};

/// Column `inner` of H from both passes of Gram-Schmidt and the remaining length of w: rotates it, and the
/// last element of g is the new residual norm.
template <class T>
struct FinishStep {
  IterationState* state;
  LeastSquares small;
  const T* first;   // V^T w
  const T* second;  // V^T (w - V V^T w)
  ECHELON_ANYWHERE void operator()(Sum w_w) const {
    if (!state->running()) return;
    const std::int64_t j = state->inner;
    double* h = small.h + j * (small.restart + 1);
    for (std::int64_t i = 0; i <= j; ++i)
      h[i] = static_cast<double>(first[i]) + static_cast<double>(second[i]);
    for (std::int64_t i = 0; i < j; ++i) {
      const double upper = small.cosine[i] * h[i] + small.sine[i] * h[i + 1];
      h[i + 1] = small.cosine[i] * h[i + 1] - small.sine[i] * h[i];
      h[i] = upper;
    }
    const double length = std::sqrt(w_w.value);
    const double diagonal = std::sqrt(h[j] * h[j] + w_w.value);
    small.cosine[j] = diagonal > 0 ? h[j] / diagonal : 1;
    small.sine[j] = diagonal > 0 ? length / diagonal : 0;
    h[j] = diagonal;
    small.g[j + 1] = -small.sine[j] * small.g[j];
    small.g[j] *= small.cosine[j];
    state->beta = length;
    state->record(std::fabs(small.g[j + 1]));
    if (!state->running()) return;
    if (diagonal == 0 || length == 0)
      state->phase = Phase::breakdown;
    else if (state->inner == small.restart)
      state->phase = Phase::restart;
  }
};

/// Solves H y = g for the steps taken.
template <class T>
struct SolveTriangle {
  const IterationState* state;
  LeastSquares small;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    for (std::int64_t i = state->inner - 1; i >= 0; --i) {
      double sum = small.g[i];
      for (std::int64_t k = i + 1; k < state->inner; ++k) {
        sum -= small.h[k * (small.restart + 1) + i] * small.y[k];
      }
      const double diagonal = small.h[i * (small.restart + 1) + i];
      small.y[i] = diagonal != 0 ? sum / diagonal : 0;
      y[i] = static_cast<T>(small.y[i]);
    }
  }
};

template <class T>
struct Add {
  const T* z;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += z[i]; }
};

template <class B, class T>
class GeneralisedMinimalResiduals final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::Space;

  struct Vectors : Space {
    Vectors(const Device& device, std::int64_t size, std::int64_t restart, std::int64_t kept)
        : Space(device, size),
          basis(device, size, restart + 1),
          preconditioned(device, size, kept),
          update(device, size),
          first(device, restart + 1),
          second(device, restart + 1),
          small(device, (restart + 1) * (restart + 4)) {}
    [[nodiscard]] std::size_t bytes() const override {
      return Space::bytes() + basis.bytes() + preconditioned.bytes() + update.bytes() + small.bytes();
    }
    Dense<T> basis;           // V
    Dense<T> preconditioned;  // Z = M^-1 V: all columns when flexible, else the current one
    Array<T> update;          // V y
    Array<T> first, second;   // coefficients of the two Gram-Schmidt passes, then y
    Array<double> small;
    std::int64_t column = 0;  // steps queued since the (re)start
  };

 public:
  GeneralisedMinimalResiduals(const Device& device, const GmresOptions& options)
      : Base(device, options.stop), restart_(options.restart), flexible_(options.flexible) {
    this->nest(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    const std::int64_t n = this->matrix().rows();
    const std::int64_t kept = !this->preconditioned() ? 0 : flexible_ ? restart(n) : 1;
    return this->equip(std::make_unique<Vectors>(this->device(), n, restart(n), kept));
  }

 private:
  /// A basis of n vectors is complete.
  [[nodiscard]] std::int64_t restart(std::int64_t n) const {
    return std::max<std::int64_t>(1, std::min(restart_, n));
  }

  LeastSquares least_squares(Vectors& v) const {
    const std::int64_t m = restart(v.n);
    double* h = v.small.data();
    double* rest = h + m * (m + 1);
    return {h, rest, rest + (m + 1), rest + 2 * (m + 1), rest + 3 * (m + 1), m};
  }

  void start(Space& space, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(space);
    v.column = 0;
    v.backend.reduce(v.n, Product<T>{v.r.data(), v.r.data()}, SetLength{v.state(), least_squares(v)});
    v.backend.for_each(v.n, Normalise<T>{v.state(), v.r.data(), v.basis.data()});
  }

  void step(Space& space, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(space);
    const std::int64_t j = v.column;
    if (j == restart(v.n)) return;
    ++v.column;
    const DenseView<const T> V(v.basis.data(), v.n, j + 1, v.basis.leading(), v.basis.device());
    T* w = v.basis.view().column(j + 1);
    multiply(v.backend, T{1}, this->matrix(), preconditioned_direction(v, j), T{0}, w);
    for (Array<T>* coefficients : {&v.first, &v.second}) {  // once is not enough for orthogonality
      multiply_transposed(v.backend, T{1}, V, w, T{0}, coefficients->data());
      multiply(v.backend, T{-1}, MatrixRef<T>(V), coefficients->data(), T{1}, w);
    }
    v.backend.reduce(v.n, Product<T>{w, w},
                     FinishStep<T>{v.state(), least_squares(v), v.first.data(), v.second.data()});
    v.backend.for_each(v.n, Normalise<T>{v.state(), w, w});
  }

  const T* preconditioned_direction(Vectors& v, std::int64_t j) const {
    const T* direction = v.basis.view().column(j);
    if (!this->preconditioned()) return direction;
    T* z = v.preconditioned.view().column(flexible_ ? j : 0);
    this->precondition(v, direction, z);
    return z;
  }

  /// x += M^-1 V y, or Z y when the preconditioned vectors were kept.
  void finish(Space& space, T* x) const override {
    auto& v = static_cast<Vectors&>(space);
    const std::int64_t steps = v.seen.inner;
    if (steps == 0) return;
    T* y = v.first.data();
    v.backend.for_each(1, SolveTriangle<T>{v.state(), least_squares(v), y});
    const Dense<T>& vectors = this->preconditioned() && flexible_ ? v.preconditioned : v.basis;
    const DenseView<const T> taken(vectors.data(), v.n, steps, vectors.leading(), vectors.device());
    if (!this->preconditioned() || flexible_) {
      multiply(v.backend, T{1}, MatrixRef<T>(taken), y, T{1}, x);
      return;
    }
    multiply(v.backend, T{1}, MatrixRef<T>(taken), y, T{0}, v.update.data());
    T* z = v.preconditioned.data();
    this->precondition(v, v.update.data(), z);
    v.backend.for_each(v.n, Add<T>{z, x});
  }

  std::int64_t restart_;
  bool flexible_;
};

}  // namespace

template <>
struct MethodWith<GmresOptions> {
  template <class B, class T>
  using Type = GeneralisedMinimalResiduals<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<ThisTarget>(const Device&,
                                                                                      const GmresOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<ThisTarget>(const Device&,
                                                                                       const GmresOptions&);

}  // namespace echelon

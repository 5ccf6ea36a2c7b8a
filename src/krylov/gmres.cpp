// SPDX-License-Identifier: BSD-3-Clause
/// Restarted generalised minimal residuals with a preconditioner M from the right, from v_1 = r / ||r||:
///
///   z_j = M^-1 v_j,   w = A z_j
///   h_ij = (v_i, w),   w -= sum_i h_ij v_i,   twice
///   h_(j+1)j = ||w||,   v_(j+1) = w / h_(j+1)j
///   y minimises the norm of ||r|| e_1 - H y, with H = Q R by a rotation in each step
///   x += M^-1 V y at the end of a cycle; flexible: x += Z y
///
/// Y. Saad and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7 (1986); flexible: Y. Saad, SIAM J. Sci. Comput. 14
/// (1993).
#include "krylov/restart.hpp"
#include "linalg/spmv/adjoint.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/instantiate.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/methods/gmres.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace echelon {

namespace {

/// The small least-squares problem min ||g - H y||, kept triangular by Givens rotations. Column j of H is at
/// h + j * (restart + 1).
template <class S>
struct LeastSquaresArrays {
  S* h;
  S* cosine;
  S* sine;  ///< real
  S* g;
  S* y;
  std::int64_t restart;
};

/// Norm of the residual, the length of the first basis vector.
template <class S>
struct SetLength {
  IterationStateOf<S>* state;
  LeastSquaresArrays<S> small;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    state->beta = S{std::sqrt(r_r.value)};
    small.g[0] = state->beta;
  }
};

/// v = w / beta.
template <class T>
struct Normalise {
  const IterationStateOf<Dot<T>>* state;
  const T* w;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) v[i] = static_cast<T>(static_cast<Dot<T>>(w[i]) / real(state->beta));
  }
};

/// Completes column `inner` of H from both passes of Gram-Schmidt and the remaining norm of w, and applies
/// the rotations (conj(c), s; -s, c), whose s is real; the last element of g is the new residual norm.
template <class T>
struct FinishOrthogonalization {
  using S = Dot<T>;
  IterationStateOf<S>* state;
  LeastSquaresArrays<S> small;
  const T* first;   // V^H w
  const T* second;  // V^H (w - V V^H w)
  ECHELON_ANYWHERE void operator()(Sum w_w) const {
    if (!state->running()) return;
    const std::int64_t j = state->inner;
    S* h = small.h + j * (small.restart + 1);
    for (std::int64_t i = 0; i <= j; ++i) h[i] = static_cast<S>(first[i]) + static_cast<S>(second[i]);
    for (std::int64_t i = 0; i < j; ++i) {
      const S upper = conj(small.cosine[i]) * h[i] + small.sine[i] * h[i + 1];
      h[i + 1] = small.cosine[i] * h[i + 1] - small.sine[i] * h[i];
      h[i] = upper;
    }
    const double length = std::sqrt(w_w.value);
    const double diagonal = std::sqrt(squared_magnitude(h[j]) + w_w.value);
    small.cosine[j] = diagonal > 0 ? h[j] / diagonal : S{1};
    small.sine[j] = S{diagonal > 0 ? length / diagonal : 0};
    h[j] = S{diagonal};
    small.g[j + 1] = -small.sine[j] * small.g[j];
    small.g[j] *= conj(small.cosine[j]);
    state->beta = S{length};
    state->record(magnitude(small.g[j + 1]));
    if (!state->running()) return;
    if (diagonal == 0 || length == 0)
      state->phase = Phase::breakdown;
    else if (state->inner == small.restart)
      state->phase = Phase::restart;
  }
};

/// Solves H y = g for the steps taken. A column that depends on those before it up to rounding errors, as at
/// a breakdown with a singular A M^-1, has no part in the solution.
template <class T>
struct SolveTriangle {
  using S = Dot<T>;
  static constexpr double unit_roundoff = std::numeric_limits<Real<T>>::epsilon() / 2;
  const IterationStateOf<S>* state;
  LeastSquaresArrays<S> small;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    for (std::int64_t i = state->inner - 1; i >= 0; --i) {
      S sum = small.g[i];
      for (std::int64_t k = i + 1; k < state->inner; ++k) {
        sum -= small.h[k * (small.restart + 1) + i] * small.y[k];
      }
      const S* column = small.h + i * (small.restart + 1);
      double squares = 0;
      for (std::int64_t k = 0; k <= i; ++k) squares += squared_magnitude(column[k]);
      small.y[i] = magnitude(column[i]) > unit_roundoff * std::sqrt(squares) ? sum / column[i] : S{0};
      y[i] = static_cast<T>(small.y[i]);
    }
  }
};

/// The number of magnitude 1, or 1 itself, whose difference from `sum` is largest.
template <class S>
ECHELON_ANYWHERE S opposite_sign(S sum) {
  if constexpr (is_complex<S>) {
    const double size = magnitude(sum);
    return size > 0 ? -sum / size : S{1};
  } else {
    return sum > 0 ? -1 : 1;
  }
}

/// A unit vector y for which ||A M^-1 V y|| = ||R y|| is small, with R the triangular factor of H: from
/// R^H w = (+-1, ..., +-1) with the signs that make w grow, and R y = w (Cline, Moler, Stewart and Wilkinson,
/// SIAM J. Numer. Anal. 16, 1979). Leaves ||y|| / ||R y|| as the inverse norm of A M^-1, and its condition.
template <class T>
struct EstimateCondition {
  using S = Dot<T>;
  IterationStateOf<S>* state;
  LeastSquaresArrays<S> small;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    const std::int64_t k = state->inner;
    const std::int64_t leading = small.restart + 1;
    S* w = small.y;
    double largest_column = 0;
    double w_norm = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const S* column = small.h + j * leading;
      if (column[j] == S{0}) return;
      S sum = 0;
      double squares = squared_magnitude(column[j]);
      for (std::int64_t i = 0; i < j; ++i) {
        sum += conj(column[i]) * w[i];
        squares += squared_magnitude(column[i]);
      }
      w[j] = (opposite_sign(sum) - sum) / column[j];
      w_norm += squared_magnitude(w[j]);
      if (squares > largest_column) largest_column = squares;
    }
    w_norm = std::sqrt(w_norm);
    double y_norm = 0;
    for (std::int64_t i = k - 1; i >= 0; --i) {
      S sum = w[i] / w_norm;
      for (std::int64_t j = i + 1; j < k; ++j) sum -= small.h[j * leading + i] * w[j];
      w[i] = sum / small.h[i * leading + i];
      y_norm += squared_magnitude(w[i]);
    }
    y_norm = std::sqrt(y_norm);
    for (std::int64_t i = 0; i < k; ++i) y[i] = static_cast<T>(w[i] / y_norm);
    state->inverse_norm = y_norm;
    state->condition = std::sqrt(largest_column) * y_norm;
  }
};

/// The square of an element times a power of two.
template <class T>
struct SquareOfScaled {
  const T* z;
  double scale;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    return {squared_magnitude(scale * static_cast<Dot<T>>(z[i]))};
  }
};

/// ||A^-1|| >= ||M^-1 V y|| / ||A M^-1 V y||.
template <class S>
struct FinishInverseNorm {
  IterationStateOf<S>* state;
  double scale;
  ECHELON_ANYWHERE void operator()(Sum z_z) const { state->inverse_norm *= std::sqrt(z_z.value) / scale; }
};

template <class B, class T>
class GeneralisedMinimalResiduals final : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;
  using typename Base::SolveWorkspace;

  struct Vectors : SolveWorkspace {
    Vectors(const Device& device, std::int64_t size, std::int64_t cycle, std::int64_t kept)
        : SolveWorkspace(device, size),
          restart(cycle),
          basis(device, size, cycle + 1),
          preconditioned(device, size, kept),
          update(device, size),
          first(device, cycle + 1),
          second(device, cycle + 1),
          small(device, (cycle + 1) * (cycle + 4)) {}
    [[nodiscard]] std::size_t bytes() const override {
      return SolveWorkspace::bytes() + basis.bytes() + preconditioned.bytes() + update.bytes() +
             small.bytes();
    }
    std::int64_t restart;
    Dense<T> basis;           // V
    Dense<T> preconditioned;  // Z = M^-1 V: all columns when flexible, else the current one
    Array<T> update;          // V y
    Array<T> first, second;   // coefficients of the two Gram-Schmidt passes, then y
    Array<Dot<T>> small;
    std::int64_t column = 0;  // steps queued since the (re)start

    LeastSquaresArrays<Dot<T>> least_squares() {
      Dot<T>* h = small.data();
      Dot<T>* cosine = h + restart * (restart + 1);
      return {h,      cosine, cosine + (restart + 1), cosine + 2 * (restart + 1), cosine + 3 * (restart + 1),
              restart};
    }
    /// The first `steps` vectors whose combination corrects x, or with a fixed preconditioner M x.
    [[nodiscard]] DenseView<const T> directions(std::int64_t steps, bool flexible) const {
      const Dense<T>& vectors = flexible ? preconditioned : basis;
      return DenseView<const T>(vectors.data(), vectors.rows(), steps, vectors.leading(), vectors.device());
    }
  };

 public:
  GeneralisedMinimalResiduals(const Device& device, const GmresOptions& options)
      : Base(device, options.stop), restart_(options.restart), flexible_asked_(options.flexible) {
    this->make_preconditioner(options.preconditioner, options.preconditioner_options);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    const std::int64_t kept = !this->preconditioned() ? 0 : flexible() ? restart_in_use_ : 1;
    return this->complete_workspace(
        std::make_unique<Vectors>(this->device(), this->matrix().rows(), restart_in_use_, kept));
  }

 private:
  [[nodiscard]] bool supports_scaling() const override { return true; }
  [[nodiscard]] bool flexible() const {
    return flexible_asked_ || this->preconditioner_operator() == AppliedOperator::varying;
  }
  [[nodiscard]] bool keeps_preconditioned() const { return this->preconditioned() && flexible(); }

  /// Shortens the basis to what fits into memory; n vectors always suffice.
  Outcome complete_setup(Outcome outcome) override {
    const std::int64_t n = this->matrix().rows();
    const std::int64_t complete = std::max<std::int64_t>(1, std::min(restart_, n));
    const std::size_t vector_bytes = static_cast<std::size_t>(n) * sizeof(T);
    restart_in_use_ =
        affordable_restart(complete, vector_bytes, keeps_preconditioned(), memory(this->device()).available);
    if (restart_in_use_ < complete) {
      outcome.warnings.push_back("restart is " + std::to_string(restart_in_use_) + " instead of " +
                                 std::to_string(complete) + ", for which memory does not suffice");
    }
    return outcome;
  }

  void start(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    v.column = 0;
    v.backend.reduce(v.n, SquaredMagnitude<const T*>{v.r.data()},
                     SetLength<Dot<T>>{v.state(), v.least_squares()});
    v.backend.for_each(v.n, Normalise<T>{v.state(), v.r.data(), v.basis.data()});
  }

  void step(SolveWorkspace& workspace, const T* /*b*/, T* /*x*/) const override {
    auto& v = static_cast<Vectors&>(workspace);
    const std::int64_t j = v.column;
    if (j == v.restart) return;
    ++v.column;
    const DenseView<const T> V(v.basis.data(), v.n, j + 1, v.basis.leading(), v.basis.device());
    T* w = v.basis.view().column(j + 1);
    this->apply_operator(v, preconditioned_direction(v, j), w);
    for (Array<T>* coefficients : {&v.first, &v.second}) {  // one pass does not ensure orthogonality
      multiply_adjoint(v.backend, T{1}, V, w, T{0}, coefficients->data());
      multiply(v.backend, T{-1}, MatrixRef<T>(V), coefficients->data(), T{1}, w);
    }
    v.backend.reduce(
        v.n, SquaredMagnitude<const T*>{w},
        FinishOrthogonalization<T>{v.state(), v.least_squares(), v.first.data(), v.second.data()});
    v.backend.for_each(v.n, Normalise<T>{v.state(), w, w});
  }

  const T* preconditioned_direction(Vectors& v, std::int64_t j) const {
    const T* direction = v.basis.view().column(j);
    if (!this->preconditioned()) return direction;
    T* z = v.preconditioned.view().column(flexible() ? j : 0);
    this->precondition(v, direction, z);
    return z;
  }

  /// x += M^-1 V y, or Z y when the preconditioned vectors were kept.
  void finish(SolveWorkspace& workspace, T* x) const override {
    auto& v = static_cast<Vectors&>(workspace);
    const std::int64_t steps = v.host_state.inner;
    if (steps == 0) return;
    T* y = v.first.data();
    v.backend.for_each(1, SolveTriangle<T>{v.state(), v.least_squares(), y});
    const MatrixRef<T> directions(v.directions(steps, keeps_preconditioned()));
    if (!this->preconditioned() || flexible()) {
      multiply(v.backend, T{1}, directions, y, T{1}, x);
      return;
    }
    multiply(v.backend, T{1}, directions, y, T{0}, v.update.data());
    T* z = v.preconditioned.data();
    this->precondition(v, v.update.data(), z);
    v.backend.for_each(v.n, AddVectors<T>{x, z, x});
  }

  /// Estimates the condition number. Costs a combination of the basis and an application of the
  /// preconditioner.
  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    auto& v = static_cast<Vectors&>(workspace);
    const std::int64_t steps = v.host_state.inner;
    if (steps == 0) return;
    T* y = v.first.data();
    v.backend.for_each(1, EstimateCondition<T>{v.state(), v.least_squares(), y});
    if (this->preconditioned()) {
      const double scale = std::ldexp(1.0, v.scale.preconditioned);
      const T* z = v.update.data();
      multiply(v.backend, T{1}, MatrixRef<T>(v.directions(steps, flexible())), y, T{0}, v.update.data());
      if (!flexible()) {
        this->precondition(v, z, v.preconditioned.data());
        z = v.preconditioned.data();
      }
      v.backend.reduce(v.n, SquareOfScaled<T>{z, scale}, FinishInverseNorm<Dot<T>>{v.state(), scale});
    }
    const IterationStateOf<Dot<T>> estimated = v.backend.read(v.state());
    this->add_condition(v, estimated.inverse_norm, estimated.condition, job);
  }

  std::int64_t restart_;
  std::int64_t restart_in_use_ = 1;
  bool flexible_asked_;
};

}  // namespace

template <>
struct MethodWith<GmresOptions> {
  template <class B, class T>
  using Type = GeneralisedMinimalResiduals<B, T>;
};

#define ECHELON_INSTANTIATE(T)                                                                     \
  template std::unique_ptr<SolverImplementation<T>> make_implementation<ThisTarget>(const Device&, \
                                                                                    const GmresOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

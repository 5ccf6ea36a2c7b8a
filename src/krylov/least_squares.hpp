// SPDX-License-Identifier: BSD-3-Clause
/// Common part of the methods for min ||b - A x||^2 + d^2 ||x||^2 with an m by n A: products with
///
///   C = [ A D ]   and C^H, for x = D y and the residual   c = [ b - A x ]
///       [ d D ]                                               [  -d x   ]
///
/// where D scales the columns of A to norm 1, or is I, and the lower part is there with d > 0 only; the
/// bidiagonalisation of Golub and Kahan, from beta u = c and alpha v = C^H u,
///
///   beta u = C v - alpha u,   alpha v = C^H u - beta v
///
/// with real alpha and beta, and the end of an iteration once ||C^H c|| <= rtol ||c||, by which x has the
/// least residual.
#pragma once

#include "linalg/vector/functors.hpp"
#include "matrix/rows.hpp"
#include "matrix/views/transposed_matrix.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::krylov {

ECHELON_ANYWHERE inline double reciprocal_or_zero(double value) {
  return value > 0 ? 1 / value : 0;
}

/// D_j = 1 / ||a_j||_2 for the column a_j of A, which is row j of A^T; 0 for a column of zeros.
template <class Rows, class T>
struct SetColumnScale {
  Rows transpose;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    double largest = 0;
    for (std::int64_t k = transpose.begin(j); k < transpose.end(j); ++k) {
      const double size = magnitude(transpose.value(j, k));
      if (size > largest) largest = size;
    }
    double squares = 0;
    for (std::int64_t k = transpose.begin(j); k < transpose.end(j) && largest > 0; ++k) {
      const double ratio = magnitude(transpose.value(j, k)) / largest;
      squares += ratio * ratio;
    }
    scale[j] = T{static_cast<Real<T>>(reciprocal_or_zero(std::sqrt(squares)) * reciprocal_or_zero(largest))};
  }
};

/// The lower part of C v, or with a negative d that of c: y = d x.
template <class T>
struct SetLowerPart {
  double damping;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    y[i] = static_cast<T>(damping * static_cast<Dot<T>>(x[i]));
  }
};

/// p = D (conj(p) + d u) for the lower part u, which is not read with d = 0.
template <class T>
struct FinishAdjointProduct {
  const T* scale;  ///< null: D = I
  double damping;
  const T* u;
  T* p;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    Dot<T> value = conj(static_cast<Dot<T>>(p[i]));
    if (damping > 0) value += damping * static_cast<Dot<T>>(u[i]);
    p[i] = static_cast<T>(scale == nullptr ? value : echelon::real(scale[i]) * value);
  }
};

/// basis = product - factor basis; contributes to its squared norm.
template <class T>
struct SubtractBasisVector {
  const IterationStateOf<Dot<T>>* state;
  const Dot<T>* factor;
  const T* product;
  T* basis;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    const Dot<T> value = static_cast<Dot<T>>(product[i]) - real(*factor) * static_cast<Dot<T>>(basis[i]);
    basis[i] = static_cast<T>(value);
    return {squared_magnitude(value)};
  }
};

/// x = x / norm, or 0 for a norm of zero.
template <class T>
struct DivideByNorm {
  const IterationStateOf<Dot<T>>* state;
  const Dot<T>* norm;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->running()) x[i] = static_cast<T>(static_cast<Dot<T>>(x[i]) * reciprocal_or_zero(real(*norm)));
  }
};

/// Stores the norm of a vector of the bidiagonalisation.
template <class S>
struct SetBasisNorm {
  const IterationStateOf<S>* state;
  S* norm;
  ECHELON_ANYWHERE void operator()(Sum squares) const {
    if (state->running()) *norm = S{std::sqrt(squares.value)};
  }
};

/// Norms of C^H c up to which x has the least residual, relative to ||c||.
struct NormalTolerance {
  double relative = 0;  ///< rtol times the norm of the smallest column of A D
  /// Ends the iteration if ||C^H c|| meets the tolerance.
  template <class S>
  ECHELON_ANYWHERE void test(IterationStateOf<S>& state, double normal, double residual) const {
    if (state.running() && normal <= relative * residual) state.phase = Phase::stationary;
  }
};

/// Memory of a solve: u, v, and products with C and C^H.
template <class B, class T>
struct BidiagonalVectors : IterationWorkspace<B, T> {
  BidiagonalVectors(const Device& device, std::int64_t rows, std::int64_t unknowns, bool damped)
      : IterationWorkspace<B, T>(device, rows, unknowns),
        length(damped ? rows + unknowns : rows),
        u(device, length),
        q(device, length),
        v(device, unknowns),
        p(device, unknowns),
        scaled(device, unknowns) {}
  [[nodiscard]] std::size_t bytes() const override {
    return IterationWorkspace<B, T>::bytes() + 2 * u.bytes() + 3 * v.bytes();
  }
  std::int64_t length;  ///< rows of C
  Array<T> u, q, v, p, scaled;
  double normal = std::numeric_limits<double>::infinity();  ///< ||C^H c|| at the last restart
};

template <class B, class T>
class LeastSquaresIteration : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;

 public:
  using typename Base::SolveWorkspace;

  LeastSquaresIteration(const Device& device, const Stop& stop, double damping, bool scale_columns)
      : Base(device, stop), damping_(damping), scales_columns_(scale_columns) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_operator() const override { return true; }
  [[nodiscard]] bool minimizes_residual() const override { return true; }
  [[nodiscard]] double damping() const override { return damping_; }
  [[nodiscard]] std::size_t bytes() const override { return transpose_.bytes() + scales_.bytes(); }

 protected:
  using Vectors = BidiagonalVectors<B, T>;

  Outcome complete_setup(Outcome outcome) override {
    const MatrixRef<T>& A = this->matrix();
    if (A.is_operator() && !A.linear_operator()->has_transpose())
      throw Error(this->name() + " needs products with the transpose: give the linear operator one");
    transpose_.form(A);
    scales_ = Array<T>();
    norm_of_column_ = 1;
    if (A.is_operator()) return outcome;
    B backend(this->device());
    scales_ = Array<T>(this->device(), A.columns());
    with_rows(transpose_.matrix(), [&](const auto& rows) {
      backend.for_each(A.columns(), SetColumnScale<std::decay_t<decltype(rows)>, T>{rows, scales_.data()});
    });
    backend.synchronize();
    if (scales_columns_ && A.rows() >= A.columns()) return outcome;
    double largest = 0;
    for (const T scale : scales_.to_vector()) largest = std::max(largest, echelon::real(scale));
    norm_of_column_ = reciprocal_or_zero(largest);
    scales_ = Array<T>();
    return outcome;
  }

  [[nodiscard]] bool is_damped() const { return damping_ > 0; }
  [[nodiscard]] const T* scales() const { return scales_.size() > 0 ? scales_.data() : nullptr; }
  [[nodiscard]] NormalTolerance normal_tolerance(const SolveWorkspace& workspace) const {
    const double rtol =
        workspace.control->rtol.value_or(this->stop()->relative_tolerance(std::is_same_v<Real<T>, float>));
    return {rtol * norm_of_column_};
  }

  /// q = C v.
  void multiply_by_c(Vectors& s, const T* v, T* q) const {
    const T* x = v;
    if (scales() != nullptr) {
      s.backend.for_each(s.columns, ScaleVector<T>{scales(), v, s.scaled.data()});
      x = s.scaled.data();
    }
    this->apply_operator(s, x, q);
    if (is_damped()) s.backend.for_each(s.columns, SetLowerPart<T>{damping_, x, q + s.n});
  }
  /// p = C^H u: A^H u is the conjugate of A^T conj(u), for which q is overwritten.
  void multiply_by_adjoint(Vectors& s, T* p) const {
    const T* u = s.u.data();
    if constexpr (is_complex<T>) {
      s.backend.for_each(s.n, ConjugateElement{u, s.q.data()});
      u = s.q.data();
    }
    multiply(s.backend, T{1}, transpose_.matrix(), u, T{0}, p);
    if (is_complex<T> || scales() != nullptr || is_damped())
      s.backend.for_each(s.columns, FinishAdjointProduct<T>{scales(), damping_, s.u.data() + s.n, p});
  }

  /// u = c, from the residual and x.
  void load_residual(Vectors& s, const T* x) const {
    s.backend.copy(s.n, s.r.data(), s.u.data());
    if (is_damped()) s.backend.for_each(s.columns, SetLowerPart<T>{-damping_, x, s.u.data() + s.n});
  }
  /// beta u = c, alpha v = C^H u; `finish` takes the square of alpha.
  template <class Finish>
  void begin_bidiagonalization(Vectors& s, const T* x, Finish finish) const {
    auto* const state = s.state();
    load_residual(s, x);
    s.backend.reduce(s.length, SquaredMagnitude{static_cast<const T*>(s.u.data())},
                     SetBasisNorm<Dot<T>>{state, &state->beta});
    s.backend.for_each(s.length, DivideByNorm<T>{state, &state->beta, s.u.data()});
    multiply_by_adjoint(s, s.v.data());
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.v.data())}, finish);
    s.backend.for_each(s.columns, DivideByNorm<T>{state, &state->alpha, s.v.data()});
  }
  /// beta u = C v - alpha u.
  void advance_u(Vectors& s) const {
    auto* const state = s.state();
    multiply_by_c(s, s.v.data(), s.q.data());
    s.backend.reduce(s.length, SubtractBasisVector<T>{state, &state->alpha, s.q.data(), s.u.data()},
                     SetBasisNorm<Dot<T>>{state, &state->beta});
    s.backend.for_each(s.length, DivideByNorm<T>{state, &state->beta, s.u.data()});
  }
  /// alpha v = C^H u - beta v, without the division by alpha; `finish` takes the square of alpha.
  template <class Finish>
  void advance_v(Vectors& s, Finish finish) const {
    auto* const state = s.state();
    multiply_by_adjoint(s, s.p.data());
    s.backend.reduce(s.columns, SubtractBasisVector<T>{state, &state->beta, s.p.data(), s.v.data()}, finish);
  }

  /// Whether C^H c of the true residual exceeds the tolerance, and falls from restart to restart.
  [[nodiscard]] bool falls_further(SolveWorkspace& workspace, const T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    load_residual(s, x);
    multiply_by_adjoint(s, s.p.data());
    const double normal = s.residual_check->vector(s.columns, s.p.data()).norm2;
    const double residual = s.residual_check->vector(s.length, s.u.data()).norm2;
    const double before = s.cycles == 1 ? std::numeric_limits<double>::infinity() : s.normal;
    s.normal = normal;
    return normal > normal_tolerance(s).relative * residual && is_progress(before, normal);
  }
  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    this->add_condition(workspace, workspace.host_state.inverse_norm, workspace.host_state.condition, job);
  }

 private:
  double damping_;
  bool scales_columns_;
  TransposedMatrix<T> transpose_;
  Array<T> scales_;            // the diagonal of D; empty: D = I
  double norm_of_column_ = 1;  // of A D, the smallest that is not zero
};

}  // namespace echelon::krylov

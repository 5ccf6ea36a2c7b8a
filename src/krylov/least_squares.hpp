// SPDX-License-Identifier: BSD-3-Clause
/// Common part of the methods for min ||b - A x||^2 + d^2 ||x||^2 with an m by n A: products with
///
///   C = [ A D ]   and C^H, for x = D y and the residual   c = [ b - A x ]
///       [ d D ]                                               [  -d x   ]
///
/// where D scales the columns of A to norm 1, or is I, and the lower part is there with d > 0 only, or with
/// C P and x = D P y for a preconditioner P (krylov/right_preconditioner.hpp); the bidiagonalisation of Golub
/// and Kahan, from beta u = c and alpha v = C^H u,
///
///   beta u = C v - alpha u,   alpha v = C^H u - beta v
///
/// with real alpha and beta, where beta u is kept in place of u, and the end of an iteration once ||C^H c||
/// <= rtol ||c||, by which x has the least residual.
#pragma once

#include "krylov/right_preconditioner.hpp"
#include "linalg/spmv/row_products.hpp"
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

/// basis = product_factor scale product - basis_factor basis, for scales that are 1 if they are null.
template <class T>
struct AdvanceBasis {
  double product_factor, basis_factor;
  const T* scale;
  T* basis;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T product) const {
    const double factor = scale == nullptr ? product_factor : product_factor * echelon::real(scale[i]);
    basis[i] =
        static_cast<T>(factor * static_cast<Dot<T>>(product) - basis_factor * static_cast<Dot<T>>(basis[i]));
  }
};
/// Factor of the beta u before.
template <class S>
ECHELON_ANYWHERE double factor_of_left(const IterationStateOf<S>& state) {
  return real(state.alpha) * reciprocal_or_zero(real(state.beta));
}
/// beta u = C v - alpha u; contributes to its squared norm.
template <class T>
struct AdvanceLeft {
  const IterationStateOf<Dot<T>>* state;
  const T* product;
  T* u;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    if (!state->running()) return {};
    AdvanceBasis<T>{1, factor_of_left(*state), nullptr, u}(i, product[i]);
    return {squared_magnitude(u[i])};
  }
};
/// alpha v = C^H u - beta v for the product C^H (beta u); contributes to its squared norm.
template <class T>
struct AdvanceRight {
  const IterationStateOf<Dot<T>>* state;
  const T* product;
  T* v;
  ECHELON_ANYWHERE Sum operator()(std::int64_t j) const {
    if (!state->running()) return {};
    const double beta = real(state->beta);
    AdvanceBasis<T>{reciprocal_or_zero(beta), beta, nullptr, v}(j, product[j]);
    return {squared_magnitude(v[j])};
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
    return IterationWorkspace<B, T>::bytes() + 2 * u.bytes() + 3 * v.bytes() + y.bytes();
  }
  std::int64_t length;  ///< rows of C
  Array<T> u, q, v, p, scaled;
  Array<T> y;                                               ///< with a preconditioner: x = x_start + D P y
  double normal = std::numeric_limits<double>::infinity();  ///< ||C^H c|| at the last restart
};

template <class B, class T>
class LeastSquaresIteration : public IterativeMethod<B, T> {
  using Base = IterativeMethod<B, T>;

 public:
  using typename Base::SolveWorkspace;

  LeastSquaresIteration(const Device& device, const Stop& stop) : Base(device, stop) {}
  /// O: options with `damping`, `scale_columns`, `preconditioner` and `seed`.
  template <class O>
  LeastSquaresIteration(const Device& device, const O& options)
      : Base(device, options.stop),
        damping_(options.damping),
        scales_columns_(options.scale_columns),
        kind_(options.preconditioner),
        seed_(options.seed) {}

  [[nodiscard]] bool takes_any_shape() const override { return true; }
  [[nodiscard]] bool takes_operator() const override { return true; }
  [[nodiscard]] bool minimizes_residual() const override { return true; }
  [[nodiscard]] double damping() const override { return damping_; }
  [[nodiscard]] std::size_t bytes() const override {
    return transpose_.bytes() + scales_.bytes() + (right_ ? right_->bytes() : 0);
  }

 protected:
  using Vectors = BidiagonalVectors<B, T>;

  Outcome complete_setup(Outcome outcome) override {
    const MatrixRef<T>& A = this->matrix();
    if (A.is_operator() && !A.linear_operator()->has_transpose())
      throw Error(this->name() + " needs products with the transpose: give the linear operator one");
    transpose_.form(A);
    set_column_scales(A);
    right_.reset();
    if (kind_ != LeastSquaresPreconditioner::none && outcome.ok()) return set_up_preconditioner(A);
    return outcome;
  }

  /// The vectors of a solve, as an object of the class Own of the method.
  template <class Own>
  [[nodiscard]] std::unique_ptr<Workspace> make_vectors() const {
    const std::int64_t n = this->matrix().columns();
    auto own = std::make_unique<Own>(this->device(), this->matrix().rows(), n, is_damped());
    Own& vectors = *own;
    auto workspace = this->complete_workspace(std::move(own));
    if (!right_) return workspace;
    vectors.y = Array<T>(this->device(), n);
    vectors.preconditioner = right_->make_workspace();
    return workspace;
  }

  [[nodiscard]] bool is_damped() const { return damping_ > 0; }
  [[nodiscard]] const T* scales() const { return scales_.size() > 0 ? scales_.data() : nullptr; }
  [[nodiscard]] NormalTolerance normal_tolerance(const SolveWorkspace& workspace) const {
    const double rtol =
        workspace.control->rtol.value_or(this->stop()->relative_tolerance(std::is_same_v<Real<T>, float>));
    return {rtol * norm_of_column_};
  }

  /// The vector that steps add to: x, or y with a preconditioner.
  [[nodiscard]] T* iterate(Vectors& s, T* x) const { return right_ ? s.y.data() : x; }
  /// The diagonal of D in x += D v, null for D = I and with a preconditioner.
  [[nodiscard]] const T* iterate_scales() const { return right_ ? nullptr : scales(); }

  /// q = C v. Returns D P v, which may be v.
  const T* multiply_by_c(Vectors& s, const T* v, T* q) const {
    const T* x = unprecondition(s, v);
    this->apply_operator(s, x, q);
    if (is_damped()) s.backend.for_each(s.columns, SetLowerPart<T>{damping_, x, q + s.n});
    return x;
  }
  /// p = C^H u: A^H u is the conjugate of A^T conj(u), for which q is overwritten.
  void multiply_by_adjoint(Vectors& s, T* result) const {
    T* const p = right_ ? s.scaled.data() : result;
    const T* u = s.u.data();
    if constexpr (is_complex<T>) {
      s.backend.for_each(s.n, ConjugateElement{u, s.q.data()});
      u = s.q.data();
    }
    multiply(s.backend, T{1}, transpose_.matrix(), u, T{0}, p);
    if (is_complex<T> || scales() != nullptr || is_damped())
      s.backend.for_each(s.columns, FinishAdjointProduct<T>{scales(), damping_, s.u.data() + s.n, p});
    if (right_) right_->apply_adjoint(s.backend, s.preconditioner.get(), p, result);
  }

  /// u = c, from the residual and x.
  void load_residual(Vectors& s, const T* x) const {
    s.backend.copy(s.n, s.r.data(), s.u.data());
    if (is_damped()) s.backend.for_each(s.columns, SetLowerPart<T>{-damping_, x, s.u.data() + s.n});
  }
  /// u = c, y = 0.
  void begin(Vectors& s, const T* x) const {
    load_residual(s, x);
    if (right_) s.backend.fill(s.columns, T{0}, s.y.data());
  }
  /// beta u = c, alpha v = C^H u; `finish` takes the square of alpha.
  template <class Finish>
  void begin_bidiagonalization(Vectors& s, const T* x, Finish finish) const {
    auto* const state = s.state();
    begin(s, x);
    s.backend.reduce(s.length, SquaredMagnitude{static_cast<const T*>(s.u.data())},
                     SetBasisNorm<Dot<T>>{state, &state->beta});
    multiply_by_adjoint(s, s.v.data());
    s.backend.for_each(s.columns, DivideByNorm<T>{state, &state->beta, s.v.data()});
    s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.v.data())}, finish);
    s.backend.for_each(s.columns, DivideByNorm<T>{state, &state->alpha, s.v.data()});
  }
  /// beta u = C v - alpha u. On the host the product is not stored.
  void advance_u(Vectors& s) const {
    auto* const state = s.state();
    const SetBasisNorm<Dot<T>> finish{state, &state->beta};
    if constexpr (B::on_host) {
      if (is_plain()) {
        if (!state->running()) return;
        for_row_products(s.backend, *this->matrix().csr(), unprecondition(s, s.v.data()),
                         AdvanceBasis<T>{1, factor_of_left(*state), nullptr, s.u.data()});
        return s.backend.reduce(s.length, SquaredMagnitude{static_cast<const T*>(s.u.data())}, finish);
      }
    }
    multiply_by_c(s, s.v.data(), s.q.data());
    s.backend.reduce(s.length, AdvanceLeft<T>{state, s.q.data(), s.u.data()}, finish);
  }
  /// alpha v = C^H u - beta v, without the division by alpha; `finish` takes the square of alpha.
  template <class Finish>
  void advance_v(Vectors& s, Finish finish) const {
    auto* const state = s.state();
    if constexpr (B::on_host) {
      if (is_plain()) {
        if (!state->running()) return;
        const double beta = real(state->beta);
        for_row_products(s.backend, *transpose_.matrix().csr(), static_cast<const T*>(s.u.data()),
                         AdvanceBasis<T>{reciprocal_or_zero(beta), beta, scales(), s.v.data()});
        return s.backend.reduce(s.columns, SquaredMagnitude{static_cast<const T*>(s.v.data())}, finish);
      }
    }
    multiply_by_adjoint(s, s.p.data());
    s.backend.reduce(s.columns, AdvanceRight<T>{state, s.p.data(), s.v.data()}, finish);
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
  /// x += D P y.
  void finish(SolveWorkspace& workspace, T* x) const override {
    auto& s = static_cast<Vectors&>(workspace);
    if (right_) s.backend.for_each(s.columns, AddVectors<T>{x, unprecondition(s, s.y.data()), x});
  }
  void estimate_condition(SolveWorkspace& workspace, const T* /*x*/, Job& job) const override {
    const double inverse_norm =
        right_ ? bound_inverse(static_cast<Vectors&>(workspace)) : workspace.host_state.inverse_norm;
    this->add_condition(workspace, inverse_norm, workspace.host_state.condition, job);
  }

 private:
  /// Whether C is A D for a real sparse A.
  [[nodiscard]] bool is_plain() const {
    return !is_complex<T> && this->matrix().is_sparse() && !is_damped() && !right_;
  }

  void set_column_scales(const MatrixRef<T>& A) {
    scales_ = Array<T>();
    norm_of_column_ = 1;
    if (A.is_operator()) return;
    B backend(this->device());
    scales_ = Array<T>(this->device(), A.columns());
    with_rows(transpose_.matrix(), [&](const auto& rows) {
      backend.for_each(A.columns(), SetColumnScale<std::decay_t<decltype(rows)>, T>{rows, scales_.data()});
    });
    backend.synchronize();
    if (scales_columns_ && A.rows() >= A.columns()) return;
    double largest = 0;
    for (const T scale : scales_.to_vector()) largest = std::max(largest, echelon::real(scale));
    norm_of_column_ = reciprocal_or_zero(largest);
    scales_ = Array<T>();
  }

  /// Makes the preconditioner, if A has what it needs.
  Outcome set_up_preconditioner(const MatrixRef<T>& A) {
    const std::string name = "preconditioner=" + std::string(to_string(kind_));
    if (A.is_operator())
      return {Status::breakdown, name + " needs the elements of A, which is known by its products alone"};
    const bool sketches = kind_ == LeastSquaresPreconditioner::sketch;
    const std::int64_t needed = sketches ? 2 * A.columns() : A.columns();
    if (A.rows() < needed) {
      return {Status::breakdown, name + " needs at least " + (sketches ? "twice " : "") +
                                     "as many rows as columns, and A is " + std::to_string(A.rows()) +
                                     " by " + std::to_string(A.columns())};
    }
    if (std::min(A.rows(), A.columns()) == 0) return {};
    return sketches ? make_sketch() : factor_incompletely(A, name);
  }

  Outcome make_sketch() {
    constexpr double norm_of_r = 2;  // of its columns, relative to those of A D, with a margin
    B backend(this->device());
    auto sketch =
        std::make_unique<SketchPreconditioner<B, T>>(backend, transpose_.matrix(), scales(), damping_, seed_);
    Outcome outcome;
    outcome.statistics = {{"sketch_rows", sketch->rows()}, {"sketch_rank", sketch->rank()}};
    if (sketch->rank() < sketch->columns() && !is_damped()) outcome.rank = sketch->rank();
    right_ = std::move(sketch);
    norm_of_column_ = 1 / norm_of_r;
    return outcome;
  }

  Outcome factor_incompletely(const MatrixRef<T>& A, const std::string& name) {
    if (!A.is_sparse()) return {Status::breakdown, name + " needs a sparse matrix"};
    auto factors = std::make_unique<IncompletePreconditioner<B, T>>(this->device());
    Outcome outcome = factors->setup(A, damping_, this->control());
    if (!outcome.ok()) {
      outcome.message = name + ", of A^T A: " + outcome.message;
      return outcome;
    }
    // The columns of L^H have the norms of those of A, and the shift in addition.
    scales_ = Array<T>();
    norm_of_column_ = 1 / std::sqrt(1 + factors->shift());
    right_ = std::move(factors);
    return outcome;
  }

  /// D P v, in s.scaled unless that is v.
  const T* unprecondition(Vectors& s, const T* v) const {
    const T* x = v;
    if (right_) {
      right_->apply(s.backend, s.preconditioner.get(), v, s.scaled.data());
      x = s.scaled.data();
    }
    if (scales() != nullptr) {
      s.backend.for_each(s.columns, ScaleVector<T>{scales(), x, s.scaled.data()});
      x = s.scaled.data();
    }
    return x;
  }

  /// ||x|| / ||C y||, for x = D P y with a y in which a step of power iteration with P^H P has amplified the
  /// largest singular value of P: a lower bound of the norm of the pseudoinverse of A.
  double bound_inverse(Vectors& s) const {
    right_->apply(s.backend, s.preconditioner.get(), s.v.data(), s.scaled.data());
    right_->apply_adjoint(s.backend, s.preconditioner.get(), s.scaled.data(), s.p.data());
    const T* const x = multiply_by_c(s, s.p.data(), s.q.data());
    const double size = s.residual_check->vector(s.columns, x).norm2;
    const double product = s.residual_check->vector(s.length, s.q.data()).norm2;
    return product > 0 && std::isfinite(size) ? size / product : 0;
  }

  double damping_ = 0;
  bool scales_columns_ = false;
  LeastSquaresPreconditioner kind_ = LeastSquaresPreconditioner::none;
  std::int64_t seed_ = 0;
  TransposedMatrix<T> transpose_;
  Array<T> scales_;            // the diagonal of D; empty: D = I
  double norm_of_column_ = 1;  // of A D, the smallest that is not zero; of (A D P)^H relative to A's with P
  std::unique_ptr<RightPreconditioner<B, T>> right_;  // P
};

}  // namespace echelon::krylov

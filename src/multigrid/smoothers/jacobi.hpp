// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/vector/functors.hpp"
#include "multigrid/estimates/spectral_radius.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <cmath>
#include <optional>
#include <utility>

namespace echelon::multigrid {

/// x += D^-1 r.
template <class T>
struct AddScaled {
  const T* scale;
  const T* r;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += scale[i] * r[i]; }
};

/// Vector D^-1 b, evaluated on access instead of stored.
template <class T>
struct ScaledVector {
  const T* scale;
  const T* b;
  ECHELON_ANYWHERE T operator[](std::int64_t i) const { return scale[i] * b[i]; }
};
/// x = D^-1 b, r = b - A x.
template <class T>
struct StartJacobi {
  const T* scale;
  const T* b;
  T* x;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    x[i] = scale[i] * b[i];
    r[i] = b[i] - sum;
  }
};
/// to = from + D^-1 (b - A from).
template <class T>
struct StepJacobi {
  const T* scale;
  const T* b;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { to[i] = from[i] + scale[i] * (b[i] - sum); }
};

/// scale *= factor.
template <class T>
struct Multiply {
  Real<T> factor;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { scale[i] *= factor; }
};

/// scale_i = conj(u_i) / sum over j of |a_ij| with the phase u_i of a_ii, its sign if it is real, or 1 if it
/// is zero; zero for an empty row.
template <class T>
struct InvertMagnitudes {
  SparseRows<T> A;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double sum = 0;
    Dot<T> diagonal = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      sum += magnitude(A.values[k]);
      if (A.column(k) == i) diagonal = static_cast<Dot<T>>(A.values[k]);
    }
    const double size = magnitude(diagonal);
    const Dot<T> phase = size > 0 ? diagonal / size : Dot<T>{1};
    scale[i] = sum == 0 ? T{0} : static_cast<T>(1.0 / (sum * phase));
  }
};

/// Smoother by sweeps x += S (b - A x) with a diagonal S. Rows with a zero in S keep their x.
template <class B, class T>
class JacobiSmoother final : public Smoother<B, T> {
 public:
  JacobiSmoother(const Csr<T>& A, Array<T> scale, std::int64_t sweeps)
      : A_(&A), scale_(std::move(scale)), sweeps_(sweeps) {}

  [[nodiscard]] bool is_recordable() const override { return true; }
  [[nodiscard]] std::size_t bytes() const override { return scale_.bytes(); }

  void start(const SmootherArguments<B, T>& a) const override {
    for (int c = 0; c < a.x.columns(); ++c) {
      a.backend.for_each(A_->rows(), ScaleVector<T>{scale_.data(), a.b[c], a.x[c]});
    }
    smooth_in_place(a, sweeps_ - 1);
  }
  void start_with_residual(const SmootherArguments<B, T>& a) const override {
    if (sweeps_ != 1) {
      start(a);
      form_residuals(*A_, a);
      return;
    }
    for_column_products(a.backend, *A_, a.x.columns(), [&](int c) {
      return VectorProduct{ScaledVector<T>{scale_.data(), a.b[c]},
                           StartJacobi<T>{scale_.data(), a.b[c], a.x[c], a.r[c]}};
    });
  }
  void pre_smooth(const SmootherArguments<B, T>& a) const override { smooth_in_place(a, sweeps_); }
  /// Each sweep reads one vector and writes another, and the last one has to write x: an odd number of sweeps
  /// therefore begins from r.
  [[nodiscard]] bool takes_iterate_from_r() const override { return sweeps_ % 2 == 1; }
  void post_smooth(const SmootherArguments<B, T>& a) const override {
    bool is_in_r = takes_iterate_from_r();
    for (std::int64_t sweep = 0; sweep < sweeps_; ++sweep, is_in_r = !is_in_r) {
      const MultiVector<T>& from = is_in_r ? a.r : a.x;
      const MultiVector<T>& to = is_in_r ? a.x : a.r;
      for_column_products(a.backend, *A_, a.x.columns(), [&](int c) {
        return VectorProduct{static_cast<const T*>(from[c]),
                             StepJacobi<T>{scale_.data(), a.b[c], from[c], to[c]}};
      });
    }
  }

 private:
  void smooth_in_place(const SmootherArguments<B, T>& a, std::int64_t sweeps) const {
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
      form_residuals(*A_, a);
      for (int c = 0; c < a.x.columns(); ++c) {
        a.backend.for_each(A_->rows(), AddScaled<T>{scale_.data(), a.r[c], a.x[c]});
      }
    }
  }

  const Csr<T>* A_;
  Array<T> scale_;
  std::int64_t sweeps_;
};

/// Makes weighted Jacobi with the given weight, or by default 3 / (2 lambda), lambda the largest eigenvalue
/// of D^-1 A: of all weights the one with the least bound of the V-cycle's convergence factor, that of the
/// Chebyshev smoother of degree 1 (Lottes 2023).
template <class B, class T>
std::unique_ptr<Smoother<B, T>> make_jacobi(B& backend, const Csr<T>& A, std::int64_t sweeps,
                                            const std::optional<double>& given_weight, bool symmetric) {
  Array<T> scale(backend.device(), A.rows());
  const DiagonalFacts facts = invert_diagonal(backend, A, scale.data());
  const double radius = given_weight ? 1 : spectral_radius(backend, A, scale.data(), facts, symmetric);
  const double weight = given_weight ? *given_weight : radius > 0 ? 3 / (2 * radius) : 0;
  backend.for_each(A.rows(), Multiply<T>{static_cast<Real<T>>(weight), scale.data()});
  return std::make_unique<JacobiSmoother<B, T>>(A, std::move(scale), sweeps);
}

/// Makes l1-Jacobi, which converges for every symmetric positive definite A without an estimate of
/// eigenvalues. Baker, Falgout, Kolev, Yang, SIAM J. Sci. Comput. 33 (2011).
template <class B, class T>
std::unique_ptr<Smoother<B, T>> make_l1_jacobi(B& backend, const Csr<T>& A, std::int64_t sweeps) {
  Array<T> scale(backend.device(), A.rows());
  backend.for_each(A.rows(), InvertMagnitudes<T>{SparseRows<T>(A), scale.data()});
  return std::make_unique<JacobiSmoother<B, T>>(A, std::move(scale), sweeps);
}

}  // namespace echelon::multigrid

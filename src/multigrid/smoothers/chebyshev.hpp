// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/rounded.hpp"
#include "multigrid/estimates/spectral_radius.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Largest degree for which optimal_beta() has a table.
inline constexpr std::int64_t max_optimal_degree = 4;
/// Coefficients beta_1 to beta_k with which the fourth-kind Chebyshev smoother of degree k minimises the
/// bound of the V-cycle's convergence factor (Lottes 2023, table of optimal beta); ones for larger degrees.
inline std::vector<double> optimal_beta(std::int64_t degree) {
  switch (degree) {
    case 1:
      return {1.12500000000000};
    case 2:
      return {1.02387287570313, 1.26408905371085};
    case 3:
      return {1.00842544782028, 1.08867839208730, 1.33753125909618};
    case 4:
      return {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000};
    default:
      return std::vector<double>(static_cast<std::size_t>(degree), 1.0);
  }
}

/// a x + b y with rounded products: a compiler that fuses one of them with the addition may choose another
/// one in another kernel, and a column would depend on those next to it.
template <class T>
ECHELON_ANYWHERE T combined(Real<T> a, T x, T b, T y) {
  if constexpr (is_complex<T>) {
    return a * x + b * y;
  } else {
    return rounded_sum(rounded_product(a, x), rounded_product(b, y));
  }
}

/// First step from x = 0, d = c D^-1 b, evaluated on access instead of stored.
template <class T>
struct FirstStep {
  Real<T> c;
  const T* inverse;
  const T* b;
  ECHELON_ANYWHERE T operator[](std::int64_t i) const { return c * inverse[i] * b[i]; }
};
/// x = beta d for the first step d.
template <class T>
struct TakeFirstStep {
  FirstStep<T> d;
  Real<T> beta;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = beta * d[i]; }
};
/// r = b - A x, d = c D^-1 r.
template <class T>
struct BeginChebyshev {
  const T* inverse;
  const T* b;
  Real<T> c;
  T* d;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    r[i] = b[i] - sum;
    d[i] = c * inverse[i] * r[i];
  }
};
/// x += beta d.
template <class T>
struct AddStep {
  Real<T> beta;
  const T* d;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] += beta * d[i]; }
};
/// Second step, after the first step d from x = 0: r = b - A d, next = old d + c D^-1 r,
/// x = first_beta d + beta next. The last step stores neither r nor `next`.
template <class T>
struct SecondFromZero {
  FirstStep<T> d;
  Real<T> old;
  Real<T> c;
  Real<T> first_beta;
  Real<T> beta;
  bool is_last;
  T* r;
  T* next;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    const T residual = d.b[i] - sum;
    const T step = combined(old, d[i], c * d.inverse[i], residual);
    x[i] = combined(first_beta, d[i], T{beta}, step);
    if (is_last) return;
    r[i] = residual;
    next[i] = step;
  }
};
/// Step that follows d: r -= A d, next = old d + c D^-1 r, x += previous_beta d + beta next. The last step
/// stores neither r nor `next`.
template <class T>
struct NextStep {
  const T* inverse;
  const T* d;
  Real<T> old;
  Real<T> c;
  Real<T> previous_beta;  ///< zero if d has been added to x already
  Real<T> beta;
  bool is_last;
  T* r;
  T* next;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    const T residual = r[i] - sum;
    const T step = combined(old, d[i], c * inverse[i], residual);
    x[i] += combined(previous_beta, d[i], T{beta}, step);
    if (is_last) return;
    r[i] = residual;
    next[i] = step;
  }
};

/// Smoother by Chebyshev polynomials of the fourth kind in D^-1 A: with z_k the step of degree k and
/// lambda >= the largest eigenvalue of D^-1 A,
///   z_1 = 4 / (3 lambda) D^-1 r_0,  x_k = x_{k-1} + beta_k z_k,  r_k = r_{k-1} - A z_k,
///   z_{k+1} = (2k - 1) / (2k + 3) z_k + (8k + 4) / ((2k + 3) lambda) D^-1 r_k.
/// No lower bound of the spectrum is needed. J. Lottes, Optimal polynomial smoothers for multigrid V-cycles,
/// Numer. Linear Algebra Appl. 30 (2023).
template <class B, class T>
class ChebyshevSmoother final : public Smoother<B, T> {
 public:
  ChebyshevSmoother(B& backend, const Csr<T>& A, std::int64_t degree, bool symmetric)
      : A_(&A), inverse_(backend.device(), A.rows()), beta_(optimal_beta(degree)) {
    const DiagonalFacts facts = invert_diagonal(backend, A, inverse_.data());
    radius_ = spectral_radius(backend, A, inverse_.data(), facts, symmetric);
    if (!(radius_ > 0)) radius_ = 1;
  }

  /// Takes the reciprocals of the diagonal and a bound of the eigenvalues of D^-1 A, which are not computed.
  ChebyshevSmoother(const Csr<T>& A, Array<T> inverse, std::int64_t degree, double radius)
      : A_(&A), inverse_(std::move(inverse)), beta_(optimal_beta(degree)), radius_(radius) {}

  [[nodiscard]] bool is_recordable() const override { return true; }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(int columns) const override {
    return std::make_unique<Steps>(inverse_.device(), A_->rows(), columns);
  }

  void start(const SmootherArguments<B, T>& a) const override {
    const int columns = a.x.columns();
    if (beta_.size() == 1) {
      for (int c = 0; c < columns; ++c) {
        a.backend.for_each(A_->rows(), TakeFirstStep<T>{first_step(a.b[c]), beta(1), a.x[c]});
      }
      return;
    }
    const MultiVector<T> next = steps(a).next.first(columns);
    for_column_products(a.backend, *A_, columns, [&](int c) {
      const FirstStep<T> first = first_step(a.b[c]);
      return VectorProduct{first, SecondFromZero<T>{first, old_factor(2), factor(2), beta(1), beta(2),
                                                    beta_.size() == 2, a.r[c], next[c], a.x[c]}};
    });
    take_steps(a, 3, true, 0);
  }
  void start_with_residual(const SmootherArguments<B, T>& a) const override {
    start(a);
    form_residuals(*A_, a);
  }
  void pre_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments); }
  void post_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments); }

 private:
  struct Steps final : Workspace {
    Steps(const Device& device, std::int64_t n, int columns)
        : d(device, n, columns), next(device, n, columns) {}
    [[nodiscard]] std::size_t bytes() const override { return d.bytes() + next.bytes(); }
    MultiVectorArray<T> d, next;
  };
  static Steps& steps(const SmootherArguments<B, T>& a) { return *static_cast<Steps*>(a.workspace); }
  [[nodiscard]] FirstStep<T> first_step(const T* b) const { return {first_factor(), inverse_.data(), b}; }

  /// Coefficients of the recurrence, k from 1: factor(k) multiplies D^-1 r in step k (first_factor() in step
  /// 1), old_factor(k) multiplies step k - 1 in step k, and beta(k) multiplies step k in x.
  [[nodiscard]] Real<T> first_factor() const { return static_cast<Real<T>>(4 / (3 * radius_)); }
  [[nodiscard]] Real<T> factor(std::size_t k) const {
    const auto before = static_cast<double>(k - 1);
    return static_cast<Real<T>>((8 * before + 4) / ((2 * before + 3) * radius_));
  }
  [[nodiscard]] static Real<T> old_factor(std::size_t k) {
    const auto before = static_cast<double>(k - 1);
    return static_cast<Real<T>>((2 * before - 1) / (2 * before + 3));
  }
  [[nodiscard]] Real<T> beta(std::size_t k) const { return static_cast<Real<T>>(beta_[k - 1]); }

  void smooth(const SmootherArguments<B, T>& a) const {
    const int columns = a.x.columns();
    const MultiVector<T> d = steps(a).d.first(columns);
    for_column_products(a.backend, *A_, columns, [&](int c) {
      return VectorProduct{static_cast<const T*>(a.x[c]),
                           BeginChebyshev<T>{inverse_.data(), a.b[c], first_factor(), d[c], a.r[c]}};
    });
    if (beta_.size() == 1) {
      for (int c = 0; c < columns; ++c) {
        a.backend.for_each(A_->rows(), AddStep<T>{beta(1), d[c], a.x[c]});
      }
    }
    take_steps(a, 2, false, beta(1));
  }

  /// Takes the steps from `degree` on. The previous step is in `next` if `is_in_next`, else in d, and
  /// previous_beta times it is added to x with the first of them.
  void take_steps(const SmootherArguments<B, T>& a, std::size_t degree, bool is_in_next,
                  Real<T> previous_beta) const {
    const int columns = a.x.columns();
    MultiVector<T> d = is_in_next ? steps(a).next.first(columns) : steps(a).d.first(columns);
    MultiVector<T> next = is_in_next ? steps(a).d.first(columns) : steps(a).next.first(columns);
    for (; degree <= beta_.size(); ++degree, previous_beta = 0, std::swap(d, next)) {
      for_column_products(a.backend, *A_, columns, [&](int c) {
        return VectorProduct{
            static_cast<const T*>(d[c]),
            NextStep<T>{inverse_.data(), d[c], old_factor(degree), factor(degree), previous_beta,
                        beta(degree), degree == beta_.size(), a.r[c], next[c], a.x[c]}};
      });
    }
  }

  const Csr<T>* A_;
  Array<T> inverse_;
  std::vector<double> beta_;
  double radius_ = 1;
};

}  // namespace echelon::multigrid

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "multigrid/estimates/spectral_radius.hpp"
#include "multigrid/smoothers/smoother.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace echelon::multigrid {

/// Coefficients beta_1 to beta_k for which the Chebyshev smoother of the fourth kind of degree k minimises
/// the bound of the V-cycle's convergence (Lottes 2023, table of optimal beta), k <= 4.
inline constexpr std::int64_t max_optimal_degree = 4;
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

/// d = c D^-1 b, x = beta d.
template <class T>
struct BeginChebyshev {
  const T* inverse;
  const T* b;
  T c;
  T beta;
  T* d;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    d[i] = c * inverse[i] * b[i];
    x[i] = beta * d[i];
  }
};
/// d = old d + c D^-1 r, x += beta d.
template <class T>
struct StepChebyshev {
  const T* inverse;
  const T* r;
  T old;
  T c;
  T beta;
  T* d;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const T before = old == T{0} ? T{0} : old * d[i];
    d[i] = before + c * inverse[i] * r[i];
    x[i] += beta * d[i];
  }
};

/// Polynomial smoother in D^-1 A of the fourth kind of Chebyshev: with z_k the step of degree k and
/// lambda >= the largest eigenvalue of D^-1 A,
///   z_1 = 4 / (3 lambda) D^-1 r_0,  x_k = x_{k-1} + beta_k z_k,  r_k = r_{k-1} - A z_k,
///   z_{k+1} = (2k - 1) / (2k + 3) z_k + (8k + 4) / ((2k + 3) lambda) D^-1 r_k.
/// It needs no lower end of the spectrum to damp. J. Lottes, Optimal polynomial smoothers for multigrid
/// V-cycles, Numer. Linear Algebra Appl. 30 (2023).
template <class B, class T>
class ChebyshevSmoother final : public Smoother<B, T> {
 public:
  ChebyshevSmoother(B& backend, const Csr<T>& A, std::int64_t degree, bool symmetric)
      : A_(&A), inverse_(backend.device(), A.rows()), beta_(optimal_beta(degree)) {
    const DiagonalFacts facts = invert_diagonal(backend, A, inverse_.data());
    radius_ = spectral_radius(backend, A, inverse_.data(), facts, symmetric);
    if (!(radius_ > 0)) radius_ = 1;
  }

  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes(); }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Step>(inverse_.device(), A_->rows());
  }

  void start(const SmootherArguments<B, T>& a) const override {
    T* const d = static_cast<Step*>(a.workspace)->d.data();
    a.backend.for_each(A_->rows(), BeginChebyshev<T>{inverse_.data(), a.b, static_cast<T>(4 / (3 * radius_)),
                                                     static_cast<T>(beta_[0]), d, a.x});
    if (beta_.size() > 1) a.backend.copy(A_->rows(), a.b, a.r);
    finish(a, d);
  }
  void pre_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments); }
  void post_smooth(const SmootherArguments<B, T>& arguments) const override { smooth(arguments); }

 private:
  struct Step final : Workspace {
    Step(const Device& device, std::int64_t n) : d(device, n) {}
    [[nodiscard]] std::size_t bytes() const override { return d.bytes(); }
    Array<T> d;
  };

  void smooth(const SmootherArguments<B, T>& a) const {
    T* const d = static_cast<Step*>(a.workspace)->d.data();
    form_residual(a.backend, *A_, a.b, a.x, a.r);
    a.backend.for_each(A_->rows(),
                       StepChebyshev<T>{inverse_.data(), a.r, T{0}, static_cast<T>(4 / (3 * radius_)),
                                        static_cast<T>(beta_[0]), d, a.x});
    finish(a, d);
  }

  /// Degrees from 2 on; r holds r_0, and d the first step.
  void finish(const SmootherArguments<B, T>& a, T* d) const {
    for (std::size_t degree = 2; degree <= beta_.size(); ++degree) {
      multiply(a.backend, T{-1}, MatrixRef<T>(*A_), d, T{1}, a.r);
      const double k = static_cast<double>(degree - 1);
      a.backend.for_each(A_->rows(),
                         StepChebyshev<T>{inverse_.data(), a.r, static_cast<T>((2 * k - 1) / (2 * k + 3)),
                                          static_cast<T>((8 * k + 4) / ((2 * k + 3) * radius_)),
                                          static_cast<T>(beta_[degree - 1]), d, a.x});
    }
  }

  const Csr<T>* A_;
  Array<T> inverse_;
  std::vector<double> beta_;
  double radius_ = 1;
};

}  // namespace echelon::multigrid

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/cholesky/recursive_cholesky.hpp"
#include "dense/cholesky/symmetric_factorization.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/hermitian.hpp"
#include "solver/instantiate.hpp"
#include "support/scalar.hpp"

#include <echelon/methods/dense/cholesky.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

namespace {

/// A = L L^H, scaled by powers of two.
template <class B, class T>
class CholeskyFactorization {
 public:
  using Scope = blas::Threads;
  static constexpr bool calls_blas = true;

  CholeskyFactorization(const Device&, const CholeskyOptions& options)
      : equilibrate_(options.equilibrate), checks_symmetry_(options.factor_precision == Precision::working) {}

  /// Whether A is symmetric, or Hermitian.
  static Outcome check_matrix(B& /*backend*/, const MatrixRef<T>& A) {
    const Dense<T> converted = A.is_sparse() ? to_dense(A) : Dense<T>();
    return check_symmetry(A.is_sparse() ? converted.view() : A.dense());
  }

  Outcome factor(const direct::FactorContext<B, T>& context) {
    factors_ = Dense<T>();  // releases the old factors before the new ones are allocated
    factors_ = to_dense(context.A);
    const int n = blas::dimension(factors_.rows());
    T* const a = factors_.data();
    if (equilibrate_) context.scales = equilibrate();
    if (checks_symmetry_) {
      if (Outcome symmetric = check_symmetry(factors_); !symmetric.ok()) return symmetric;
    }
    norm_ = lapack::norm_one(n, a);
    const dense_symmetric::CholeskyEnd end =
        dense_symmetric::RecursiveCholesky<T>(n, a, context.control).factor();
    if (end.cancelled) return cancelled_factorization();
    if (end.not_positive == 0) return {};
    const int column = end.not_positive - 1;
    return not_positive(column, short_number(real(factors_(column, column))));
  }

  /// The transpose of A is its conjugate.
  void substitute(direct::Operation operation, B& /*backend*/, direct::NoSpace& /*space*/,
                  DenseView<T> X) const {
    const bool conjugated = is_complex<T> && operation == direct::Operation::transpose;
    const int n = static_cast<int>(X.rows());
    if (conjugated) dense_symmetric::conjugate(X);
    for (const CBLAS_TRANSPOSE transpose : {CblasNoTrans, CblasConjTrans}) {
      blas::trsm(CblasLower, transpose, CblasNonUnit, n, static_cast<int>(X.columns()), factors_.data(), n,
                 X.data(), blas::dimension(X.leading()));
    }
    if (conjugated) dense_symmetric::conjugate(X);
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    for (std::int64_t k = 0; k < factors_.rows(); ++k) {
      for (int side = 0; side < 2; ++side) product.multiply(real(factors_(k, k)));
    }
    return product;
  }
  [[nodiscard]] Inertia inertia() const { return {.positive = factors_.rows()}; }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    MatrixFactors<T> result;
    result.form = FactorForm::cholesky;
    result.lower = copy_triangle(backend, factors_.view(), {.lower = true, .unit_diagonal = false});
    return result;
  }
  [[nodiscard]] double norm() const { return static_cast<double>(norm_); }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes(); }

 private:
  static Outcome check_symmetry(DenseView<const T> A) {
    const auto place = dense_symmetric::find_asymmetry<T>(A);
    if (!place) return {};
    if constexpr (is_complex<T>)
      return require_hermitian(MatrixRef<T>(A), {}, Status::not_spd, "sparse-ldlt", "lu");
    return not_symmetric(place->first, place->second, Status::not_spd);
  }

  /// Scales the diagonal elements to about 1. A diagonal that is not positive is reported by the
  /// factorisation.
  Scales<T> equilibrate() {
    std::vector<double> diagonal;
    for (std::int64_t i = 0; i < factors_.rows(); ++i) diagonal.push_back(real(factors_(i, i)));
    if (*std::min_element(diagonal.begin(), diagonal.end()) <= 0) return {};
    std::vector<T> scales;
    dense_symmetric::scale_symmetrically(factors_.view(), diagonal, scales);
    return dense_symmetric::symmetric_scales(scales);
  }

  bool equilibrate_;
  bool checks_symmetry_;  // false if symmetry was checked before A was rounded
  Dense<T> factors_;
  Real<T> norm_ = 0;
};

template <class B, class T>
using DenseCholesky = DirectMethod<B, T, CholeskyFactorization<B, T>>;

template <class B, class T>
using MixedPrecisionCholesky = MixedPrecisionSolver<B, T, DenseCholesky, CholeskyOptions>;

}  // namespace

template <>
std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device& device,
                                                                             const CholeskyOptions& options) {
  return make_in_factor_precision<DenseCholesky, MixedPrecisionCholesky, float>(device, options);
}
template <>
std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device& device, const CholeskyOptions& options) {
  return make_in_factor_precision<DenseCholesky, MixedPrecisionCholesky, double>(device, options);
}

#define ECHELON_INSTANTIATE(T)                                                                               \
  template <>                                                                                                \
  std::unique_ptr<SolverImplementation<T>> make_implementation<HostTarget>(const Device& device,             \
                                                                           const CholeskyOptions& options) { \
    return make_in_working_precision<DenseCholesky<Host, T>>(device, options);                               \
  }
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "dense/cholesky/recursive_cholesky.hpp"
#include "dense/cholesky/symmetric_factorization.hpp"
#include "dense/mixed_precision/solver.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/cholesky.hpp>

namespace echelon {

namespace {

template <class B, class T>
class DenseCholesky final : public HostFactorization<B, T> {
 public:
  DenseCholesky(const Device& device, const CholeskyOptions& options)
      : HostFactorization<B, T>(device, options.equilibrate, options.refine),
        checks_symmetry_(options.factor_precision == Precision::working) {}

  /// Whether A is symmetric.
  static Outcome check_matrix(B& /*backend*/, const MatrixRef<T>& A) {
    const Dense<T> converted = A.is_sparse() ? to_dense(A) : Dense<T>();
    const auto place = dense_symmetric::find_asymmetry<T>(A.is_sparse() ? converted.view() : A.dense());
    return place ? not_symmetric(place->first, place->second, Status::not_spd) : Outcome{};
  }

 private:
  /// Scales the diagonal elements to about 1. A diagonal that is not positive is reported by the
  /// factorisation.
  Outcome equilibrate(DenseView<T> A, std::vector<T>& rows, std::vector<T>& columns) override {
    std::vector<double> diagonal;
    for (std::int64_t i = 0; i < A.rows(); ++i) diagonal.push_back(static_cast<double>(A(i, i)));
    if (*std::min_element(diagonal.begin(), diagonal.end()) <= 0) return {};
    dense_symmetric::scale_symmetrically(A, diagonal, rows);
    columns = rows;
    return {};
  }

  Outcome factor(int n) override {
    T* const a = this->factors().data();
    if (const auto place =
            checks_symmetry_ ? dense_symmetric::find_asymmetry<T>(this->factors().view()) : std::nullopt) {
      return not_symmetric(place->first, place->second, Status::not_spd);
    }
    const T norm = lapack::norm_one(n, a);
    const dense_symmetric::CholeskyEnd end =
        dense_symmetric::RecursiveCholesky<T>(n, a, this->cancel()).factor();
    if (end.cancelled) return cancelled_factorization();
    if (end.not_positive > 0) {
      const int column = end.not_positive - 1;
      return not_positive(column, short_number(static_cast<double>(this->factors()(column, column))));
    }
    return assess_condition<T>(this->reciprocal_condition(norm));
  }

  void substitute_factors(bool /*transposed*/, DenseView<T> X) const override {
    const int n = static_cast<int>(X.rows());
    for (const CBLAS_TRANSPOSE transpose : {CblasNoTrans, CblasTrans}) {
      blas::trsm(CblasLower, transpose, CblasNonUnit, n, static_cast<int>(X.columns()),
                 this->factors().data(), n, X.data(), blas::dimension(X.leading()));
    }
  }

  bool checks_symmetry_;  // false if symmetry was checked before A was rounded
};

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

}  // namespace echelon

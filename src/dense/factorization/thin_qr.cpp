// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/thin_qr.hpp"

#include "backend/host/host.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/vector/column_exponents.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <utility>

namespace echelon::lu {

namespace {

/// Copies the rows of `target` from `source`.
template <class T>
void copy_top_rows(DenseView<const T> source, DenseView<T> target) {
  for (std::int64_t j = 0; j < target.columns(); ++j)
    std::copy(source.column(j), source.column(j) + target.rows(), target.column(j));
}

}  // namespace

template <class T>
std::vector<int> exponents_of_columns(Host& /*backend*/, const Dense<T>& S) {
  return column_exponents(S.data(), static_cast<std::size_t>(S.rows()),
                          static_cast<std::size_t>(S.columns()));
}

template <class T>
Dense<T> ThinQr<Host, T>::factor(Host& backend, Dense<T> S) {
  const blas::Threads threads(backend.device(), S.rows());
  vectors_ = std::move(S);
  tau_ = Array<T>(Device::serial(), vectors_.columns());
  lapack::geqrf(blas::dimension(vectors_.rows()), blas::dimension(vectors_.columns()), vectors_.data(),
                blas::dimension(vectors_.rows()), tau_.data());
  return triangle_on_host(backend, std::as_const(vectors_).view(), {.lower = false, .unit_diagonal = false});
}

template <class T>
void ThinQr<Host, T>::multiply_by_q(bool adjoint, DenseView<T> Y) const {
  lapack::multiply_by_q(
      adjoint, blas::dimension(vectors_.rows()), blas::dimension(Y.columns()),
      {blas::dimension(vectors_.columns()), vectors_.data(), blas::dimension(vectors_.rows()), tau_.data()},
      Y.data(), blas::dimension(Y.leading()));
}

template <class T>
void ThinQr<Host, T>::multiply_adjoint(Host& backend, DenseView<const T> B, DenseView<T> Y,
                                       Array<T>& /*scratch*/) const {
  const blas::Threads threads(backend.device(), B.rows());
  Dense<T> product(Device::serial(), B.rows(), B.columns());
  copy_top_rows<T>(B, product.view());
  multiply_by_q(true, product.view());
  copy_top_rows<T>(product.view(), Y);
}

template <class T>
void ThinQr<Host, T>::multiply(Host& backend, DenseView<T> Y, DenseView<T> X, Array<T>& /*scratch*/) const {
  const blas::Threads threads(backend.device(), X.rows());
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    std::copy(Y.column(j), Y.column(j) + Y.rows(), X.column(j));
    std::fill(X.column(j) + Y.rows(), X.column(j) + X.rows(), T{0});
  }
  multiply_by_q(false, X);
}

template <class T>
void ThinQr<Host, T>::multiply_by_determinant(DeterminantProduct& product) const {
  multiply_by_reflections(product, tau_.to_vector());
}

#define ECHELON_INSTANTIATE(T)                                            \
  template std::vector<int> exponents_of_columns(Host&, const Dense<T>&); \
  template class ThinQr<Host, T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu

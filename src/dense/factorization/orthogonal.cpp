// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/orthogonal.hpp"

#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <utility>

namespace echelon::lu {

namespace {

/// Element j of column i of the adjoint is the conjugate of element i of column j.
template <class T>
struct CopyAdjoint {
  const T* from;
  std::int64_t rows, columns;  ///< of `from`
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e / columns;
    const std::int64_t j = e % columns;
    to[e] = conj(from[i + j * rows]);
  }
};

/// A as a column-major matrix on its device, or its adjoint.
template <class B, class T>
Dense<T> dense_copy(B& backend, const MatrixRef<T>& A, bool adjoint) {
  Dense<T> given = to_dense(A);
  if (!adjoint) return given;
  Dense<T> result(A.device(), A.columns(), A.rows());
  backend.for_each(A.rows() * A.columns(),
                   CopyAdjoint<T>{given.data(), A.rows(), A.columns(), result.data()});
  backend.synchronize();
  return result;
}

/// Copies the rows that `from` and `to` both have, from the host's memory to that of the backend.
template <class B, class T>
void copy_to_device(B& backend, DenseView<const T> from, DenseView<T> to) {
  const auto bytes = static_cast<std::size_t>(std::min(from.rows(), to.rows())) * sizeof(T);
  for (std::int64_t j = 0; j < to.columns(); ++j)
    memory_detail::copy(backend.device(), to.column(j), Device(), from.column(j), bytes);
}
template <class B, class T>
void copy_to_host(B& backend, DenseView<const T> from, DenseView<T> to) {
  const auto bytes = static_cast<std::size_t>(std::min(from.rows(), to.rows())) * sizeof(T);
  for (std::int64_t j = 0; j < to.columns(); ++j)
    memory_detail::copy(Device(), to.column(j), backend.device(), from.column(j), bytes);
}

template <class B, class T>
void clear(B& backend, DenseView<T> X) {
  for (std::int64_t j = 0; j < X.columns(); ++j) backend.fill(X.rows(), T{0}, X.column(j));
}

/// The first rows of a matrix.
template <class T>
DenseView<T> top(DenseView<T> Y, std::int64_t rows) {
  return {Y.data(), rows, Y.columns(), Y.leading(), Y.device()};
}

}  // namespace

template <class B, class T>
bool OrthogonalDecomposition<B, T>::factor(const DecompositionTask<T>& task) {
  B backend(task.device);
  rows_ = task.A.rows();
  columns_ = task.A.columns();
  wide_ = rows_ < columns_ && !task.basic;
  exponents_.clear();
  core_.clear();
  outer_ = ThinQr<B, T>();
  if (std::min(rows_, columns_) == 0) return true;
  Dense<T> S = dense_copy(backend, task.A, wide_);
  exponents_ = exponents_of_columns(backend, S);
  for (std::size_t j = 0; j < exponents_.size(); ++j) {
    T* const column = S.view().column(static_cast<std::int64_t>(j));
    backend.for_each(S.rows(), ScaleByPowerOfTwo<T>{-exponents_[j], column});
  }
  if (task.control.stops_at(0)) return false;
  const auto larger_side = static_cast<double>(std::max(rows_, columns_));
  const CoreTask core_task{B::on_host ? task.device : Device(),
                           task.tolerance.value_or(larger_side * machine_epsilon<T>), task.basic};
  has_outer_ = S.rows() >= S.columns();
  if (has_outer_) {
    Dense<T> R = outer_.factor(backend, std::move(S));
    if (task.control.stops_at(0.7)) return false;
    core_.factor_triangle(std::move(R), wide_, core_task);
  } else {
    backend.synchronize();
    core_.factor(S.to(Device::serial()), core_task);
  }
  return !task.control.stops_at(1);
}

template <class B, class T>
void OrthogonalDecomposition<B, T>::scale_rows(DenseView<T> Y) const {
  for (std::size_t i = 0; i < exponents_.size(); ++i) {
    for (std::int64_t j = 0; j < Y.columns(); ++j) {
      T& element = Y(static_cast<std::int64_t>(i), j);
      element = scaled_by_power(element, -exponents_[i]);
    }
  }
}

template <class B, class T>
void OrthogonalDecomposition<B, T>::solve(Space& space, DenseView<const T> rhs, DenseView<T> X) const {
  if (X.columns() == 0 || columns_ == 0) return;
  B& backend = space.backend;
  if (core_.rank().rank == 0) return clear(backend, X);
  const std::int64_t least = std::min(rows_, columns_);
  Dense<T> Y(Device::serial(), has_outer_ ? least : std::max(rows_, columns_), X.columns());
  if (wide_ || !has_outer_) {
    copy_to_host(backend, rhs, top(Y.view(), rows_));
  } else {
    outer_.multiply_adjoint(backend, rhs, Y.view(), space.products);
  }
  if (wide_) scale_rows(Y.view());
  core_.solve(Y.view());
  if (wide_) return outer_.multiply(backend, Y.view(), X, space.products);
  scale_rows(top(Y.view(), columns_));
  copy_to_device<B, T>(backend, Y.view(), X);
}

template <class B, class T>
void OrthogonalDecomposition<B, T>::solve_normal(Space& space, DenseView<const T> G, DenseView<T> D) const {
  if (D.columns() == 0 || columns_ == 0) return;
  B& backend = space.backend;
  if (core_.rank().rank == 0) return clear(backend, D);
  Dense<T> Y(Device::serial(), columns_, G.columns());
  copy_to_host(backend, G, Y.view());
  scale_rows(Y.view());
  core_.solve_normal(Y.view());
  scale_rows(Y.view());
  copy_to_device<B, T>(backend, Y.view(), D);
}

template <class B, class T>
Determinant OrthogonalDecomposition<B, T>::determinant() const {
  if (core_.rank().rank < columns_) return {};
  DeterminantProduct product;
  if (columns_ == 0) return product.value();
  core_.multiply_by_determinant(product);
  outer_.multiply_by_determinant(product);
  for (const int exponent : exponents_) product.multiply_by_power_of_two(exponent);
  return product.value();
}

#define ECHELON_INSTANTIATE(T) template class OrthogonalDecomposition<ThisTarget::Backend, T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu

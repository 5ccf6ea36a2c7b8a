// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/convert.hpp"
#include "matrix/shape.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/complex.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <complex>
#include <utility>

namespace echelon {

namespace matrix_detail {

void throw_no_elements(bool is_stencil) {
  if (is_stencil) {
    throw Error(
        "A is a stencil, known by its coefficients, and this needs the elements of a matrix: call to_csr(A), "
        "or "
        "solve with structured-multigrid or a Krylov method (cg, minres, bicgstab, gmres)");
  }
  throw Error(
      "A is a linear operator, known by its products only, and this needs A's elements: Krylov methods (cg, "
      "minres, bicgstab, gmres) solve with an operator");
}

}  // namespace matrix_detail

template <class T>
Dense<T> to_dense(MatrixRef<T> matrix) {
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(matrix.device(),
                                    [&]<class Target>() { return to_dense_on<Target, T>(matrix); });
  });
}

template <class T>
Dense<T> to_dense(const Coo<T>& matrix) {
  return to_dense<T>(MatrixRef<T>(to_csr(matrix)));
}

template <class T>
Dense<T> to_dense(const Csc<T>& matrix) {
  return to_dense<T>(MatrixRef<T>(to_csr(matrix)));
}

template <class T>
Csr<T> to_csr(MatrixRef<T> matrix) {
  check_shape(matrix.rows(), matrix.columns());
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(matrix.device(),
                                    [&]<class Target>() { return to_csr_on<Target, T>(matrix); });
  });
}

template <class T>
Csr<T> to_csr(const Coo<T>& matrix) {
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(matrix.device(),
                                    [&]<class Target>() { return to_csr_on<Target, T>(matrix); });
  });
}

template <class T>
Csr<T> to_csr(const Csc<T>& matrix) {
  return transpose(matrix.transpose());
}

template <class T>
Coo<T> to_coo(const Csr<T>& matrix) {
  check_row_indices(matrix.rows());
  return at_api_boundary([&] {
    return on_target<targets_of<T>>(matrix.device(),
                                    [&]<class Target>() { return to_coo_on<Target, T>(matrix); });
  });
}

template <class T>
Coo<T> to_coo(const Csc<T>& matrix) {
  return transpose(to_coo(matrix.transpose()));
}

template <class T>
Coo<T> to_coo(MatrixRef<T> matrix) {
  return matrix.is_sparse() ? to_coo(*matrix.csr()) : to_coo(to_csr(matrix));
}

template <class T>
Csc<T> to_csc(const Csr<T>& matrix) {
  return Csc<T>::from_transpose(transpose(matrix));
}

template <class T>
Csc<T> to_csc(const Coo<T>& matrix) {
  return Csc<T>::from_transpose(to_csr(transpose(matrix)));
}

template <class T>
Csc<T> to_csc(MatrixRef<T> matrix) {
  return matrix.is_sparse() ? to_csc(*matrix.csr()) : to_csc(to_csr(matrix));
}

template <class T>
Dense<std::complex<T>> to_complex(const Dense<T>& matrix) {
  check_same_memory(Device(), "the result", matrix.device(), "the matrix");
  Dense<std::complex<T>> result(Device(), matrix.rows(), matrix.columns());
  std::copy_n(matrix.data(), matrix.rows() * matrix.columns(), result.data());
  return result;
}

template <class T>
Csr<std::complex<T>> to_complex(const Csr<T>& matrix) {
  check_same_memory(Device(), "the result", matrix.device(), "the matrix");
  Array<std::complex<T>> values(Device(), matrix.nonzeros());
  std::copy_n(matrix.values().data(), matrix.nonzeros(), values.data());
  return Csr<std::complex<T>>::unchecked(matrix.rows(), matrix.columns(), matrix.row_offsets(),
                                         matrix.column_indices(), std::move(values));
}

#define ECHELON_INSTANTIATE(T)                         \
  template Dense<T> to_complex(const Dense<Real<T>>&); \
  template Csr<T> to_complex(const Csr<Real<T>>&);
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

#define ECHELON_INSTANTIATE(T)               \
  template Dense<T> to_dense(MatrixRef<T>);  \
  template Dense<T> to_dense(const Coo<T>&); \
  template Dense<T> to_dense(const Csc<T>&); \
  template Csr<T> to_csr(MatrixRef<T>);      \
  template Csr<T> to_csr(const Coo<T>&);     \
  template Csr<T> to_csr(const Csc<T>&);     \
  template Coo<T> to_coo(const Csr<T>&);     \
  template Coo<T> to_coo(const Csc<T>&);     \
  template Coo<T> to_coo(MatrixRef<T>);      \
  template Csc<T> to_csc(const Csr<T>&);     \
  template Csc<T> to_csc(const Coo<T>&);     \
  template Csc<T> to_csc(MatrixRef<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "matrix/convert.hpp"
#include "matrix/shape.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>

namespace echelon {

namespace matrix_detail {

void throw_no_elements() {
  throw Error(
      "A is a linear operator, known by its products only, and this needs A's elements: Krylov methods (cg, "
      "minres, bicgstab, gmres) solve with an operator");
}

}  // namespace matrix_detail

template <class T>
Dense<T> to_dense(MatrixRef<T> matrix) {
  return at_api_boundary([&] {
    return on_target(matrix.device(), [&]<class Target>() { return to_dense_on<Target, T>(matrix); });
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
    return on_target(matrix.device(), [&]<class Target>() { return to_csr_on<Target, T>(matrix); });
  });
}

template <class T>
Csr<T> to_csr(const Coo<T>& matrix) {
  return at_api_boundary([&] {
    return on_target(matrix.device(), [&]<class Target>() { return to_csr_on<Target, T>(matrix); });
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
    return on_target(matrix.device(), [&]<class Target>() { return to_coo_on<Target, T>(matrix); });
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

template Dense<float> to_dense(MatrixRef<float>);
template Dense<float> to_dense(const Coo<float>&);
template Dense<float> to_dense(const Csc<float>&);
template Csr<float> to_csr(MatrixRef<float>);
template Csr<float> to_csr(const Coo<float>&);
template Csr<float> to_csr(const Csc<float>&);
template Coo<float> to_coo(const Csr<float>&);
template Coo<float> to_coo(const Csc<float>&);
template Coo<float> to_coo(MatrixRef<float>);
template Csc<float> to_csc(const Csr<float>&);
template Csc<float> to_csc(const Coo<float>&);
template Csc<float> to_csc(MatrixRef<float>);
template Dense<double> to_dense(MatrixRef<double>);
template Dense<double> to_dense(const Coo<double>&);
template Dense<double> to_dense(const Csc<double>&);
template Csr<double> to_csr(MatrixRef<double>);
template Csr<double> to_csr(const Coo<double>&);
template Csr<double> to_csr(const Csc<double>&);
template Coo<double> to_coo(const Csr<double>&);
template Coo<double> to_coo(const Csc<double>&);
template Coo<double> to_coo(MatrixRef<double>);
template Csc<double> to_csc(const Csr<double>&);
template Csc<double> to_csc(const Coo<double>&);
template Csc<double> to_csc(MatrixRef<double>);

}  // namespace echelon

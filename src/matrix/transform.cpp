// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/convert.hpp"
#include "matrix/shape.hpp"

#include <echelon/transform.hpp>

namespace echelon {

template <class T>
Csr<T> transpose(const Csr<T>& A) {
  check_row_indices(A.rows());
  return on_side(A.device(), [&]<class Side>() { return transpose_on<Side, T>(A); });
}

template <class T>
Coo<T> transpose(const Coo<T>& A) {
  return Coo<T>::unchecked(A.columns(), A.rows(), A.column_indices(), A.row_indices(), A.values());
}

template Csr<float> transpose(const Csr<float>&);
template Csr<double> transpose(const Csr<double>&);
template Coo<float> transpose(const Coo<float>&);
template Coo<double> transpose(const Coo<double>&);

}  // namespace echelon

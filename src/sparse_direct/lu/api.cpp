// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/methods/sparse_lu.hpp>

namespace echelon {

template <class T>
Report SparseLu<T>::solve_transposed(DenseView<const T> B, DenseView<T> X) const {
  return this->solve(B, X, {.operation = Operation::transpose});
}

template class SparseLu<float>;
template class SparseLu<double>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "solver/transposed.hpp"

#include <echelon/methods/sparse_lu.hpp>

namespace echelon {

template <class T>
Report SparseLu<T>::solve_transposed(DenseView<const T> B, DenseView<T> X) const {
  return solve_with_transpose<T>(*this, B, X);
}

template class SparseLu<float>;
template class SparseLu<double>;

}  // namespace echelon

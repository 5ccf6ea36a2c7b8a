// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <vector>

namespace echelon {

/// Sums of the columns a of a matrix, scaled so that no square overflows or vanishes.
template <class T>
struct ColumnProducts {
  std::vector<double> size;     ///< max |a_i|
  std::vector<double> square;   ///< ||a / size||^2; 0 for a column of zeros
  std::vector<Dot<T>> product;  ///< (a / size)^H r; 0 for a column of zeros
};

/// Sums of a dense A, whose r is on its device. Instantiated for HostTarget and, when it is built, for
/// CudaTarget.
template <class Target, class T>
[[nodiscard]] ColumnProducts<T> column_products(const DenseView<const T>& A, const T* r);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace echelon::bench {

/// ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf) for b = 1.
template <class T>
double backward_error(const Csr<T>& A, const T* x) {
  double residual = 0;
  double norm = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    T r = 1;
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      r -= A.values()[k] * x[A.column_indices()[k]];
      sum += std::abs(A.values()[k]);
    }
    residual = std::max(residual, std::abs(r));
    norm = std::max(norm, sum);
    largest = std::max(largest, std::abs(x[i]));
  }
  return residual / (norm * largest + 1);
}

}  // namespace echelon::bench

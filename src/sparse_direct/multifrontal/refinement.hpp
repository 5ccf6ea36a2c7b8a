// SPDX-License-Identifier: BSD-3-Clause
/// Residuals of sparse systems and their componentwise backward errors.
#pragma once

#include "backend/backend.hpp"

#include <echelon/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::sparse_direct {

/// Computes element i of r = b - A x; its value is |r_i| / (|A| |x| + |b|)_i. The largest of these is the
/// componentwise backward error: x solves a system whose elements differ from the given ones by at most that
/// fraction. Where the denominator is so small that rounding errors of the others would dominate it,
/// (|A| |x|)_i + ||A_i||_1 ||x||_inf takes its place, and the backward error is that of a perturbation of b
/// there. M. Arioli, J. Demmel, I. Duff, Solving sparse linear systems with sparse backward error, SIAM J.
/// Matrix Anal. Appl. 10 (1989).
template <class T>
struct ResidualElement {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const T* b;
  const T* x;
  double x_norm;  ///< ||x||_inf
  T* r;

  Largest operator()(std::int64_t i) const {
    double residual = static_cast<double>(b[i]);
    double terms = 0;
    double row_norm = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double product = static_cast<double>(values[k]) * static_cast<double>(x[columns[k]]);
      residual -= product;
      terms += std::fabs(product);
      row_norm += std::fabs(static_cast<double>(values[k]));
    }
    r[i] = static_cast<T>(residual);
    const double magnitude = std::fabs(static_cast<double>(b[i]));
    constexpr double small = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
    const auto length = static_cast<double>(offsets[i + 1] - offsets[i]);
    double denominator = terms + magnitude;
    if (denominator <= small * length * (row_norm * x_norm + magnitude))
      denominator = terms + row_norm * x_norm;
    const double error = std::fabs(residual);
    return {error == 0 ? 0 : error / denominator};
  }
};

/// The largest column sum of |row_scale_i a_ij column_scale_j|.
template <class T>
double scaled_norm_one(const Csr<T>& a, const std::vector<double>& row_scale,
                       const std::vector<double>& column_scale) {
  std::vector<double> sums(static_cast<std::size_t>(a.columns()), 0);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = a.column_indices()[k];
      sums[static_cast<std::size_t>(j)] +=
          std::fabs(static_cast<double>(a.values()[k])) * row_scale[i] * column_scale[j];
    }
  }
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Residuals of sparse systems and their componentwise backward errors.
#pragma once

#include "backend/backend.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>

namespace echelon::sparse_direct {

/// Errors of x as a solution of A x = b, by the residual r = b - A x.
struct BackwardError {
  /// max |r_i| / (|A| |x| + |b|)_i: x solves a system whose elements differ from the given ones by at most
  /// that fraction.
  Largest componentwise = {};
  Largest scaled_residual = {};  ///< max |s_i r_i| for the scale factors of the rows
  friend BackwardError combine(BackwardError a, BackwardError b) {
    return {combine(a.componentwise, b.componentwise), combine(a.scaled_residual, b.scaled_residual)};
  }
};

/// Computes element i of r = b - A x.
template <class T>
struct ResidualElement {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const double* row_scale;  ///< null: 1
  const T* b;
  const T* x;
  T* r;
  /// Norm of x, if positive: where (|A| |x| + |b|)_i is so small that rounding errors of other elements would
  /// dominate it, (|A| |x|)_i + ||A_i||_1 ||x||_inf takes its place, and the backward error is that of a
  /// perturbation of b there. M. Arioli, J. Demmel, I. Duff, Solving sparse linear systems with sparse
  /// backward error, SIAM J. Matrix Anal. Appl. 10 (1989).
  double x_norm = 0;

  BackwardError operator()(std::int64_t i) const {
    double residual = static_cast<double>(b[i]);
    double terms = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double product = static_cast<double>(values[k]) * static_cast<double>(x[columns[k]]);
      residual -= product;
      terms += std::fabs(product);
    }
    r[i] = static_cast<T>(residual);
    const double error = std::fabs(residual);
    if (error == 0) return {};
    const double magnitude = std::fabs(static_cast<double>(b[i]));
    double denominator = terms + magnitude;
    if (x_norm > 0) {
      const double others = row_norm(i) * x_norm;
      const auto length = static_cast<double>(offsets[i + 1] - offsets[i]);
      const bool tiny = denominator <= 1000 * machine_epsilon<T> * length * (others + magnitude);
      if (tiny && std::isfinite(others)) denominator = terms + others;
    }
    return {{error / denominator}, {row_scale == nullptr ? error : error * row_scale[i]}};
  }

  [[nodiscard]] double row_norm(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k)
      sum += std::fabs(static_cast<double>(values[k]));
    return sum;
  }
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Residuals of A X = B, and the equation that is satisfied worst.
#pragma once

#include "backend/backend.hpp"
#include "linalg/spmv/form_residual.hpp"
#include "support/scalar.hpp"

#include <cstdint>

namespace echelon {

/// The equation with the largest residual relative to its own size.
struct WorstRow {
  double error = -1;
  FirstIndex row = {};
  friend ECHELON_ANYWHERE WorstRow combine(WorstRow a, WorstRow b) {
    return a.error > b.error || (a.error == b.error && a.row.value < b.row.value) ? a : b;
  }
};

template <class T>
struct RowError {
  const T* r;
  const T* b;
  const double* row_sums;
  double x_norm;
  ECHELON_ANYWHERE WorstRow operator()(std::int64_t i) const {
    const double size = row_sums[i] * x_norm + magnitude(b[i]);
    const double residual = magnitude(r[i]);
    return {size > 0 ? residual / size : 0, {i}};
  }
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Scaling of a square matrix before LU, and its norms: declared for every backend.
#pragma once

#include "solver/direct/factorization.hpp"
#include "solver/direct/scales.hpp"
#include "solver/factor_status.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon {
class Host;
class Cuda;
class OpenCl;
}  // namespace echelon

namespace echelon::lu {

/// Norms of the scaled matrix, and the first line of zeros, from 0; negative: none.
struct ScaledNorms {
  double one = 0;      ///< the largest sum of magnitudes of a column
  double largest = 0;  ///< the largest magnitude
  std::int64_t zero_row = -1;
  std::int64_t zero_column = -1;
};

/// Scales rows, then columns, of a finite A to largest magnitudes of about 1, by powers of two, if
/// `equilibrated` and where LAPACK's geequ and laqge would: magnitudes differ by more than ten times, or are
/// near the ends of T's range. Where they differ by more than `order_matters`, the scales are those of
/// find_line_scales(). A line of zeros ends the work. Waits.
template <class T>
ScaledNorms scale(Host& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);
template <class T>
ScaledNorms scale(Cuda& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);
template <class T>
ScaledNorms scale(OpenCl& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);

/// Copies A to `factors`, to be replaced by them, and scales the copy on request. The outcome is `singular`
/// for a line of zeros. Waits.
template <class B, class T>
Outcome copy_scaled(const direct::FactorContext<B, T>& context, bool equilibrated, Dense<T>& factors,
                    ScaledNorms& norms) {
  factors = Dense<T>();  // releases the old factors before the new ones are allocated
  factors = to_dense(context.A);
  norms = scale<T>(context.backend, factors.view(), equilibrated, context.scales);
  if (norms.zero_row >= 0) return zero_line("row", norms.zero_row);
  if (norms.zero_column >= 0) return zero_line("column", norms.zero_column);
  return {};
}

/// Replaces the factors of a matrix that copy_scaled() has scaled by the scaled matrix. Queued.
template <class B, class T>
void restore_scaled(const direct::FactorContext<B, T>& context, Dense<T>& factors) {
  factors = Dense<T>();
  factors = to_dense(context.A);
  scale_by<B, T>(context.backend, context.scales, factors.view());
}

}  // namespace echelon::lu

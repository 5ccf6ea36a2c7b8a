// SPDX-License-Identifier: BSD-3-Clause
/// One pass over a dense matrix: norm, largest magnitude, first element that is not finite.
#pragma once

#include "dense/panels/workspace.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon {

class Host;
class Cuda;
class OpenCl;

struct MatrixScan {
  double largest = 0;  ///< magnitude
  double norm_inf = 0;
  std::int64_t row = -1;  ///< of the first element, row by row, that is NaN or Inf; negative: none
  std::int64_t column = -1;
};

/// Whether elimination of a matrix with elements of this magnitude may overflow or underflow in T.
template <class T>
ECHELON_ANYWHERE bool far_from_one(double magnitude) {
  constexpr int far = std::numeric_limits<Real<T>>::max_exponent / 4;
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : 0;
  return exponent < -far || exponent > far;
}

/// Scans A; `row_sums` (A.rows() elements) receives the sums of magnitudes of the rows. Queued: the backend's
/// work writes `result`.
template <class T>
void scan(Host& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);
template <class T>
void scan(Cuda& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);
template <class T>
void scan(OpenCl& backend, DenseView<const T> A, double* row_sums, MatrixScan* result);

/// Scans A and waits.
template <class T, class B>
MatrixScan scan(EliminationWorkspace<B>& workspace, DenseView<const T> A, double* row_sums) {
  auto* const result = workspace.pinned.template at<MatrixScan>();
  scan(workspace.backend, A, row_sums, result);
  workspace.pinned.record();
  workspace.pinned.wait();
  return workspace.pinned.value(result);
}
template <class T, class B>
MatrixScan scan(B& backend, DenseView<const T> A, double* row_sums) {
  Array<MatrixScan> result(A.device(), 1);
  scan(backend, A, row_sums, result.data());
  return backend.read(result.data());
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Matrices rounded to float, and corrections that are computed in float.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/balancing_scale.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon {

/// Rounds A to `rounded`, in column-major order; the terms of the reduction are the rounded magnitudes.
template <class T>
struct RoundElements {
  DenseView<const T> A;
  bool contiguous;  ///< column-major, without gaps
  float* rounded;
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    rounded[e] = static_cast<float>(A.data()[contiguous ? e : place(e)]);
    return {static_cast<double>(std::fabs(rounded[e]))};
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t place(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    return A.layout() == Layout::column_major ? j * A.leading() + i : i * A.leading() + j;
  }
};

/// Rounds residuals after scaling each column to about 1, since they may be too small for float.
template <class T>
struct RoundScaled {
  DenseView<const T> R;
  const Largest* largest;
  DenseView<float> rounded;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % R.rows();
    const std::int64_t j = e / R.rows();
    const T scale = balancing_scale<T>(largest[j].value);
    rounded.data()[j * rounded.leading() + i] = static_cast<float>(R.data()[j * R.leading() + i] * scale);
  }
};

/// Computes X = X + factor C with the scaling of the columns of C by RoundScaled undone.
template <class T>
struct AddUnscaled {
  DenseView<const float> C;
  const Largest* largest;
  T factor;
  DenseView<T> X;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % X.rows();
    const std::int64_t j = e / X.rows();
    const T scale = balancing_scale<T>(largest[j].value);
    X.data()[j * X.leading() + i] += factor * (static_cast<T>(C.data()[j * C.leading() + i]) / scale);
  }
};

/// A dense matrix in float, and the largest of its magnitudes: Inf where an element overflowed.
struct RoundedMatrix {
  Dense<float> matrix;
  double largest = 0;
};

/// A dense copy of A, rounded to float. Waits.
template <class B, class T>
RoundedMatrix round_to_float(B& backend, const MatrixRef<T>& A) {
  Dense<T> dense;
  if (A.is_sparse()) dense = to_dense(A);
  const DenseView<const T> view = A.is_sparse() ? std::as_const(dense).view() : A.dense();
  RoundedMatrix result{Dense<float>(A.device(), A.rows(), A.columns())};
  Array<Largest> largest(A.device(), 1);
  const bool contiguous = view.layout() == Layout::column_major && view.leading() == view.rows();
  backend.reduce(A.rows() * A.columns(), RoundElements<T>{view, contiguous, result.matrix.data()},
                 Store<Largest>{largest.data()});
  result.largest = backend.read(largest.data()).value;
  return result;
}

}  // namespace echelon

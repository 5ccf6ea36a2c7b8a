// SPDX-License-Identifier: BSD-3-Clause
/// A = Q R by Householder reflections, for matrices on which LU fails: declared for every backend.
#pragma once

#include "support/setup_control.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon {
class Host;
class Cuda;
class OpenCl;
}  // namespace echelon

namespace echelon::lu {

/// Replaces a square A by R above the vectors of the reflections, whose factors are tau (n elements, in the
/// backend's memory). False if a stop was requested, for which the host tests between blocks of columns and a
/// GPU before the first. 4/3 n^3 flops; waits.
template <class T>
[[nodiscard]] bool factor_qr(Host& backend, DenseView<T> A, T* tau, const SetupControl& control);
template <class T>
[[nodiscard]] bool factor_qr(Cuda& backend, DenseView<T> A, T* tau, const SetupControl& control);
template <class T>
[[nodiscard]] bool factor_qr(OpenCl& backend, DenseView<T> A, T* tau, const SetupControl& control);

/// Computes X = A^-1 X = R^-1 Q^T X, or A^-T X, for a column-major X. 4 n^2 flops a column. Queued. With
/// OpenCL the host works on copies.
template <class T>
void substitute_qr(Host& backend, bool transposed, DenseView<const T> factors, const T* tau, DenseView<T> X);
template <class T>
void substitute_qr(Cuda& backend, bool transposed, DenseView<const T> factors, const T* tau, DenseView<T> X);
template <class T>
void substitute_qr(OpenCl& backend, bool transposed, DenseView<const T> factors, const T* tau,
                   DenseView<T> X);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// P A = L U with partial pivoting, in place, and solves with the factors: declared for every backend.
#pragma once

#include "backend/targets.hpp"
#include "linalg/blas/float_products.hpp"
#include "support/setup_control.hpp"

#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

class Host;
class Cuda;
class OpenCl;

}  // namespace echelon

namespace echelon::lu {

/// Result of a factorisation.
struct LuResult {
  std::int64_t zero_pivot = -1;  ///< the first column, from 0, whose pivot is exactly zero; -1: none
  double largest = 0;            ///< max |u_ij|; NaN if there is one
  bool cancelled = false;
};

/// Memory and handles that a backend keeps from one factorisation to the next, for one thread at a time, and
/// the data, other than the factors, that solves need.
template <class B, class T>
struct FactorWorkspace {
  explicit FactorWorkspace(const Device&) {}
  [[nodiscard]] std::size_t bytes() const { return 0; }
  FloatProducts products = FloatProducts::in_float;  ///< arithmetic of large products; no choice on the host
};

/// Whether a backend's factor() ends at the first pivot that is zero.
template <class B>
inline constexpr bool ends_at_zero_pivot = false;
template <>
inline constexpr bool ends_at_zero_pivot<Cuda> = true;

/// P A = L U in place of the column-major m-by-n A: L is unit lower trapezoidal, |l_ij| <= 1, and U upper
/// trapezoidal. Row pivots[k] >= k, from 0, was exchanged with row k; min(m, n) pivots, in the backend's
/// memory. Of equal magnitudes the first row is the pivot. A column of zeros is passed over. m n^2 - n^3 / 3
/// flops for m >= n. Waits for the result.
template <class T>
LuResult factor(Host& backend, FactorWorkspace<Host, T>& workspace, DenseView<T> A, std::int64_t* pivots,
                const SetupControl& control);
template <class T>
LuResult factor(Cuda& backend, FactorWorkspace<Cuda, T>& workspace, DenseView<T> A, std::int64_t* pivots,
                const SetupControl& control);
template <class T>
LuResult factor(OpenCl& backend, FactorWorkspace<OpenCl, T>& workspace, DenseView<T> A, std::int64_t* pivots,
                const SetupControl& control);

/// Computes X = A^-1 X, or A^-T X, by the factors of a square A and the workspace of their factorisation, for
/// a column-major X. 2 n^2 flops a column. Queued; several threads may solve at the same time.
template <class T>
void substitute(Host& backend, const FactorWorkspace<Host, T>& workspace, bool transposed,
                DenseView<const T> factors, const std::int64_t* pivots, DenseView<T> X);
template <class T>
void substitute(Cuda& backend, const FactorWorkspace<Cuda, T>& workspace, bool transposed,
                DenseView<const T> factors, const std::int64_t* pivots, DenseView<T> X);
template <class T>
void substitute(OpenCl& backend, const FactorWorkspace<OpenCl, T>& workspace, bool transposed,
                DenseView<const T> factors, const std::int64_t* pivots, DenseView<T> X);

}  // namespace echelon::lu

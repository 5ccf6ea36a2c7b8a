// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <complex>

namespace echelon {

/// How the upper triangle of a matrix follows from the lower one.
struct TriangleMirror {
  bool conjugates = false;  ///< the matrix is Hermitian

  /// Element (j, i), given element (i, j).
  template <class T>
  [[nodiscard]] ECHELON_ANYWHERE T operator()(T element) const {
    if constexpr (is_complex<T>) {
      if (conjugates) return std::conj(element);
    }
    return element;
  }
  /// A diagonal element without the imaginary part that rounding errors leave in a Hermitian matrix.
  template <class T>
  [[nodiscard]] ECHELON_ANYWHERE T on_diagonal(T element) const {
    if constexpr (is_complex<T>) {
      if (conjugates) return T{element.real()};
    }
    return element;
  }
};

}  // namespace echelon

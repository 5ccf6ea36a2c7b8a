// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/stencil.hpp>

namespace echelon {

/// Sums over the rows of a stencil matrix.
struct StencilSums {
  double largest = 0;   ///< row sum of magnitudes: ||A||_inf
  double smallest = 0;  ///< row sum of magnitudes that is not zero; 0: there is none
  double sum = 0;       ///< of all elements: 1^T A 1
  double squares = 0;   ///< of row sums: ||A 1||^2
};

/// The sums of A, which are known since it was made.
template <class T>
[[nodiscard]] const StencilSums& sums_of(const Stencil<T>& A);

}  // namespace echelon

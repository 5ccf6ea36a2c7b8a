// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CraigOptions {
  static constexpr std::string_view name = "craig";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria. The iteration also ends with an x of least residual: once
  /// |a^H r| <= rtol ||a|| ||r|| for the columns a of A and r = b - A x.
  Stop stop = {};

  /// Describes each option.
  static std::vector<Option<CraigOptions>> table();
};

/// The solution of least norm of a consistent system of any shape: ||x - x*|| falls in every iteration, while
/// ||r|| need not. Systems that no x satisfies do not converge: `lsmr` solves them. Needs products with A^H.
/// E. J. Craig, J. Math. Phys. 34 (1955); on the bidiagonalisation of Golub and Kahan, C. C. Paige and M. A.
/// Saunders, ACM Trans. Math. Softw. 8 (1982).
/// An iteration costs a product with A, one with A^H, 6 m and 6 n flops; 3 m + 3 n elements are held, and A^T
/// of a sparse A.
template <class T>
using Craig = SolverOf<T, CraigOptions>;

}  // namespace echelon

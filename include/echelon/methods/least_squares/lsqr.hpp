// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/methods/least_squares/preconditioner.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API LsqrOptions {
  static constexpr std::string_view name = "lsqr";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// The d of min ||b - A x||_2^2 + d^2 ||x||_2^2, at least 0.
  double damping = 0;
  /// Iterate with columns of norm 1, where A has at least as many rows as columns. An x of a rank-deficient A
  /// then has the least norm of all only if its columns are of equal norm.
  bool scale_columns = true;
  LeastSquaresPreconditioner preconditioner = LeastSquaresPreconditioner::none;
  /// Seed of the sketch: equal seeds give equal bits.
  std::int64_t seed = 1;
  /// Stopping criteria. The iteration also ends with an x of least residual: once
  /// |a^H r| <= rtol ||a|| ||r|| for the columns a of A and r = b - A x.
  Stop stop = {};

  /// Describes each option.
  static std::vector<Option<LsqrOptions>> table();
};

/// Least squares for an A of any shape, by conjugate gradients on the normal equations in the bidiagonal form
/// of Golub and Kahan: ||r|| falls in every iteration. The solution of least norm of an underdetermined
/// system. Needs products with A^H. C. C. Paige and M. A. Saunders, ACM Trans. Math. Softw. 8 (1982). An
/// iteration costs a product with A, one with A^H, 6 m and 15 n flops; 3 m + 6 n elements are held, and A^T
/// of a sparse A.
template <class T>
using Lsqr = SolverOf<T, LsqrOptions>;

}  // namespace echelon

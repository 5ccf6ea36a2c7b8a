// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/methods/dense/qr.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API SparseQrOptions {
  static constexpr std::string_view name = "sparse-qr";
  static constexpr Targets targets = Targets::host;
  static constexpr bool takes_complex = true;
  /// The d of min ||b - A x||_2^2 + d^2 ||x||_2^2, at least 0.
  double damping = 0;
  /// Largest number of corrections of x, 0 to 10.
  std::int64_t refine = 1;
  /// The solution of an A of deficient rank, or that has more columns than rows.
  QrSolution solution = QrSolution::minimum_norm;
  /// A column counts as dependent if a part of at most this many times the largest norm of a column, 0 to 1,
  /// is linearly independent of the columns before it; default: max(m, n) times the machine epsilon.
  std::optional<double> tolerance = {};

  /// Describes each option.
  static std::vector<Option<SparseQrOptions>> table();
};

/// Least squares for a sparse A of any shape and rank, and the solution of least norm of an underdetermined
/// system, by a multifrontal QR factorisation with Householder reflections: A P = Q R for a tall or square A,
/// A^H P = Q R for a wide one. The report carries the rank, how certain it is, and an estimate of the
/// condition number. A dense A is converted.
///
/// T. Davis, Algorithm 915, SuiteSparseQR: multifrontal multithreaded rank-revealing sparse QR factorization,
/// ACM Trans. Math. Softw. 38 (2011); M. Heath, Some extensions of an algorithm for sparse linear least
/// squares problems, SIAM J. Sci. Stat. Comput. 3 (1982).
template <class T>
using SparseQr = SolverOf<T, SparseQrOptions>;

}  // namespace echelon

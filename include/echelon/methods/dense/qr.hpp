// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API QrOptions {
  static constexpr std::string_view name = "qr";
  static constexpr Targets targets = Targets::host;
  /// Scale rows and columns first where their sizes differ by more than a factor of ten.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  /// Describes each option.
  static std::vector<Option<QrOptions>> table();
};

/// Dense QR factorisation of a square matrix by Householder reflections by LAPACK's geqrf,
/// backward stable for every A; a sparse A is densified.
/// 4/3 n^3 flops and n^2 + n elements for the factor, 4 n^2 flops a right-hand side, and 6 n^2 with a step of
/// refinement. The report carries an estimate of the reciprocal condition number; below the machine epsilon
/// the status is `singular`.
template <class T>
using Qr = SolverOf<T, QrOptions>;

}  // namespace echelon

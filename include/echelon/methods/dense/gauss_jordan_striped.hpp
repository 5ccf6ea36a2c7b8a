// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GaussJordanStripedOptions {
  static constexpr std::string_view name = "gauss-jordan-striped";
  static constexpr Targets targets = Targets::both;
  /// Number of rows of a stripe, and of columns of a tile, 1 to 1024.
  std::int64_t stripe = 32;

  /// Describes each option.
  static std::vector<Option<GaussJordanStripedOptions>> table();
};

/// Gauss-Jordan elimination in stripes of rows and two passes, without pivoting: the published scheme, for
/// comparison; `gauss-jordan` is faster and more robust. A zero on the diagonal ends it (`breakdown`), and a
/// small one costs digits, so A should be diagonally dominant. 2/3 n^3 flops and n^2 elements for the
/// elimination, 2 n^2 flops a right-hand side. E. Eyvazov, Gauss-Jordan Solver of Linear Equation Systems on
/// GPU, Czech Technical University in Prague 2021, after M. Carcenac, J. Supercomputing 68 (2014).
template <class T>
using GaussJordanStriped = SolverOf<T, GaussJordanStripedOptions>;

}  // namespace echelon

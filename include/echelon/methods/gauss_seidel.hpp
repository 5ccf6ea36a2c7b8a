// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>
#include <echelon/sweep.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GaussSeidelOptions {
  static constexpr std::string_view name = "gauss-seidel";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Order of the rows.
  SweepKind sweep = SweepKind::forward;
  /// Sweeps between two computations of b - A x, each as costly as a sweep; 1 to 1000.
  std::int64_t residual_every = 4;

  /// Describes each option.
  static std::vector<Option<GaussSeidelOptions>> table();
};

/// Gauss-Seidel sweeps from x = 0 until the residual is small enough; for single sweeps see
/// GaussSeidelSweep.
/// Converges when A is strictly diagonally dominant, or symmetric positive definite. The iterates have the
/// same bits on every device. A dense A is copied into sparse form. A sweep costs 2 flops a nonzero, and
/// every `residual_every`-th one a product with A as well; 2 n elements are held.
template <class T>
using GaussSeidel = SolverOf<T, GaussSeidelOptions>;

}  // namespace echelon

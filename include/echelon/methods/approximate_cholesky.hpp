// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API ApproximateCholeskyOptions {
  static constexpr std::string_view name = "approximate-cholesky";
  static constexpr Targets targets = Targets::host;
  /// Stopping criteria.
  Stop stop = {};
  /// Number of copies into which each edge is split, 1 to 8; more copies take fewer iterations and give more
  /// fill.
  std::int64_t split = 1;
  /// Seed of the random numbers; the factor depends on it and on A only.
  std::int64_t seed = 1;
  /// Iterations with a diagonal preconditioner that are tried first. If they suffice, as on power-law graphs,
  /// the factorisation is omitted.
  std::int64_t jacobi_iterations = 0;

  /// Describes each option.
  static std::vector<Option<ApproximateCholeskyOptions>> table();
};

/// Conjugate gradients preconditioned by a randomised approximate Cholesky factorisation, for Laplacians of
/// graphs and other symmetric diagonally dominant A. Set-up and one iteration take O(nonzeros) time, set-up
/// with a logarithmic factor for sorting. R. Kyng, S. Sachdeva, Approximate Gaussian elimination for
/// Laplacians, FOCS 2016; Y. Gao, R. Kyng, D. Spielman, Robust and practical solution of Laplacian equations
/// by approximate elimination, 2023.
template <class T>
using ApproximateCholesky = SolverOf<T, ApproximateCholeskyOptions>;

}  // namespace echelon

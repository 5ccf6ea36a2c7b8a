// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CusolverLuOptions {
  static constexpr std::string_view name = "cusolver-lu";
  static constexpr Targets targets = Targets::cuda;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  /// Describes each option.
  static std::vector<Option<CusolverLuOptions>> table();
};

/// Dense LU with partial pivoting by cuSOLVER's Xgetrf, on a GPU; a sparse A is densified there. Rows and
/// columns are first scaled by powers of two where LAPACK's geequ would advise it. 2/3 n^3 flops and n^2
/// elements for the factor (and cuSOLVER's workspace during setup), 2 n^2 flops a right-hand side (twice that
/// with a step of refinement). Singularity is decided by an estimate of the condition number, as in LapackLu:
/// Hager's and Higham's, at most 12 solves with the factors. A solve queues all its work, allocates nothing,
/// and waits once, at its end.
template <class T>
using CusolverLu = SolverOf<T, CusolverLuOptions>;

}  // namespace echelon

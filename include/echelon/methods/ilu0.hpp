// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API Ilu0Options {
  static constexpr std::string_view name = "ilu0";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;

  /// Describes each option.
  static std::vector<Option<Ilu0Options>> table();
};

/// Incomplete LU without fill: L U agrees with A on the pattern of A. A preconditioner, for sparse A whose
/// diagonal stays nonzero in the elimination; otherwise a breakdown names the row.
/// Meijerink and van der Vorst, Math. Comp. 31 (1977); Saad, Iterative Methods, alg. 10.4.
/// Keeps L and U in the pattern of A, 12 bytes a nonzero in double, and the levels of their rows where they
/// are used (on a GPU always); refers to A in the set-up only. update_values keeps what depends on the
/// pattern.
template <class T>
using Ilu0 = SolverOf<T, Ilu0Options>;

}  // namespace echelon

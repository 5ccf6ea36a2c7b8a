// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API Ilu0Options {
  static constexpr std::string_view name = "ilu0";
  static constexpr Targets targets = Targets::both;

  /// Describes each option.
  static std::vector<Option<Ilu0Options>> table();
};

/// Incomplete LU without fill: L U agrees with A on the pattern of A. A preconditioner, for sparse A whose
/// diagonal stays nonzero in the elimination; otherwise a breakdown names the row.
/// Meijerink and van der Vorst, Math. Comp. 31 (1977); Saad, Iterative Methods, alg. 10.4.
/// The host keeps a copy of A's values and, if rows depend on other rows, the levels of both triangles; it
/// refers to A's pattern. A GPU factors by cuSPARSE's csrilu02, solves by its SpSV, and keeps a copy of A (at
/// most 2^31 - 1 nonzeros, InvalidMatrix otherwise) and SpSV's analysis of both triangles, one for each
/// concurrent solve; update_values keeps the analysis.
template <class T>
using Ilu0 = SolverOf<T, Ilu0Options>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/ordering.hpp>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct SparseLuOptions {
  static constexpr std::string_view name = "sparse-lu";
  static constexpr Targets targets = Targets::cuda;
  /// Order of elimination, which decides about the fill.
  Ordering ordering = Ordering::automatic;
  /// Most steps of iterative refinement, 0 to 20.
  std::int64_t refine = 5;
  /// Estimate the condition number in every set-up: about ten substitutions.
  bool condition = true;

  static std::vector<Option<SparseLuOptions>> table() {
    return {{"ordering", enum_field<&SparseLuOptions::ordering>(),
             "order of elimination, which decides about the fill; auto: the one of amd and metis with fewer "
             "predicted flops"},
            {"refine",
             +[](SparseLuOptions& o) -> std::int64_t& { return o.refine; },
             "most steps of iterative refinement, taken while the componentwise backward error exceeds the "
             "machine epsilon and each step halves it",
             {0, 20}},
            {"condition", +[](SparseLuOptions& o) -> bool& { return o.condition; },
             "estimate the condition number in every set-up, for about ten substitutions"}};
  }
};

/// P R A C Q = L U for a sparse square A: scaling, a maximum product matching that brings large elements to
/// the diagonal, a fill-reducing ordering, then a multifrontal factorisation with row exchanges within
/// fronts. The largest multiplier is reported, and answers are refined where it is not small. Structural
/// singularity ends as `singular` with the rank and the first unmatched row. A dense A is converted. I. Duff,
/// J. Reid, The multifrontal solution of unsymmetric sets of linear systems, SIAM J. Sci. Stat. Comput. 5
/// (1984); I. Duff, J. Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix,
/// SIAM J. Matrix Anal. Appl. 22 (2001).
template <class T>
using SparseLu = SolverOf<T, SparseLuOptions>;

}  // namespace echelon

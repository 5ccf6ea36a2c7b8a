// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct LuOptions {
  static constexpr std::string_view name = "lu";
  static constexpr Targets targets = Targets::host;
  /// Scale rows and columns first, by powers of two, where their sizes differ by more than a factor of ten.
  bool equilibrate = true;
  /// At most so many steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  static std::vector<Option<LuOptions>> table() {
    return {{"equilibrate", +[](LuOptions& o) -> bool& { return o.equilibrate; },
             "scale rows and columns first where their sizes differ by more than a factor of ten"},
            {"refine",
             +[](LuOptions& o) -> std::int64_t& { return o.refine; },
             "at most so many steps of iterative refinement",
             {0, 10}}};
  }
};

/// Dense LU with partial pivoting, P A = L U; a sparse A is densified. 2/3 n^3 flops and n^2 elements for the
/// factors; 2 n^2 flops a right-hand side (twice that with a step of refinement). Where elements grow so much
/// that refinement does not repair the answers, A is factored again between random butterflies, and after
/// that by QR. The report carries an estimate of the reciprocal condition number in the 1-norm; below the
/// unit roundoff the status is `singular`.
template <class T>
using Lu = SolverOf<T, LuOptions>;

}  // namespace echelon

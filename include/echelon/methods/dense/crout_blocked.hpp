// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

/// Factorisation of the columns of a section.
enum class CroutSection {
  direct,    ///< one after the other
  iterated,  ///< all at once, as a fixed-point iteration
};
constexpr std::array<EnumWord<CroutSection>, 2> words_of(CroutSection) {
  return {{{CroutSection::direct, "direct"}, {CroutSection::iterated, "iterated"}}};
}

struct ECHELON_API CroutBlockedOptions {
  static constexpr std::string_view name = "crout-blocked";
  static constexpr Targets targets = Targets::both;
  /// Factorisation of the columns of a section.
  CroutSection section = CroutSection::direct;
  /// Number of columns of a section, 1 to 1024.
  std::int64_t section_size = 32;
  /// Largest change by a sweep of an iterated section at which an element has converged; 0: no change at all.
  double tolerance = 0;
  /// Scale rows and columns first where LAPACK's geequ advises it.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 100.
  std::int64_t refine = 10;

  /// Describes each option.
  static std::vector<Option<CroutBlockedOptions>> table();
};

/// Dense LU by Crout's method in sections of a few columns: matrix products apply the parts left of a section
/// and above it once, and only the section itself is factored by Crout's formulas, directly or as an
/// iteration. 2/3 n^3 flops, nearly all in products; n^2 elements for the factors.
template <class T>
using CroutBlocked = SolverOf<T, CroutBlockedOptions>;

}  // namespace echelon

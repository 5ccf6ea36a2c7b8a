// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/dense_options.hpp>
#include <echelon/solver.hpp>

#include <array>
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

struct CroutBlockedOptions {
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

  static std::vector<Option<CroutBlockedOptions>> table() {
    using O = CroutBlockedOptions;
    return with_refinement_options<O>(
        {{"section", enum_field<&O::section>(),
          "direct: the columns of a section one after the other; iterated: all at once, as an iteration"},
         {"section_size",
          +[](O& o) -> std::int64_t& { return o.section_size; },
          "columns of a section",
          {1, 1024}},
         {"tolerance",
          +[](O& o) -> double& { return o.tolerance; },
          "in an iterated section an element has converged when a sweep changes it by no more than this",
          {0}}},
        "scale rows and columns first where LAPACK's geequ advises it", 100);
  }
};

/// Dense LU by Crout's method in sections of a few columns: matrix products apply the parts left of a section
/// and above it once, and only the section itself is factored by Crout's formulas, directly or as an
/// iteration. 2/3 n^3 flops, nearly all in products; n^2 elements for the factors.
template <class T>
using CroutBlocked = SolverOf<T, CroutBlockedOptions>;

}  // namespace echelon

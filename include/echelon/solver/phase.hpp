// SPDX-License-Identifier: BSD-3-Clause
/// Phases of a solver's work.
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

enum class SolverPhase {
  analysis,  ///< choice of a method, pattern of A, ordering
  setup,     ///< factorisation, hierarchy, preconditioner
  solve,     ///< iteration
};
constexpr std::array<EnumWord<SolverPhase>, 3> words_of(SolverPhase) {
  return {
      {{SolverPhase::analysis, "analysis"}, {SolverPhase::setup, "setup"}, {SolverPhase::solve, "solve"}}};
}

}  // namespace echelon

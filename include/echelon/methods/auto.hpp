// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace echelon {

enum class MethodSet {
  any,        ///< direct and iterative methods
  direct,     ///< methods of MethodKind::direct
  iterative,  ///< methods of MethodKind::iterative
};
constexpr std::array<EnumWord<MethodSet>, 3> words_of(MethodSet) {
  return {{{MethodSet::any, "any"}, {MethodSet::direct, "direct"}, {MethodSet::iterative, "iterative"}}};
}

struct ECHELON_API AutoOptions {
  static constexpr std::string_view name = "auto";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Methods among which to choose.
  MethodSet methods = MethodSet::any;
  /// Whether to look for a stencil on a grid, for structured-multigrid.
  bool stencils = true;

  /// Describes each option.
  static std::vector<Option<AutoOptions>> table();
};

/// The method that suits A, chosen in a set-up by the structure and the values of A as in choose(); see
/// <echelon/solve.hpp>. A set-up takes the first candidate that can be set up. A solve whose x is not good
/// enough goes on with the candidates that follow, and the method that solved the system is kept for the next
/// solve. New values in the pattern of A keep the method and its analysis as long as it solves. Reports name
/// the method, and list those that failed for this matrix in `attempts`.
template <class T>
using Auto = SolverOf<T, AutoOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API Ic0Options {
  static constexpr std::string_view name = "ic0";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Multiple of the diagonal that is added before the factorisation, 0 or more. Not set: the first of 0,
  /// 0.001, 0.002, 0.004, ... with which no pivot breaks down.
  std::optional<double> shift = {};

  /// Describes each option.
  static std::vector<Option<Ic0Options>> table();
};

template <class T>
using Ic0 = SolverOf<T, Ic0Options>;

}  // namespace echelon

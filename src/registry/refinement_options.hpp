// SPDX-License-Identifier: BSD-3-Clause
/// Rows of options that dense factorisations share.
#pragma once

#include "options/table.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Option table of a method, extended by rows for scaling and refinement; `O` has members `equilibrate` and
/// `refine`. `scaling` is the help text of the former, `most_steps` the upper bound of the latter.
template <class O>
[[nodiscard]] std::vector<Option<O>> with_refinement_options(std::vector<Option<O>> table,
                                                             std::string scaling, double most_steps) {
  table.push_back({"equilibrate", +[](O& o) -> bool& { return o.equilibrate; }, std::move(scaling)});
  table.push_back({"refine",
                   +[](O& o) -> std::int64_t& { return o.refine; },
                   "maximum number of refinement steps",
                   {0, most_steps}});
  return table;
}

/// The row of the option factor_precision, for an `O` with a member of that name.
template <class O>
[[nodiscard]] Option<O> factor_precision_option() {
  return {"factor_precision", enum_field<&O::factor_precision>(),
          "of the factorisation; answers are refined to the accuracy of the working precision, in which A is "
          "factored again where that fails. tf32x3, bf16x3 and tf32 on a GPU only"};
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry row of the choice of a method.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/auto.hpp>

#include <vector>

namespace echelon {

std::vector<Option<AutoOptions>> AutoOptions::table() {
  return {{"methods", enum_field<&AutoOptions::methods>(), "kind of the methods among which to choose"},
          {"stencils", +[](AutoOptions& o) -> bool& { return o.stencils; },
           "whether to look for a stencil on a grid, for structured-multigrid"}};
}
template Options to_options(AutoOptions);

namespace registry {

std::vector<Method> automatic_methods() {
  return {row<AutoOptions>({.summary = "the method that suits the matrix, or the next if it fails",
                            .kind = MethodKind::automatic,
                            .needs = MethodNeeds::any_shape,
                            .operators = true})};
}

}  // namespace registry

}  // namespace echelon

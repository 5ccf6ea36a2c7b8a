// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of incomplete factorisations.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/ic0.hpp>
#include <echelon/methods/ilu0.hpp>

#include <vector>

namespace echelon {

std::vector<Option<Ic0Options>> Ic0Options::table() {
  return {{"shift",
           +[](Ic0Options& o) -> std::optional<double>& { return o.shift; },
           "multiple of the diagonal that is added to A; auto: the first of 0, 0.001, 0.002, 0.004, ... "
           "without a breakdown",
           {0},
           {"auto"}}};
}
template Options to_options(Ic0Options);

std::vector<Option<Ilu0Options>> Ilu0Options::table() {
  return {};
}
template Options to_options(Ilu0Options);

namespace registry {

std::vector<Method> incomplete_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<Ic0Options>({.summary = "incomplete Cholesky without fill",
                       .kind = preconditioner,
                       .needs = symmetric_positive_definite,
                       .dense = false,
                       .usable_as_preconditioner = true,
                       .transposable = true}),
      row<Ilu0Options>({.summary = "incomplete LU without fill",
                        .kind = preconditioner,
                        .needs = nonzero_diagonal,
                        .dense = false,
                        .usable_as_preconditioner = true,
                        .transposable = true}),
  };
}

}  // namespace registry

}  // namespace echelon

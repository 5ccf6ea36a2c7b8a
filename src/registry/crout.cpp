// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of the forms of Crout's method.
#include "registry/families.hpp"
#include "registry/refinement_options.hpp"
#include "registry/row.hpp"

#include <echelon/methods/dense/crout.hpp>
#include <echelon/methods/dense/crout_blocked.hpp>
#include <echelon/methods/dense/crout_iterative.hpp>
#include <echelon/methods/dense/crout_parallel.hpp>

#include <vector>

namespace echelon {

std::vector<Option<CroutOptions>> CroutOptions::table() {
  return with_refinement_options<CroutOptions>(
      {}, "scale rows and columns first where LAPACK's geequ advises it", 10);
}
template Options to_options(CroutOptions);

std::vector<Option<CroutBlockedOptions>> CroutBlockedOptions::table() {
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
template Options to_options(CroutBlockedOptions);

std::vector<Option<CroutIterativeOptions>> CroutIterativeOptions::table() {
  using O = CroutIterativeOptions;
  return with_refinement_options<O>(
      {{"section_size",
        +[](O& o) -> std::int64_t& { return o.section_size; },
        "rows of a section; 0: a tenth of the rows of A, from 256 to 1024",
        {0}},
       {"tolerance",
        +[](O& o) -> double& { return o.tolerance; },
        "an element has converged when a sweep changes it by no more than this",
        {0}},
       {"pivoting", +[](O& o) -> bool& { return o.pivoting; },
        "exchange rows so that the largest element of each column becomes its pivot"},
       {"pivot_threshold",
        +[](O& o) -> double& { return o.pivot_threshold; },
        "a diagonal element of this multiple of the largest element below it stays the pivot",
        {0, 1}},
       {"block_size",
        +[](O& o) -> std::int64_t& { return o.block_size; },
        "rows and columns of a thread block's tile on a GPU, rounded down to a power of two",
        {8, 32}}},
      "scale rows and columns first where LAPACK's geequ advises it", 100);
}
template Options to_options(CroutIterativeOptions);

std::vector<Option<CroutParallelOptions>> CroutParallelOptions::table() {
  return {{"threads_per_block",
           +[](CroutParallelOptions& o) -> std::int64_t& { return o.threads_per_block; },
           "threads of a block on a GPU, rounded down to a power of two",
           {32, 512}},
          {"equilibrate", +[](CroutParallelOptions& o) -> bool& { return o.equilibrate; },
           "scale rows and columns first where LAPACK's geequ advises it"},
          {"refine",
           +[](CroutParallelOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of refinement steps",
           {0, 100}}};
}
template Options to_options(CroutParallelOptions);

namespace registry {

std::vector<Method> crout_methods() {
  using enum MethodKind;
  return {
      row<CroutOptions>({.summary = "dense LU with partial pivoting by Crout's method",
                         .kind = direct,
                         .sparse = false,
                         .usable_as_preconditioner = true,
                         .study = true}),
      row<CroutBlockedOptions>({.summary = "dense LU by Crout's method in sections of a few columns",
                                .kind = direct,
                                .sparse = false,
                                .usable_as_preconditioner = true,
                                .study = true}),
      row<CroutIterativeOptions>({.summary = "dense LU by Crout's formulas as an iteration, with pivoting",
                                  .kind = direct,
                                  .sparse = false,
                                  .usable_as_preconditioner = true,
                                  .study = true}),
      row<CroutParallelOptions>(
          {.summary = "dense LU by Crout's method, the elements of a column or row at the same time",
           .kind = direct,
           .sparse = false,
           .usable_as_preconditioner = true,
           .study = true}),
  };
}

}  // namespace registry

}  // namespace echelon

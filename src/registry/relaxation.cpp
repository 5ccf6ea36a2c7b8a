// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of relaxation methods.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/gauss_seidel.hpp>
#include <echelon/methods/gauss_seidel_relaunch.hpp>
#include <echelon/methods/jacobi.hpp>
#include <echelon/methods/sor.hpp>
#include <echelon/methods/ssor.hpp>
#include <echelon/methods/triangular_iterative.hpp>

#include <vector>

namespace echelon {

std::vector<Option<GaussSeidelOptions>> GaussSeidelOptions::table() {
  return with_stop_options<GaussSeidelOptions>(
      {{"sweep", enum_field<&GaussSeidelOptions::sweep>(), "order of the rows"},
       {"residual_every",
        +[](GaussSeidelOptions& o) -> std::int64_t& { return o.residual_every; },
        "sweeps between two computations of b - A x, each as costly as a sweep",
        {1, 1000}}});
}
template Options to_options(GaussSeidelOptions);

std::vector<Option<GaussSeidelRelaunchOptions>> GaussSeidelRelaunchOptions::table() {
  return with_stop_options<GaussSeidelRelaunchOptions>(
      {{"sweep", enum_field<&GaussSeidelRelaunchOptions::sweep>(), "order of the rows"},
       {"residual_every",
        +[](GaussSeidelRelaunchOptions& o) -> std::int64_t& { return o.residual_every; },
        "sweeps between two computations of b - A x, each as costly as a sweep",
        {1, 1000}},
       {"row_passes",
        +[](GaussSeidelRelaunchOptions& o) -> std::int64_t& { return o.row_passes; },
        "passes over a row in a launch: 2, first the flags and then the sum; 1: both at once, as published",
        {1, 2}},
       {"threads_per_block",
        +[](GaussSeidelRelaunchOptions& o) -> std::int64_t& { return o.threads_per_block; },
        "threads of a block on an NVIDIA GPU, with a row each; published with 1024",
        {1, 1024}}});
}
template Options to_options(GaussSeidelRelaunchOptions);

std::vector<Option<JacobiOptions>> JacobiOptions::table() {
  return with_stop_options<JacobiOptions>(
      {{"variant", enum_field<&JacobiOptions::variant>(),
        "point: divide by a_ii; l1: by sign(a_ii) sum_j |a_ij|, which never diverges for SPD A"},
       {"weight",
        +[](JacobiOptions& o) -> double& { return o.weight; },
        "damping; 2/3 to 0.8 smooths, 1 is the classical method",
        {0, 2, true, true}},
       {"sweeps",
        +[](JacobiOptions& o) -> std::int64_t& { return o.sweeps; },
        "sweeps per application as a preconditioner",
        {1, 1000}}});
}
template Options to_options(JacobiOptions);

std::vector<Option<SorOptions>> SorOptions::table() {
  return with_stop_options<SorOptions>(
      {{"omega",
        +[](SorOptions& o) -> double& { return o.omega; },
        "relaxation factor; 1 is gauss-seidel",
        {0, 2, true, true}},
       {"sweep", enum_field<&SorOptions::sweep>(), "order of the rows", {}, {"forward", "backward"}},
       {"residual_every",
        +[](SorOptions& o) -> std::int64_t& { return o.residual_every; },
        "sweeps between two computations of b - A x, each as costly as a sweep",
        {1, 1000}}});
}
template Options to_options(SorOptions);

std::vector<Option<SsorOptions>> SsorOptions::table() {
  return with_stop_options<SsorOptions>(
      {{"omega",
        +[](SsorOptions& o) -> double& { return o.omega; },
        "relaxation factor; 1 is symmetric Gauss-Seidel",
        {0, 2, true, true}},
       {"sweeps",
        +[](SsorOptions& o) -> std::int64_t& { return o.sweeps; },
        "symmetric sweeps per application as a preconditioner",
        {1, 1000}},
       {"residual_every",
        +[](SsorOptions& o) -> std::int64_t& { return o.residual_every; },
        "sweeps between two computations of b - A x, each as costly as a sweep",
        {1, 1000}}});
}
template Options to_options(SsorOptions);

std::vector<Option<TriangularIterativeOptions>> TriangularIterativeOptions::table() {
  return with_stop_options<TriangularIterativeOptions>({});
}
template Options to_options(TriangularIterativeOptions);

namespace registry {

std::vector<Method> relaxation_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<GaussSeidelOptions>({.summary = "Gauss-Seidel sweeps",
                               .kind = iterative,
                               .needs = diagonally_dominant,
                               .dense = false}),
      row<GaussSeidelRelaunchOptions>({.summary = "Gauss-Seidel sweeps by repeated launches",
                                       .kind = iterative,
                                       .needs = diagonally_dominant,
                                       .dense = false,
                                       .study = true}),
      row<JacobiOptions>({.summary = "weighted and l1 Jacobi",
                          .kind = iterative,
                          .needs = diagonally_dominant,
                          .usable_as_preconditioner = true,
                          .transposable = true}),
      row<SorOptions>({.summary = "successive over-relaxation",
                       .kind = iterative,
                       .needs = symmetric_positive_definite,
                       .dense = false}),
      row<SsorOptions>({.summary = "symmetric successive over-relaxation",
                        .kind = iterative,
                        .needs = symmetric_positive_definite,
                        .dense = false,
                        .usable_as_preconditioner = true,
                        .transposable = true}),
      row<TriangularIterativeOptions>({.summary = "Jacobi sweeps for triangular systems",
                                       .kind = iterative,
                                       .needs = triangular,
                                       .study = true}),
  };
}

}  // namespace registry

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of multigrid methods.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/geometric_multigrid.hpp>
#include <echelon/methods/multigrid/multigrid.hpp>
#include <echelon/methods/multigrid/multigrid_dense.hpp>
#include <echelon/methods/multigrid/structured_multigrid.hpp>

#include <vector>

namespace echelon {

namespace {
/// Options that multigrid along a line has for sparse and for dense A.
template <class O>
std::vector<Option<O>> line_multigrid_options() {
  return with_stop_options<O>(
      {{"sweeps",
        +[](O& o) -> std::int64_t& { return o.sweeps; },
        "Jacobi sweeps before, and after, each coarse correction",
        {1, 100}},
       {"weight",
        +[](O& o) -> std::optional<double>& { return o.weight; },
        "weight of the sweeps; auto: 4 / (3 lambda), lambda being the largest eigenvalue of D^-1 A",
        {0, 2, true, true},
        {"auto"}},
       {"coarse_size",
        +[](O& o) -> std::int64_t& { return o.coarse_size; },
        "rows up to which a level is solved by elimination",
        {1, 10000}},
       {"max_levels",
        +[](O& o) -> std::int64_t& { return o.max_levels; },
        "maximum number of levels",
        {1, 50}}});
}

}  // namespace

std::vector<Option<AmgOptions>> AmgOptions::table() {
  return with_stop_options<AmgOptions>(
      {{"coarsening", enum_field<&AmgOptions::coarsening>(),
        "coarse unknowns: aggregates, with a smoothed prolongation or without, or a subset of the unknowns"},
       {"cycle", enum_field<&AmgOptions::cycle>(),
        "visits of the coarse levels; f and k need a flexible method around them"},
       {"smoother", enum_field<&AmgOptions::smoother>(), "smoothing before and after the coarse correction"},
       {"sweeps",
        +[](AmgOptions& o) -> std::int64_t& { return o.sweeps; },
        "smoothing steps before, and after, the coarse correction",
        {1, 100}},
       {"weight",
        +[](AmgOptions& o) -> std::optional<double>& { return o.weight; },
        "weight of the Jacobi smoother; auto: 3 / (2 lambda), lambda being the largest eigenvalue of D^-1 "
        "A",
        {0, 2, true, true},
        {"auto"}},
       {"degree",
        +[](AmgOptions& o) -> std::int64_t& { return o.degree; },
        "degree of the Chebyshev smoother",
        {1, 16}},
       {"omega",
        +[](AmgOptions& o) -> double& { return o.omega; },
        "relaxation factor of symmetric-gauss-seidel; other than 1: SSOR",
        {0, 2, true, true}},
       {"block_size",
        +[](AmgOptions& o) -> std::int64_t& { return o.block_size; },
        "unknowns per node of a system of equations; divides the number of rows; 0: found from the pattern",
        {0, 16}},
       {"strength",
        +[](AmgOptions& o) -> std::optional<double>& { return o.strength; },
        "threshold of strong connections; auto: 0.08 of the largest elements of both rows for aggregation, "
        "0.25 of one row's for classical coarsening",
        {0, 1},
        {"auto"}},
       {"interpolation", enum_field<&AmgOptions::interpolation>(),
        "formula of the prolongation of classical coarsening"},
       {"max_elements",
        +[](AmgOptions& o) -> std::int64_t& { return o.max_elements; },
        "elements per row of the prolongation of classical coarsening",
        {1, 64}},
       {"aggressive_levels",
        +[](AmgOptions& o) -> std::int64_t& { return o.aggressive_levels; },
        "levels, from the finest, with aggressive classical coarsening, unless connections are few",
        {0, 10}},
       {"coarse_size",
        +[](AmgOptions& o) -> std::int64_t& { return o.coarse_size; },
        "rows up to which a level is solved directly",
        {1, 10000}},
       {"max_levels",
        +[](AmgOptions& o) -> std::int64_t& { return o.max_levels; },
        "maximum number of levels",
        {1, 50}},
       {"precision", enum_field<&AmgOptions::precision>(), "precision in which cycles are applied"}});
}
template Options to_options(AmgOptions);

std::vector<Option<GeometricMultigridOptions>> GeometricMultigridOptions::table() {
  using O = GeometricMultigridOptions;
  return with_stop_options<O>(
      {{"grid", +[](O& o) -> std::string& { return o.grid; },
        "points in each dimension, the one that is numbered fastest first: 100x80x60; empty: taken from the "
        "first row of A"},
       {"cycle", enum_field<&O::cycle>(),
        "visits of the coarse levels; f and k need a flexible method around them"},
       {"smoother", enum_field<&O::smoother>(), "smoothing before and after the coarse correction"},
       {"sweeps",
        +[](O& o) -> std::int64_t& { return o.sweeps; },
        "smoothing steps before, and after, the coarse correction",
        {1, 100}},
       {"weight",
        +[](O& o) -> std::optional<double>& { return o.weight; },
        "weight of the Jacobi smoother; auto: 3 / (2 lambda), lambda being the largest eigenvalue of D^-1 "
        "A",
        {0, 2, true, true},
        {"auto"}},
       {"coarse_size",
        +[](O& o) -> std::int64_t& { return o.coarse_size; },
        "rows up to which a level is solved directly",
        {1, 10000}},
       {"max_levels",
        +[](O& o) -> std::int64_t& { return o.max_levels; },
        "maximum number of levels",
        {1, 50}}});
}
template Options to_options(GeometricMultigridOptions);

std::vector<Option<StructuredMultigridOptions>> StructuredMultigridOptions::table() {
  using O = StructuredMultigridOptions;
  return with_stop_options<O>(
      {{"grid", +[](O& o) -> std::string& { return o.grid; },
        "points in each dimension, the one that is numbered fastest first: 100x80x60; empty: taken from the "
        "first row of A"},
       {"coarse_size",
        +[](O& o) -> std::int64_t& { return o.coarse_size; },
        "points up to which a level is solved directly",
        {1, 1000}}});
}
template Options to_options(StructuredMultigridOptions);

std::vector<Option<MultigridOptions>> MultigridOptions::table() {
  return line_multigrid_options<MultigridOptions>();
}
template Options to_options(MultigridOptions);

std::vector<Option<MultigridDenseOptions>> MultigridDenseOptions::table() {
  return line_multigrid_options<MultigridDenseOptions>();
}
template Options to_options(MultigridDenseOptions);

namespace registry {

std::vector<Method> multigrid_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<AmgOptions>({.summary = "algebraic multigrid",
                       .kind = iterative,
                       .needs = symmetric_positive_definite,
                       .dense = false,
                       .usable_as_preconditioner = true,
                       .takes_near_null_space = true}),
      row<GeometricMultigridOptions>({.summary = "multigrid on a regular grid",
                                      .kind = iterative,
                                      .needs = symmetric_positive_definite,
                                      .dense = false,
                                      .usable_as_preconditioner = true}),
      row<StructuredMultigridOptions>({.summary = "multigrid for a stencil on a box, on arrays",
                                       .kind = iterative,
                                       .needs = symmetric_positive_definite,
                                       .dense = false,
                                       .stencils = true,
                                       .usable_as_preconditioner = true}),
      row<MultigridOptions>({.summary = "multigrid for unknowns along a line",
                             .kind = iterative,
                             .needs = symmetric_positive_definite,
                             .dense = false,
                             .usable_as_preconditioner = true}),
      row<MultigridDenseOptions>({.summary = "multigrid for a dense matrix",
                                  .kind = iterative,
                                  .needs = symmetric_positive_definite,
                                  .sparse = false,
                                  .usable_as_preconditioner = true,
                                  .study = true}),
  };
}

}  // namespace registry

}  // namespace echelon

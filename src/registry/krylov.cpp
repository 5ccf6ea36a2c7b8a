// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of Krylov methods.
#include "registry/families.hpp"
#include "registry/row.hpp"

#include <echelon/methods/bicgstab.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/methods/cr.hpp>
#include <echelon/methods/gmres.hpp>
#include <echelon/methods/krylov/cocg.hpp>
#include <echelon/methods/krylov/cocr.hpp>
#include <echelon/methods/least_squares/cgls.hpp>
#include <echelon/methods/least_squares/craig.hpp>
#include <echelon/methods/least_squares/lsmr.hpp>
#include <echelon/methods/least_squares/lsqr.hpp>
#include <echelon/methods/minres.hpp>

#include <limits>
#include <vector>

namespace echelon {

std::vector<Option<BicgstabOptions>> BicgstabOptions::table() {
  return with_stop_options(with_preconditioner_options<BicgstabOptions>({}));
}
template Options to_options(BicgstabOptions);

std::vector<Option<CocgOptions>> CocgOptions::table() {
  return with_stop_options(with_preconditioner_options<CocgOptions>({}));
}
template Options to_options(CocgOptions);

std::vector<Option<CocrOptions>> CocrOptions::table() {
  return with_stop_options(with_preconditioner_options<CocrOptions>({}));
}
template Options to_options(CocrOptions);

std::vector<Option<CgOptions>> CgOptions::table() {
  return with_stop_options(with_preconditioner_options<CgOptions>(
      {{"flexible", +[](CgOptions& o) -> bool& { return o.flexible; },
        "allow the preconditioner to change from step to step; true where it says that it does"}}));
}
template Options to_options(CgOptions);

std::vector<Option<CrOptions>> CrOptions::table() {
  return with_stop_options(with_preconditioner_options<CrOptions>({}));
}
template Options to_options(CrOptions);

std::vector<Option<GmresOptions>> GmresOptions::table() {
  return with_stop_options(with_preconditioner_options<GmresOptions>(
      {{"restart",
        +[](GmresOptions& o) -> std::int64_t& { return o.restart; },
        "basis vectors kept before starting over; memory is (restart + 3) n elements",
        {1, 1000}},
       {"flexible", +[](GmresOptions& o) -> bool& { return o.flexible; },
        "keep the preconditioned vectors too, so that the preconditioner may change from step to step"}}));
}
template Options to_options(GmresOptions);

std::vector<Option<MinresOptions>> MinresOptions::table() {
  return with_stop_options(with_preconditioner_options<MinresOptions>({}));
}
template Options to_options(MinresOptions);

namespace {

/// The table of a method that minimises ||b - A x||^2 + d^2 ||x||^2.
template <class O>
std::vector<Option<O>> least_squares_table() {
  return with_stop_options<O>(
      {{"damping",
        +[](O& o) -> double& { return o.damping; },
        "the d of min ||b - A x||^2 + d^2 ||x||^2",
        {0, std::numeric_limits<double>::infinity(), false, true}},
       {"scale_columns", +[](O& o) -> bool& { return o.scale_columns; },
        "iterate with columns of norm 1, where A has at least as many rows as columns"},
       {"preconditioner", enum_field<&O::preconditioner>(),
        "none, incomplete Cholesky of A^T A, or R of a QR factorisation of a random sketch of a tall A"},
       {"seed", +[](O& o) -> std::int64_t& { return o.seed; }, "of the random numbers of the sketch", {0}}});
}

}  // namespace

std::vector<Option<CglsOptions>> CglsOptions::table() {
  return least_squares_table<CglsOptions>();
}
template Options to_options(CglsOptions);

std::vector<Option<CraigOptions>> CraigOptions::table() {
  return with_stop_options<CraigOptions>({});
}
template Options to_options(CraigOptions);

std::vector<Option<LsmrOptions>> LsmrOptions::table() {
  return least_squares_table<LsmrOptions>();
}
template Options to_options(LsmrOptions);

std::vector<Option<LsqrOptions>> LsqrOptions::table() {
  return least_squares_table<LsqrOptions>();
}
template Options to_options(LsqrOptions);

namespace registry {

std::vector<Method> krylov_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<BicgstabOptions>({.summary = "stabilised bi-conjugate gradients",
                            .kind = iterative,
                            .needs = one_sided_spectrum,
                            .operators = true}),
      row<CglsOptions>({.summary = "conjugate gradients on the normal equations of least squares",
                        .kind = iterative,
                        .needs = any_shape,
                        .operators = true}),
      row<CraigOptions>({.summary = "Craig's method, the x of least norm of a consistent system",
                         .kind = iterative,
                         .needs = any_shape,
                         .operators = true}),
      row<LsmrOptions>({.summary = "least squares by minimal residuals of the normal equations",
                        .kind = iterative,
                        .needs = any_shape,
                        .operators = true}),
      row<LsqrOptions>({.summary = "least squares by bidiagonalisation and rotations",
                        .kind = iterative,
                        .needs = any_shape,
                        .operators = true}),
      row<CgOptions>({.summary = "conjugate gradients",
                      .kind = iterative,
                      .needs = symmetric_positive_definite,
                      .operators = true}),
      row<CocgOptions>({.summary = "conjugate gradients for complex symmetric matrices",
                        .kind = iterative,
                        .needs = symmetric,
                        .operators = true}),
      row<CocrOptions>({.summary = "conjugate residuals for complex symmetric matrices",
                        .kind = iterative,
                        .needs = symmetric,
                        .operators = true}),
      row<CrOptions>({.summary = "conjugate residuals",
                      .kind = iterative,
                      .needs = symmetric_positive_definite,
                      .operators = true}),
      row<GmresOptions>({.summary = "restarted (flexible) generalised minimal residuals",
                         .kind = iterative,
                         .operators = true}),
      row<MinresOptions>(
          {.summary = "minimal residuals", .kind = iterative, .needs = symmetric, .operators = true}),
  };
}

}  // namespace registry

}  // namespace echelon

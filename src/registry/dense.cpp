// SPDX-License-Identifier: BSD-3-Clause
/// Options and registry rows of dense factorisations.
#include "registry/families.hpp"
#include "registry/refinement_options.hpp"
#include "registry/row.hpp"

#include <echelon/methods/dense/cholesky.hpp>
#include <echelon/methods/dense/cusolver_lu.hpp>
#include <echelon/methods/dense/gauss_jordan.hpp>
#include <echelon/methods/dense/gauss_jordan_striped.hpp>
#include <echelon/methods/dense/lapack_lu.hpp>
#include <echelon/methods/dense/ldlt.hpp>
#include <echelon/methods/dense/lu.hpp>
#include <echelon/methods/dense/qr.hpp>

#include <vector>

namespace echelon {

std::vector<Option<CholeskyOptions>> CholeskyOptions::table() {
  return with_refinement_options<CholeskyOptions>(
      {factor_precision_option<CholeskyOptions>()},
      "scale rows and columns alike first where their sizes differ by more than a factor of ten", 10);
}
template Options to_options(CholeskyOptions);

std::vector<Option<CusolverLuOptions>> CusolverLuOptions::table() {
  return {{"refine",
           +[](CusolverLuOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of refinement steps",
           {0, 10}}};
}
template Options to_options(CusolverLuOptions);

std::vector<Option<GaussJordanOptions>> GaussJordanOptions::table() {
  return {{"tolerance",
           +[](GaussJordanOptions& o) -> std::optional<double>& { return o.tolerance; },
           "a column is dependent on those before it when its pivot is at most this many times ||A||_inf; "
           "default 4 sqrt(max(m, n)) times the machine epsilon",
           {0, 1}},
          {"equilibrate", +[](GaussJordanOptions& o) -> bool& { return o.equilibrate; },
           "scale rows and columns first, by powers of two"},
          {"refine",
           +[](GaussJordanOptions& o) -> std::int64_t& { return o.refine; },
           "maximum number of refinement steps; 10 where A is nearly singular, unless 0",
           {0, 10}},
          {"block",
           +[](GaussJordanOptions& o) -> std::int64_t& { return o.block; },
           "columns of a panel; 0: chosen by the size of A",
           {0, 4096}},
          {"factor_precision", enum_field<&GaussJordanOptions::factor_precision>(),
           "of the elimination for square A; answers are refined, and those that miss the requested accuracy "
           "are computed again in the working precision. On the host, tf32 is single"},
          {"accuracy",
           +[](GaussJordanOptions& o) -> std::optional<double>& { return o.accuracy; },
           "backward error at which refinement of a lower factor_precision ends, at most 1e-10 "
           "(float: 1e-4); default: it ends once a step does not halve the residual, and has to reach "
           "sqrt(n) times the machine epsilon",
           {0, 1}}};
}
template Options to_options(GaussJordanOptions);

std::vector<Option<GaussJordanStripedOptions>> GaussJordanStripedOptions::table() {
  return {
      {"stripe",
       +[](GaussJordanStripedOptions& o) -> std::int64_t& { return o.stripe; },
       "rows of a stripe, and columns of a tile",
       {1, 1024}},
      {"second_pass", enum_field<&GaussJordanStripedOptions::second_pass>(),
       "published: subtract whole rows, zeros included, in stripes and tiles; shortened: only what is not "
       "zero"}};
}
template Options to_options(GaussJordanStripedOptions);

std::vector<Option<LapackLuOptions>> LapackLuOptions::table() {
  return with_refinement_options<LapackLuOptions>(
      {}, "scale rows and columns first where LAPACK's geequ advises it", 10);
}
template Options to_options(LapackLuOptions);

std::vector<Option<QrOptions>> QrOptions::table() {
  return with_refinement_options<QrOptions>(
      {{"solution", enum_field<&QrOptions::solution>(),
        "x of an A that is not square, where several have the least residual"},
       {"tolerance",
        +[](QrOptions& o) -> std::optional<double>& { return o.tolerance; },
        "pivots of an A that is not square count as zero up to this many times the largest; default max(m, "
        "n) "
        "times the machine epsilon",
        {0, 1}}},
      "scale rows and columns first where their sizes differ by more than a factor of ten", 10);
}
template Options to_options(QrOptions);

std::vector<Option<LdltOptions>> LdltOptions::table() {
  return with_refinement_options<LdltOptions>(
      {}, "scale rows and columns alike first where their sizes differ by more than a factor of ten", 10);
}
template Options to_options(LdltOptions);

std::vector<Option<LuOptions>> LuOptions::table() {
  return with_refinement_options<LuOptions>(
      {factor_precision_option<LuOptions>()},
      "scale rows and columns first where their sizes differ by more than a factor of ten", 10);
}
template Options to_options(LuOptions);

namespace registry {

std::vector<Method> dense_methods() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<CholeskyOptions>({.summary = "dense Cholesky factorisation",
                            .kind = direct,
                            .needs = symmetric_positive_definite,
                            .sparse = false,
                            .usable_as_preconditioner = true}),
      row<CusolverLuOptions>({.summary = "dense LU with partial pivoting by cuSOLVER",
                              .kind = direct,
                              .sparse = false,
                              .usable_as_preconditioner = true,
                              .study = true}),
      row<GaussJordanOptions>({.summary = "dense Gauss-Jordan elimination with partial pivoting",
                               .kind = direct,
                               .needs = any_shape,
                               .sparse = false,
                               .usable_as_preconditioner = true}),
      row<GaussJordanStripedOptions>({.summary = "dense Gauss-Jordan elimination in stripes, no pivoting",
                                      .kind = direct,
                                      .needs = diagonally_dominant,
                                      .sparse = false,
                                      .study = true}),
      row<LapackLuOptions>({.summary = "dense LU with partial pivoting by LAPACK",
                            .kind = direct,
                            .sparse = false,
                            .usable_as_preconditioner = true,
                            .study = true}),
      row<LdltOptions>({.summary = "dense L D L^T factorisation with rook pivoting",
                        .kind = direct,
                        .needs = symmetric,
                        .sparse = false,
                        .usable_as_preconditioner = true}),
      row<LuOptions>({.summary = "dense LU with partial pivoting",
                      .kind = direct,
                      .sparse = false,
                      .usable_as_preconditioner = true}),
      row<QrOptions>({.summary = "dense QR by Householder reflections, least squares",
                      .kind = direct,
                      .needs = any_shape,
                      .sparse = false,
                      .usable_as_preconditioner = true}),
  };
}

}  // namespace registry

}  // namespace echelon

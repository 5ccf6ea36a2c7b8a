// SPDX-License-Identifier: BSD-3-Clause
/// Table of methods, with one row each. A method is registered nowhere else.
#include "backend/dispatch.hpp"
#include "options/parse.hpp"
#include "solver/implementation.hpp"
#include "solver/make.hpp"
#include "solver/preconditioner_option.hpp"
#include "sparse_direct/left_looking/prediction.hpp"

#include <echelon/error.hpp>
#include <echelon/methods.hpp>
#include <echelon/solver.hpp>
#include <echelon/sparse_direct.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

namespace {

/// Throws NotBuilt if the method with the options O is not written for the device.
template <class O>
void check_device(const Device& device) {
  constexpr Targets targets = O::targets;
  if (device.on_host() ? targets != Targets::cuda : targets != Targets::host) return;
  throw NotBuilt(fmt::format("method '{}' runs on {} only, not on {}", O::name,
                             targets == Targets::cuda ? "cuda" : "serial and openmp", device.name()));
}

/// Implements Method::check_options.
template <class O>
void check_options(const Device& device, const Options& options) {
  const O parsed = parse_options<O>(std::string(O::name), options);
  check_device<O>(device);
  if constexpr (requires { parsed.preconditioner_options; }) {
    const Method* nested = find_preconditioner(parsed.preconditioner, parsed.preconditioner_options);
    if (nested != nullptr) nested->check_options(device, parsed.preconditioner_options);
  }
}

template <class T, class O>
Solver<T> make(const Device& device, const O& options) {
  check_device<O>(device);
  constexpr Targets targets = O::targets;
  auto implementation = on_target(device, [&]<class Target>() -> std::unique_ptr<SolverImplementation<T>> {
    constexpr bool host = std::is_same_v<Target, HostTarget>;
    if constexpr (host ? targets != Targets::cuda : targets != Targets::host) {
      return make_implementation<Target, T>(device, options);
    }
    return nullptr;
  });
  implementation->set_description(std::string(O::name), changed_options(options));
  return Solver<T>(std::move(implementation));
}

/// Fills in the fields that follow from the type of the options.
template <class O>
Method row(Method method) {
  method.name = O::name;
  method.serial = method.openmp = O::targets != Targets::cuda;
  method.cuda = O::targets != Targets::host;
  method.options = describe_options<O>();
  method.check_options = check_options<O>;
  method.make_float = [](const Device& device, const Options& options) {
    return make<float, O>(device, parse_options<O>(std::string(O::name), options));
  };
  method.make_double = [](const Device& device, const Options& options) {
    return make<double, O>(device, parse_options<O>(std::string(O::name), options));
  };
  return method;
}

/// Predicted cost of a sparse factorisation in the order that is fastest to find, left-looking if that is
/// faster.
template <class T>
CostPrediction predict(const Csr<T>& A) {
  if (const std::optional<CostPrediction> cost = sparse_direct::predict_left_looking(A)) return *cost;
  const FactorPrediction prediction = predict_factor(A, Ordering::amd);
  return {prediction.flops, prediction.bytes};
}

std::vector<Method> table() {
  using enum MethodKind;
  using enum MethodNeeds;
  return {
      row<AmgOptions>({.summary = "algebraic multigrid",
                       .kind = iterative,
                       .needs = symmetric_positive_definite,
                       .dense = false,
                       .usable_as_preconditioner = true}),
      row<ApproximateCholeskyOptions>(
          {.summary = "CG with a randomised approximate Cholesky factor, for graph Laplacians",
           .kind = iterative,
           .needs = diagonally_dominant,
           .dense = false,
           .usable_as_preconditioner = true}),
      row<BandedLuOptions>({.summary = "LU with partial pivoting of a band matrix",
                            .kind = direct,
                            .dense = false,
                            .usable_as_preconditioner = true}),
      row<BddcOptions>({.summary = "balancing domain decomposition by constraints, with CG on the interface",
                        .kind = iterative,
                        .needs = diagonally_dominant,
                        .dense = false,
                        .usable_as_preconditioner = true}),
      row<BicgstabOptions>({.summary = "stabilised bi-conjugate gradients",
                            .kind = iterative,
                            .needs = one_sided_spectrum,
                            .operators = true}),
      row<CgOptions>({.summary = "conjugate gradients",
                      .kind = iterative,
                      .needs = symmetric_positive_definite,
                      .operators = true}),
      row<CholeskyOptions>({.summary = "dense Cholesky factorisation",
                            .kind = direct,
                            .needs = symmetric_positive_definite,
                            .sparse = false,
                            .usable_as_preconditioner = true}),
      row<CroutOptions>({.summary = "dense LU with partial pivoting by Crout's method",
                         .kind = direct,
                         .sparse = false,
                         .usable_as_preconditioner = true}),
      row<CroutBlockedOptions>({.summary = "dense LU by Crout's method in sections of a few columns",
                                .kind = direct,
                                .sparse = false,
                                .usable_as_preconditioner = true}),
      row<CroutIterativeOptions>({.summary = "dense LU by Crout's formulas as an iteration, with pivoting",
                                  .kind = direct,
                                  .sparse = false,
                                  .usable_as_preconditioner = true}),
      row<CroutParallelOptions>(
          {.summary = "dense LU by Crout's method, the elements of a column or row at the same time",
           .kind = direct,
           .sparse = false,
           .usable_as_preconditioner = true}),
      row<CusolverLuOptions>({.summary = "dense LU with partial pivoting by cuSOLVER",
                              .kind = direct,
                              .sparse = false,
                              .usable_as_preconditioner = true}),
      row<GaussJordanOptions>({.summary = "dense Gauss-Jordan elimination with partial pivoting",
                               .kind = direct,
                               .needs = any_shape,
                               .sparse = false,
                               .usable_as_preconditioner = true}),
      row<GaussJordanStripedOptions>({.summary = "dense Gauss-Jordan elimination in stripes, no pivoting",
                                      .kind = direct,
                                      .needs = diagonally_dominant,
                                      .sparse = false}),
      row<GaussSeidelOptions>({.summary = "Gauss-Seidel sweeps",
                               .kind = iterative,
                               .needs = diagonally_dominant,
                               .dense = false}),
      row<GaussSeidelRelaunchOptions>({.summary = "Gauss-Seidel sweeps by repeated launches, for comparison",
                                       .kind = iterative,
                                       .needs = diagonally_dominant,
                                       .dense = false}),
      row<GeometricMultigridOptions>({.summary = "multigrid on a regular grid",
                                      .kind = iterative,
                                      .needs = symmetric_positive_definite,
                                      .dense = false,
                                      .usable_as_preconditioner = true}),
      row<GmresOptions>({.summary = "restarted (flexible) generalised minimal residuals",
                         .kind = iterative,
                         .operators = true}),
      row<Ic0Options>({.summary = "incomplete Cholesky without fill",
                       .kind = preconditioner,
                       .needs = symmetric_positive_definite,
                       .dense = false,
                       .usable_as_preconditioner = true}),
      row<Ilu0Options>({.summary = "incomplete LU without fill",
                        .kind = preconditioner,
                        .needs = nonzero_diagonal,
                        .dense = false,
                        .usable_as_preconditioner = true}),
      row<JacobiOptions>({.summary = "weighted and l1 Jacobi",
                          .kind = iterative,
                          .needs = diagonally_dominant,
                          .usable_as_preconditioner = true}),
      row<LamgOptions>({.summary = "lean algebraic multigrid for graph Laplacians",
                        .kind = iterative,
                        .needs = diagonally_dominant,
                        .dense = false,
                        .usable_as_preconditioner = true}),
      row<LapackLuOptions>({.summary = "dense LU with partial pivoting by LAPACK",
                            .kind = direct,
                            .sparse = false,
                            .usable_as_preconditioner = true}),
      row<LdltOptions>({.summary = "dense L D L^T factorisation with rook pivoting",
                        .kind = direct,
                        .needs = symmetric,
                        .sparse = false,
                        .usable_as_preconditioner = true}),
      row<LuOptions>({.summary = "dense LU with partial pivoting",
                      .kind = direct,
                      .sparse = false,
                      .usable_as_preconditioner = true}),
      row<MappedEchelonOptions>({.summary = "sparse elimination to mapped echelon form, any shape and rank",
                                 .kind = direct,
                                 .needs = any_shape,
                                 .dense = false}),
      row<MinresOptions>(
          {.summary = "minimal residuals", .kind = iterative, .needs = symmetric, .operators = true}),
      row<MultigridOptions>({.summary = "multigrid for unknowns along a line",
                             .kind = iterative,
                             .needs = symmetric_positive_definite,
                             .dense = false,
                             .usable_as_preconditioner = true}),
      row<MultigridDenseOptions>({.summary = "multigrid for a dense matrix",
                                  .kind = iterative,
                                  .needs = symmetric_positive_definite,
                                  .sparse = false,
                                  .usable_as_preconditioner = true}),
      row<SorOptions>({.summary = "successive over-relaxation",
                       .kind = iterative,
                       .needs = symmetric_positive_definite,
                       .dense = false}),
      row<SparseCholeskyOptions>({.summary = "sparse Cholesky factorisation",
                                  .kind = direct,
                                  .needs = symmetric_positive_definite,
                                  .dense = false,
                                  .usable_as_preconditioner = true}),
      row<SparseLdltOptions>({.summary = "sparse L D L^T factorisation with threshold pivoting",
                              .kind = direct,
                              .needs = symmetric,
                              .dense = false,
                              .usable_as_preconditioner = true}),
      row<SparseLuOptions>({.summary = "sparse LU factorisation with threshold pivoting",
                            .kind = direct,
                            .dense = false,
                            .usable_as_preconditioner = true,
                            .predict_float = predict<float>,
                            .predict_double = predict<double>}),
      row<SsorOptions>({.summary = "symmetric successive over-relaxation",
                        .kind = iterative,
                        .needs = symmetric_positive_definite,
                        .dense = false,
                        .usable_as_preconditioner = true}),
      row<TriangularIterativeOptions>(
          {.summary = "Jacobi sweeps for triangular systems", .kind = iterative, .needs = triangular}),
  };
}

}  // namespace

std::span<const Method> methods() {
  static const std::vector<Method> rows = table();
  return rows;
}

const Method& find_method(std::string_view name) {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    names.push_back(method.name);
  }
  throw BadOption("method", fmt::format("there is no method '{}'", name), nearest_name(name, names));
}

const Method* find_preconditioner(const std::string& name, const Options& options) {
  if (name == "none" || name.empty()) {
    if (options.empty()) return nullptr;
    throw BadOption("preconditioner." + options.entries().front().first,
                    "options are given for a preconditioner, but there is none");
  }
  const Method& method = find_method(name);
  if (method.usable_as_preconditioner) return &method;
  throw BadOption("preconditioner", fmt::format("method '{}' cannot be used as a preconditioner", name));
}

bool Method::runs_on(const Device& device) const {
  switch (device.kind()) {
    case DeviceKind::serial:
      return serial;
    case DeviceKind::openmp:
      return openmp;
    case DeviceKind::cuda:
      return cuda;
  }
  return false;
}

template <>
Solver<float> make_solver(std::string_view method, const Device& device, const Options& options) {
  return find_method(method).make_float(device, options);
}
template <>
Solver<double> make_solver(std::string_view method, const Device& device, const Options& options) {
  return find_method(method).make_double(device, options);
}

}  // namespace echelon

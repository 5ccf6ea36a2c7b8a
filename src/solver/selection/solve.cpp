// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "matrix/assign.hpp"
#include "matrix/view_checks.hpp"
#include "options/parse.hpp"
#include "solver/certify_answer.hpp"
#include "solver/nested_solver.hpp"
#include "solver/selection/method_choice.hpp"
#include "solver/selection/placed_solver.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/auto.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

template <class T>
Dense<T> zeros(const Device& device, std::int64_t rows, std::int64_t columns) {
  const std::vector<T> host(static_cast<std::size_t>(rows * columns), T{0});
  return Dense<T>(rows, columns, Array<T>(device, std::span<const T>(host)));
}

template <class T>
void check_guess(const InitialGuess& guess, std::int64_t rows, std::int64_t columns) {
  if (guess.empty()) return;
  const DenseView<const T>* x = guess.as<T>();
  if (x == nullptr) {
    throw BadOption("initial_guess", fmt::format("its elements are {}, those of A {}", guess.element_name(),
                                                 InitialGuess(DenseView<const T>()).element_name()));
  }
  if (x->rows() == rows && x->columns() == columns) return;
  throw DimensionMismatch(
      fmt::format("the initial guess is {} by {}, x is {} by {}", x->rows(), x->columns(), rows, columns));
}

void check_kind(const SolveOptions& options, bool is_operator) {
  if (!options.kind) return;
  if (*options.kind != MethodKind::direct && *options.kind != MethodKind::iterative)
    throw BadOption("kind", "it is direct or iterative: a preconditioner alone does not solve");
  if (options.method != "auto") throw BadOption("kind", "it limits 'auto', and a method is named");
  if (is_operator && *options.kind == MethodKind::direct)
    throw BadOption("kind", "a direct method needs the elements of A, which an operator does not have");
}

/// The initial guess on `device`, or zeros.
template <class T>
Dense<T> starting_point(const InitialGuess& guess, const Device& device, std::int64_t rows,
                        std::int64_t columns) {
  if (guess.empty()) return zeros<T>(device, rows, columns);
  return packed(*guess.as<T>()).to(device);
}

/// Solves by the named method.
template <class T>
Report solve_by_name(const MatrixRef<T>& A, DenseView<const T> B, DenseView<T> X, const SolveOptions& options,
                     const Control& control) {
  const Method& method = find_method(options.method);
  if (method.kind == MethodKind::preconditioner) {
    throw BadOption("method",
                    fmt::format("'{}' only approximates a solution: use it inside another method, as "
                                "in --method gmres -p preconditioner={}",
                                method.name, method.name));
  }
  Device device = options.device.value_or(A.device());
  if (!options.device) {
    const bool not_complex = is_complex<T> && method.complex && !method.takes_complex_on(device);
    if (!method.runs_on(device) || not_complex) device = device.on_host() ? Device::cuda() : Device::openmp();
  }
  PlacedSolver<T> solver({method.name, device, options.parameters, "asked for"},
                         make_solver<T>(method.name, device, options.parameters), 0, std::nullopt);
  if (options.near_null_space.columns() > 0)
    pass_near_null_space(SolverAccess<T>::implementation(solver.solver()), options.near_null_space);
  solver.setup(std::make_shared<PlacedMatrix<T>>(A), false, control);
  return solver.solve(B, X, control);
}

/// Solves by the method that suits A.
template <class T>
Report solve_auto(const MatrixRef<T>& A, DenseView<const T> B, DenseView<T> X, const SolveOptions& options,
                  const Control& control) {
  ChoiceLimits limits = limits_of(parse_options<AutoOptions>("auto", options.parameters));
  if (options.kind) limits.kind = options.kind;
  MethodChoice<T> choice(options.device, limits);
  choice.set_near_null_space(options.near_null_space);
  choice.setup(A, false, control);
  return choice.solve(B, X, control);
}

template <class T>
Solution<T> solve_system(const MatrixRef<T>& A, const DenseView<const T>& B, const SolveOptions& options) {
  check_view(B, "b");
  if (!A.is_sparse() && !A.is_operator()) check_view(A.dense(), "A");
  if (B.rows() != A.rows()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, b has {} rows", A.rows(), A.columns(), B.rows()));
  }
  check_guess<T>(options.initial_guess, A.columns(), B.columns());
  check_kind(options, A.is_operator());
  if (options.certify && A.is_operator())
    throw BadOption("certify", "a proof needs the elements of A, which an operator does not have");
  if (options.certify && is_complex<T>)
    throw BadOption("certify", "bounds of the error are proven for real matrices only");
  const Control control{.on_progress = options.on_progress,
                        .cancel = options.cancel,
                        .use_initial_guess = !options.initial_guess.empty(),
                        .measure_error = options.measure_error,
                        .rtol = options.rtol,
                        .atol = options.atol,
                        .max_iterations = options.max_iterations,
                        .least_squares = options.least_squares};
  Solution<T> solution{starting_point<T>(options.initial_guess, A.device(), A.columns(), B.columns()), {}};
  solution.report = options.method == "auto" ? solve_auto<T>(A, B, solution.x.view(), options, control)
                                             : solve_by_name<T>(A, B, solution.x.view(), options, control);
  if constexpr (!is_complex<T>) {
    if (options.certify) {
      solution.report.certificate = std::make_shared<const ErrorCertificate>(
          certify_answer<T>(A, B, solution.x.view(), solution.report, options.cancel));
    }
  }
  return solution;
}

}  // namespace

template <class T>
Solution<T> solve(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B, const SolveOptions& options) {
  return at_api_boundary([&] { return solve_system<T>(A, B, options); });
}

template <class T>
Report solve_into(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                  std::type_identity_t<DenseView<T>> X, const SolveOptions& options) {
  return at_api_boundary([&] {
    check_result_view(X, "X");
    if (X.rows() != A.columns() || X.columns() != B.columns()) {
      throw DimensionMismatch(fmt::format("X is {} by {}: the solution is {} by {}", X.rows(), X.columns(),
                                          A.columns(), B.columns()));
    }
    check_same_memory(A.device(), "A", X.device(), "X");
    if (overlap<T>(B, X) && !same_elements<T>(B, X))
      throw OverlappingOperands("B and X share a part of their memory: X has to be B itself, or elsewhere");
    Solution<T> solution = solve_system<T>(A, B, options);
    if (!solution.report.columns.empty()) {
      const Stopwatch stopwatch;
      assign<T>(solution.x.view(), X);
      solution.report.transfer_seconds += stopwatch.seconds();
    }
    return std::move(solution.report);
  });
}

#define ECHELON_INSTANTIATE(T)                                                                     \
  template Report solve_into(MatrixRef<T>, DenseView<const T>, DenseView<T>, const SolveOptions&); \
  template Solution<T> solve(MatrixRef<T>, DenseView<const T>, const SolveOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

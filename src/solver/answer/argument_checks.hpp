// SPDX-License-Identifier: BSD-3-Clause
/// Checks of the arguments of a solver's functions, each of which throws what is wrong with them.
#pragma once

#include "backend/check_same_memory.hpp"
#include "matrix/view_checks.hpp"
#include "solver/answer/solver_state.hpp"
#include "solver/has_factor.hpp"
#include "solver/implementation.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace echelon {

/// Names of the methods of a kind: "bicgstab, cg, gmres".
template <class F>
std::string names_of_methods(const F& is_of_kind) {
  std::string names;
  for (const Method& method : methods()) {
    if (is_of_kind(method)) names += (names.empty() ? "" : ", ") + method.name;
  }
  return names;
}

template <class T>
void check_matrix(const MatrixRef<T>& A, const SolverImplementation<T>& implementation) {
  if (A.rows() != A.columns() && !implementation.takes_any_shape()) {
    const auto takes_any = [](const Method& method) { return method.needs == MethodNeeds::any_shape; };
    throw DimensionMismatch(fmt::format("A is {} by {}: {} needs a square matrix; {} take any shape",
                                        A.rows(), A.columns(), implementation.name(),
                                        names_of_methods(takes_any)));
  }
  check_same_memory(implementation.device(), "the solver", A.device(), "A");
  if (A.is_stencil() && !implementation.takes_stencil()) {
    throw Error(fmt::format(
        "{} needs the elements of A, and a stencil has coefficients only: call to_csr(A), or take one of {}",
        implementation.name(),
        names_of_methods([](const Method& method) { return method.stencils || method.operators; })));
  }
  const SolverImplementation<T>* const named = implementation.named_preconditioner();
  if (A.is_stencil() && named != nullptr && !named->takes_stencil()) {
    throw Error(fmt::format(
        "the preconditioner {} needs the elements of A, and a stencil has coefficients only: call "
        "to_csr(A), or take structured-multigrid",
        named->name()));
  }
  if (A.is_operator() && !A.is_stencil() && !implementation.takes_operator()) {
    throw Error(fmt::format(
        "{} needs the elements of A, and a linear operator has none: {} solve with its products alone",
        implementation.name(), names_of_methods([](const Method& method) { return method.operators; })));
  }
  if (!A.is_sparse() && !A.is_operator()) check_view(A.dense(), "A");
}

/// Throws Error unless a set-up left the result `what`, or found that A is singular.
template <class T>
void check_result(const SolverState<T>& state, const char* what) {
  if (!state.ready) throw Error(fmt::format("{} was called before setup (or factor)", what));
  const Outcome& setup = state.setup;
  if (!has_factor(setup) && setup.status != Status::singular)
    throw Error(fmt::format("there is no {} without factors: {}", what, setup.message));
}

template <class T>
void check_operands(const MatrixRef<T>& A, Operation operation, const Device& device, DenseView<const T> B,
                    DenseView<const T> X) {
  const bool transposed = operation != Operation::none;
  const std::int64_t m = transposed ? A.columns() : A.rows();
  const std::int64_t n = transposed ? A.rows() : A.columns();
  check_view(B, "B");
  check_result_view(X, "X");
  if (B.rows() != m || X.rows() != n || B.columns() != X.columns()) {
    throw DimensionMismatch(
        fmt::format("{} is {} by {}, B is {} by {}, X is {} by {}: B needs {} rows, X {}, and both the same "
                    "number of columns",
                    transposed ? "A^T" : "A", m, n, B.rows(), B.columns(), X.rows(), X.columns(), m, n));
  }
  check_same_memory(device, "the solver", B.device(), "B");
  check_same_memory(device, "the solver", X.device(), "X");
  if (overlap(B, X) && !same_elements(B, X)) {
    throw OverlappingOperands("B and X share a part of their memory: X has to be B itself, or elsewhere");
  }
  if (!A.is_sparse() && !A.is_operator() && overlap(A.dense(), X)) {
    throw OverlappingOperands("A and X share memory: write X elsewhere");
  }
  if (const Csr<T>* csr = A.csr()) {
    const std::int64_t count = csr->nonzeros();
    const DenseView<const T> values(csr->values().data(), count, 1, count, csr->device());
    if (overlap(values, X))
      throw OverlappingOperands("the values of A and X share memory: write X elsewhere");
  }
}

/// Throws unless a solver is set up to precondition a matrix of order n.
template <class T>
void check_preconditioner(const SolverState<T>& preconditioner, std::int64_t n) {
  if (!preconditioner.ready) throw Error("the preconditioner has not been set up");
  const MatrixRef<T>& matrix = preconditioner.matrix;
  if (matrix.rows() != n || matrix.columns() != n) {
    throw DimensionMismatch(
        fmt::format("the preconditioner is set up for a matrix of {} by {}, A is {} by {}", matrix.rows(),
                    matrix.columns(), n, n));
  }
  if (!has_factor(preconditioner.setup)) {
    throw Error("the set-up of the preconditioner failed: " + preconditioner.setup.message);
  }
}

inline void check_control(const Control& control) {
  if (control.rtol && !(*control.rtol >= 0 && *control.rtol <= 1))
    throw BadOption("rtol", fmt::format("rtol is {}, which is not in [0, 1]", *control.rtol));
  if (control.atol && !(*control.atol >= 0 && std::isfinite(*control.atol)))
    throw BadOption("atol", fmt::format("atol is {}, which is not a number of at least 0", *control.atol));
  if (control.max_iterations && *control.max_iterations < 0)
    throw BadOption("max_iterations", fmt::format("the largest number of iterations is {}, which is negative",
                                                  *control.max_iterations));
}

}  // namespace echelon

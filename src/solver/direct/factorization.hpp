// SPDX-License-Identifier: BSD-3-Clause
/// A factorisation of a square matrix, from which DirectMethod makes a method.
#pragma once

#include "solver/direct/refinement.hpp"
#include "solver/direct/scales.hpp"
#include "solver/implementation.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/operation.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace echelon::direct {

using echelon::Operation;

/// Matrix that a substitution inverts, for factorisations that scale inside their substitution.
enum class SystemForm {
  original,  ///< A
  scaled,    ///< the matrix R A C that was factored, whose condition is estimated
};

/// Result of a factorisation. Not ok without factors; with a status of `singular` and no row, solves are
/// possible. The condition number is added to it.
struct Factored {
  Factored() = default;
  Factored(Outcome result) : outcome(std::move(result)) {}  // NOLINT(google-explicit-constructor)
  /// The matrix is to be factored on the host by F::HostMethod, for this reason.
  [[nodiscard]] static Factored on_host(std::string why) {
    Factored result;
    result.host_reason = std::move(why);
    return result;
  }

  Outcome outcome;
  std::optional<std::string> host_reason = {};
};

/// Arguments of a factorisation.
template <class B, class T>
struct FactorContext {
  B& backend;  ///< of all set-ups
  const MatrixRef<T>& A;
  /// To be set to the scales of the factored R A C by factorisations whose substitution is that of R A C.
  Scales<T>& scales;
  /// A has the pattern of the last set-up, whose analysis may be kept.
  bool same_pattern = false;
  const SetupControl& control;
  /// Solves A x = b with refinement by the present factors, to test them.
  std::function<void(const T* b, T* x)> solve = {};
  /// Normwise backward error of x.
  std::function<double(const T* b, const T* x)> backward_error = {};
  /// 1 / condition number of the scaled matrix, by a few substitutions with the present factors.
  std::function<double()> reciprocal_condition = {};
};

/// Columns of a solve under refinement, for factorisations with a policy of their own.
template <class B, class T>
struct RefinementTask {
  B& backend;
  Operation operation;
  const MatrixRef<T>& A;  ///< of the equations: the matrix that was factored, or its transpose
  DenseView<const T> rhs;
  std::span<Job> jobs;  ///< one a column; empty for a test of the factors
};

/// Workspace of a substitution that needs none.
struct NoSpace {
  [[nodiscard]] static std::size_t bytes() { return 0; }
};

/// F::make_workspace(backend), if there is one, makes the memory of a solve in progress.
template <class B, class F>
auto make_space(const F& factorization, B& backend) {
  if constexpr (requires { factorization.make_workspace(backend); }) {
    return factorization.make_workspace(backend);
  } else {
    return NoSpace();
  }
}
template <class B, class F>
using SpaceOf = decltype(make_space(std::declval<const F&>(), std::declval<B&>()));

/// F scales inside its substitution: substitute(operation, form, backend, space, V, X) queues X = M^-1 V,
/// where M is A or the scaled matrix, and X may be V.
template <class F, class B, class T>
concept ScalesItself = requires(const F& factorization, Operation operation, SystemForm form, B& backend,
                                SpaceOf<B, F>& space, DenseView<const T> V, DenseView<T> X) {
  factorization.substitute(operation, form, backend, space, V, X);
};

/// F is made from (device, options of the method), and has
///   factor(context)    factors context.A, of at least one row;
///   substitute(...)    queues X = A^-1 X, or A^-T X, for a column-major X: with the arguments (operation,
///                      backend, space, X) for the scaled matrix, or as ScalesItself. Constant; several
///                      threads may call it with a backend and a space of their own;
///   norm()             ||R A C||_1 of the factored matrix;
///   bytes()            memory kept, excluding the scales.
/// DirectMethod lists what it may have in addition.
template <class F, class B, class T>
concept Factorization = requires(F& factorization, const F& factors, const FactorContext<B, T>& context) {
  { factorization.factor(context) } -> std::convertible_to<Factored>;
  { factors.norm() } -> std::convertible_to<double>;
  { factors.bytes() } -> std::convertible_to<std::size_t>;
}
&&(ScalesItself<F, B, T> || requires(const F& factors, Operation operation, B& backend, SpaceOf<B, F>& space,
                                     DenseView<T> X) { factors.substitute(operation, backend, space, X); });

}  // namespace echelon::direct

// SPDX-License-Identifier: BSD-3-Clause
/// Solution in one call, with a method chosen by an analysis of the matrix.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <complex>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon {

/// Type of the elements of matrices and vectors.
template <class T>
concept ElementType =
    std::floating_point<T> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// An initial guess of the solution: a view of real or complex elements in any memory, converted implicitly
/// from vectors, matrices and views. The elements must outlive the call that uses the guess.
class ECHELON_API InitialGuess {
 public:
  InitialGuess() = default;
  template <ElementType T>
  InitialGuess(DenseView<T> x)  // NOLINT(google-explicit-constructor)
      : view_(DenseView<const T>(x)) {}
  template <ElementType T>
  InitialGuess(DenseView<const T> x) : view_(x) {}  // NOLINT(google-explicit-constructor)
  template <ElementType T>
  InitialGuess(const Dense<T>& x) : view_(x.view()) {}  // NOLINT(google-explicit-constructor)
  template <ElementType T>
  // NOLINTNEXTLINE(google-explicit-constructor)
  InitialGuess(const std::vector<T>& x) : view_(DenseView<const T>(x)) {}
  template <ElementType T>
  InitialGuess(std::span<T> x)  // NOLINT(google-explicit-constructor)
      : view_(DenseView<const T>(std::span<const T>(x))) {}
  template <ElementType T>
  InitialGuess(std::span<const T> x) : view_(DenseView<const T>(x)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool empty() const { return view_.index() == 0; }
  /// Name of the type of the elements in C++.
  [[nodiscard]] const char* element_name() const {
    constexpr const char* names[] = {"none", "float", "double", "std::complex<float>",
                                     "std::complex<double>"};
    return names[view_.index()];
  }
  /// View of the guess; null if there is none, or if its elements are of another type.
  template <class T>
  [[nodiscard]] const DenseView<const T>* as() const {
    return std::get_if<DenseView<const T>>(&view_);
  }

 private:
  std::variant<std::monostate, DenseView<const float>, DenseView<const double>,
               DenseView<const std::complex<float>>, DenseView<const std::complex<double>>>
      view_;
};

/// Sizes from which solve() takes a matrix from the host to a GPU, if there is one and no device is named:
/// rows of a dense matrix, stored elements of a sparse one. Below, the transfer takes longer than it saves.
inline constexpr std::int64_t gpu_dense_rows = 1500;
inline constexpr std::int64_t gpu_nonzeros = 1'000'000;

struct ECHELON_API SolveOptions {
  /// "auto", or a name from `methods()`.
  std::string method = "auto";
  /// The kind of methods that "auto" may take, as by its option `methods`: `direct` or `iterative`; default:
  /// both.
  std::optional<MethodKind> kind = {};
  /// Device on which to solve. Unset: the fastest device that uses the memory of A.
  std::optional<Device> device = {};
  /// Stop when ||b - A x|| <= max(rtol ||b||, atol), for iterative methods; default 1e-8 in double, 1e-5 in
  /// float.
  std::optional<double> rtol = {};
  /// See rtol; default 0.
  std::optional<double> atol = {};
  /// Largest number of iterations of an iterative method; default: that of the method.
  std::optional<std::int64_t> max_iterations = {};
  /// Options of the method, by name.
  Options parameters = {};
  /// Initial guess of iterative methods, with A's type of elements, A.columns() rows and a column for each of
  /// B's; default: zero. Direct methods ignore it.
  InitialGuess initial_guess = {};
  /// Near-null-space vectors of A, with a row for each of A, on the host: see
  /// <echelon/methods/multigrid/near_null_space.hpp>. Default, without columns: constants. All methods
  /// project those that a symmetric sparse A maps to zero out of B and X; `amg` coarsens by all.
  Dense<double> near_null_space = {};
  /// Accept an x of least residual where no x satisfies the equations, see Control::least_squares.
  bool least_squares = false;
  /// Measure the error of X, see Control::measure_error.
  bool measure_error = true;
  /// Bound the error of X by a proof, see certify() in <echelon/certify.hpp>: `certified()`, `error_bound()`
  /// and `certificate` of the report. Computed on the device that solved, at the cost that certify() states;
  /// not for an operator.
  bool certify = false;
  /// Called at every convergence check, on the calling thread.
  std::function<void(const Progress&)> on_progress = {};
  /// Tested at every convergence check; after a request to stop the report says `cancelled`.
  CancellationToken cancel = {};
};

template <class T>
struct ECHELON_API Solution {
  Dense<T> x;
  Report report;
};

/// Solves A X = B for a matrix or an operator A. A is square, unless the method takes any shape
/// (MethodNeeds::any_shape). With "auto", candidates are tried in the order that `choose` gives until one's
/// true residual is good enough; the report lists those that failed. A solver by the name "auto", see
/// <echelon/methods/auto.hpp>, does so for several right-hand sides. Data is moved to the device asked for
/// and back where needed; an operator stays where it is. A alone decides T, so that B may be anything that a
/// view is made from: a vector, a matrix, a view. Throws DimensionMismatch, DeviceMismatch, BadOption (also
/// for an initial guess of another type than A's, and for `certify` with an operator), NotBuilt, NoDevice.
template <class T>
[[nodiscard]] ECHELON_API Solution<T> solve(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                            const SolveOptions& options = {});
template <class T>
[[nodiscard]] Solution<T> solve(const Csr<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Solution<T> solve(const CsrView<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Solution<T> solve(const SparseView<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Solution<T> solve(const Dense<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Solution<T> solve(const LinearOperator<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}
template <class T>
[[nodiscard]] Solution<T> solve(const Stencil<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}) {
  return solve<T>(MatrixRef<T>(A), B, options);
}

/// solve() into X, which has A.columns() rows and a column for each of B's, in the memory of A; X may be B
/// itself. X is left as it is where nothing was computed (`columns` of the report is empty). Throws as
/// solve() does, and OverlappingOperands.
template <class T>
ECHELON_API Report solve_into(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                              std::type_identity_t<DenseView<T>> X, const SolveOptions& options = {});

/// A method that may suit a matrix, and why.
struct ECHELON_API Candidate {
  std::string method;
  Device device;
  Options parameters;
  std::string reason;
  /// Rough estimate of the time of a direct method; unset: not known.
  std::optional<double> seconds = {};
  /// If not 0: the iterations within which an iterative method has to converge to be worth its time. `auto`
  /// gives the attempt up once the residual shows that it will not.
  std::int64_t trial_iterations = 0;
};

/// Candidates of `auto` for A, best first. Analyses A's structure (see structure.hpp) in O(nonzeros).
template <class T>
[[nodiscard]] ECHELON_API std::vector<Candidate> choose(MatrixRef<T> A,
                                                        const std::optional<Device>& device = {});

}  // namespace echelon

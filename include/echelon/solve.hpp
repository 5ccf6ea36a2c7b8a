// SPDX-License-Identifier: BSD-3-Clause
/// Solving in one call, the method chosen by looking at the matrix.
#pragma once

#include <echelon/solver.hpp>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace echelon {

struct SolveOptions {
  std::string method = "auto";        ///< "auto" or a name from `methods()`
  std::optional<Device> device = {};  ///< unset: the memory that A is in, then whatever is fastest there
  std::optional<double> rtol = {};    ///< for iterative methods; default 1e-8 in double, 1e-5 in float
  std::optional<double> atol = {};
  std::optional<std::int64_t> max_iterations = {};
  Options parameters = {};  ///< the method's own; not for "auto"
};

template <class T>
struct Solution {
  Dense<T> x;
  Report report;
};

/// Solves A X = B. A is square, unless the method takes any shape (MethodNeeds::any_shape). With "auto",
/// candidates are tried in the order that `choose` gives until one's true residual is good enough; the report
/// lists those that failed. Data is moved to the device asked for and back where needed. A alone decides T,
/// so that B may be anything that a view is made from.
template <class T>
[[nodiscard]] Solution<T> solve(MatrixRef<T> A, DenseView<const T> B, const SolveOptions& options = {},
                                const Control& control = {});
template <class T>
[[nodiscard]] Solution<T> solve(const Csr<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}, const Control& control = {}) {
  return solve<T>(MatrixRef<T>(A), B, options, control);
}
template <class T>
[[nodiscard]] Solution<T> solve(const Dense<T>& A, std::type_identity_t<DenseView<const T>> B,
                                const SolveOptions& options = {}, const Control& control = {}) {
  return solve<T>(MatrixRef<T>(A), B, options, control);
}

/// A method that may suit a matrix, and why.
struct Candidate {
  std::string method;
  Device device;
  Options parameters;
  std::string reason;
};

/// What `auto` would try, best first. Looks at A's structure (see structure.hpp) in O(nonzeros).
template <class T>
[[nodiscard]] std::vector<Candidate> choose(MatrixRef<T> A, const std::optional<Device>& device = {});

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Operations of the class Lu that a Solver does not have, and those of
/// <echelon/methods/dense/lu_factors.hpp>.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/methods/dense/lu_factors.hpp>
#include <echelon/rref.hpp>

#include <memory>

namespace echelon::lu {

/// Operations with the factors of the last set-up. Throw Error when there was none.
template <class T>
class Operations {
 public:
  /// The matrix that was factored.
  [[nodiscard]] virtual const MatrixRef<T>& matrix() const = 0;
  [[nodiscard]] virtual Determinant determinant() const = 0;
  /// A solver for the transpose of the matrix, which has to be set up with that. It refers to these factors.
  [[nodiscard]] virtual std::unique_ptr<SolverImplementation<T>> transposed() const = 0;

 protected:
  ~Operations() = default;
};

// Instantiated for HostTarget and CudaTarget:

/// Factors A, which is in the memory of `device`, in place.
template <class Target, class T>
[[nodiscard]] LuFactors<T> factors_on(const Device& device, Dense<T> A);
/// Copy of L or of U.
template <class Target, class T>
[[nodiscard]] Dense<T> triangle_on(DenseView<const T> factors, bool lower);

}  // namespace echelon::lu

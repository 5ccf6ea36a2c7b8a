// SPDX-License-Identifier: BSD-3-Clause
/// Operations of the class Lu that a Solver does not have.
#pragma once

#include "solver/implementation.hpp"

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

}  // namespace echelon::lu

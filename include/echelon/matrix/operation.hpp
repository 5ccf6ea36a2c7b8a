// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

/// The matrix op(A) of a product with A or of a system op(A) X = B.
enum class Operation {
  none,       ///< A
  transpose,  ///< A^T
  adjoint,    ///< A^H, which is A^T for real numbers
};

}  // namespace echelon

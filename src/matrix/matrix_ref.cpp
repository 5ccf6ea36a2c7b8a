// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

namespace echelon::matrix_detail {

void throw_no_elements() {
  throw Error(
      "A is a linear operator, known by its products only, and this needs A's elements: Krylov methods (cg, "
      "minres, bicgstab, gmres) solve with an operator");
}

}  // namespace echelon::matrix_detail

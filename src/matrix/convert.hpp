// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix.hpp>

namespace echelon {

/// to_dense and to_csr for the devices of one side (see backend/side.hpp).
template <class Side, class T>
Dense<T> to_dense_on(const MatrixRef<T>& matrix);
template <class Side, class T>
Csr<T> to_csr_on(const MatrixRef<T>& matrix);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Conversions of matrices, per compilation target (see backend/target.hpp).
#pragma once

#include "backend/targets.hpp"

#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/matrix.hpp>

#include <vector>

namespace echelon {

template <class Target, class T>
Dense<T> to_dense_on(const MatrixRef<T>& matrix);
template <class Target, class T>
Csr<T> to_csr_on(const MatrixRef<T>& matrix);

/// Sums repeated entries in the order given.
template <class Target, class T>
Csr<T> to_csr_on(const Coo<T>& matrix);
template <class Target, class T>
Coo<T> to_coo_on(const Csr<T>& matrix);
template <class Target, class T>
Csr<T> transpose_on(const Csr<T>& matrix);

/// Number of the first entry with a row or column out of range; -1 if there is none. Synchronises.
template <class Target, class T>
std::int64_t first_bad_entry_on(const Coo<T>& matrix);

}  // namespace echelon

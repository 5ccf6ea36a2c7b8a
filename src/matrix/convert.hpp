// SPDX-License-Identifier: BSD-3-Clause
/// Conversions for the devices of one side (see backend/side.hpp).
#pragma once

#include "backend/targets.hpp"

#include <echelon/coo.hpp>
#include <echelon/matrix.hpp>

#include <vector>

namespace echelon {

template <class Target, class T>
Dense<T> to_dense_on(const MatrixRef<T>& matrix);
template <class Target, class T>
Csr<T> to_csr_on(const MatrixRef<T>& matrix);

/// Sums entries of one place in the order given.
template <class Target, class T>
Csr<T> to_csr_on(const Coo<T>& matrix);
template <class Target, class T>
Coo<T> to_coo_on(const Csr<T>& matrix);
template <class Target, class T>
Csr<T> transpose_on(const Csr<T>& matrix);

/// The number of the first entry whose row or column is out of range; -1 if there is none. Synchronises.
template <class Target, class T>
std::int64_t first_bad_entry_on(const Coo<T>& matrix);

}  // namespace echelon

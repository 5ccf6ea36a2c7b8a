// SPDX-License-Identifier: BSD-3-Clause
/// LU and Cholesky factors of batches on a GPU of matrices that one block cannot hold, and solves with them.
#pragma once

#include "dense/batched/operations.hpp"

namespace echelon {

/// Factors the matrices of `factors.A` as L U, the panels of all matrices together; makes the pivots, and
/// fills in the outcomes. Queued.
template <class T>
void factor_batch_in_panels(batch_detail::Factors<T>& factors, double tolerance);

/// Replaces B by the solutions, NaN where a matrix was not factored. Queued.
template <class T>
void substitute_batch_in_panels(const batch_detail::Factors<T>& factors, const DenseBatch<T>& B);

}  // namespace echelon

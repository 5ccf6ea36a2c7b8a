// SPDX-License-Identifier: BSD-3-Clause
/// Solutions for batches of matrices on a GPU that are too large for registers.
#pragma once

#include <echelon/batched.hpp>

#include <cstdint>

namespace echelon {

/// solve_batch_on with the factors of BatchFactors, for matrices of 1 to max_gpu_rows rows. Works on copies
/// of as many matrices at a time as keep the GPU busy. Queued.
template <class T>
void solve_batch_by_factors(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                            std::int64_t refine, BatchOutcome* outcomes);

/// invert_batch_on by LU factors in panels and the solution for the identity. Copies as
/// solve_batch_by_factors() does. Queued.
template <class T>
void invert_batch_by_factors(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes);

}  // namespace echelon

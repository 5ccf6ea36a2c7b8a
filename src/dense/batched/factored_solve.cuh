// SPDX-License-Identifier: BSD-3-Clause
/// Solutions for batches of matrices on a GPU that are too large for registers.
#pragma once

#include <echelon/batched.hpp>

#include <cstdint>

namespace echelon {

/// solve_batch_on with the factors of BatchFactors, for matrices of 1 to max_gpu_rows rows. Works on copies
/// of a few hundred megabytes of matrices at a time. Queued.
template <class T>
void solve_batch_by_factors(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                            std::int64_t refine, BatchOutcome* outcomes);

}  // namespace echelon

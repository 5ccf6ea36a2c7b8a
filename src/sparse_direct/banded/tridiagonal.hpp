// SPDX-License-Identifier: BSD-3-Clause
/// One tridiagonal matrix on a GPU.
#pragma once

#include "sparse_direct/banded/operations.hpp"

#include <cstdint>
#include <memory>

namespace echelon {
class Cuda;
}

namespace echelon::banded {

/// Orders from which the kernels for one tridiagonal matrix pay.
inline constexpr std::int64_t least_tridiagonal_order = 1024;

/// Whether `make_tridiagonal_factors` is for matrices of this shape.
template <class T>
[[nodiscard]] bool is_tridiagonal(const BandBatch<const T>& A) {
  return A.count() == 1 && A.n() >= least_tridiagonal_order && A.lower() <= 1 && A.upper() <= 1;
}

/// Factors that are a copy of A: each solve eliminates anew, at 9 elements of memory traffic a row, which is
/// less than reading factors would take. Gaussian elimination with partial pivoting of A with its columns
/// permuted.
template <class T>
[[nodiscard]] std::unique_ptr<BandFactors<T>> make_tridiagonal_factors(const Device& device);

/// B = A^-1 B without a copy of A.
template <class T>
void solve_tridiagonal(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcome);

}  // namespace echelon::banded

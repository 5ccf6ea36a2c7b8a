// SPDX-License-Identifier: BSD-3-Clause
/// Solves with the factors P A = L U on a GPU, by the inverses of their diagonal blocks.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "dense/panels/workspace.cuh"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::lu {

/// Rows of a diagonal block.
inline constexpr int diagonal_block = 128;

/// Elements of the inverses of the diagonal blocks of L and U for n rows.
inline std::int64_t inverses_size(std::int64_t n) {
  return 2 * ((n + diagonal_block - 1) / diagonal_block) * diagonal_block * diagonal_block;
}

/// Factors and scratch memory of a solve, in the memory of a GPU.
template <class T>
struct LuSubstitution {
  DenseView<const T> factors;
  const T* inverses;       ///< from invert_diagonal_blocks
  const int* permutation;  ///< row i of P A is row permutation[i] of A
};

/// Inverts the diagonal blocks of the square factors: L's, then, unless `only_lower`, U's; each
/// diagonal_block columns of diagonal_block rows, padded with the identity. A zero on U's diagonal gives Inf
/// and NaN. Queued.
template <class T>
void invert_diagonal_blocks(const StreamContext& context, DenseView<const T> factors, bool only_lower,
                            T* inverses);

/// Computes X = L^-1 Y for a unit lower triangle and the inverses of its diagonal blocks; destroys Y. Queued
/// on the stream of the backend's cuBLAS handle.
template <class T>
void solve_unit_lower(Cuda& backend, DenseView<const T> L, const T* inverses, DenseView<T> Y, DenseView<T> X);

/// Computes X = A^-1 B, or A^-T B, for few columns: a kernel for each. `progress`: a counter at zero, which
/// is reset. `Y`: workspace of 2 n elements. 2 n^2 flops a column. Queued on the calling thread's stream.
template <class T>
void substitute_vectors(Cuda& backend, bool transposed, const LuSubstitution<T>& factors,
                        DenseView<const T> B, DenseView<T> X, T* Y, unsigned* progress);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as matrices: adjacency and Laplacian.
#pragma once

#include <echelon/csr.hpp>

namespace echelon {

struct LaplacianOptions {
  /// Take (A + A^T) / 2 for A, instead of refusing one that is not symmetric.
  bool symmetrise = false;
  /// Allow negative weights, with which L may be indefinite.
  bool negative_weights = false;
};

/// L = D - A for the adjacency matrix A of an undirected graph, D the diagonal of A's row sums: rows and
/// columns of L sum to zero up to rounding. Loops (A's diagonal) cancel and leave no trace; elements that are
/// zero are no edges. Every diagonal element is stored, that of a vertex without an edge as 0. Throws
/// InvalidMatrix, naming the place, when A is not square, not symmetric (unless asked to symmetrise), has a
/// negative weight (unless allowed), NaN or Inf, or a sum overflows. On the host, serial; O(nonzeros) time,
/// the result and 8 bytes a row, twice A more to symmetrise. A on a GPU is copied.
template <class T>
[[nodiscard]] Csr<T> laplacian(const Csr<T>& adjacency, const LaplacianOptions& options = {});

/// The adjacency matrix of a matrix's graph: the magnitudes of the elements off the diagonal that are not
/// zero. It takes laplacian() back, but for the loops; an adjacency matrix without loops and negative weights
/// stays as it is. Throws InvalidMatrix when the matrix is not square or has NaN or Inf.
template <class T>
[[nodiscard]] Csr<T> adjacency(const Csr<T>& matrix);

}  // namespace echelon

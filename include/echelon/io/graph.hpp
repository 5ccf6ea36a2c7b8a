// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as matrices: adjacency and Laplacian.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

namespace echelon {

struct ECHELON_API LaplacianOptions {
  /// Use (A + A^T) / 2 instead of A; otherwise an unsymmetric A is refused.
  bool symmetrise = false;
  /// Accept negative weights, with which L may be indefinite.
  bool negative_weights = false;
};

/// L = D - A for the adjacency matrix A of an undirected graph, D the diagonal of A's row sums: rows and
/// columns of L sum to zero up to rounding. Loops (the diagonal of A) cancel; zero elements are not edges.
/// Every diagonal element is stored, 0 for a vertex without an edge. Throws InvalidMatrix, naming the place,
/// when A is not square, not symmetric (unless asked to symmetrise), has a negative weight (unless allowed),
/// NaN or Inf, or a sum overflows. On the host, serial; O(nonzeros) time. Memory: the result and 8 bytes per
/// row, and twice A to symmetrise. A on a GPU is copied.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> laplacian(const Csr<T>& adjacency, const LaplacianOptions& options = {});

/// The adjacency matrix of a matrix's graph: the magnitudes of the nonzero elements off the diagonal. It is
/// the inverse of laplacian() except for loops; an adjacency matrix without loops and negative weights is
/// unchanged. Throws InvalidMatrix when the matrix is not square or has NaN or Inf.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> adjacency(const Csr<T>& matrix);

}  // namespace echelon

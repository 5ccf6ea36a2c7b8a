// SPDX-License-Identifier: BSD-3-Clause
/// Fronts: the dense matrices that a multifrontal factorisation eliminates one after the other.
#pragma once

#include "support/triangle_mirror.hpp"

#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon::sparse_direct {

/// Front of an unsymmetric factorisation. Its leading `pivots` rows and columns are fully summed: eliminated
/// here, or else passed to the parent. All arrays are column-major.
template <class T>
struct UnsymmetricFront {
  int size;                  ///< rows and columns of the front
  int pivots;                ///< its fully summed rows and columns
  T* lower;                  ///< size by pivots: the fully summed columns
  T* upper;                  ///< size - pivots by pivots: the transpose of the rest of the fully summed rows
  T* update;                 ///< of order size - pivots: the rest, to be passed to the parent
  std::int32_t* row_ids;     ///< of the fully summed rows, permuted with them
  std::int32_t* column_ids;  ///< of the fully summed columns, permuted with them
  std::int32_t* exchanges;   ///< result: the row that was exchanged with row p when it became pivot p
};

/// Front of a symmetric or Hermitian factorisation: the lower triangles of the same arrays.
template <class T>
struct SymmetricFront {
  int size;           ///< rows and columns of the front
  int pivots;         ///< its fully summed rows and columns
  T* lower;           ///< size by pivots: the fully summed columns
  T* update;          ///< of order size - pivots: the rest, to be passed to the parent
  std::int32_t* ids;  ///< of the fully summed columns, permuted with them
  /// Result, two elements a pivot: its diagonal element of D, and that below it, which differs from zero in
  /// the first column of a pivot of order two.
  T* diagonal;
  TriangleMirror mirror = {};  ///< how the upper triangles follow
};

/// Outcome of a kernel for a front.
template <class T>
struct FrontResult {
  int eliminated = 0;   ///< pivots; the rest of the fully summed rows and columns come last
  int perturbed = 0;    ///< pivots that were replaced by larger ones
  Real<T> largest = 0;  ///< magnitude in the pivot columns when they were eliminated
};

/// Thresholds for an element of a column to become its pivot.
template <class T>
struct PivotThresholds {
  Real<T> column = 0;        ///< least magnitude, relative to the largest in the whole column of the front
  Real<T> last = 0;          ///< the same, for columns that would otherwise be passed to the parent
  Real<T> smallest = 0;      ///< columns without a larger element are passed to the parent
  Real<T> perturbation = 0;  ///< if positive, replaces pivots that no threshold allows, so that none is left
};

/// The factors of a front, for substitution.
template <class T>
struct FactoredFront {
  int size;        ///< rows and columns of the front
  int pivots;      ///< its fully summed columns
  int eliminated;  ///< those that were eliminated there
  const T* lower;  ///< size by pivots: L and, in an unsymmetric factorisation, U above its diagonal
  const T* right;  ///< LU: size - pivots by pivots, the transpose of U to the right of the pivots; else D
};

}  // namespace echelon::sparse_direct

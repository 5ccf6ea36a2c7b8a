// SPDX-License-Identifier: BSD-3-Clause
/// Elements that are alone in their row or column. As pivots they cause no fill.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// An order of rows and columns in which a square A is block lower triangular, with diagonal blocks of order
/// one, the *singletons*, around a larger one, the *core*:
///
///   L            L: singletons that were alone in their row,
///   X  C         C: the core,
///   X  X  T      T: singletons that were alone in their column,
///   0  0  X  0   and rows and columns that are zero in what the singletons leave.
///
/// A zero row may have elements in the columns of L, a zero column in the rows of T.
struct Singletons {
  std::vector<std::int32_t> rows, columns;  ///< of A, by position
  std::int64_t core_begin = 0;
  std::int64_t core_end = 0;
  std::int64_t end = 0;  ///< of T

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(rows.size()); }
  [[nodiscard]] std::int64_t core_size() const { return core_end - core_begin; }
  /// Number of singletons.
  [[nodiscard]] std::int64_t count() const { return core_begin + end - core_end; }
  friend bool operator==(const Singletons&, const Singletons&) = default;
};

/// Finds singletons of a square A on the host, again and again in what the others leave. An element that is
/// smaller than `least` times the largest one of its row, if it is alone there, or else of its column, is
/// none. Zeros count as absent. O(n + nonzeros) time. R. Karp, M. Sipser, Maximum matchings in sparse random
/// graphs, FOCS 1981; T. Davis, Direct Methods for Sparse Linear Systems, SIAM 2006, section 7.5.
template <class T>
[[nodiscard]] Singletons find_singletons(const Csr<T>& a, double least);

}  // namespace echelon::sparse_direct

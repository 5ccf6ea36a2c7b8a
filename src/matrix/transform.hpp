// SPDX-License-Identifier: BSD-3-Clause
/// The functions of <echelon/matrix/transform.hpp> for checked arguments, per compilation target.
#pragma once

#include "backend/targets.hpp"

#include <echelon/matrix/transform.hpp>

#include <cstdint>

namespace echelon {

/// The elements of rows [row_begin, row_end) with column_begin <= j < column_end and low <= j - i <= high.
struct Window {
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t column_begin = 0;
  std::int64_t column_end = 0;
  std::int64_t low = INT64_MIN / 2;  ///< halves: adding a row's number does not overflow
  std::int64_t high = INT64_MAX / 2;
};
template <class Target, class T>
Csr<T> window_on(const Csr<T>& A, const Window& window);

/// Faults of a list of indices. Positions count from 0; -1: none.
struct ListFacts {
  std::int64_t out_of_range = -1;  ///< first position of an index outside [0, bound)
  std::int64_t descent = -1;       ///< first position of an index that is not greater than the one before
  std::int64_t repetition = -1;    ///< a position whose index occurs elsewhere as well
};
/// Searches for repetitions only if `find_repetition`. Synchronises.
template <class Target>
ListFacts list_facts_on(const Array<std::int32_t>& list, std::int64_t bound, bool find_repetition);

template <class Target, class T>
Csr<T> select_rows_on(const Csr<T>& A, const Array<std::int32_t>& rows);
template <class Target, class T>
Csr<T> select_columns_on(const Csr<T>& A, const Array<std::int32_t>& columns, bool ascending);

enum class Symmetrization { mean, pattern };
template <class Target, class T>
Csr<T> symmetrize_on(const Csr<T>& A, const Csr<T>& transpose, Symmetrization kind);

template <class Target, class T>
Dense<T> diagonal_on(const Csr<T>& A);
template <class Target, class T>
Dense<T> block_diagonal_on(const Csr<T>& A, std::int64_t block);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Functions that derive one sparse matrix from another. Every function works on the device of A and leaves
/// its result there; values are copied with the same bits unless stated otherwise. On a GPU the work is
/// queued without waiting, except where a function is said to synchronise, to learn how much memory the
/// result takes or whether an index is valid.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon {

/// A^T. Throws InvalidMatrix when A has more rows than a 32-bit index counts. Synchronises on a GPU, where
/// the algorithm depends on whether the pattern is symmetric and on the number of elements in the fullest
/// block of columns. Memory in addition to the result: 16 bytes a nonzero (12 in float on the host), or on
/// the host 8 a column and thread where A has a band; on a GPU none where the pattern is symmetric, 24 where
/// it sorts in full.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> transpose(const Csr<T>& A);
/// A^T: a copy whose row and column indices have changed places. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Coo<T> transpose(const Coo<T>& A);

/// (A + A^T) / 2, stored wherever A or A^T is: exactly symmetric in spite of rounding. Throws
/// DimensionMismatch unless A is square. Synchronises. Transposes A and reads both twice.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> symmetrize(const Csr<T>& A);
/// A with zeros stored where only a_ji is, so that its pattern is symmetric. Errors and cost are those of
/// symmetrize.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> symmetrize_pattern(const Csr<T>& A);

/// The n-by-m matrix B with B(i, j) = A(rows[i], columns[j]), where the lists have n and m elements in any
/// order, and an index may occur several times. The lists are in A's memory (else DeviceMismatch) and are
/// checked: InvalidMatrix names the first index out of range. Synchronises. Memory: that of to_csr of a Coo,
/// unless the columns ascend.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> submatrix(const Csr<T>& A, const Array<std::int32_t>& rows,
                                           const Array<std::int32_t>& columns);
/// The submatrix of rows [row_begin, row_end) and columns [column_begin, column_end). Throws InvalidMatrix
/// unless the ranges lie within A. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> submatrix(const Csr<T>& A, std::int64_t row_begin, std::int64_t row_end,
                                           std::int64_t column_begin, std::int64_t column_end);

/// B with B(i, j) = A(rows[i], columns[j]): row rows[i] becomes row i, as in NumPy's A[rows, :][:, columns].
/// Each list must hold every index once: DimensionMismatch for another length, InvalidMatrix for an index out
/// of range or a repeated one. Errors and cost are otherwise those of submatrix with lists.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> permute(const Csr<T>& A, const Array<std::int32_t>& rows,
                                         const Array<std::int32_t>& columns);
/// Permutes the rows only, which needs no sorting.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> permute_rows(const Csr<T>& A, const Array<std::int32_t>& rows);
/// Permutes the columns only.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> permute_columns(const Csr<T>& A, const Array<std::int32_t>& columns);
/// P A P^T, the symmetric reordering of A: permute(A, order, order).
template <class T>
[[nodiscard]] ECHELON_API Csr<T> permute_symmetric(const Csr<T>& A, const Array<std::int32_t>& order);

/// The elements on and below diagonal k, that is with j - i <= k: k = 0 is the main diagonal, -1 the one
/// below (the strictly lower triangle). A may be rectangular. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> lower_triangle(const Csr<T>& A, std::int64_t k = 0);
/// The elements with j - i >= k; k = 1 for the strictly upper triangle. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> upper_triangle(const Csr<T>& A, std::int64_t k = 0);

/// The min(rows, columns) elements a_ii, zero where none is stored. O(log(row length)) each.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> diagonal(const Csr<T>& A);

/// The square diagonal blocks of `block` rows, side by side: a matrix of `block` rows with `block` columns
/// for each of them. Block b is at `data() + b * block * block`, column-major. A last block that extends
/// beyond A's min(rows, columns) elements is padded with zeros. Throws InvalidMatrix unless block > 0.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> block_diagonal(const Csr<T>& A, std::int64_t block);

}  // namespace echelon

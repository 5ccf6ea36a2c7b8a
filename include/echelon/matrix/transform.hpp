// SPDX-License-Identifier: BSD-3-Clause
/// Functions that make one sparse matrix of another. Every function works on the device of A and leaves its
/// result there; values are copied, not computed with, and keep their bits, unless it says otherwise. On a
/// GPU it queues its work and does not wait, unless it says that it synchronises, to learn how much memory
/// the result takes or whether an index is good.
#pragma once

#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon {

/// A^T. Throws InvalidMatrix when A has more rows than a 32-bit index counts. On a GPU it synchronises:
/// whether the pattern is symmetric, and how full the fullest block of columns is, decide how it works.
/// Memory besides the result: 16 bytes a nonzero (12 in float on the host), or on the host 8 a column and
/// thread where A has a band; on a GPU none where the pattern is symmetric, 24 where it sorts in full.
template <class T>
[[nodiscard]] Csr<T> transpose(const Csr<T>& A);
/// A^T: a copy whose row and column indices have changed places. Synchronises.
template <class T>
[[nodiscard]] Coo<T> transpose(const Coo<T>& A);

/// (A + A^T) / 2, stored wherever either is: exactly symmetric, whatever rounding does. Throws
/// DimensionMismatch unless A is square. Synchronises. Transposes A and reads both twice.
template <class T>
[[nodiscard]] Csr<T> symmetrize(const Csr<T>& A);
/// A, with zeros stored where only a_ji was, so that its pattern is symmetric. Otherwise as symmetrize.
template <class T>
[[nodiscard]] Csr<T> symmetrize_pattern(const Csr<T>& A);

/// The n-by-m matrix B with B(i, j) = A(rows[i], columns[j]), the lists having n and m elements: in any
/// order, and an index may occur several times. They lie in A's memory (DeviceMismatch) and are checked:
/// InvalidMatrix names the first index out of range. Synchronises. Memory as of to_csr of a Coo unless the
/// columns ascend.
template <class T>
[[nodiscard]] Csr<T> submatrix(const Csr<T>& A, const Array<std::int32_t>& rows,
                               const Array<std::int32_t>& columns);
/// Rows [row_begin, row_end) and columns [column_begin, column_end). Throws InvalidMatrix unless the ranges
/// lie within A. Synchronises.
template <class T>
[[nodiscard]] Csr<T> submatrix(const Csr<T>& A, std::int64_t row_begin, std::int64_t row_end,
                               std::int64_t column_begin, std::int64_t column_end);

/// B with B(i, j) = A(rows[i], columns[j]): row rows[i] comes to place i, as A[rows, :][:, columns] does in
/// NumPy. Each list must hold every index once: DimensionMismatch for another length, InvalidMatrix for an
/// index out of range or twice. Otherwise as submatrix with lists.
template <class T>
[[nodiscard]] Csr<T> permute(const Csr<T>& A, const Array<std::int32_t>& rows,
                             const Array<std::int32_t>& columns);
/// permute of the rows alone, which needs no sorting.
template <class T>
[[nodiscard]] Csr<T> permute_rows(const Csr<T>& A, const Array<std::int32_t>& rows);
/// permute of the columns alone.
template <class T>
[[nodiscard]] Csr<T> permute_columns(const Csr<T>& A, const Array<std::int32_t>& columns);
/// permute(A, order, order): A's symmetric reordering, P A P^T.
template <class T>
[[nodiscard]] Csr<T> permute_symmetric(const Csr<T>& A, const Array<std::int32_t>& order);

/// The elements on and below diagonal k, that is with j - i <= k: k = 0 is the main diagonal, -1 the one
/// below (the strictly lower triangle). A may be rectangular. Synchronises.
template <class T>
[[nodiscard]] Csr<T> lower_triangle(const Csr<T>& A, std::int64_t k = 0);
/// The elements with j - i >= k; k = 1 for the strictly upper triangle. Synchronises.
template <class T>
[[nodiscard]] Csr<T> upper_triangle(const Csr<T>& A, std::int64_t k = 0);

/// The min(rows, columns) elements a_ii, zero where none is stored. O(log(row length)) each.
template <class T>
[[nodiscard]] Dense<T> diagonal(const Csr<T>& A);

/// The square blocks of `block` rows along the diagonal, side by side: `block` rows, and for each block
/// `block` columns. Block b is at `data() + b * block * block`, column-major. A last block that A's min(rows,
/// columns) elements do not fill is filled up with zeros. Throws InvalidMatrix unless block > 0.
template <class T>
[[nodiscard]] Dense<T> block_diagonal(const Csr<T>& A, std::int64_t block);

}  // namespace echelon

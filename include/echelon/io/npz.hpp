// SPDX-License-Identifier: BSD-3-Clause
/// NumPy's .npz archives: arrays that numpy.savez stores, and sparse matrices that scipy.sparse.save_npz
/// stores.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <string>

namespace echelon {

template <class T>
struct ECHELON_API NpzFile {
  Matrix<T> matrix;  ///< Csr for a sparse matrix, else Dense; a vector is one column
  /// The array `b` next to the array `A`; no columns without one.
  Dense<T> right_hand_sides;
  std::string array;                   ///< name of the array that was read; empty for a sparse matrix
  bool integer = false;                ///< whether the archive stores integers or booleans
  bool complex = false;                ///< whether it stores complex numbers
  std::int64_t stored_entries = 0;     ///< elements in the archive
  std::int64_t duplicate_entries = 0;  ///< elements that were added to an earlier one in the same place
};

/// Reads an archive, its members stored or deflated, into host memory.
/// - scipy.sparse.save_npz: a matrix in the formats csr, csc, coo, bsr or dia. Duplicates are summed.
///   Zeros in the blocks of bsr and on the diagonals of dia are left out.
/// - numpy.savez, savez_compressed: the array named `array`. Without a name: the only array, or among several
///   the one named `A`, with the array `b` as its right-hand sides.
/// Element types are those of read_npy; indices are integers of any width. Refused: other sparse formats,
/// encrypted archives, other compression methods, a member whose checksum is wrong. Memory: the result, for a
/// sparse matrix its indices as 64-bit integers, and for bsr and dia the stored elements. Throws ParseError,
/// with the member and the byte of the first error, or the names of the arrays where `array` names none;
/// OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API NpzFile<T> read_npz(const std::string& path, const std::string& array = {});

/// Writes what read_npz reads back to the same bits, its members stored: a sparse matrix as
/// scipy.sparse.save_npz stores a csr_matrix, a dense one as the array `arr_0`, as write_npy writes it. The
/// file appears whole or not at all. A matrix on a GPU is copied. Throws ParseError if it cannot be written.
template <class T>
ECHELON_API void write_npz(const std::string& path, MatrixRef<T> matrix);

}  // namespace echelon

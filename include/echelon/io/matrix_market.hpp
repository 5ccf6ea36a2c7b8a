// SPDX-License-Identifier: BSD-3-Clause
/// Matrix Market files (.mtx, and .mtx.gz): https://math.nist.gov/MatrixMarket/formats.html
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <string>

namespace echelon {

/// Facts that the header of a Matrix Market file gives, and counts of its entries.
struct ECHELON_API MatrixMarketInfo {
  bool coordinate = true;              ///< true for coordinate, false for array
  std::string field = "real";          ///< real, complex, integer, pattern
  std::string symmetry = "general";    ///< general, symmetric, skew-symmetric, hermitian
  std::int64_t rows = 0;               ///< of the matrix
  std::int64_t columns = 0;            ///< of the matrix
  std::int64_t stored_entries = 0;     ///< lines of data
  std::int64_t duplicate_entries = 0;  ///< entries that were added to an earlier one in the same place
};

template <class T>
struct ECHELON_API MatrixMarketFile {
  Matrix<T> matrix;  ///< Dense for array, Csr for coordinate; the symmetric half is filled in
  MatrixMarketInfo info;
};

/// Reads real, integer and pattern (all ones) matrices, general, symmetric, skew-symmetric and hermitian
/// (which is symmetric), plain or gzip (recognised by its content), into host memory. Threads: OpenMP's
/// choice unless given; the result does not depend on them. Duplicates are summed in file order, and zeros
/// that the file stores stay elements. Numbers that overflow T, NaN and Inf are refused; numbers too small
/// for T become zero. Fortran exponents (1.5D+3, 1.5-101), lines that end with CR LF or CR, blank lines and
/// comments between the data are accepted. A symmetric or skew-symmetric file stores one triangle, either
/// one; entries on both sides of the diagonal are refused, because filling in would double a pair.
///
/// The text is read twice, so that the second pass stores entries in their final positions. Peak memory: the
/// Csr with duplicates as elements of their own, 8 bytes per element of an unsorted row while it is sorted,
/// the Csr once more if there are duplicates, and at most 8 MB per thread. Row offsets of more than 64 MiB
/// that are out of proportion to the file are allocated only after the whole file was checked. A gzip file is
/// unpacked in pieces. A pipe's data is kept in a temporary file. Throws ParseError with the line and column
/// of the first error in the file; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API MatrixMarketFile<T> read_matrix_market_file(const std::string& path,
                                                                      int threads = 0);

/// Reads a Csr; of an array file, the nonzero elements.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> read_matrix_market(const std::string& path);

/// Reads a Dense; for right-hand sides and small matrices.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> read_matrix_market_dense(const std::string& path);

/// Writes the shortest decimals that read back to the same bits: coordinate for a sparse, array for a dense
/// matrix, both `general`; gzip if the name ends in .gz. The file appears whole or not at all (written next
/// to it and renamed). NaN and Inf are written, although reading refuses them. Each line of `comment` becomes
/// a comment. Throws ParseError if the file cannot be written.
template <class T>
ECHELON_API void write_matrix_market(const std::string& path, MatrixRef<T> matrix,
                                     const std::string& comment = {});

}  // namespace echelon

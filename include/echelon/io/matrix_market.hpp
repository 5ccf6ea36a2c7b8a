// SPDX-License-Identifier: BSD-3-Clause
/// Matrix Market files (.mtx, and .mtx.gz): https://math.nist.gov/MatrixMarket/formats.html
#pragma once

#include <echelon/matrix.hpp>

#include <cstdint>
#include <string>

namespace echelon {

/// What a Matrix Market file says of itself, and what was found in it.
struct MatrixMarketInfo {
  bool coordinate = true;            ///< else array
  std::string field = "real";        ///< real, integer, pattern
  std::string symmetry = "general";  ///< general, symmetric, skew-symmetric
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stored_entries = 0;     ///< lines of data
  std::int64_t duplicate_entries = 0;  ///< entries that were added to one of the same place
};

template <class T>
struct MatrixMarketFile {
  Matrix<T> matrix;  ///< Dense for array, Csr for coordinate; the symmetric half is filled in
  MatrixMarketInfo info;
};

/// Reads real, integer and pattern (all ones) matrices, general, symmetric and skew-symmetric, plain or gzip
/// (told by the content), into host memory. Threads: OpenMP's choice unless given; the result does not depend
/// on them. Duplicates are summed in file order, and zeros that the file stores stay elements. Numbers that
/// overflow T, NaN and Inf are refused; what is too small for T becomes zero. Fortran's exponents (1.5D+3),
/// CRLF, blank lines and comments between the data are taken. A symmetric or skew-symmetric file stores one
/// triangle, either one; entries on both sides of the diagonal are refused, since where a pair of them is
/// stored, filling in would double it.
///
/// The text is read twice, so that entries go straight to their place: the peak is the Csr with duplicates as
/// elements of their own, 8 bytes an element of an unsorted row while it is sorted, the Csr once more if
/// there are duplicates, and at most 8 MB a thread. Memory is claimed as data is seen, never on the header's
/// word: row offsets of more than 64 MiB that are out of proportion to the file are made only once the whole
/// file has proved to be sound. A gzip file is unpacked piece by piece. A pipe is kept in a temporary file.
/// Throws ParseError with the line and column of the first error in the file; OutOfMemory.
template <class T>
[[nodiscard]] MatrixMarketFile<T> read_matrix_market_file(const std::string& path, int threads = 0);

/// The same as Csr, an array file's nonzeros picked out.
template <class T>
[[nodiscard]] Csr<T> read_matrix_market(const std::string& path);

/// The same as Dense; for right-hand sides and small matrices.
template <class T>
[[nodiscard]] Dense<T> read_matrix_market_dense(const std::string& path);

/// Writes so that reading gives the same bits: shortest round-trip decimals. Coordinate for a sparse, array
/// for a dense matrix, both `general`; gzip when the name ends in .gz. The file appears whole or not at all
/// (written beside and renamed). NaN and Inf are written as such, though reading refuses them. Each line of
/// `comment` becomes a comment. Throws ParseError when the file cannot be written.
template <class T>
void write_matrix_market(const std::string& path, MatrixRef<T> matrix, const std::string& comment = {});

}  // namespace echelon

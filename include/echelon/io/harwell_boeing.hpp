// SPDX-License-Identifier: BSD-3-Clause
/// Harwell-Boeing and Rutherford-Boeing files (.rua, .rsa, .psa, .rb, ...): Duff, Grimes and Lewis, "Users'
/// Guide for the Harwell-Boeing Sparse Matrix Collection" (1992); "The Rutherford-Boeing Sparse Matrix
/// Collection" (1997).
#pragma once

#include <echelon/export.h>
#include <echelon/io/file_info.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <string>

namespace echelon {

template <class T>
struct ECHELON_API HarwellBoeingFile {
  Csr<T> matrix;      ///< the symmetric half filled in
  FileInfo info;      ///< facts that the header gives
  std::string title;  ///< up to 72 characters
  std::string key;    ///< up to 8 characters
  /// Full right-hand sides, one per column; no columns if the file has none. Starting guesses and solutions
  /// are skipped.
  Dense<T> right_hand_sides;
};

/// Reads assembled real, integer, pattern (all ones) and, for a complex T, complex matrices, unsymmetric,
/// rectangular, symmetric, Hermitian and skew-symmetric, plain or gzip. Fields have the columns of the file's
/// Fortran formats, which may have groups, repeat counts, scale factors and skipped columns and lines, so
/// numbers need no blanks between them; as in Fortran, the format gives the position of an omitted decimal
/// point, and the scale factor P applies to numbers without an exponent. A line that does not match the
/// format's columns, as SciPy's hb_write may write it, is split at its blanks. Elemental matrices, sparse
/// right-hand sides, NaN, Inf and numbers that overflow T are refused. Duplicates are summed in file order. A
/// symmetric file stores one triangle, either one. Peak memory: twice the matrix. Throws ParseError with line
/// and column; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API HarwellBoeingFile<T> read_harwell_boeing(const std::string& path);

}  // namespace echelon

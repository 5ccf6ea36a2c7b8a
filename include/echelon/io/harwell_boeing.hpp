// SPDX-License-Identifier: BSD-3-Clause
/// Harwell-Boeing and Rutherford-Boeing files (.rua, .rsa, .psa, .rb, ...): Duff, Grimes and Lewis, "Users'
/// Guide for the Harwell-Boeing Sparse Matrix Collection" (1992); "The Rutherford-Boeing Sparse Matrix
/// Collection" (1997).
#pragma once

#include <echelon/csr.hpp>
#include <echelon/dense.hpp>
#include <echelon/io/file_info.hpp>

#include <string>

namespace echelon {

template <class T>
struct HarwellBoeingFile {
  Csr<T> matrix;  ///< the symmetric half filled in
  FileInfo info;
  std::string title;
  std::string key;
  /// rows by their number; no columns when the file has none. Starting guesses and solutions are left out.
  Dense<T> right_hand_sides;
};

/// Reads assembled real, integer and pattern (all ones) matrices, unsymmetric, rectangular, symmetric and
/// skew-symmetric, plain or gzip. Fields are taken by the widths of the file's Fortran formats, so numbers
/// need no blanks between them; as in Fortran, a number without a decimal point gets that of its format, and
/// P scales one without an exponent. Complex and elemental matrices, sparse right-hand sides, NaN, Inf and
/// what overflows T are refused. Duplicates are summed in file order. A symmetric file stores one triangle,
/// either one. Memory: at the peak the matrix twice. Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] HarwellBoeingFile<T> read_harwell_boeing(const std::string& path);

}  // namespace echelon

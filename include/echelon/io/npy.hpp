// SPDX-License-Identifier: BSD-3-Clause
/// NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>

#include <string>

namespace echelon {

/// Reads a vector (as one column) or a matrix: booleans, signed and unsigned integers of 8 to 64 bits,
/// float16, float32 and float64, little- or big-endian, C or Fortran order, versions 1 to 3 of the format,
/// plain or gzip. Integers that T cannot hold exactly are rounded; numbers that overflow T, NaN and Inf are
/// refused. Memory: the result and 0.5 MB, or one row of a C-ordered matrix if that is more, allocated after
/// the file's length was found to agree with its header. Throws ParseError with the byte of the first error;
/// OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> read_npy(const std::string& path);

/// Writes version 1.0, little-endian, Fortran order, in the precision of T; a single column as a vector of
/// one dimension. NumPy reads back the same bits, NaN and Inf included. The file appears whole or not at all;
/// gzip if the name ends in .gz. A matrix on a GPU is copied. Throws ParseError if it cannot be written.
template <class T>
ECHELON_API void write_npy(const std::string& path, DenseView<const T> matrix);

}  // namespace echelon

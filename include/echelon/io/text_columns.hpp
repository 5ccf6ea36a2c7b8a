// SPDX-License-Identifier: BSD-3-Clause
/// Columns of numbers as plain text: a row of the matrix on each line, as numpy.savetxt, MATLAB and
/// spreadsheets write them.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>

#include <string>

namespace echelon {

/// Reads numbers separated by blanks, tabs, or one comma or semicolon, plain or gzip, in parallel. All lines
/// have the same number of columns; one number on each line is a vector. Lines that start with # or % are
/// comments; a first line that starts with a letter or a quotation mark and is no number is a table's header.
/// NaN, Inf, numbers that overflow T, and lines with both commas and semicolons (decimal commas, most likely)
/// are refused. A file without numbers is a 0 by 0 matrix. `threads`: 0 for OpenMP's choice. Memory: at the
/// peak the matrix twice. Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> read_text_columns(const std::string& path, int threads = 0);

/// Writes one row on each line, numbers separated by `separator` (a blank, tab, comma or semicolon), so that
/// reading gives the same bits; a matrix without rows or columns leaves an empty file. The file appears whole
/// or not at all; gzip when the name ends in .gz. A matrix on a GPU is copied. Throws ParseError when it
/// cannot be written.
template <class T>
ECHELON_API void write_text_columns(const std::string& path, DenseView<const T> matrix, char separator = ' ');

}  // namespace echelon

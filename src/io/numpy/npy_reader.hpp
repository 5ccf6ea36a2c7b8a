// SPDX-License-Identifier: BSD-3-Clause
/// Parts of the .npy reader that the .npz reader uses too.
#pragma once

#include "io/support/binary_reader.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <functional>

namespace echelon::io {

/// Header of a .npy file. Positions are bytes from the start of the file, for messages.
struct NpyHeader {
  char kind = 'f';  ///< NumPy's letter: f, i, u, b; S or U for text
  int size = 8;     ///< bytes per element
  bool big_endian = false;
  bool fortran_order = false;
  int dimensions = 2;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;  ///< size of the third dimension
  std::int64_t type_position = 0;
  std::int64_t shape_position = 0;

  /// Position of element (i, j, k) in the file, counted in elements.
  [[nodiscard]] std::int64_t position(std::int64_t i, std::int64_t j, std::int64_t k = 0) const {
    return fortran_order ? i + rows * (j + columns * k) : (i * columns + j) * depth + k;
  }
};

/// Reads the header; any array of numbers or text is accepted. Throws ParseError.
NpyHeader read_npy_header(BinaryReader& reader);
/// Throws ParseError unless the header describes an array of numbers with 1 to `most_dimensions` dimensions,
/// at most 3, and the file is exactly as long as that array.
void check_npy_numbers(const BinaryReader& reader, const NpyHeader& header, int most_dimensions = 2);
/// The elements of a checked array in the order of the file. V is float, double or std::int64_t, the last for
/// integers only: numbers from 2^63 become negative. Elements for which a given `is_needed(position)` is
/// false may have any value in the file, and are 0 in the result.
template <class V>
Array<V> read_npy_elements(BinaryReader& reader, const NpyHeader& header,
                           const std::function<bool(std::int64_t)>& is_needed = {});

}  // namespace echelon::io

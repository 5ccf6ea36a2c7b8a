// SPDX-License-Identifier: BSD-3-Clause
/// Parts of the .npy reader that the .npz reader uses too.
#pragma once

#include "io/binary_reader.hpp"

#include <echelon/array.hpp>

#include <cstdint>

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
  std::int64_t type_position = 0;
  std::int64_t shape_position = 0;
};

/// Reads the header; any array of numbers or text is accepted. Throws ParseError.
NpyHeader read_npy_header(BinaryReader& reader);
/// Throws ParseError unless the header describes a vector or a matrix of numbers and the file is exactly as
/// long as that array.
void check_npy_numbers(const BinaryReader& reader, const NpyHeader& header);
/// The elements of a checked vector. V is float, double or std::int64_t, the last for integers only: numbers
/// from 2^63 become negative.
template <class V>
Array<V> read_npy_vector(BinaryReader& reader, const NpyHeader& header);

}  // namespace echelon::io

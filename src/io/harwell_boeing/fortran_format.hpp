// SPDX-License-Identifier: BSD-3-Clause
/// Numbers in columns, as Fortran's formats describe them.
#pragma once

#include <cstdint>
#include <string_view>

namespace echelon::io {

/// "(16I5)", "(3D26.18)", "(1P,4E20.12)": fields of one kind, `repeat` of them a line.
struct FortranFormat {
  char kind = 'I';  ///< I, E, D, F, G
  int repeat = 1;
  int width = 0;
  int decimals = 0;  ///< digits behind the point of a number that has none
  int scale = 0;     ///< of 1P: a number without an exponent is divided by 10^scale
};

/// The format in `text`, which may have blanks around and inside. Throws Fault.
FortranFormat parse_fortran_format(std::string_view text);

/// The whole number in a field. Throws Fault.
std::int64_t parse_fortran_integer(std::string_view field);
/// The real number in a field: E, D or a bare sign before the exponent. Throws Fault, for NaN and Inf and for
/// what overflows T too.
template <class T>
T parse_fortran_real(std::string_view field, const FortranFormat& format);

}  // namespace echelon::io

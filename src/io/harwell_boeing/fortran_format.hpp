// SPDX-License-Identifier: BSD-3-Clause
/// Fortran formats, and numbers in the columns that they describe.
#pragma once

#include <cstdint>
#include <string_view>

namespace echelon::io {

/// "(16I5)", "(3D26.18)", "(1P,4E20.12)": fields of one kind, `repeat` per line.
struct FortranFormat {
  char kind = 'I';  ///< I, E, D, F, G
  int repeat = 1;
  int width = 0;
  int decimals = 0;  ///< digits after the decimal point of a number that has none
  int scale = 0;     ///< factor P: a number without exponent is divided by 10^scale
};

/// Parses a format; blanks in `text` are ignored. Throws Fault.
FortranFormat parse_fortran_format(std::string_view text);

/// Parses the whole number in a field. Throws Fault.
std::int64_t parse_fortran_integer(std::string_view field);
/// Parses the real number in a field, with E, D or only a sign before the exponent. Throws Fault, also for
/// NaN, Inf and overflow of T.
template <class T>
T parse_fortran_real(std::string_view field, const FortranFormat& format);

}  // namespace echelon::io

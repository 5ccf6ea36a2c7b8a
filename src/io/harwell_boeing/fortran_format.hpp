// SPDX-License-Identifier: BSD-3-Clause
/// Fortran formats, and numbers in the columns that they describe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon::io {

/// A number in a line: the columns that it takes, and how they are read.
struct FortranField {
  char kind = 'I';         ///< I, E, D, F, G; E stands for EN and ES too
  std::size_t column = 0;  ///< the first one, from 0
  std::size_t width = 0;
  int decimals = 0;  ///< digits after the decimal point of a number that has none
  int scale = 0;     ///< factor P: a number without exponent is divided by 10^scale
};

/// The fields of one line, in the order in which they are read.
using FortranLine = std::vector<FortranField>;

/// "(16I5)", "(1X,8I9)", "(3(1P,E24.16))": the lines of one pass through the format, and those of every
/// further pass, which starts at the last group in parentheses. Each of the two has a field.
struct FortranFormat {
  std::vector<FortranLine> first;
  std::vector<FortranLine> further;
};

/// Parses a format of numeric fields (I, F, E, EN, ES, D, G), positions (X, T, TL, TR, /), scale factors and
/// groups, with repeat counts; S, SP, SS and BN, which do not affect how these numbers are read, are skipped,
/// and so are blanks in `text`. Throws Fault.
FortranFormat parse_fortran_format(std::string_view text);

/// Parses the whole number in a field. Throws Fault.
std::int64_t parse_fortran_integer(std::string_view text);
/// Parses the real number in a field, with E, D or only a sign before the exponent. Throws Fault, also for
/// NaN, Inf and overflow of T.
template <class T>
T parse_fortran_real(std::string_view text, const FortranField& field);

}  // namespace echelon::io

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/error.hpp>

#include <cstdint>
#include <string>

namespace echelon::io {

/// A file of complex numbers that is read for real ones. A reader that knows both begins again.
class ComplexNumbers : public ParseError {
 public:
  ComplexNumbers(const std::string& file, std::int64_t line, std::int64_t column)
      : ParseError(file, line, column,
                   "the numbers are complex, and real ones are expected here: read them as complex ones, or "
                   "take the real equivalent of the system, see docs/matrices.md") {}
};

}  // namespace echelon::io

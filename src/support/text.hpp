// SPDX-License-Identifier: BSD-3-Clause
/// Text of messages. Does not include fmt, which nvcc does not compile.
#pragma once

#include <cstddef>
#include <string>

namespace echelon {

/// Formats with three significant digits: "1.23e-09".
std::string short_number(double value);
/// Formats as the shortest text that reads back as the same number: "0.1".
std::string exact_number(double value);
/// Formats a number of bytes: "1.5 GiB".
std::string byte_count(std::size_t bytes);

}  // namespace echelon

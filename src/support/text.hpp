// SPDX-License-Identifier: BSD-3-Clause
/// Text of messages. Does not include fmt, which nvcc does not compile.
#pragma once

#include <cstddef>
#include <string>

namespace echelon {

/// "1.23e-09": three significant digits.
std::string short_number(double value);
/// "0.1": the shortest text that reads back as the same number.
std::string exact_number(double value);
/// "1.5 GiB".
std::string byte_count(std::size_t bytes);

}  // namespace echelon

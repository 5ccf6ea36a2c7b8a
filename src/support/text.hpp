// SPDX-License-Identifier: BSD-3-Clause
/// Text of messages. Does not include fmt, which nvcc does not compile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace echelon {

/// Formats with three significant digits: "1.23e-09".
std::string short_number(double value);
/// Formats as the shortest text that reads back as the same number: "0.1".
std::string exact_number(double value);
/// Formats a number of bytes: "1.5 GiB".
std::string byte_count(std::size_t bytes);
/// Formats a list of integers, at most the first eight: "3, 7, 8".
template <class Integer>
std::string list_of(const std::vector<Integer>& numbers) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < most && k < numbers.size(); ++k)
    text += (k > 0 ? ", " : "") + std::to_string(numbers[k]);
  return numbers.size() > most ? text + ", ..." : text;
}

}  // namespace echelon

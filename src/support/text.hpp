// SPDX-License-Identifier: BSD-3-Clause
/// Words for people. A header without fmt, which .cu files cannot include.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// "1.23e-09": three significant digits.
std::string short_number(double value);
/// "0.1": the shortest text that reads back as the same number.
std::string exact_number(double value);
/// "1.5 GiB".
std::string byte_count(std::size_t bytes);
/// The entry of `names` with the smallest edit distance from `word`, if it is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace echelon

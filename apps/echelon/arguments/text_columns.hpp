// SPDX-License-Identifier: BSD-3-Clause
/// Right-hand sides as plain text, the format of numpy.savetxt.
#pragma once

#include <echelon/dense.hpp>

#include <string>
#include <string_view>

namespace echelon::tool {

/// Whether the first line that is neither empty nor a comment (# or %) consists of numbers. False for Matrix
/// Market files, whose first line is a comment too.
[[nodiscard]] bool is_text_of_columns(std::string_view text);

/// Reads one row a line, k numbers each, separated by blanks or commas. Empty lines and comments are skipped.
/// `file` stands for the text in messages. Throws ParseError.
template <class T>
[[nodiscard]] Dense<T> parse_text_columns(std::string_view text, const std::string& file);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// Files that the tool writes.
#pragma once

#include <echelon/io/files.hpp>

#include <string>
#include <string_view>

namespace echelon::tool {

/// Throws ParseError unless `path` can be written now: a long computation's result must find its place.
/// Passes for an empty path (an option not given).
void check_writable(const std::string& path);

/// That its name says; Matrix Market when it says nothing.
[[nodiscard]] FileFormat output_format(const std::string& path);

/// The file appears whole or not at all. Throws ParseError.
void write_text(const std::string& path, std::string_view text);

}  // namespace echelon::tool

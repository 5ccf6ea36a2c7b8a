// SPDX-License-Identifier: BSD-3-Clause
/// Files that the tool writes.
#pragma once

#include <string>
#include <string_view>

namespace echelon::tool {

/// Whether a long computation's result will find its place: throws ParseError unless `path` can be written
/// as a file, now. Empty paths (an option not given) pass. Returns the path with symbolic links followed, so
/// that a rename replaces the file and not the link.
[[nodiscard]] std::string writable_file(const std::string& path);

/// Writes beside and renames: the file is whole or not there. Throws ParseError.
void write_whole(const std::string& path, std::string_view text);

}  // namespace echelon::tool

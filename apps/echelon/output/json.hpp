// SPDX-License-Identifier: BSD-3-Clause
/// JSON on stdout, for machines; docs/tool.md lists the names.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace echelon::tool {

using Json = nlohmann::ordered_json;

/// One line. NaN and Inf, which JSON lacks, become null; bytes that are not UTF-8 a replacement character.
void print_json(const Json& value);

/// `text` with a replacement character for what is not UTF-8.
[[nodiscard]] std::string utf8(const std::string& text);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// Reports in JSON; docs/tool.md lists the names.
#pragma once

#include <echelon/report.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace echelon::tool {

using Json = nlohmann::ordered_json;

/// One line. NaN and infinity become null, invalid UTF-8 a replacement character.
[[nodiscard]] std::string json_line(const Json& value);
/// Prints json_line() to report_stream().
void print_json(const Json& value);

template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// `text` with invalid UTF-8 replaced.
[[nodiscard]] std::string utf8(const std::string& text);

/// The value of a name of to_json(report), such as "statistics".
[[nodiscard]] Json report_part(const Report& report, const std::string& name);

}  // namespace echelon::tool

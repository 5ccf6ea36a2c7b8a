// SPDX-License-Identifier: BSD-3-Clause
/// JSON of reports and comparisons.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace echelon {

using Json = nlohmann::ordered_json;

template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// One line; invalid UTF-8 becomes U+FFFD.
[[nodiscard]] inline std::string one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace echelon

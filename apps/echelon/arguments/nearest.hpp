// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

/// The entry of `names` with the smallest edit distance from `word`, or an empty string if more than half of
/// the characters differ.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& names);

}  // namespace echelon::tool

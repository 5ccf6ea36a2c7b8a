// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace echelon {

/// Text for XML and HTML: with the five special characters escaped, control characters as blanks, line ends
/// kept, and each byte that is not part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Numbers, sizes and tables as text for a person.
#pragma once

#include <echelon/solver/report_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::tool {

/// "1.23e-09": three significant digits.
[[nodiscard]] std::string short_number(double value);
using echelon::duration;
using echelon::grouped;
/// "1 edge", "1,234 edges"; `plural` where it is not the noun with an s.
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun, std::string_view plural = {});
/// "1.5 GiB".
[[nodiscard]] std::string byte_count(std::size_t bytes);

/// The width of help texts and reports, in characters.
inline constexpr std::size_t line_width = 100;

/// Breaks `text` at blanks into lines of at most `width` characters; lines after the first are indented.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

/// A label and its text.
using Row = std::pair<std::string, std::string>;
/// Rows with their texts aligned in one column; a text longer than the line is wrapped within that column.
[[nodiscard]] std::string aligned(const std::vector<Row>& rows);

/// Left-aligned columns, each as wide as its longest cell.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace echelon::tool

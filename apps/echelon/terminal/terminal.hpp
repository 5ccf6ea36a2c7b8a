// SPDX-License-Identifier: BSD-3-Clause
/// stdout for results, stderr for everything else, colours where a person looks.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::tool {

enum class Colour { none, red, green, yellow, bold, faint };

[[nodiscard]] bool is_terminal(std::FILE* stream);
/// `text` in colour when `stream` is a terminal and NO_COLOR (https://no-color.org) does not forbid it.
[[nodiscard]] std::string paint(std::string_view text, Colour colour, std::FILE* stream);

/// Writes to stdout. Throws ParseError when it cannot be written: a lost result must not pass for success.
void print_result(std::string_view text);
/// Writes to stderr, and goes on when nobody listens there.
void print_aside(std::string_view text);
void print_note(std::string_view text);
/// Of stderr's terminal, in characters.
[[nodiscard]] std::size_t terminal_width();

/// "1,234,567".
[[nodiscard]] std::string grouped(std::int64_t number);
/// "120 us", "12.3 ms", "3.45 s", "2 min 5 s".
[[nodiscard]] std::string duration(double seconds);

/// Label and text. A text too long for the line goes on below itself.
using Row = std::pair<std::string, std::string>;
[[nodiscard]] std::string aligned(const std::vector<Row>& rows);

/// Columns as wide as their longest cell, the last one ragged.
[[nodiscard]] std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace echelon::tool

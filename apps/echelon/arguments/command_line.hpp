// SPDX-License-Identifier: BSD-3-Clause
/// Parsing of command lines, shared by the commands.
#pragma once

#include "commands/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::tool {

/// Sets the help flag and the layout of the help text.
void set_style(CLI::App& app);

/// Adds an option or positional argument (a name without dashes) that takes a file's name; "-" and the device
/// files of the standard streams are stored as "-". An empty name is a BadOption.
CLI::Option* add_file_option(CLI::App& app, const std::string& names, std::string& path,
                             const std::string& help);

/// Parses the arguments. Returns false if help, or by `--describe` alone a description in JSON, was requested
/// and has been printed. Throws BadOption, with the nearest name for an option that does not exist.
[[nodiscard]] bool parse(CLI::App& app, const Arguments& arguments);

/// Finds the index of `word` in `names`. Throws BadOption, with the nearest name, if it is not there.
std::size_t parse_word(const std::string& option, const std::string& word,
                       const std::vector<std::string>& names);
/// Parses a number from 0 to `high`. Throws BadOption.
[[nodiscard]] double parse_number(const std::string& option, const std::string& text, double high);
/// Parses a whole number from 0. Throws BadOption.
[[nodiscard]] std::int64_t parse_integer(const std::string& option, const std::string& text);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// What the verbs share in reading their words.
#pragma once

#include "commands/commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace echelon::tool {

/// An App that looks like the others.
void set_style(CLI::App& app);

/// False when help was asked for and has been printed. Throws BadOption, with the nearest name where an
/// option does not exist.
[[nodiscard]] bool parse(CLI::App& app, const Arguments& arguments);

/// At least 0 and at most `most`. Throws BadOption.
[[nodiscard]] double number(const std::string& option, const std::string& text, double most);
[[nodiscard]] std::int64_t whole_number(const std::string& option, const std::string& text);

}  // namespace echelon::tool

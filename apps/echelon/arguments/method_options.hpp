// SPDX-License-Identifier: BSD-3-Clause
/// Options of methods and generators: -p KEY=VALUE, and their description in help texts and JSON.
#pragma once

#include "output/json.hpp"

#include <echelon/options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

/// Adds the option in `text`, "key=value". Throws BadOption.
void add_parameter(Options& options, const std::string& text);

/// Throws BadOption, with the nearest name, unless `precision` is "double" or "float".
void check_precision(const std::string& precision);

/// An array of objects with name, type, kind, default, allowed, words, range and help.
[[nodiscard]] Json options_json(const std::vector<OptionInfo>& options);
/// Two lines per option: name, type and default; the help text.
[[nodiscard]] std::string options_text(const std::vector<OptionInfo>& options);

/// NAME, if the arguments contain `--help PREFIX:NAME` or `--help=PREFIX:NAME`.
[[nodiscard]] std::optional<std::string> help_topic(std::string_view prefix,
                                                    const std::vector<std::string>& arguments);

}  // namespace echelon::tool

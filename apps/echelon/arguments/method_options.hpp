// SPDX-License-Identifier: BSD-3-Clause
/// Options by name: how they are given, and how they are told of.
#pragma once

#include "output/json.hpp"

#include <echelon/options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

/// Adds "key=value". Throws BadOption.
void add_parameter(Options& options, const std::string& text);

/// Throws BadOption, with the nearest, unless it is "double" or "float".
void check_precision(const std::string& precision);

/// A list of objects with name, type, default, allowed and help.
[[nodiscard]] Json options_json(const std::vector<OptionInfo>& options);
/// Two lines an option.
[[nodiscard]] std::string options_text(const std::vector<OptionInfo>& options);

/// NAME, where the words contain `--help PREFIX:NAME`.
[[nodiscard]] std::optional<std::string> asked_about(std::string_view prefix,
                                                     const std::vector<std::string>& words);

}  // namespace echelon::tool

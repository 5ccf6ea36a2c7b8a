// SPDX-License-Identifier: BSD-3-Clause
/// Options of methods and generators: -p KEY=VALUE, and their description in help texts.
#pragma once

#include "arguments/command_line.hpp"

#include <echelon/options.hpp>
#include <echelon/solver/any_solver.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::tool {

/// Adds the option in `text`, "key=value". Throws BadOption.
void add_parameter(Options& options, const std::string& text);

/// Adds -p KEY=VALUE, an option of a method, to `options`.
void add_parameter_option(CLI::App& app, Options& options, const std::string& help);

/// The scalar type of a --precision. Throws BadOption, with the nearest name, unless it is "double" or
/// "float".
[[nodiscard]] Scalar scalar_of(const std::string& precision);
/// Calls f.template operator()<T>() with the real type of a --precision. Throws BadOption.
template <class F>
auto in_precision(const std::string& precision, F&& f) {
  if (scalar_of(precision) == Scalar::float32) return std::forward<F>(f).template operator()<float>();
  return std::forward<F>(f).template operator()<double>();
}

/// Two lines per option: name, type and default; the help text.
[[nodiscard]] std::string options_text(const std::vector<OptionInfo>& options);

/// NAME, if the arguments contain `--help PREFIX:NAME` or `--help=PREFIX:NAME`.
[[nodiscard]] std::optional<std::string> help_topic(std::string_view prefix,
                                                    const std::vector<std::string>& arguments);

}  // namespace echelon::tool

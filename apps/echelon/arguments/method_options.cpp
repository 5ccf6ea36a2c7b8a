// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/method_options.hpp"

#include "terminal/text.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

namespace echelon::tool {

void add_parameter(Options& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw BadOption("parameter", fmt::format("-p takes KEY=VALUE, not '{}'", text));
  }
  options.set(text.substr(0, equals), text.substr(equals + 1));
}

void add_parameter_option(CLI::App& app, Options& options, const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         "-p,--parameter",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_parameter(options, text);
         },
         help)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

Scalar scalar_of(const std::string& precision) {
  const std::optional<Scalar> scalar = from_word<Scalar>(precision);
  if (scalar == Scalar::float32 || scalar == Scalar::float64) return *scalar;
  throw BadOption("--precision", fmt::format("there is no precision '{}': it is double or float", precision),
                  nearest_name(precision, {"double", "float"}));
}

std::string options_text(const std::vector<OptionInfo>& options) {
  std::vector<Row> rows;
  for (const OptionInfo& option : options) {
    std::string value = option.type();
    if (const std::string allowed = option.allowed(); !allowed.empty()) value += ": " + allowed;
    if (!option.fallback.empty()) value += "; default " + option.fallback;
    rows.emplace_back(option.name, value);
    rows.emplace_back("", option.help);
  }
  return aligned(rows);
}

std::optional<std::string> help_topic(std::string_view prefix, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string topic;
    if (arguments[i] == "--help" && i + 1 < arguments.size()) topic = arguments[i + 1];
    if (arguments[i].starts_with("--help=")) topic = arguments[i].substr(7);
    if (topic.starts_with(prefix) && topic.substr(prefix.size()).starts_with(':')) {
      return topic.substr(prefix.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// From options by name to a method's struct, and from its table to the help text.
#pragma once

#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/options.hpp>

#include <string>
#include <utility>
#include <vector>

namespace echelon {

/// Writes `value` into `field`, converting text; throws BadOption naming `path` when it does not fit.
void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, bool& field);
void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, std::int64_t& field);
void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, double& field);
void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, std::string& field);
void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, std::optional<double>& field);

/// "0 < x <= 2", or the allowed words.
std::string allowed_text(const Range& range, const std::vector<std::string>& allowed);

struct FieldText {
  std::string type;
  std::string value;
};
FieldText field_text(const bool& field);
FieldText field_text(const std::int64_t& field);
FieldText field_text(const double& field);
FieldText field_text(const std::string& field);
FieldText field_text(const std::optional<double>& field);
FieldText field_text(const Options& field);

/// The struct that `options` describe. An option whose name ends in "." in the table takes everything below
/// it. Throws BadOption for unknown names, with the nearest known one.
template <class O>
[[nodiscard]] O parse_options(const std::string& method, const Options& options) {
  O result;
  const std::vector<Option<O>> table = O::table();
  for (const auto& [name, value] : options.entries()) {
    bool known = false;
    for (const Option<O>& option : table) {
      if (const auto* nested = std::get_if<Options& (*)(O&)>(&option.field)) {
        if (name.size() <= option.name.size() || !name.starts_with(option.name)) continue;
        (*nested)(result).set(name.substr(option.name.size()), value);
        known = true;
      } else if (name == option.name) {
        std::visit(
            [&, &path = name, &given = value](auto* field) {
              if constexpr (!std::is_same_v<decltype(field), Options& (*)(O&)>) {
                assign(path, given, option.range, option.allowed, field(result));
              }
            },
            option.field);
        known = true;
      }
    }
    if (known) continue;
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const Option<O>& option : table) names.push_back(option.name);
    throw BadOption(name, "method '" + method + "' has no option '" + name + "'", nearest(name, names));
  }
  return result;
}

/// The table as a person reads it.
template <class O>
[[nodiscard]] std::vector<OptionInfo> describe_options() {
  std::vector<OptionInfo> infos;
  O defaults;
  for (const Option<O>& option : O::table()) {
    const FieldText text =
        std::visit([&](auto* field) { return field_text(std::as_const(field(defaults))); }, option.field);
    const bool nested = option.name.ends_with('.');
    infos.push_back({nested ? option.name + "NAME" : option.name, text.type, text.value,
                     allowed_text(option.range, option.allowed), option.help});
  }
  return infos;
}

/// "restart=30, preconditioner=ilu0": what differs from the defaults.
template <class O>
[[nodiscard]] std::string changed_options(O options) {
  std::string text;
  O defaults;
  for (const Option<O>& option : O::table()) {
    const auto value = [&](O& from) {
      return std::visit([&](auto* field) { return field_text(std::as_const(field(from))).value; },
                        option.field);
    };
    const std::string now = value(options);
    if (now == value(defaults)) continue;
    if (!text.empty()) text += ", ";
    text += option.name + (option.name.ends_with('.') ? "" : "=") + now;
  }
  return text;
}

}  // namespace echelon

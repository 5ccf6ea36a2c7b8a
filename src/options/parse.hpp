// SPDX-License-Identifier: BSD-3-Clause
/// Conversion of options by name to a method's struct, and of its table to the help text.
#pragma once

#include "options/table.hpp"

#include <echelon/error.hpp>
#include <echelon/options.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
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

/// Text of the allowed values: "0 < x <= 2", or the words.
std::string allowed_text(const Range& range, const std::vector<std::string>& allowed);

/// Kind and value of a member; for a text without words, OptionKind::text.
struct FieldText {
  OptionKind kind = OptionKind::text;
  std::string value;
};
FieldText field_text(const bool& field);
FieldText field_text(const std::int64_t& field);
FieldText field_text(const double& field);
FieldText field_text(const std::string& field);
FieldText field_text(const std::optional<double>& field);
FieldText field_text(const Options& field);

/// Writes `value` into the member that `option` describes. Throws BadOption.
template <class O>
void assign(const std::string& path, const OptionValue& value, const Option<O>& option, O& target) {
  std::visit(
      [&](const auto& field) {
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, Options& (*)(O&)>) {
          field(target).set(path.substr(option.name.size()), value);
        } else if constexpr (std::is_same_v<Field, EnumField<O>>) {
          std::string word;
          assign(path, value, option.range, option.allowed, word);
          field.set(target, word);
        } else {
          assign(path, value, option.range, option.allowed, field(target));
        }
      },
      option.field);
}

/// Whether `name` is this option's name; an option whose name ends in "." accepts every name that begins with
/// it.
template <class O>
[[nodiscard]] bool matches(const Option<O>& option, const std::string& name) {
  if (!option.name.ends_with('.')) return name == option.name;
  return name.size() > option.name.size() && name.starts_with(option.name);
}

/// Converts `options` to the struct of a method. Throws BadOption for values out of range and for unknown
/// names, with the nearest known one.
template <class O>
[[nodiscard]] O parse_options(const std::string& method, const Options& options) {
  O result;
  const std::vector<Option<O>> table = O::table();
  for (const auto& [name, value] : options.entries()) {
    bool known = false;
    for (const Option<O>& option : table) {
      if (!matches(option, name)) continue;
      assign(name, value, option, result);
      known = true;
    }
    if (known) continue;
    std::vector<std::string> names;
    names.reserve(table.size());
    for (const Option<O>& option : table) names.push_back(option.name);
    throw BadOption(name, "method '" + method + "' has no option '" + name + "'", nearest_name(name, names));
  }
  return result;
}

/// Kind and value of the member that `option` describes.
template <class O>
[[nodiscard]] FieldText field_text(const Option<O>& option, O& source) {
  return std::visit(
      [&](const auto& field) -> FieldText {
        using Field = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, EnumField<O>>) {
          return {OptionKind::word, std::string(field.get(source))};
        } else {
          const auto& value = std::as_const(field(source));
          if constexpr (std::is_same_v<Field, std::optional<double>& (*)(O&)>) {
            if (!value && !option.allowed.empty()) return {OptionKind::number, option.allowed.front()};
          }
          FieldText text = field_text(value);
          if (text.kind == OptionKind::text)
            text.kind = option.allowed.empty() ? option.text_kind : OptionKind::word;
          return text;
        }
      },
      option.field);
}

/// Converts the table to readable descriptions.
template <class O>
[[nodiscard]] std::vector<OptionInfo> describe_options() {
  std::vector<OptionInfo> infos;
  O defaults;
  for (const Option<O>& option : O::table()) {
    const FieldText text = field_text(option, defaults);
    const bool nested = option.name.ends_with('.');
    infos.push_back({nested ? option.name + "NAME" : option.name, text.kind, text.value, option.allowed,
                     option.range, option.help});
  }
  return infos;
}

/// Lists the options that differ from the defaults: "restart=30, preconditioner=ilu0".
template <class O>
[[nodiscard]] std::string changed_options(O options) {
  std::string text;
  O defaults;
  for (const Option<O>& option : O::table()) {
    const std::string value = field_text(option, options).value;
    if (value == field_text(option, defaults).value) continue;
    if (!text.empty()) text += ", ";
    text += option.name + (option.name.ends_with('.') ? "" : "=") + value;
  }
  return text;
}

}  // namespace echelon

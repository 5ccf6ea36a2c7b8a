// SPDX-License-Identifier: BSD-3-Clause
#include "options/parse.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace echelon {

namespace {

std::string shown(const OptionValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value.get());
}

[[noreturn]] void refuse(const std::string& path, const OptionValue& value, const std::string& wanted) {
  throw BadOption(path, fmt::format("option '{}' takes {}, not '{}'", path, wanted, shown(value)));
}

/// Reads the whole of `text` as a number of type N, or nothing.
template <class N>
std::optional<N> number(const std::string& text) {
  N value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

bool inside(double x, const Range& range) {
  return (range.open_low ? x > range.low : x >= range.low) &&
         (range.open_high ? x < range.high : x <= range.high);
}

std::string wanted_text(const char* type, const Range& range) {
  const std::string bounds = allowed_text(range, {});
  return bounds.empty() ? type : fmt::format("{} with {}", type, bounds);
}

}  // namespace

void assign(const std::string& path, const OptionValue& value, const Range& /*range*/,
            const std::vector<std::string>& /*allowed*/, bool& field) {
  const std::string text = shown(value);
  if (text == "true" || text == "on" || text == "yes" || text == "1") {
    field = true;
  } else if (text == "false" || text == "off" || text == "no" || text == "0") {
    field = false;
  } else {
    refuse(path, value, "true or false");
  }
}

void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& /*allowed*/, std::int64_t& field) {
  std::optional<std::int64_t> given;
  if (const auto* integer = std::get_if<std::int64_t>(&value.get())) given = *integer;
  if (const auto* text = std::get_if<std::string>(&value.get())) given = number<std::int64_t>(*text);
  if (!given || !inside(static_cast<double>(*given), range)) {
    refuse(path, value, wanted_text("an integer", range));
  }
  field = *given;
}

void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& /*allowed*/, double& field) {
  std::optional<double> given;
  if (const auto* real = std::get_if<double>(&value.get())) given = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value.get())) given = static_cast<double>(*integer);
  if (const auto* text = std::get_if<std::string>(&value.get())) given = number<double>(*text);
  if (!given || !std::isfinite(*given) || !inside(*given, range)) {
    refuse(path, value, wanted_text("a number", range));
  }
  field = *given;
}

void assign(const std::string& path, const OptionValue& value, const Range& range,
            const std::vector<std::string>& allowed, std::optional<double>& field) {
  if (!allowed.empty() && shown(value) == allowed.front()) {
    field.reset();
    return;
  }
  double given = 0;
  assign(path, value, range, allowed, given);
  field = given;
}

void assign(const std::string& path, const OptionValue& value, const Range& /*range*/,
            const std::vector<std::string>& allowed, std::string& field) {
  const std::string text = shown(value);
  bool known = allowed.empty();
  for (const std::string& word : allowed) known = known || word == text;
  if (!known) {
    throw BadOption(path,
                    fmt::format("option '{}' takes {}, not '{}'", path, fmt::join(allowed, " or "), text),
                    nearest_name(text, allowed));
  }
  field = text;
}

std::string allowed_text(const Range& range, const std::vector<std::string>& allowed) {
  if (!allowed.empty()) {
    const std::string bounds = allowed_text(range, {});
    return fmt::format("{}{}{}", fmt::join(allowed, ", "), bounds.empty() ? "" : ", ", bounds);
  }
  const bool low = std::isfinite(range.low);
  const bool high = std::isfinite(range.high);
  if (!low && !high) return {};
  const char* below = range.open_low ? "<" : "<=";
  const char* above = range.open_high ? "<" : "<=";
  if (low && high) return fmt::format("{} {} x {} {}", range.low, below, above, range.high);
  if (low) return fmt::format("x {} {}", range.open_low ? ">" : ">=", range.low);
  return fmt::format("x {} {}", above, range.high);
}

std::string OptionInfo::type() const {
  switch (kind) {
    case OptionKind::boolean:
    case OptionKind::integer:
    case OptionKind::number:
      return std::string(to_string(kind));
    case OptionKind::word:
    case OptionKind::method:
    case OptionKind::path:
    case OptionKind::text:
      return "text";
    case OptionKind::nested:
      return "any";
  }
  return {};
}

std::string OptionInfo::allowed() const {
  return kind == OptionKind::method ? std::string() : allowed_text(range, words);
}

FieldText field_text(const bool& field) {
  return {OptionKind::boolean, field ? "true" : "false"};
}
FieldText field_text(const std::int64_t& field) {
  return {OptionKind::integer, std::to_string(field)};
}
FieldText field_text(const double& field) {
  return {OptionKind::number, exact_number(field)};
}
FieldText field_text(const std::string& field) {
  return {OptionKind::text, field};
}
FieldText field_text(const std::optional<double>& field) {
  return {OptionKind::number, field ? exact_number(*field) : std::string("by precision")};
}
FieldText field_text(const Options& field) {
  std::string text;
  for (const auto& [name, value] : field.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, shown(value));
  }
  return {OptionKind::nested, text};
}

}  // namespace echelon

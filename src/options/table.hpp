// SPDX-License-Identifier: BSD-3-Clause
/// Tables of the options of a method: rows, and rows that several methods share.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {

/// A member of `O` whose type is an enumeration, read and written by its word.
template <class O>
struct EnumField {
  std::string_view (*get)(const O&);
  /// Writes the enumerator of a word. For an unknown word it returns false and writes nothing.
  bool (*set)(O&, std::string_view);
  std::vector<std::string> (*words)();
};

namespace options_detail {
template <class O, class E>
O owner_of(E O::*);
template <class O, class E>
E type_of(E O::*);
}  // namespace options_detail

/// The EnumField of a member: `enum_field<&JacobiOptions::variant>()`.
template <auto member>
[[nodiscard]] constexpr auto enum_field() {
  using O = decltype(options_detail::owner_of(member));
  using E = decltype(options_detail::type_of(member));
  static_assert(WordedEnum<E>, "the enumeration needs a function words_of");
  return EnumField<O>{[](const O& o) -> std::string_view { return to_string(o.*member); },
                      [](O& o, std::string_view word) {
                        const std::optional<E> value = from_word<E>(word);
                        if (value) o.*member = *value;
                        return value.has_value();
                      },
                      [] {
                        std::vector<std::string> words;
                        for (const EnumWord<E>& entry : words_of(E{})) words.emplace_back(entry.word);
                        return words;
                      }};
}

/// One row of a method's table: the name of the option, the member of the struct `O` that holds its value,
/// and its allowed values.
template <class O>
struct Option {
  using Field = std::variant<bool& (*)(O&), std::int64_t& (*)(O&), double& (*)(O&), std::string& (*)(O&),
                             std::optional<double>& (*)(O&), Options& (*)(O&), EnumField<O>>;
  Option(std::string name_, Field field_, std::string help_, Range range_ = {},
         std::vector<std::string> allowed_ = {}, OptionKind text_kind_ = OptionKind::text)
      : name(std::move(name_)),
        field(field_),
        help(std::move(help_)),
        range(range_),
        allowed(std::move(allowed_)),
        text_kind(text_kind_) {
    const auto* words = std::get_if<EnumField<O>>(&field);
    if (words != nullptr && allowed.empty()) allowed = words->words();
  }

  std::string name;
  Field field;
  std::string help;
  Range range;  ///< for numbers
  /// Words that a text may be; empty: anything, or all words of an enumeration. An optional number has here
  /// the word that leaves it unset, or none.
  std::vector<std::string> allowed;
  OptionKind text_kind = OptionKind::text;  ///< of a text without words
};

template <class O>
Options to_options(O values) {
  Options result;
  for (const Option<O>& option : O::table()) {
    std::visit(
        [&](const auto& field) {
          using Field = std::remove_cvref_t<decltype(field)>;
          if constexpr (std::is_same_v<Field, EnumField<O>>) {
            result.set(option.name, std::string(field.get(values)));
          } else if constexpr (std::is_same_v<Field, Options& (*)(O&)>) {
            for (const auto& [name, value] : field(values).entries()) result.set(option.name + name, value);
          } else if constexpr (std::is_same_v<Field, std::optional<double>& (*)(O&)>) {
            if (field(values)) result.set(option.name, *field(values));
          } else {
            result.set(option.name, field(values));
          }
        },
        option.field);
  }
  return result;
}

/// Option table of a method, extended by the rows that every iterative method shares; `O` has a member `Stop
/// stop`.
template <class O>
[[nodiscard]] std::vector<Option<O>> with_stop_options(std::vector<Option<O>> table) {
  table.push_back({"rtol",
                   +[](O& o) -> std::optional<double>& { return o.stop.rtol; },
                   "stop when ||b - Ax|| <= max(rtol ||b||, atol); default 1e-8, in float 1e-5",
                   {0, 1}});
  table.push_back({"atol", +[](O& o) -> double& { return o.stop.atol; }, "see rtol", {0}});
  table.push_back({"max_iterations",
                   +[](O& o) -> std::int64_t& { return o.stop.max_iterations; },
                   "maximum number of iterations",
                   {0}});
  table.push_back({"check_every",
                   +[](O& o) -> std::int64_t& { return o.stop.check_every; },
                   "iterations between two residual checks; 0: 1 on the host, 16 on a GPU",
                   {0, 64}});
  return table;
}

/// Rows of the options of a method that can be preconditioned; `O` has members `preconditioner` and
/// `preconditioner_options`.
template <class O>
[[nodiscard]] std::vector<Option<O>> with_preconditioner_options(std::vector<Option<O>> table) {
  table.push_back({"preconditioner",
                   +[](O& o) -> std::string& { return o.preconditioner; },
                   "none, or a method that `echelon methods` marks as one; its own options follow as "
                   "preconditioner.NAME",
                   {},
                   {},
                   OptionKind::method});
  table.push_back({"preconditioner.", +[](O& o) -> Options& { return o.preconditioner_options; },
                   "an option of the preconditioner"});
  return table;
}

}  // namespace echelon

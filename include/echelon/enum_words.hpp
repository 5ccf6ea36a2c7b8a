// SPDX-License-Identifier: BSD-3-Clause
/// Enumerations and their words on the command line, in JSON and in messages.
#pragma once

#include <echelon/export.h>

#include <optional>
#include <string_view>
#include <type_traits>

namespace echelon {

/// An enumerator and its word.
template <class E>
struct ECHELON_API EnumWord {
  E value;
  std::string_view word;
};

/// An enumeration for which `words_of(E)`, found by argument-dependent lookup, returns the table of its
/// words: an array of EnumWord<E>.
template <class E>
concept WordedEnum = std::is_enum_v<E> && requires(E value) {
  words_of(value);
};

/// The word of an enumerator; empty for a value that the enumeration does not name.
template <WordedEnum E>
[[nodiscard]] constexpr std::string_view to_string(E value) {
  for (const EnumWord<E>& entry : words_of(value)) {
    if (entry.value == value) return entry.word;
  }
  return {};
}

/// The enumerator of a word, or no value for an unknown word.
template <WordedEnum E>
[[nodiscard]] constexpr std::optional<E> from_word(std::string_view word) {
  for (const EnumWord<E>& entry : words_of(E{})) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

}  // namespace echelon

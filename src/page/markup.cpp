// SPDX-License-Identifier: BSD-3-Clause
#include "page/markup.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon {

namespace {

/// Length of the UTF-8 sequence at the beginning of the text, whose first byte is not ASCII; 0 if there is no
/// valid one: overlong forms, surrogates and code points past U+10FFFF are not valid.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t length = byte(0) >= 0xF0U ? 4 : byte(0) >= 0xE0U ? 3 : byte(0) >= 0xC2U ? 2 : 0;
  if (length == 0 || byte(0) > 0xF4U || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800U) || (length == 4 && code < 0x10000U);
  const bool surrogate = code >= 0xD800U && code < 0xE000U;
  return overlong || surrogate || code > 0x10FFFFU ? 0 : length;
}

std::string_view replacement(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const char c = text.front();
    std::size_t size = 1;
    if ((static_cast<unsigned char>(c) & 0x80U) != 0) {
      size = sequence_length(text);
      result += size > 0 ? text.substr(0, size) : "\uFFFD";
      if (size == 0) size = 1;
    } else if (const std::string_view replaced = replacement(c); !replaced.empty()) {
      result += replaced;
    } else {
      result += (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7F' ? ' ' : c;
    }
    text.remove_prefix(size);
  }
  return result;
}

}  // namespace echelon

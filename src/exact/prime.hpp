// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of computations modulo a prime. Host code.
#pragma once

#include "exact/field.hpp"

#include <echelon/error.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace echelon::mapped {

inline bool is_prime(std::int64_t p) {
  if (p < 2) return false;
  for (std::int64_t d = 2; d * d <= p; ++d) {
    if (p % d == 0) return false;
  }
  return true;
}

/// Throws BadOption, naming `path`, unless p is a prime below 2^31.
inline PrimeField prime_field(const std::string& path, std::int64_t p) {
  if (p > std::numeric_limits<std::int32_t>::max()) {
    throw BadOption(path, "the prime has to be less than 2^31, and " + std::to_string(p) + " is not");
  }
  if (!is_prime(p)) throw BadOption(path, std::to_string(p) + " is not a prime");
  return {static_cast<std::uint32_t>(p)};
}

/// Field of the option's text "mod:p"; empty for "real". Throws BadOption.
inline std::optional<PrimeField> parse_field(std::string_view text) {
  constexpr std::string_view prefix = "mod:";
  if (text == "real") return std::nullopt;
  std::int64_t p = 0;
  const char* end = text.data() + text.size();
  if (!text.starts_with(prefix) ||
      std::from_chars(text.data() + prefix.size(), end, p) != std::from_chars_result{end, std::errc()}) {
    throw BadOption("field",
                    "option 'field' takes real or mod:p with a prime p, not '" + std::string(text) + "'",
                    text == "mod" ? "mod:2147483647" : "");
  }
  return prime_field("field", p);
}

}  // namespace echelon::mapped

// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <fmt/format.h>

#include <array>

namespace echelon {

std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

std::string exact_number(double value) {
  return fmt::format("{}", value);
}

std::string byte_count(std::size_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units.at(unit));
}

}  // namespace echelon

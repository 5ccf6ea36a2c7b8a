// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

namespace echelon {

void check_same_memory(const Device& a, std::string_view name_a, const Device& b, std::string_view name_b) {
  if (same_memory(a, b)) return;
  throw DeviceMismatch(
      fmt::format("{} is on {}, {} is on {}: move one with to(device)", name_a, a.name(), name_b, b.name()));
}

}  // namespace echelon

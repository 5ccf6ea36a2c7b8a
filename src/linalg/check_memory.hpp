// SPDX-License-Identifier: BSD-3-Clause
/// Not to be included by .cu files: they do not take fmt.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <fmt/format.h>

namespace echelon {

/// Throws DeviceMismatch, which names both operands.
inline void check_memory(const Device& a, const char* name_a, const Device& b, const char* name_b) {
  if (same_memory(a, b)) return;
  throw DeviceMismatch(
      fmt::format("{} is on {}, {} is on {}: move one with to(device)", name_a, a.name(), name_b, b.name()));
}

}  // namespace echelon

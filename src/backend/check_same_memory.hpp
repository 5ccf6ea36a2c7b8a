// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>

#include <string_view>

namespace echelon {

/// Throws DeviceMismatch, which names both operands and their devices, unless a and b share one memory.
void check_same_memory(const Device& a, std::string_view name_a, const Device& b, std::string_view name_b);

}  // namespace echelon

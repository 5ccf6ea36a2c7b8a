// SPDX-License-Identifier: BSD-3-Clause
/// The result of `echelon compare` as text.
#pragma once

#include <echelon/page/comparison.hpp>

#include <string>

namespace echelon::tool {

[[nodiscard]] std::string comparison_text(const Comparison& comparison);

}  // namespace echelon::tool

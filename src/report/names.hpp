// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace echelon {

/// The method's name, "cg", in a description such as "cg (preconditioner=jacobi)".
[[nodiscard]] inline std::string name_of(const std::string& description) {
  return description.substr(0, description.find(' '));
}

}  // namespace echelon

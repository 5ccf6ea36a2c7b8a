// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/implementation.hpp"

namespace echelon {

/// Whether a set-up left something to solve with.
[[nodiscard]] inline bool has_factor(const Outcome& setup) {
  return setup.ok() || setup.status == Status::underdetermined ||
         (setup.status == Status::singular && !setup.row);
}

}  // namespace echelon

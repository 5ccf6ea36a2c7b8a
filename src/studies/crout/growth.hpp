// SPDX-License-Identifier: BSD-3-Clause
/// Assessment of factors by how much elements grew while they were computed.
#pragma once

#include "solver/factor_status.hpp"

#include <cstdint>

namespace echelon::crout {

/// Whether elements of factors of n rows that seem singular grew so much that the factors are mostly rounding
/// errors: then a zero pivot or a large condition number does not show that A is singular.
template <class T>
[[nodiscard]] bool is_spoilt(const Outcome& assessed, double growth, std::int64_t n) {
  return assessed.status == Status::singular && !(growth <= acceptable_growth<T>(n));
}

}  // namespace echelon::crout

// SPDX-License-Identifier: BSD-3-Clause
/// Assessment of factors by how much elements grew while they were computed.
#pragma once

#include "solver/factor_status.hpp"
#include "support/text.hpp"

#include <cstdint>

namespace echelon::crout {

/// The outcome `assessed` of factors of n rows, or a breakdown if elements grew so much that the factors are
/// mostly rounding errors: then a zero pivot or a large condition number does not show that A is singular.
template <class T>
[[nodiscard]] Outcome assess_growth(Outcome assessed, double growth, std::int64_t n) {
  if (assessed.status == Status::singular && !(growth <= acceptable_growth<T>(n))) {
    assessed.status = Status::breakdown;
    assessed.message =
        "elements grew " + short_number(growth) +
        " times, so that the factors do not determine whether A is singular; try lu, which factors "
        "such a matrix in another way";
    assessed.row.reset();
    assessed.reciprocal_condition.reset();
  }
  return assessed;
}

}  // namespace echelon::crout

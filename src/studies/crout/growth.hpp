// SPDX-License-Identifier: BSD-3-Clause
/// Assessment of factors by how much elements grew while they were computed.
#pragma once

#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>

namespace echelon::crout {

/// Magnitude |l_ii u_ij| of an element that elimination has left in the upper triangle.
template <class T>
struct EliminatedMagnitude {
  DenseView<const T> factors;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    if (i > j) return {0};
    const auto value = static_cast<double>(factors.data()[i + j * factors.leading()]);
    const double scale = i < j ? static_cast<double>(factors.data()[i * (factors.leading() + 1)]) : 1.0;
    return {std::fabs(scale * value)};
  }
};

/// The largest of these magnitudes in column j.
template <class T>
struct LargestEliminated {
  EliminatedMagnitude<T> magnitude;
  ECHELON_ANYWHERE Largest operator()(std::int64_t j) const {
    Largest largest;
    for (std::int64_t i = 0; i <= j; ++i) largest = combine(largest, magnitude(i, j));
    return largest;
  }
};

/// Whether elements of factors of n rows that seem singular grew so much that the factors are mostly rounding
/// errors: then a zero pivot or a large condition number does not show that A is singular.
template <class T>
[[nodiscard]] bool is_spoilt(const Outcome& assessed, double growth, std::int64_t n) {
  return assessed.status == Status::singular && !(growth <= acceptable_growth<T>(n));
}

}  // namespace echelon::crout

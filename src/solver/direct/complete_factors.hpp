// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/direct/scales.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/solver/factors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::direct {

/// Writes the scales into factors of order n, if there are any, and ones and identities for the scales and
/// permutations that they lack.
template <class T>
MatrixFactors<T> complete(MatrixFactors<T> factors, const Scales<T>& scales, std::int64_t n) {
  const auto order = static_cast<std::size_t>(n);
  const auto set_scale = [&](const Array<T>& scale, std::vector<double>& target) {
    const std::vector<T> elements = scale.to_vector();
    if (!elements.empty()) {
      target.resize(elements.size());
      std::transform(elements.begin(), elements.end(), target.begin(), [](T factor) { return real(factor); });
    }
    if (target.empty()) target.assign(order, 1);
  };
  set_scale(scales.rows, factors.row_scales);
  set_scale(scales.columns, factors.column_scales);
  for (auto* const permutation : {&factors.row_permutation, &factors.column_permutation}) {
    if (!permutation->empty()) continue;
    permutation->resize(order);
    std::iota(permutation->begin(), permutation->end(), std::int64_t{0});
  }
  return factors;
}

}  // namespace echelon::direct

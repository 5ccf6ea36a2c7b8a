// SPDX-License-Identifier: BSD-3-Clause
/// Common part of the factorisations of dense symmetric matrices on the host.
#pragma once

#include "dense/factorization/host_factorization.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace echelon::dense_symmetric {

/// First place (row > column), column by column, at which a_ij and a_ji differ by more than rounding. Squares
/// that fit into the cache are compared with their mirror images.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> find_asymmetry(DenseView<const T> A) {
  constexpr std::int64_t side = 32;
  const std::int64_t n = A.rows();
  for (std::int64_t first = 0; first < n; first += side) {
    for (std::int64_t top = first; top < n; top += side) {
      for (std::int64_t j = first; j < std::min(first + side, n); ++j) {
        for (std::int64_t i = std::max(top, j + 1); i < std::min(top + side, n); ++i) {
          const auto below = static_cast<double>(A(i, j));
          const auto above = static_cast<double>(A(j, i));
          const double allowed = symmetry_tolerance<T> * std::max(std::fabs(below), std::fabs(above));
          if (std::fabs(below - above) > allowed) return std::pair(i, j);
        }
      }
    }
  }
  return std::nullopt;
}

/// Scales A from both sides by the powers of two next to 1 / sqrt(sizes), if these differ by more than a
/// factor of ten or are extreme; the scales are empty otherwise. Powers of two cause no rounding errors.
template <class T>
void scale_symmetrically(DenseView<T> A, const std::vector<double>& sizes, std::vector<T>& scales) {
  const auto [least, largest] = std::minmax_element(sizes.begin(), sizes.end());
  constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  if (*largest <= 10 * *least && *least >= small && *largest <= 1 / small) return;
  for (const double size : sizes) scales.push_back(static_cast<T>(std::ldexp(1.0, -std::ilogb(size) / 2)));
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    T* const column = A.column(j);
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      column[i] *= scales[static_cast<std::size_t>(i)] * scales[static_cast<std::size_t>(j)];
    }
  }
}

}  // namespace echelon::dense_symmetric

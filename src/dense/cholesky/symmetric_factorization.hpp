// SPDX-License-Identifier: BSD-3-Clause
/// Common part of the factorisations of dense symmetric and Hermitian matrices on the host.
#pragma once

#include "solver/direct/scales.hpp"
#include "solver/factor_status.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::dense_symmetric {

/// First place (row >= column), column by column, at which a_ij and the conjugate of a_ji differ by more than
/// rounding. Squares that fit into the cache are compared with their mirror images.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> find_asymmetry(DenseView<const T> A) {
  constexpr std::int64_t side = 32;
  const std::int64_t n = A.rows();
  for (std::int64_t first = 0; first < n; first += side) {
    for (std::int64_t top = first; top < n; top += side) {
      for (std::int64_t j = first; j < std::min(first + side, n); ++j) {
        for (std::int64_t i = std::max(top, j); i < std::min(top + side, n); ++i) {
          const auto below = static_cast<Dot<T>>(A(i, j));
          const auto above = static_cast<Dot<T>>(A(j, i));
          const double allowed = symmetry_tolerance<T> * std::max(magnitude(below), magnitude(above));
          if (magnitude(below - conj(above)) > allowed) return std::pair(i, j);
        }
      }
    }
  }
  return std::nullopt;
}

/// Whether sizes differ by more than a factor of ten.
inline bool are_uneven(const std::vector<double>& sizes) {
  const auto [least, largest] = std::minmax_element(sizes.begin(), sizes.end());
  return *largest > 10 * *least;
}

/// Multiplies A from both sides by the powers of two next to 1 / sqrt(sizes), and the scales by the same.
template <class T>
void multiply_by_roots(DenseView<T> A, const std::vector<double>& sizes, std::vector<T>& scales) {
  std::vector<T> factors;
  factors.reserve(sizes.size());
  for (const double size : sizes)
    factors.push_back(static_cast<Real<T>>(std::ldexp(1.0, -std::ilogb(size) / 2)));
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    T* const column = A.column(j);
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      column[i] *= factors[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(j)];
    }
  }
  for (std::size_t i = 0; i < factors.size(); ++i) scales[i] *= factors[i];
}

/// Scales A from both sides by the powers of two next to 1 / sqrt(sizes), if these differ by more than a
/// factor of ten or are extreme; the scales are empty otherwise. Powers of two cause no rounding errors.
template <class T>
void scale_symmetrically(DenseView<T> A, const std::vector<double>& sizes, std::vector<T>& scales) {
  const auto [least, largest] = std::minmax_element(sizes.begin(), sizes.end());
  constexpr double small = std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon();
  if (!are_uneven(sizes) && *least >= small && *largest <= 1 / small) return;
  scales.assign(sizes.size(), T{1});
  multiply_by_roots(A, sizes, scales);
}

/// The largest magnitude of each row of a symmetric A.
template <class T>
std::vector<double> largest_of_rows(DenseView<const T> A) {
  std::vector<double> largest(static_cast<std::size_t>(A.rows()), 0.0);
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      double& row = largest[static_cast<std::size_t>(i)];
      row = std::max(row, magnitude(A(i, j)));
    }
  }
  return largest;
}

/// Scales A without zero rows from both sides until the largest magnitudes of its rows are about 1, as Ruiz's
/// algorithm does: each step halves the differences of their logarithms, so that 12 suffice for every A. A
/// whose rows differ by a factor of ten at most is not scaled, and the scales are empty.
template <class T>
void equilibrate_symmetrically(DenseView<T> A, std::vector<T>& scales) {
  constexpr int most_steps = 12;
  std::vector<double> sizes = largest_of_rows<T>(A);
  scale_symmetrically(A, sizes, scales);
  if (scales.empty()) return;
  for (int step = 1; step < most_steps; ++step) {
    sizes = largest_of_rows<T>(A);
    if (!are_uneven(sizes)) return;
    multiply_by_roots(A, sizes, scales);
  }
}

/// X = conj(X).
template <class T>
void conjugate(DenseView<T> X) {
  for (std::int64_t j = 0; j < X.columns(); ++j)
    std::transform(X.column(j), X.column(j) + X.rows(), X.column(j), [](T x) { return conj(x); });
}

/// The scales of both sides of a symmetric matrix; none if `scales` is empty.
template <class T>
Scales<T> symmetric_scales(const std::vector<T>& scales) {
  const Array<T> array{Device(), std::span<const T>(scales)};
  return {array, array};
}

}  // namespace echelon::dense_symmetric

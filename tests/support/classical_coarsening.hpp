// SPDX-License-Identifier: BSD-3-Clause
/// Matrices and options for the tests of classical coarsening on the host and on GPUs.
#pragma once

#include "multigrid/coarsening/classical/classical.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {

namespace classical = multigrid::classical;

/// Laplacian on a cube of m^3 points with Dirichlet boundaries, of 7 or 27 points; `weight` is that of the
/// third direction.
template <class T>
Csr<T> cube_laplacian(std::int64_t m, int points = 7, T weight = 1) {
  std::vector<Triplet<T>> triplets;
  const auto index = [m](std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<std::int32_t>((z * m + y) * m + x);
  };
  const auto add_row = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const std::int32_t row = index(x, y, z);
    triplets.push_back({row, row, points == 27 ? T{26} : 4 + 2 * weight});
    for (std::int64_t e = 0; e < 27; ++e) {
      const std::int64_t dx = e % 3 - 1;
      const std::int64_t dy = e / 3 % 3 - 1;
      const std::int64_t dz = e / 9 - 1;
      const std::int64_t steps = std::abs(dx) + std::abs(dy) + std::abs(dz);
      if (steps == 0 || (points == 7 && steps > 1)) continue;
      const auto is_inside = [m](std::int64_t c) { return c >= 0 && c < m; };
      if (!is_inside(x + dx) || !is_inside(y + dy) || !is_inside(z + dz)) continue;
      const T value = points == 7 && dz != 0 ? -weight : T{-1};
      triplets.push_back({row, index(x + dx, y + dy, z + dz), value});
    }
  };
  for (std::int64_t z = 0; z < m; ++z) {
    for (std::int64_t y = 0; y < m; ++y) {
      for (std::int64_t x = 0; x < m; ++x) add_row(x, y, z);
    }
  }
  return Csr<T>::from_triplets(m * m * m, m * m * m, triplets);
}

/// Random matrix with an unsymmetric pattern, about `per_row` elements a row off the diagonal, of which
/// one in eight is positive unless `signs` is false, and diagonals that exceed minus the sum of the negative
/// ones by `excess`, or equal it.
template <class T>
Csr<T> random_connections(std::int64_t n, double per_row, unsigned seed, double excess = 0,
                          bool signs = true) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Triplet<T>> triplets;
  const double probability = n > 1 ? per_row / static_cast<double>(n - 1) : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double diagonal = excess;
    for (std::int64_t j = 0; j < n; ++j) {
      if (i == j || uniform(generator) >= probability) continue;
      const double size = uniform(generator);
      const bool is_positive = signs && uniform(generator) < 0.125;
      if (!is_positive) diagonal += static_cast<double>(static_cast<T>(size));
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                          static_cast<T>(is_positive ? size : -size)});
    }
    triplets.push_back(
        {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), static_cast<T>(diagonal)});
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

/// Every interpolation, with and without aggressive coarsening, with few and many elements.
inline std::vector<classical::CoarseningOptions> all_options() {
  using classical::AggressiveInterpolation;
  using classical::InterpolationFormula;
  std::vector<classical::CoarseningOptions> all;
  for (const InterpolationFormula interpolation :
       {InterpolationFormula::direct, InterpolationFormula::extended, InterpolationFormula::extended_i,
        InterpolationFormula::extended_e}) {
    for (const std::int64_t elements : {4, 64}) {
      classical::CoarseningOptions options;
      options.interpolation = interpolation;
      options.max_elements = elements;
      options.aggressive_levels = 0;
      all.push_back(options);
    }
  }
  for (const auto interpolation : {AggressiveInterpolation::multipass, AggressiveInterpolation::two_stage}) {
    classical::CoarseningOptions options;
    options.aggressive_interpolation = interpolation;
    options.min_dependences = 0;
    all.push_back(options);
  }
  return all;
}

inline std::string name_of(const classical::CoarseningOptions& options) {
  return "interpolation " + std::to_string(static_cast<int>(options.interpolation)) + ", aggressive " +
         std::to_string(static_cast<int>(options.aggressive_interpolation)) + " on " +
         std::to_string(options.aggressive_levels) + ", elements " + std::to_string(options.max_elements);
}

}  // namespace echelon::test

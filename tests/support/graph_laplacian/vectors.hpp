// SPDX-License-Identifier: BSD-3-Clause
/// Vectors for systems with the matrices of graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace echelon::test {

/// Uniform elements between -1 and 1.
inline std::vector<double> random_vector(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = unit(random);
  return x;
}

/// Mean of the elements.
inline double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// Random vectors, Euclidean norms and distances, for tests of least squares.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace echelon::test::euclidean {

/// A vector of normally distributed elements.
inline std::vector<double> normal_vector(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& element : x) element = normal(random);
  return x;
}

inline double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double element : x) squares += element * element;
  return std::sqrt(squares);
}

/// ||x - y||.
inline double difference(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) d[i] = x[i] - y[i];
  return norm(d);
}

}  // namespace echelon::test::euclidean

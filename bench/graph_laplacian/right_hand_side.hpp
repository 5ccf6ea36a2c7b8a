// SPDX-License-Identifier: BSD-3-Clause
/// Right-hand side of the systems of the benchmarks in this folder.
#pragma once

#include <echelon/echelon.hpp>

#include <cstddef>
#include <random>
#include <vector>

namespace echelon::bench {

/// A x for a vector x of normally distributed numbers, the same in each run: a consistent right-hand side of
/// a singular A, too.
inline std::vector<double> consistent_right_hand_side(const Csr<double>& A) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(A.rows()));
  for (double& value : x) value = normal(random);
  std::vector<double> b(x.size());
  multiply<double>(1, A, x, 0, b);
  return b;
}

}  // namespace echelon::bench

// SPDX-License-Identifier: BSD-3-Clause
/// Symmetric indefinite systems for tests of sparse L D L^T.
#pragma once

#include "support/sparse_systems.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace echelon::test {

inline void add_symmetric(Elements& elements, std::int32_t i, std::int32_t j, double value) {
  elements.push_back({i, j, value});
  if (i != j) elements.push_back({j, i, value});
}

/// Random symmetric matrix without elements on the diagonal; a path through all rows makes it regular in
/// structure for even n.
inline SparseSystem zero_diagonal(std::int32_t n, int per_row, unsigned seed) {
  SparseSystem s{"zero diagonal", n, {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int32_t i = 0; i + 1 < n; ++i) add_symmetric(s.elements, i, i + 1, value(random));
  for (std::int32_t i = 0; i < n; ++i) {
    for (int k = 0; k < per_row; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      if (j != i) add_symmetric(s.elements, i, j, value(random));
    }
  }
  return s;
}

/// Optimality system [[H, A^T], [A, 0]] of a random quadratic program with n variables and m < n constraints.
inline SparseSystem quadratic_program(std::int32_t n, std::int32_t m, unsigned seed) {
  SparseSystem s{"quadratic program", n + m, {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int32_t i = 0; i < n; ++i) s.elements.push_back({i, i, std::pow(10.0, 4 * value(random))});
  for (std::int32_t c = 0; c < m; ++c) {
    add_symmetric(s.elements, n + c, c, 1 + value(random) / 2);
    for (int k = 0; k < 4; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      add_symmetric(s.elements, n + c, j, value(random));
    }
  }
  return s;
}

/// [[0, 1], [1, 0]] on the diagonal, with weak and strong couplings.
inline SparseSystem exchange_chain(std::int32_t pairs) {
  SparseSystem s{"exchanges", 2 * pairs, {}};
  for (std::int32_t p = 0; p < pairs; ++p) {
    add_symmetric(s.elements, 2 * p, 2 * p + 1, 1);
    if (p > 0) add_symmetric(s.elements, 2 * p, 2 * p - 1, p % 2 == 0 ? 1e-16 : 0.5);
  }
  return s;
}

inline SparseSystem negated(SparseSystem s) {
  for (auto& e : s.elements) e.value = -e.value;
  s.name = "negated " + s.name;
  return s;
}

/// Regular systems of every awkward shape, definite ones among them.
inline std::vector<SparseSystem> indefinite_systems() {
  std::vector<SparseSystem> list = definite_systems();
  list.push_back(negated(grid_system(20, 20, 1)));
  for (const double shift : {-1.0, -3.7, -4.0 + 1e-9}) list.push_back(grid_system(19, 17, 1, shift));
  list.push_back(grid_system(8, 7, 9, -5.3));
  for (const std::int32_t n : {2, 3, 31, 32, 33, 300}) list.push_back(random_system(n, 4, true, -0.3, 5));
  for (const std::int32_t n : {2, 4, 32, 34, 300}) list.push_back(zero_diagonal(n, 2, 6));
  list.push_back(zero_diagonal(120, 40, 7));
  list.push_back(quadratic_program(200, 90, 8));
  list.push_back(saddle_point(12, false));
  list.push_back(saddle_point(12, true));
  list.push_back(exchange_chain(40));
  return list;
}

}  // namespace echelon::test

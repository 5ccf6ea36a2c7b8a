// SPDX-License-Identifier: BSD-3-Clause
/// Small matrices by their rows, for tests of answers.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::test {

using Reals = ::testing::Types<float, double>;

/// Rows of integers times powers of two, which all element types hold exactly.
using Rows = std::vector<std::vector<double>>;

template <class T>
Csr<T> sparse(const Rows& rows) {
  std::vector<Triplet<T>> triplets;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j] == 0) continue;
      triplets.push_back(
          {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(rows[i][j])});
    }
  }
  const auto m = static_cast<std::int64_t>(rows.size());
  return Csr<T>::from_triplets(m, m == 0 ? 0 : static_cast<std::int64_t>(rows[0].size()), triplets);
}

inline Rows graph_laplacian(std::size_t n, const auto& adjacent) {
  Rows rows(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j || !adjacent(i, j)) continue;
      rows[i][j] = -1;
      rows[i][i] += 1;
    }
  }
  return rows;
}
inline Rows complete(std::size_t n) {
  return graph_laplacian(n, [](std::size_t, std::size_t) { return true; });
}
inline Rows scaled(Rows rows, double factor) {
  for (auto& row : rows) {
    for (double& element : row) element *= factor;
  }
  return rows;
}
inline std::vector<double> product(const Rows& rows, const std::vector<double>& x) {
  std::vector<double> b;
  for (const auto& row : rows) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += row[j] * x[j];
    b.push_back(sum);
  }
  return b;
}
template <class T>
std::vector<T> as(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

}  // namespace echelon::test

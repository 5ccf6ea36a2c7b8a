// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::bddc {

/// Dot product, summed from the first element to the last.
[[nodiscard]] inline double dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// Orthonormal basis of the columns of `vectors`, restricted to some rows, by Gram and Schmidt's method,
/// twice. Columns that depend on earlier ones are omitted.
[[nodiscard]] inline std::vector<std::vector<double>> orthonormal_basis(std::span<const std::int32_t> rows,
                                                                        const Dense<double>& vectors) {
  constexpr double dependent = 1e-8;  // part of a norm that must be left by the earlier columns
  std::vector<std::vector<double>> basis;
  for (std::int64_t v = 0; v < vectors.columns(); ++v) {
    std::vector<double> column;
    for (const std::int32_t i : rows) column.push_back(vectors(i, v));
    const double before = std::sqrt(dot(column, column));
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& q : basis) {
        const double part = dot(q, column);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] -= part * q[i];
      }
    }
    const double norm = std::sqrt(dot(column, column));
    if (!(norm > dependent * before)) continue;
    for (double& element : column) element /= norm;
    basis.push_back(std::move(column));
  }
  return basis;
}

}  // namespace echelon::bddc

// SPDX-License-Identifier: BSD-3-Clause
/// Sparse systems for the tests of direct methods, and an independent check of their solutions.
#pragma once

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

using Elements = std::vector<Triplet<double>>;

template <class T>
Csr<T> csr_of(std::int64_t n, const Elements& elements) {
  std::vector<Triplet<T>> converted;
  converted.reserve(elements.size());
  for (const auto& e : elements) converted.push_back({e.row, e.column, static_cast<T>(e.value)});
  return Csr<T>::from_triplets(n, n, converted);
}

struct SparseSystem {
  std::string name;
  std::int64_t n = 0;
  Elements elements;
};

/// -Laplace on a grid; `shift` is added to the diagonal, `wind` to and subtracted from the off-diagonals.
inline SparseSystem grid_system(std::int32_t nx, std::int32_t ny, std::int32_t nz, double shift = 0,
                                double wind = 0) {
  SparseSystem s{"grid", std::int64_t{nx} * ny * nz, {}};
  const std::int32_t stride[3] = {1, nx, nx * ny};
  const std::int32_t extent[3] = {nx, ny, nz};
  for (std::int32_t i = 0; i < s.n; ++i) {
    const std::int32_t at[3] = {i % nx, i / nx % ny, i / (nx * ny)};
    s.elements.push_back({i, i, (nz > 1 ? 6 : 4) + shift});
    for (int d = 0; d < 3; ++d) {
      if (at[d] > 0) s.elements.push_back({i, i - stride[d], -1 - wind});
      if (at[d] + 1 < extent[d]) s.elements.push_back({i, i + stride[d], -1 + wind});
    }
  }
  return s;
}

/// A dense row and column at `tip`, and a diagonal that dominates.
inline SparseSystem arrow_system(std::int32_t n, std::int32_t tip) {
  SparseSystem s{"arrow", n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    s.elements.push_back({i, i, i == tip ? 2.0 * n : 4.0});
    if (i == tip) continue;
    s.elements.push_back({i, tip, 1});
    s.elements.push_back({tip, i, 1});
  }
  return s;
}

inline SparseSystem diagonal_system(std::int32_t n) {
  SparseSystem s{"diagonal", n, {}};
  for (std::int32_t i = 0; i < n; ++i) s.elements.push_back({i, i, 1.0 + i % 5});
  return s;
}

/// About `per_row` random elements a row; dominant by `margin` times the sum of the off-diagonal magnitudes.
inline SparseSystem random_system(std::int32_t n, int per_row, bool symmetric, double margin, unsigned seed) {
  SparseSystem s{symmetric ? "random symmetric" : "random", n, {}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> sums(static_cast<std::size_t>(n), 0);
  for (std::int32_t i = 0; i < n; ++i) {
    for (int k = 0; k < per_row; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<unsigned>(n));
      const double v = value(random);
      if (i == j) continue;
      s.elements.push_back({i, j, v});
      sums[static_cast<std::size_t>(i)] += std::abs(v);
      if (!symmetric) continue;
      s.elements.push_back({j, i, v});
      sums[static_cast<std::size_t>(j)] += std::abs(v);
    }
  }
  for (std::int32_t i = 0; i < n; ++i)
    s.elements.push_back({i, i, margin * sums[static_cast<std::size_t>(i)] + 0.1});
  return s;
}

/// Symmetric positive definite systems of every awkward shape.
inline std::vector<SparseSystem> definite_systems() {
  std::vector<SparseSystem> list = {{"1x1", 1, {{0, 0, 3}}}, diagonal_system(7),     grid_system(1, 40, 1),
                                    grid_system(33, 31, 1),  grid_system(70, 70, 1), grid_system(13, 12, 11),
                                    arrow_system(60, 0),     arrow_system(60, 59),   arrow_system(60, 30)};
  for (const std::int32_t n : {2, 3, 31, 32, 33, 400}) list.push_back(random_system(n, 3, true, 1.1, 7));
  list.push_back(random_system(200, 60, true, 1.1, 8));
  return list;
}

/// [[H, B^T], [B, 0]] with constraints that each tie two unknowns.
inline SparseSystem saddle_point(std::int32_t side, bool constraints_first) {
  SparseSystem grid = grid_system(side, side, 1);
  const auto n = static_cast<std::int32_t>(grid.n);
  const std::int32_t constraints = n / 3;
  SparseSystem s{"saddle point", n + constraints, {}};
  const std::int32_t unknowns_at = constraints_first ? constraints : 0;
  const std::int32_t constraints_at = constraints_first ? 0 : n;
  for (const auto& e : grid.elements)
    s.elements.push_back({unknowns_at + e.row, unknowns_at + e.column, e.value});
  for (std::int32_t c = 0; c < constraints; ++c) {
    for (const auto& [column, value] : {std::pair{3 * c, 1.0}, std::pair{3 * c + 1, -2.0}}) {
      s.elements.push_back({constraints_at + c, unknowns_at + column, value});
      s.elements.push_back({unknowns_at + column, constraints_at + c, value});
    }
  }
  return s;
}

/// Grid Laplacian with row sums of zero, whose null space is spanned by the vector of ones.
inline SparseSystem laplacian(std::int32_t side) {
  SparseSystem s = grid_system(side, side, 1);
  std::vector<double> sums(static_cast<std::size_t>(s.n), 0);
  for (const auto& e : s.elements) {
    if (e.row != e.column) sums[e.row] -= e.value;
  }
  for (auto& e : s.elements) {
    if (e.row == e.column) e.value = sums[e.row];
  }
  return s;
}

/// ||b - A x||_inf / ((||A||_inf ||x||_inf + ||b||_inf) eps), in extended precision.
template <class T>
double scaled_residual(const Csr<T>& A, const T* x, const T* b) {
  long double residual = 0;
  long double norm_a = 0;
  long double norm_x = 0;
  long double norm_b = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    long double sum = b[i];
    long double row = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto value = static_cast<long double>(A.values()[k]);
      sum -= value * static_cast<long double>(x[A.column_indices()[k]]);
      row += std::abs(value);
    }
    if (!(std::abs(sum) <= std::numeric_limits<long double>::max()))
      return std::numeric_limits<double>::infinity();
    residual = std::max(residual, std::abs(sum));
    norm_a = std::max(norm_a, row);
    norm_x = std::max(norm_x, std::abs(static_cast<long double>(x[i])));
    norm_b = std::max(norm_b, std::abs(static_cast<long double>(b[i])));
  }
  if (residual == 0) return 0;
  return static_cast<double>(residual / (norm_a * norm_x + norm_b) /
                             static_cast<long double>(std::numeric_limits<T>::epsilon()));
}

/// Product A x.
template <class T>
std::vector<T> product(const Csr<T>& A, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(A.rows()), T{0});
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      y[static_cast<std::size_t>(i)] += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    }
  }
  return y;
}

template <class T>
std::vector<T> random_vector(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& element : v) element = static_cast<T>(value(random));
  return v;
}

/// The integer or the number that a report gives under a name; NaN if it gives none.
inline double statistic(const Report& report, const std::string& name) {
  const Statistic* found = report.find_statistic(name);
  if (found == nullptr) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* count = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*count);
  if (const auto* number = std::get_if<double>(&found->value)) return *number;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace echelon::test

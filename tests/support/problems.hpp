// SPDX-License-Identifier: BSD-3-Clause
/// Systems that tests solve, and independent checks of the solutions.
#pragma once

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {

/// Properties that a method may require.
struct Traits {
  bool spd = false;
  bool symmetric = false;
  bool strictly_dominant = false;
  bool nonzero_diagonal = true;
  bool one_sided_spectrum = true;
  bool triangular = false;  ///< with a nonzero diagonal
};

struct Problem {
  std::string name;
  std::int64_t n = 0;
  std::vector<Triplet<double>> elements;
  Traits traits;

  template <class T>
  [[nodiscard]] Csr<T> csr() const {
    std::vector<Triplet<T>> converted;
    for (const auto& e : elements) converted.push_back({e.row, e.column, static_cast<T>(e.value)});
    return Csr<T>::from_triplets(n, n, converted);
  }
  template <class T>
  [[nodiscard]] Dense<T> dense() const {
    Dense<T> result(Device(), n, n);
    std::fill_n(result.data(), n * n, T{0});
    for (const auto& e : elements) result(e.row, e.column) += static_cast<T>(e.value);
    return result;
  }
};

/// -Laplace u + wind * grad u on a grid of side by side points, central differences; wind = 0 is SPD.
inline Problem convection_diffusion(std::int32_t side, double wind) {
  Problem p;
  p.name = (wind == 0 ? "poisson_" : "convection_") + std::to_string(side) + "x" + std::to_string(side);
  p.n = std::int64_t{side} * side;
  p.traits = {.spd = wind == 0,
              .symmetric = wind == 0,
              .strictly_dominant = false,
              .nonzero_diagonal = true,
              .one_sided_spectrum = true};
  for (std::int32_t j = 0; j < side; ++j) {
    for (std::int32_t i = 0; i < side; ++i) {
      const std::int32_t row = i + j * side;
      p.elements.push_back({row, row, 4});
      if (i > 0) p.elements.push_back({row, row - 1, -1 - wind});
      if (i + 1 < side) p.elements.push_back({row, row + 1, -1 + wind});
      if (j > 0) p.elements.push_back({row, row - side, -1 - wind});
      if (j + 1 < side) p.elements.push_back({row, row + side, -1 + wind});
    }
  }
  return p;
}

/// The Laplacian of a grid of side by side points.
inline Csr<double> poisson(std::int32_t side) {
  return convection_diffusion(side, 0).csr<double>();
}

/// About `per_row` random elements a row, the diagonal 1.25 times the sum of the others.
inline Problem random_dominant(std::int64_t n, int per_row, bool symmetric, unsigned seed) {
  Problem p;
  p.name = std::string(symmetric ? "symmetric" : "unsymmetric") + "_dominant_" + std::to_string(n);
  p.n = n;
  p.traits = {.spd = symmetric,
              .symmetric = symmetric,
              .strictly_dominant = true,
              .nonzero_diagonal = true,
              .one_sided_spectrum = true};
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> sums(static_cast<std::size_t>(n), 0.0);
  for (std::int32_t i = 0; i < n; ++i) {
    for (int k = 0; k < per_row; ++k) {
      const auto j = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(n));
      if (j == i) continue;
      const double v = value(random);
      p.elements.push_back({i, j, v});
      sums[static_cast<std::size_t>(i)] += std::abs(v);
      if (!symmetric) continue;
      p.elements.push_back({j, i, v});
      sums[static_cast<std::size_t>(j)] += std::abs(v);
    }
  }
  for (std::int32_t i = 0; i < n; ++i) {
    p.elements.push_back({i, i, 1.25 * sums[static_cast<std::size_t>(i)] + 1});
  }
  return p;
}

/// A triangle of random_dominant.
inline Problem random_triangular(std::int64_t n, int per_row, bool lower, unsigned seed) {
  Problem p = random_dominant(n, per_row, false, seed);
  p.name = std::string(lower ? "lower" : "upper") + "_triangular_" + std::to_string(n);
  p.traits.triangular = true;
  std::erase_if(p.elements, [&](const auto& e) { return lower ? e.column > e.row : e.column < e.row; });
  return p;
}

/// A system that the method is made for, strictly dominant and either symmetric or triangular.
inline Problem system_for(const Method& method, std::int64_t n, int per_row, unsigned seed) {
  return method.needs == MethodNeeds::triangular ? random_triangular(n, per_row, true, seed)
                                                 : random_dominant(n, per_row, true, seed);
}

/// A perturbed cyclic shift: nonsingular, well-conditioned, no diagonal.
inline Problem shifted_cycle(std::int64_t n) {
  Problem p;
  p.name = "cycle_" + std::to_string(n);
  p.n = n;
  p.traits = {
      .spd = false, .strictly_dominant = false, .nonzero_diagonal = false, .one_sided_spectrum = false};
  for (std::int32_t i = 0; i < n; ++i) {
    p.elements.push_back({i, static_cast<std::int32_t>((i + 1) % n), 2.0 + 1.0 / (1 + i)});
    if (n > 2) p.elements.push_back({i, static_cast<std::int32_t>((i + 2) % n), 0.25});
  }
  return p;
}

/// The adjacency matrix of a path of n points: symmetric, with the eigenvalues 2 cos(k pi / (n + 1)), of
/// which none is zero for even n.
inline Problem path(std::int64_t n) {
  Problem p;
  p.name = "path_" + std::to_string(n);
  p.n = n;
  p.traits = {.symmetric = true, .nonzero_diagonal = false, .one_sided_spectrum = false};
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    p.elements.push_back({i, i + 1, 1});
    p.elements.push_back({i + 1, i, 1});
  }
  return p;
}

inline Problem diagonal(std::int64_t n) {
  Problem p;
  p.name = "diagonal_" + std::to_string(n);
  p.n = n;
  p.traits = {.spd = true,
              .symmetric = true,
              .strictly_dominant = true,
              .nonzero_diagonal = true,
              .one_sided_spectrum = true,
              .triangular = true};
  for (std::int32_t i = 0; i < n; ++i) p.elements.push_back({i, i, 1.0 + i % 7});
  return p;
}

/// Random right-hand sides of magnitude one.
template <class T>
Dense<T> random_dense(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Dense<T> result(Device(), rows, columns);
  for (std::int64_t k = 0; k < rows * columns; ++k) result[k] = static_cast<T>(value(random));
  return result;
}

/// Residual and backward error of a solution, computed in extended precision.
struct Assessment {
  double relative_residual = 0;  ///< ||b - A x||_2 / ||b||_2
  double scaled_residual = 0;    ///< ||b - A x||_inf / (||A||_inf ||x||_inf n eps), LAPACK's measure
};

template <class T>
Assessment assess(const Csr<T>& A, const Dense<T>& x, const Dense<T>& b, std::int64_t column = 0) {
  long double residual2 = 0;
  long double right2 = 0;
  long double residual_max = 0;
  long double norm = 0;
  long double x_max = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    long double r = b(i, column);
    long double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const long double value = A.values()[k];
      r -= value * static_cast<long double>(x(A.column_indices()[k], column));
      sum += std::abs(value);
    }
    residual2 += r * r;
    right2 += static_cast<long double>(b(i, column)) * static_cast<long double>(b(i, column));
    residual_max = std::max(residual_max, std::abs(r));
    norm = std::max(norm, sum);
    x_max = std::max(x_max, std::abs(static_cast<long double>(x(i, column))));
  }
  Assessment assessment;
  assessment.relative_residual = right2 > 0 ? static_cast<double>(std::sqrt(residual2 / right2)) : 0;
  const long double scale =
      norm * x_max * static_cast<long double>(A.rows()) * std::numeric_limits<T>::epsilon();
  assessment.scaled_residual = scale > 0 ? static_cast<double>(residual_max / scale) : 0;
  return assessment;
}

}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// Systems of applications: saddle points, integral equations, elastic bodies, arrow matrices.
#include "claims/linear_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace echelon::claims {

namespace {

/// [H B^T; B -delta I] with a positive definite or semidefinite H of order n and m constraints.
Recipe saddle_point(Draw& draw) {
  const std::size_t n = draw.order(2);
  const std::size_t m = 1 + draw.index(std::max<std::size_t>(1, n / 2));
  static const std::vector<double> regularisations = {0, 0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-4, 1};
  const double delta = draw.choose(regularisations);
  Recipe recipe{Elements(n + m, n + m), draw.chance(0.7)};
  Elements& A = recipe.A;
  const bool tridiagonal = draw.chance(0.5);
  const double diagonal = draw.chance(0.2) ? 0 : tridiagonal ? 2 : static_cast<double>(draw.integer(1, 9));
  for (std::size_t i = 0; i < n; ++i) {
    A(i, i) = diagonal;
    if (tridiagonal && i > 0) A(i, i - 1) = A(i - 1, i) = -1;
  }
  const Elements B = random_integers(draw, m, n, 5, std::min(1.0, 4.0 / static_cast<double>(n)));
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t j = 0; j < n; ++j) A(n + k, j) = A(j, n + k) = B(k, j);
    A(n + k, n + k) = -delta;
  }
  draw.note(fmt::format("{} unknowns, {} constraints, delta {}", n, m, delta));
  return recipe;
}

/// Quadrature of a first-kind integral equation by the midpoint rule: s and t are in (0, length).
template <class Kernel>
Elements integral_equation(std::size_t n, double length, const Kernel& kernel) {
  Elements A(n, n);
  const double h = length / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      A(i, j) = h * kernel((static_cast<double>(i) + 0.5) * h, (static_cast<double>(j) + 0.5) * h);
    }
  }
  return A;
}

/// Ill-posed kernels as in P. C. Hansen, Regularization tools, 1994.
Recipe ill_posed(Draw& draw) {
  const std::size_t n = draw.order(2);
  switch (draw.integer(0, 4)) {
    case 0:
      draw.note("Phillips");
      return {integral_equation(n, 12, [](double s, double t) {
        const double distance = s - t;
        return std::abs(distance) < 3 ? 1 + generate::cos_pi(distance / 3) : 0.0;
      })};
    case 1:
      draw.note("inverse Laplace transform");
      return {integral_equation(n, 10, [](double s, double t) { return generate::exp(-s * t); })};
    case 2:
      draw.note("gravity");
      return {integral_equation(n, 1, [](double s, double t) {
        const double square = 0.0625 + (s - t) * (s - t);
        return 0.25 / (square * std::sqrt(square));
      })};
    case 3:
      draw.note("second derivative");
      return {
          integral_equation(n, 1, [](double s, double t) { return std::min(s, t) * (std::max(s, t) - 1); })};
    default:
      draw.note("heat");
      return {integral_equation(n, 1, [](double s, double t) {
        const double u = s - t;
        return u > 0 ? generate::exp(-0.25 / u) / (u * std::sqrt(u)) : 0.0;
      })};
  }
}

using Point = std::array<double, 3>;

/// Springs between all points at a distance of at most `reach`, with the stiffness k d d^T for the difference
/// d: integers, so that rigid motions are exactly in the null space.
Elements spring_network(Draw& draw, const std::vector<Point>& points, std::size_t dimensions,
                        double reach_squared) {
  const std::size_t n = points.size() * dimensions;
  Elements K(n, n);
  for (std::size_t p = 0; p < points.size(); ++p) {
    for (std::size_t q = 0; q < p; ++q) {
      Point d{};
      double square = 0;
      for (std::size_t a = 0; a < dimensions; ++a) {
        d[a] = points[p][a] - points[q][a];
        square += d[a] * d[a];
      }
      if (square > reach_squared) continue;
      const auto k = static_cast<double>(draw.integer(1, 3));
      for (std::size_t a = 0; a < dimensions; ++a) {
        for (std::size_t b = 0; b < dimensions; ++b) {
          const double element = k * d[a] * d[b];
          K(p * dimensions + a, p * dimensions + b) += element;
          K(q * dimensions + a, q * dimensions + b) += element;
          K(p * dimensions + a, q * dimensions + b) -= element;
          K(q * dimensions + a, p * dimensions + b) -= element;
        }
      }
    }
  }
  return K;
}

/// An elastic body that floats, or is held weakly in one or more directions.
Recipe floating_body(Draw& draw) {
  const std::size_t dimensions = draw.chance(0.6) ? 2 : 3;
  const std::size_t nx = 2 + draw.index(dimensions == 2 ? 5 : 2);
  const std::size_t ny = 2 + draw.index(dimensions == 2 ? 4 : 2);
  const std::size_t nz = dimensions == 2 ? 1 : 2;
  std::vector<Point> points;
  for (std::size_t z = 0; z < nz; ++z) {
    for (std::size_t y = 0; y < ny; ++y) {
      for (std::size_t x = 0; x < nx; ++x) {
        points.push_back({static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
      }
    }
  }
  Recipe recipe{spring_network(draw, points, dimensions, static_cast<double>(dimensions)), draw.chance(0.8)};
  const std::size_t held = draw.chance(0.5) ? 0 : draw.index(7);
  const auto power = static_cast<int>(draw.integer(0, draw.single() ? 20 : 48));
  for (std::size_t k = 0; k < held; ++k) {
    const std::size_t i = draw.index(recipe.A.rows());
    recipe.A(i, i) += std::ldexp(1.0, -power);
  }
  draw.note(std::to_string(dimensions) + "-D body of " + std::to_string(points.size()) + " points, " +
            std::to_string(held) + " supports of 2^-" + std::to_string(power));
  return recipe;
}

/// I with ones in the first row and column, whose first diagonal element leaves a Schur complement near zero.
Recipe arrow(Draw& draw) {
  const std::size_t n = draw.chance(0.3) ? 50 : draw.order(2);
  Recipe recipe{Elements(n, n), draw.chance(0.7)};
  const std::size_t centre = draw.chance(0.7) ? 0 : n - 1;
  for (std::size_t i = 0; i < n; ++i) {
    recipe.A(i, i) = 1;
    recipe.A(centre, i) = recipe.A(i, centre) = 1;
  }
  const double decades = draw.chance(0.3) ? 8.3 : draw.random.uniform(0, draw.single() ? 6 : 15);
  const double distance = draw.chance(0.1) ? 0 : generate::power(10.0, -decades);
  recipe.A(centre, centre) = static_cast<double>(n - 1) + (draw.chance(0.5) ? distance : -distance);
  draw.note("arrow of order " + std::to_string(n) + " at 1e-" + std::to_string(static_cast<int>(decades)));
  return recipe;
}

/// Random integers with an ill-conditioned leading block, so that elimination needs pivots from below.
Recipe small_pivots(Draw& draw) {
  const std::size_t n = draw.order(2);
  Recipe recipe{random_integers(draw, n, n), draw.chance(0.5)};
  const std::size_t count = 1 + draw.index(n);
  for (std::size_t k = 0; k < count; ++k)
    recipe.A(k, k) = draw.chance(0.3) ? 0 : draw.power_of_two(10) * 1e-10;
  if (draw.chance(0.5)) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) recipe.A(i, j) = recipe.A(j, i);
    }
  }
  draw.note("small pivots");
  return recipe;
}

}  // namespace

std::vector<Kind> application_kinds() {
  return {{"saddle-point", saddle_point},
          {"ill-posed", ill_posed},
          {"floating-body", floating_body},
          {"arrow", arrow},
          {"small-pivots", small_pivots}};
}

}  // namespace echelon::claims

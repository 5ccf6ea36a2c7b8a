// SPDX-License-Identifier: BSD-3-Clause
/// Systems whose rows and columns differ in scale, systems near the limits of the element type, and
/// triangular and nearly singular matrices.
#include "claims/linear_system.hpp"

#include <algorithm>
#include <cmath>

namespace echelon::claims {

namespace {

std::vector<double> factors(Draw& draw, std::size_t n, double decades, bool powers_of_two) {
  std::vector<double> result(n);
  for (double& factor : result) {
    factor = powers_of_two ? draw.power_of_two(decades) : draw.over_decades(decades);
  }
  return result;
}

std::vector<double> ones(std::size_t n) {
  return std::vector<double>(n, 1.0);
}

std::string over(double decades) {
  return " over 1e+-" + std::to_string(static_cast<int>(decades));
}

Recipe scaled_rows(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  const double decades = draw.chance(0.5) ? draw.decades() : draw.random.uniform(1, draw.decades());
  const std::size_t n = recipe.A.rows();
  scale(recipe.A, factors(draw, n, decades, draw.chance(0.5)), ones(n));
  draw.note("rows scaled" + over(decades));
  return recipe;
}

Recipe scaled_columns(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  const double decades = draw.chance(0.5) ? draw.decades() : draw.random.uniform(1, draw.decades());
  const std::size_t n = recipe.A.rows();
  scale(recipe.A, ones(n), factors(draw, n, decades, draw.chance(0.5)));
  draw.note("columns scaled" + over(decades));
  return recipe;
}

Recipe scaled_both(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  const double decades = draw.chance(0.5) ? draw.decades() : draw.random.uniform(1, draw.decades());
  const std::size_t n = recipe.A.rows();
  const bool powers_of_two = draw.chance(0.5);
  const std::vector<double> rows = factors(draw, n, decades, powers_of_two);
  if (draw.chance(0.3)) {
    scale(recipe.A, rows, rows);
    draw.note("scaled symmetrically" + over(decades));
  } else {
    scale(recipe.A, rows, factors(draw, n, decades, powers_of_two));
    draw.note("rows and columns scaled" + over(decades));
  }
  return recipe;
}

/// Columns graded over 6, 9, 12 or 16 decades in total, in random order.
Recipe column_decades(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order(2));
  static const std::vector<double> usual = {6, 9, 12, 16};
  const double decades = draw.choose(usual);
  const std::size_t n = recipe.A.columns();
  scale(recipe.A, ones(n), factors(draw, n, decades / 2, draw.chance(0.5)));
  draw.note("columns over " + std::to_string(static_cast<int>(decades)) + " decades");
  return recipe;
}

Recipe tiny_right_side(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  recipe.right_side = RightSide::tiny;
  return recipe;
}

Recipe huge_right_side(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  recipe.right_side = RightSide::huge;
  return recipe;
}

/// A and b times a number far from 1.
Recipe far_from_one(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  static const std::vector<double> usual = {-155, -150, -100, 100, 150, 155, -300, 300};
  const double decimal = draw.choose(usual) / (draw.single() ? 9 : 1);
  const double factor = generate::power(10.0, decimal);
  scale(recipe.A, std::vector<double>(recipe.A.rows(), factor), ones(recipe.A.columns()));
  recipe.right_side = draw.chance(0.7) ? RightSide::integer_solution : RightSide::random;
  draw.note("times 1e" + std::to_string(static_cast<int>(decimal)));
  return recipe;
}

Recipe triangular(Draw& draw) {
  const std::size_t n = draw.order();
  const bool ill_conditioned = draw.chance(0.5);
  const bool lower = draw.chance(0.5);
  const double density = draw.chance(0.5) ? 1.0 : std::min(1.0, 3.0 / static_cast<double>(n));
  Recipe recipe{Elements(n, n), draw.chance(0.6)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) {
      if (draw.chance(density)) recipe.A(i, j) = draw.random.uniform(-1, 1);
    }
    const double size = ill_conditioned ? 1 : 1 + density * static_cast<double>(n);
    recipe.A(i, i) = draw.chance(0.5) ? -size : size;
    if (ill_conditioned && draw.chance(0.1)) recipe.A(i, i) = draw.over_decades(8);
  }
  draw.note(std::string(lower ? "lower" : "upper") + (ill_conditioned ? ", ill-conditioned" : ""));
  return recipe;
}

/// A symmetric matrix but for an element, or for rounding.
Recipe nearly_symmetric(Draw& draw) {
  const std::size_t n = draw.order(2);
  const double density = draw.chance(0.5) ? 1.0 : std::min(1.0, 4.0 / static_cast<double>(n));
  Recipe recipe{random_integers(draw, n, n, 9, density), draw.chance(0.5)};
  const bool definite = draw.chance(0.5);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) recipe.A(i, j) = recipe.A(j, i);
    if (definite) recipe.A(i, i) = 9.0 * static_cast<double>(n);
  }
  const double size = generate::power(10.0, -draw.random.uniform(0, draw.single() ? 7 : 16));
  const int changes = draw.chance(0.5) ? 1 : static_cast<int>(n);
  for (int k = 0; k < changes; ++k) {
    const std::size_t i = draw.index(n);
    const std::size_t j = draw.index(n);
    recipe.A(i, j) += (recipe.A(i, j) == 0 ? 1 : recipe.A(i, j)) * size * draw.random.uniform(-1, 1);
  }
  draw.note("nearly symmetric");
  return recipe;
}

/// A singular integer matrix to which a small number is added in one place.
Recipe nearly_singular(Draw& draw) {
  const std::size_t n = draw.order(2);
  Recipe recipe{random_integers(draw, n, n), draw.chance(0.3)};
  for (std::size_t j = 0; j < n; ++j) {
    recipe.A(n - 1, j) = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) recipe.A(n - 1, j) += recipe.A(i, j);
  }
  const auto power = static_cast<int>(draw.integer(1, draw.single() ? 22 : 50));
  recipe.A(n - 1, draw.index(n)) += std::ldexp(1.0, -power);
  draw.note("singular + 2^-" + std::to_string(power));
  return recipe;
}

/// Reflections from both sides of a diagonal matrix with a given condition number.
Recipe given_condition(Draw& draw) {
  const std::size_t n = draw.order(2);
  const double decades = draw.random.uniform(0, draw.single() ? 9 : 18);
  Recipe recipe{Elements(n, n)};
  for (std::size_t i = 0; i < n; ++i) {
    recipe.A(i, i) = generate::power(10.0, -decades * static_cast<double>(i) / static_cast<double>(n - 1));
  }
  std::vector<double> v(n);
  for (int reflection = 0; reflection < 4; ++reflection) {
    double square = 0;
    for (double& element : v) {
      element = draw.random.normal();
      square += element * element;
    }
    for (std::size_t k = 0; k < n; ++k) {
      const auto element = [&](std::size_t i) -> double& {
        return reflection % 2 == 0 ? recipe.A(i, k) : recipe.A(k, i);
      };
      double inner = 0;
      for (std::size_t i = 0; i < n; ++i) inner += v[i] * element(i);
      for (std::size_t i = 0; i < n; ++i) element(i) -= 2 * inner / square * v[i];
    }
  }
  draw.note("condition 1e" + std::to_string(static_cast<int>(decades)));
  return recipe;
}

Recipe plain(Draw& draw) {
  return random_matrix(draw, draw.order());
}

/// An empty, a 1 by 1 or a zero matrix.
Recipe smallest(Draw& draw) {
  const auto n = static_cast<std::size_t>(draw.integer(0, 3));
  Recipe recipe{Elements(n, n), draw.chance(0.5)};
  if (n == 1 && draw.chance(0.8)) recipe.A(0, 0) = draw.over_decades(draw.decades());
  if (n > 1 && draw.chance(0.5)) recipe.A(draw.index(n), draw.index(n)) = draw.nonzero_integer();
  draw.note("order " + std::to_string(n));
  return recipe;
}

}  // namespace

std::vector<Kind> scaled_kinds() {
  return {{"plain", plain},
          {"scaled-rows", scaled_rows},
          {"scaled-columns", scaled_columns},
          {"scaled-both", scaled_both},
          {"column-decades", column_decades},
          {"tiny-right-side", tiny_right_side},
          {"huge-right-side", huge_right_side},
          {"far-from-one", far_from_one},
          {"triangular", triangular},
          {"nearly-symmetric", nearly_symmetric},
          {"nearly-singular", nearly_singular},
          {"given-condition", given_condition},
          {"smallest", smallest}};
}

}  // namespace echelon::claims

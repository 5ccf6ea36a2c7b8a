// SPDX-License-Identifier: BSD-3-Clause
/// Systems with exactly singular and rectangular matrices.
#include "claims/linear_system.hpp"

#include <algorithm>

namespace echelon::claims {

namespace {

std::string shape(std::size_t m, std::size_t n, std::size_t rank) {
  return std::to_string(m) + "x" + std::to_string(n) + " of rank at most " + std::to_string(rank);
}

/// B C with integer elements, so that the rank is that of the factors; square, or now and then rectangular.
Recipe low_rank(Draw& draw, bool sparse) {
  std::size_t m = draw.order();
  std::size_t n = m;
  if (draw.chance(0.25)) n = draw.order();
  if (draw.chance(0.03)) {
    m = 80;
    n = 66;
  }
  const std::size_t least = std::min(m, n);
  const std::size_t rank = draw.chance(0.3) && least > 1 ? least - 1 : 1 + draw.index(least);
  const double density = sparse ? std::min(1.0, 3.0 / static_cast<double>(rank)) : 1;
  draw.note(shape(m, n, rank));
  return {product(random_integers(draw, m, rank, 9, density), random_integers(draw, rank, n, 9, density)),
          sparse};
}

Recipe low_rank_dense(Draw& draw) {
  return low_rank(draw, false);
}
Recipe low_rank_sparse(Draw& draw) {
  return low_rank(draw, true);
}

/// A symmetric product B C B^T, which methods for symmetric matrices take.
Recipe low_rank_symmetric(Draw& draw) {
  const std::size_t n = draw.order(2);
  const std::size_t rank = draw.chance(0.5) ? n - 1 : 1 + draw.index(n - 1);
  const bool definite = draw.chance(0.5);
  const Elements B = random_integers(draw, n, rank, 5, std::min(1.0, 6.0 / static_cast<double>(rank)));
  Elements C_transposed(rank, n);
  for (std::size_t k = 0; k < rank; ++k) {
    const double sign = definite || draw.chance(0.5) ? 1 : -1;
    for (std::size_t i = 0; i < n; ++i) C_transposed(k, i) = sign * B(i, k);
  }
  draw.note((definite ? "semidefinite " : "indefinite ") + shape(n, n, rank));
  return {product(B, C_transposed), draw.chance(0.5)};
}

/// Rows that repeat another row, or are the sum of others.
Recipe dependent_rows(Draw& draw) {
  const std::size_t n = draw.order(2);
  Recipe recipe{random_integers(draw, n, n, 9, draw.chance(0.5) ? 1 : 0.3), draw.chance(0.5)};
  const std::size_t count = 1 + draw.index(std::min<std::size_t>(n - 1, 3));
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t target = draw.index(n);
    const std::size_t first = (target + 1 + draw.index(n - 1)) % n;
    const std::size_t second = (target + 1 + draw.index(n - 1)) % n;
    const double factor = draw.small_integer(2);
    for (std::size_t j = 0; j < n; ++j) {
      recipe.A(target, j) = recipe.A(first, j) + (second == first ? 0 : factor * recipe.A(second, j));
    }
  }
  draw.note(std::to_string(count) + " dependent rows of " + std::to_string(n));
  return recipe;
}

/// Columns that are combinations of others.
Recipe dependent_columns(Draw& draw) {
  Recipe recipe = dependent_rows(draw);
  Elements& A = recipe.A;
  for (std::size_t i = 0; i < A.rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) std::swap(A(i, j), A(j, i));
  }
  draw.note("transposed");
  return recipe;
}

Recipe zero_lines(Draw& draw) {
  Recipe recipe = random_matrix(draw, draw.order());
  const std::size_t n = recipe.A.rows();
  const bool rows = draw.chance(0.7);
  const bool columns = !rows || draw.chance(0.5);
  const std::size_t line = draw.index(n);
  const std::size_t other = draw.chance(0.5) ? line : draw.index(n);
  for (std::size_t k = 0; k < n; ++k) {
    if (rows) recipe.A(line, k) = 0;
    if (columns) recipe.A(k, other) = 0;
  }
  draw.note(std::string(rows ? "zero row " : "") + (columns ? "zero column" : ""));
  return recipe;
}

/// Diagonal blocks of several matrices, one of which may be singular, in one matrix.
Recipe blocks(Draw& draw) {
  const std::size_t parts = 2 + draw.index(3);
  std::vector<Elements> list;
  std::size_t n = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    const auto size = static_cast<std::size_t>(draw.integer(1, 15));
    Elements block = random_matrix(draw, size).A;
    if (draw.chance(0.4)) {
      for (std::size_t j = 0; j < size; ++j) block(size - 1, j) = size > 1 ? block(0, j) : 0;
    }
    n += size;
    list.push_back(std::move(block));
  }
  Recipe recipe{Elements(n, n), draw.chance(0.7)};
  std::size_t first = 0;
  for (const Elements& block : list) {
    for (std::size_t i = 0; i < block.rows(); ++i) {
      for (std::size_t j = 0; j < block.rows(); ++j) recipe.A(first + i, first + j) = block(i, j);
    }
    first += block.rows();
  }
  return recipe;
}

/// A skew-symmetric matrix, singular for odd orders.
Recipe skew_symmetric(Draw& draw) {
  const std::size_t n = draw.order(2);
  Recipe recipe{random_integers(draw, n, n, 9, draw.chance(0.5) ? 1 : 0.2), draw.chance(0.5)};
  for (std::size_t i = 0; i < n; ++i) {
    recipe.A(i, i) = 0;
    for (std::size_t j = 0; j < i; ++j) recipe.A(i, j) = -recipe.A(j, i);
  }
  draw.note("skew-symmetric of order " + std::to_string(n));
  return recipe;
}

/// A singular matrix whose rows and columns are scaled by powers of two, which keeps the rank.
Recipe scaled_singular(Draw& draw) {
  Recipe recipe = draw.chance(0.5) ? dependent_rows(draw) : low_rank_symmetric(draw);
  const std::size_t n = recipe.A.rows();
  const double decades = draw.chance(0.5) ? 3 : draw.random.uniform(3, draw.decades());
  std::vector<double> rows(n);
  std::vector<double> columns(n);
  for (double& factor : rows) factor = draw.power_of_two(decades);
  for (double& factor : columns) factor = draw.power_of_two(decades);
  const bool symmetric = draw.chance(0.5);
  scale(recipe.A, rows, symmetric ? rows : columns);
  draw.note("scaled over 1e+-" + std::to_string(static_cast<int>(decades)));
  return recipe;
}

}  // namespace

std::vector<Kind> deficient_kinds() {
  return {{"low-rank", low_rank_dense},
          {"low-rank-sparse", low_rank_sparse},
          {"low-rank-symmetric", low_rank_symmetric},
          {"dependent-rows", dependent_rows},
          {"dependent-columns", dependent_columns},
          {"zero-lines", zero_lines},
          {"blocks", blocks},
          {"skew-symmetric", skew_symmetric},
          {"scaled-singular", scaled_singular}};
}

}  // namespace echelon::claims

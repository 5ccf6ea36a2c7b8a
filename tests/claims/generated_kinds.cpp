// SPDX-License-Identifier: BSD-3-Clause
/// Systems with matrices of the library's generators.
#include "claims/linear_system.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>

#include <algorithm>
#include <bit>

namespace echelon::claims {

namespace {

/// Sizes of generators that no single option sets.
void set_sizes(Draw& draw, const std::string& name, Options& options) {
  if (name == "extended-kahan") options.set("l", std::int64_t{1} << draw.integer(0, 4));
  if (name == "barbell" || name == "sachdeva-star") options.set("clique", draw.integer(2, 12));
  if (name == "barbell") options.set("path", draw.integer(1, 12));
  if (name == "sachdeva-star") options.set("copies", draw.integer(2, 5));
  if (name == "rmat") options.set("scale", draw.integer(2, 6));
}

/// A size that the family has: some take only powers of two or multiples of four.
std::int64_t nearest_size(const std::string& name, std::size_t n) {
  if (name == "hadamard") return static_cast<std::int64_t>(std::bit_floor(n));
  if (name == "magic") return static_cast<std::int64_t>(n + 3) / 4 * 4;
  if (name == "wright") return static_cast<std::int64_t>(n + 1) / 2 * 2;
  return static_cast<std::int64_t>(n);
}

Options random_options(Draw& draw, const Generator& generator, std::size_t n) {
  Options options;
  if (!generator.size.empty()) options = generator.for_rows(nearest_size(generator.name, n));
  set_sizes(draw, generator.name, options);
  for (const OptionInfo& option : generator.options) {
    if (option.name == "seed") options.set("seed", draw.integer(1, 1000000));
    if (option.kind == OptionKind::word && draw.chance(0.3))
      options.set(option.name, draw.choose(option.words));
    if (option.kind == OptionKind::boolean && draw.chance(0.3)) options.set(option.name, draw.chance(0.5));
    const double decades = draw.random.uniform(0, 12);
    if (option.name == "mu") options.set("mu", generate::power(10.0, -decades));
    if (option.name == "contrast") options.set("contrast", generate::power(10.0, decades));
    if (option.name == "decades") options.set("decades", decades);
  }
  return options;
}

Recipe from_matrix(const Matrix<double>& matrix) {
  const bool sparse = std::holds_alternative<Csr<double>>(matrix);
  const Dense<double> dense = to_dense<double>(matrix);
  Recipe recipe{Elements(static_cast<std::size_t>(dense.rows()), static_cast<std::size_t>(dense.columns())),
                sparse};
  for (std::int64_t i = 0; i < dense.rows(); ++i) {
    for (std::int64_t j = 0; j < dense.columns(); ++j) {
      recipe.A(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) = dense(i, j);
    }
  }
  return recipe;
}

/// A matrix of the next generator of the families. Options that exclude each other are drawn anew.
Recipe generated(Draw& draw, const std::vector<std::string>& families) {
  std::vector<const Generator*> candidates;
  for (const Generator& generator : generators()) {
    const bool wanted = std::find(families.begin(), families.end(), generator.family) != families.end();
    // The smallest published-triangle has 1000 rows.
    if (wanted && generator.name != "published-triangle") candidates.push_back(&generator);
  }
  const Generator& generator = *candidates[draw.round() % candidates.size()];
  draw.note(generator.name);
  const std::size_t n = draw.order();
  for (int attempt = 0; attempt < 20; ++attempt) {
    try {
      return from_matrix(generator.make_double(random_options(draw, generator, n)));
    } catch (const BadOption&) {
      continue;
    }
  }
  draw.note("no options found: an empty matrix instead");
  return {};
}

Recipe gallery(Draw& draw) {
  return generated(draw, {"dense"});
}
Recipe given_spectrum(Draw& draw) {
  return generated(draw, {"spectra"});
}
Recipe discretised(Draw& draw) {
  return generated(draw, {"grids", "sparse"});
}
Recipe generated_graph(Draw& draw) {
  return generated(draw, {"graphs"});
}

/// A generated matrix whose rows and columns are scaled by powers of two.
Recipe scaled_gallery(Draw& draw) {
  Recipe recipe = generated(draw, {"dense", "spectra", "grids"});
  const double decades = draw.chance(0.5) ? 3 : draw.decades();
  std::vector<double> rows(recipe.A.rows());
  std::vector<double> columns(recipe.A.columns());
  for (double& factor : rows) factor = draw.power_of_two(decades);
  for (double& factor : columns) factor = draw.power_of_two(decades);
  draw.note("scaled over 1e" + std::to_string(static_cast<int>(decades)));
  scale(recipe.A, rows, columns);
  return recipe;
}

}  // namespace

std::vector<Kind> generated_kinds() {
  return {{"gallery", gallery},
          {"given-spectrum", given_spectrum},
          {"discretised", discretised},
          {"generated-graph", generated_graph},
          {"scaled-gallery", scaled_gallery}};
}

}  // namespace echelon::claims

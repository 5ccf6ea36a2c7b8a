// SPDX-License-Identifier: BSD-3-Clause
/// Effective resistances between all pairs of focal points of a landscape, as in landscape ecology: one
/// set-up, and a solve for each focal point. Cells that animals cannot cross cut the grid into hundreds of
/// components: 06_landscape_resistance
#include <echelon/echelon.hpp>
#include <echelon/graph/analysis.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>
namespace ec = echelon;

namespace {

/// Conductances between neighbouring cells of a rectangle: none at barriers, else the mean of the cells'.
ec::Csr<double> landscape(std::int32_t width, std::int32_t height) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> permeability(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (double& cell : permeability) cell = unit(random) < 0.35 ? 0 : std::exp(3 * unit(random));
  std::vector<ec::Triplet<double>> elements;
  const auto join = [&](std::int32_t i, std::int32_t j) {
    const double a = permeability[static_cast<std::size_t>(i)];
    const double b = permeability[static_cast<std::size_t>(j)];
    if (a == 0 || b == 0) return;
    const double conductance = (a + b) / 2;
    elements.insert(elements.end(),
                    {{i, j, -conductance}, {j, i, -conductance}, {i, i, conductance}, {j, j, conductance}});
  };
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) {
      const std::int32_t cell = y * width + x;
      if (x + 1 < width) join(cell, cell + 1);
      if (y + 1 < height) join(cell, cell + width);
    }
  }
  return ec::Csr<double>::from_triplets(width * height, width * height, elements);
}

int run() {
  const ec::Csr<double> L = landscape(200, 150);
  const ec::graph::Components parts = ec::graph::components(L);
  std::int64_t patches = 0;
  for (const std::int64_t size : parts.sizes) patches += size > 1 ? 1 : 0;
  std::cout << L.rows() << " cells, " << patches << " connected patches\n";

  std::vector<ec::graph::Pair> pairs;
  constexpr std::int32_t focal_points = 50;
  for (std::int32_t a = 0; a < focal_points; ++a) {
    for (std::int32_t b = a + 1; b < focal_points; ++b) pairs.push_back({597 * a + 101, 597 * b + 101});
  }
  const ec::graph::Resistances result = ec::graph::resistances(L, pairs, {.rtol = 1e-8});
  std::int64_t connected = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (std::isinf(result.values[p])) continue;
    ++connected;
    if (connected <= 5) {
      std::cout << "cells " << pairs[p].first << " and " << pairs[p].second << ": " << result.values[p]
                << '\n';
    }
  }
  std::cout << connected << " of " << pairs.size() << " pairs are connected, by " << result.solves
            << " solves\n"
            << result.report;
  return connected > 0 && !result.report.solved() ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}

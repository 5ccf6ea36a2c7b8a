// SPDX-License-Identifier: BSD-3-Clause
/// Small graphs of the families on which Laplacian solvers are known to fail.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

/// Names and options of generators.
inline std::vector<std::pair<std::string, Options>> graph_families() {
  return {
      {"path", {{"n", 3000}}},
      {"star", {{"n", 3000}}},
      {"ring", {{"n", 1025}}},
      {"complete-binary-tree", {{"n", 2047}}},
      {"complete", {{"n", 100}}},
      {"barbell", {}},
      {"sachdeva-star", {{"copies", 20}, {"clique", 20}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weight_y", 1e-4}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 6}}},
      {"grid-3d", {{"nx", 15}, {"ny", 15}, {"nz", 15}}},
      {"barabasi-albert", {{"n", 4000}}},
      {"rmat", {{"scale", 11}}},
  };
}

/// Vertex 0 has 20,000 neighbours, every other one of which has excess; a path of 5000 vertices and an
/// isolated vertex are components of their own. With explicit zeros between them, if wanted.
inline Csr<double> hub_and_path(double excess, bool explicit_zeros) {
  constexpr std::int32_t hub_edges = 20000;
  constexpr std::int32_t n = hub_edges + 1 + 5000 + 1;
  std::vector<Triplet<double>> triplets = {{n - 1, n - 1, 0}};
  const auto add_edge = [&](std::int32_t i, std::int32_t j, double w) {
    triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
  };
  for (std::int32_t i = 1; i <= hub_edges; ++i) add_edge(0, i, 1 + i % 3);
  for (std::int32_t i = 1; i < hub_edges; i += 3) add_edge(i, i + 1, 0.5);
  for (std::int32_t i = hub_edges + 1; i + 2 < n; ++i) add_edge(i, i + 1, 1);
  for (std::int32_t i = 1; i <= hub_edges; i += 2) triplets.push_back({i, i, excess});
  if (explicit_zeros) {
    for (std::int32_t i = 0; i < 100; ++i) {
      triplets.push_back({i, n - 2 - i, 0});
      triplets.push_back({n - 2 - i, i, 0});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// 3000 complete graphs of 1 to 12 vertices, too dense for the elimination of low degrees.
inline Csr<double> many_cliques() {
  std::vector<Triplet<double>> triplets;
  std::int32_t first = 0;
  for (std::int32_t clique = 0; clique < 3000; ++clique) {
    const std::int32_t size = 1 + clique % 12;
    for (std::int32_t i = first; i < first + size; ++i) {
      triplets.push_back({i, i, 0});
      for (std::int32_t j = first; j < i; ++j) {
        const double w = 1 + (i * j) % 5;
        triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
      }
    }
    first += size;
  }
  return Csr<double>::from_triplets(first, first, triplets);
}

}  // namespace echelon::test

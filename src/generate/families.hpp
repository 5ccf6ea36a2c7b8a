// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as lists of edges.
#pragma once

#include "generate/graph.hpp"
#include "generate/random.hpp"

#include <cstdint>
#include <vector>

namespace echelon::generate {

struct GeneratedGraph {
  std::int32_t n = 0;
  std::vector<Edge> edges;
};

GeneratedGraph path(std::int32_t n);
/// A cycle; a single edge for n = 2.
GeneratedGraph ring(std::int32_t n);
/// A binary tree in which vertex i > 0 has the parent (i - 1) / 2.
GeneratedGraph complete_binary_tree(std::int32_t n);
/// A graph in which each vertex i > 0 is joined to k earlier ones, uniformly random with repetition.
GeneratedGraph grown(std::int32_t n, std::int64_t k, std::uint64_t seed);
/// A ring with chords: joins i to i + g for g = 1 and k - 1 log-uniform random g.
GeneratedGraph generalized_ring(std::int32_t n, std::int64_t k, Random random);
/// A random graph: joins every pair with the probability that gives the average degree.
GeneratedGraph erdos_renyi(std::int32_t n, double degree, std::uint64_t seed);
/// The first n points of a square grid.
GeneratedGraph square_grid(std::int32_t n);

/// Smallest vertex of the component of each vertex.
std::vector<std::int32_t> components(const GeneratedGraph& graph);

/// The recursive compositions of Laplacians.jl: unions, products, necklaces and lifts of simple graphs.
GeneratedGraph chimera(std::int32_t n, std::uint64_t seed);

}  // namespace echelon::generate

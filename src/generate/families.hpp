// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as lists of edges.
#pragma once

#include "generate/graph.hpp"
#include "generate/random.hpp"

#include <cstdint>
#include <vector>

namespace echelon::generate {

struct Graph {
  std::int32_t n = 0;
  std::vector<Edge> edges;
};

Graph path(std::int32_t n);
/// A cycle; a single edge for n = 2.
Graph ring(std::int32_t n);
/// A binary tree in which vertex i > 0 has the parent (i - 1) / 2.
Graph complete_binary_tree(std::int32_t n);
/// A graph in which each vertex i > 0 is joined to k earlier ones, uniformly random with repetition.
Graph grown(std::int32_t n, std::int64_t k, std::uint64_t seed);
/// A ring with chords: joins i to i + g for g = 1 and k - 1 log-uniform random g.
Graph generalized_ring(std::int32_t n, std::int64_t k, Random random);
/// A random graph: joins every pair with the probability that gives the average degree.
Graph erdos_renyi(std::int32_t n, double degree, std::uint64_t seed);
/// The first n points of a square grid.
Graph square_grid(std::int32_t n);

/// Smallest vertex of the component of each vertex.
std::vector<std::int32_t> components(const Graph& graph);

/// The recursive compositions of Laplacians.jl: unions, products, necklaces and lifts of simple graphs.
Graph chimera(std::int32_t n, std::uint64_t seed);

}  // namespace echelon::generate

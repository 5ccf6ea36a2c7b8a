// SPDX-License-Identifier: BSD-3-Clause
/// Test vectors: samples of algebraically smooth errors, from which affinities are computed.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <array>
#include <cstdint>

namespace echelon::lamg {

/// Number of test vectors of a level. LAMG takes 4 on the finest level and one more on each coarser one,
/// LAMG+ takes 4 on all, with equal convergence.
inline constexpr int test_vector_count = 4;

/// Elements of all test vectors at one vertex. Float is enough, since only ratios are used.
using TestValues = std::array<float, test_vector_count>;

struct TestVectors {
  Vector<TestValues> values;
  /// Factor by which the last sweep reduced the vectors without their means: how slow relaxation is.
  double reduction = 1;
};

/// Makes random vectors and applies `sweeps` Gauss-Seidel sweeps for L x = 0. The random values depend on
/// `seed` and the vertex alone.
template <class T>
[[nodiscard]] TestVectors make_test_vectors(const Graph<T>& graph, int sweeps, std::uint64_t seed);

/// Computes the factor by which the last of `sweeps` further sweeps reduces the first test vector without its
/// mean. A few slow errors among many fast ones, as on two expanders joined by an edge, show only after many
/// sweeps.
template <class T>
[[nodiscard]] double late_reduction(const Graph<T>& graph, const TestVectors& vectors, int sweeps);

/// Affinity of two vertices: (x_u, x_v)^2 / ((x_u, x_u) (x_v, x_v)), in [0, 1]; 1 where one is zero.
[[nodiscard]] float affinity(const TestValues& u, const TestValues& v);

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
/// Test vectors: samples of the errors that relaxation leaves, from which affinities follow.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// Test vectors of a level. LAMG takes 4 on the finest level and one more on each coarser one, LAMG+ 4 on
/// all, with the same convergence.
inline constexpr int test_vector_count = 4;

/// The elements of all test vectors at one vertex. Float is enough: only ratios are used.
using TestValues = std::array<float, test_vector_count>;

struct TestVectors {
  std::vector<TestValues> values;
  /// Factor by which the last sweep reduced the vectors without their means: how slow relaxation is.
  double reduction = 1;
};

/// Random vectors after `sweeps` Gauss-Seidel sweeps for L x = 0. They depend on `seed` alone, not on the
/// order of the vertices' treatment.
template <class T>
[[nodiscard]] TestVectors make_test_vectors(const Graph<T>& graph, int sweeps, std::uint64_t seed);

/// Factor by which the last of `sweeps` further sweeps reduces the first test vector without its mean. A few
/// slow errors among many fast ones, as of two expanders joined by an edge, show only after many sweeps.
template <class T>
[[nodiscard]] double late_reduction(const Graph<T>& graph, const TestVectors& vectors, int sweeps);

/// Affinity of two vertices: (x_u, x_v)^2 / ((x_u, x_u) (x_v, x_v)), in [0, 1]; 1 where one is zero.
[[nodiscard]] float affinity(const TestValues& u, const TestValues& v);

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/test_vectors.hpp"

#include "support/hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace echelon::lamg {

namespace {

/// Random numbers in [-1, 1).
TestValues random_values(std::uint64_t seed, std::int32_t vertex) {
  TestValues values;
  for (int k = 0; k < test_vector_count; k += 2) {
    const std::uint64_t bits =
        hash_bits(seed + golden_ratio_64 * (static_cast<std::uint64_t>(vertex) * test_vector_count +
                                            static_cast<std::uint64_t>(k) + 1));
    constexpr float scale = 1.0F / (1U << 30U);
    values[static_cast<std::size_t>(k)] = scale * static_cast<float>(bits >> 33U) - 1;
    values[static_cast<std::size_t>(k) + 1] = scale * static_cast<float>((bits << 31U) >> 33U) - 1;
  }
  return values;
}

template <class T, class V, std::size_t count>
void sweep(const Graph<T>& graph, Vector<std::array<V, count>>& x) {
  for (std::int32_t i = 0; i < graph.n; ++i) {
    if (!(graph.degree[i] > 0)) continue;
    const T inverse = 1 / graph.degree[i];
    std::array<V, count> sum{};
    for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      const auto weight = static_cast<V>(graph.weights[k] * inverse);
      const std::array<V, count>& other = x[static_cast<std::size_t>(graph.neighbours[k])];
      for (std::size_t v = 0; v < count; ++v) sum[v] += weight * other[v];
    }
    x[static_cast<std::size_t>(i)] = sum;
  }
}

/// Subtracts the means of all vectors, which may be much larger than the rest, and returns the sum of the
/// squared norms.
template <class V, std::size_t count>
double deviation(const Vector<std::array<V, count>>& x) {
  std::array<double, count> mean{};
  for (const std::array<V, count>& values : x) {
    for (std::size_t v = 0; v < count; ++v) mean[v] += values[v];
  }
  for (double& value : mean) value /= static_cast<double>(x.size());
  double total = 0;
  for (const std::array<V, count>& values : x) {
    for (std::size_t v = 0; v < count; ++v) {
      const double difference = values[v] - mean[v];
      total += difference * difference;
    }
  }
  return total;
}

/// Does `sweeps` sweeps and returns the factor by which the last one reduced the vectors without their means.
template <class T, class V, std::size_t count>
double smooth(const Graph<T>& graph, int sweeps, Vector<std::array<V, count>>& x) {
  for (int s = 1; s < sweeps; ++s) sweep(graph, x);
  const double before = deviation(x);
  sweep(graph, x);
  return before > 0 ? std::sqrt(deviation(x) / before) : 0;
}

}  // namespace

template <class T>
TestVectors make_test_vectors(const Graph<T>& graph, int sweeps, std::uint64_t seed) {
  TestVectors result;
  result.values.resize(static_cast<std::size_t>(graph.n));
  for (std::int32_t i = 0; i < graph.n; ++i) {
    result.values[static_cast<std::size_t>(i)] = random_values(seed, i);
  }
  result.reduction = smooth(graph, sweeps, result.values);
  return result;
}

template <class T>
double late_reduction(const Graph<T>& graph, const TestVectors& vectors, int sweeps) {
  // Double: in float, rounding errors of the mean would soon look like slowly decreasing errors.
  Vector<std::array<double, 1>> x(vectors.values.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i][0] = double{vectors.values[i][0]};
  return smooth(graph, sweeps, x);
}

float affinity(const TestValues& u, const TestValues& v) {
  float product = 0;
  float square_u = 0;
  float square_v = 0;
  for (std::size_t k = 0; k < u.size(); ++k) {
    product += u[k] * v[k];
    square_u += u[k] * u[k];
    square_v += v[k] * v[k];
  }
  const float squares = square_u * square_v;
  return squares > 0 ? product * product / squares : 1;
}

template double late_reduction(const Graph<float>&, const TestVectors&, int);
template double late_reduction(const Graph<double>&, const TestVectors&, int);
template TestVectors make_test_vectors(const Graph<float>&, int, std::uint64_t);
template TestVectors make_test_vectors(const Graph<double>&, int, std::uint64_t);

}  // namespace echelon::lamg

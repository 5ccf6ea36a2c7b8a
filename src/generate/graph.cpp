// SPDX-License-Identifier: BSD-3-Clause
#include "generate/graph.hpp"

#include "generate/functions.hpp"
#include "generate/random.hpp"

#include <cmath>

namespace echelon::generate {

namespace {

enum GraphPurpose : std::uint32_t { edges = 100, potentials, decisions };

/// Calls f(i, j, value) for every element; f may change the value.
template <class F>
void each_edge(Csr<double>& graph, const F& f) {
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (graph.rows() > few_rows)
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    for (std::int64_t k = graph.row_offsets()[i]; k < graph.row_offsets()[i + 1]; ++k) {
      f(i, std::int64_t{graph.column_indices()[k]}, graph.values()[k]);
    }
  }
}

/// A random number in (0, 1] for an edge, the same for (i, j) and (j, i).
double drawn(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  const auto low = static_cast<std::uint64_t>(std::min(i, j));
  const auto high = static_cast<std::uint64_t>(std::max(i, j));
  return 1 - Random(seed, edges, high << 32 | low).uniform();
}

/// A D^-1 v for the diagonal matrix D of degrees.
std::vector<double> spread(const Csr<double>& graph, const std::vector<double>& v) {
  const auto& offsets = graph.row_offsets();
  std::vector<double> share(v.size());
  std::vector<double> result(v.size());
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (graph.rows() > few_rows)
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    double degree = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) degree += graph.values()[k];
    share[static_cast<std::size_t>(i)] = degree > 0 ? v[static_cast<std::size_t>(i)] / degree : 0;
  }
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (graph.rows() > few_rows)
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      sum += graph.values()[k] * share[static_cast<std::size_t>(graph.column_indices()[k])];
    }
    result[static_cast<std::size_t>(i)] = sum;
  }
  return result;
}

/// Sets each weight to the difference of random potentials, which are smoothed or sharpened by ten steps with
/// probability 1/2.
void set_by_potentials(Csr<double>& graph, Random& random, std::uint64_t seed) {
  std::vector<double> v(static_cast<std::size_t>(graph.rows()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = Random(seed, potentials, i).normal();
  if (random.chance(0.5)) {
    const bool smooth = random.chance(0.5);
    for (int step = 0; step < 10; ++step) {
      const std::vector<double> moved = spread(graph, v);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = smooth ? moved[i] : v[i] - moved[i];
    }
  }
  double largest = 0;
  for (const double potential : v) largest = std::max(largest, std::abs(potential));
  if (largest == 0) return;
  // Smoothing may make neighbours equal; the lower bound keeps their edge.
  const double least = 1e-12 * largest;
  each_edge(graph, [&](std::int64_t i, std::int64_t j, double& weight) {
    weight = std::max(std::abs(v[static_cast<std::size_t>(i)] - v[static_cast<std::size_t>(j)]), least);
  });
}

void set_as_for_chimeras(Csr<double>& graph, std::uint64_t seed) {
  Random random(seed, decisions, 0);
  if (!random.chance(0.8)) return;
  if (random.chance(0.3)) {
    each_edge(graph, [=](std::int64_t i, std::int64_t j, double& weight) { weight = drawn(seed, i, j); });
  } else {
    set_by_potentials(graph, random, seed);
  }
  if (random.chance(0.5)) {
    each_edge(graph, [](std::int64_t, std::int64_t, double& weight) { weight = 1 / weight; });
  }
  double sum = 0;
  for (const double weight : graph.values().span()) sum += weight;
  const double mean = sum / static_cast<double>(graph.nonzeros());
  each_edge(graph, [=](std::int64_t, std::int64_t, double& weight) { weight /= mean; });
}

}  // namespace

Csr<double> adjacency(std::int64_t n, const std::vector<Edge>& edges) {
  return adjacency(n, static_cast<std::int64_t>(edges.size()), [&edges](std::int64_t k, auto put) {
    const Edge& edge = edges[static_cast<std::size_t>(k)];
    put(edge.a, edge.b, edge.weight);
  });
}

Csr<double> reweighted(Csr<double> graph, const std::string& weights, double decades, std::uint64_t seed) {
  if (weights == "unit") {
    each_edge(graph, [](std::int64_t, std::int64_t, double& weight) { weight = 1; });
  } else if (weights == "uniform") {
    each_edge(graph, [=](std::int64_t i, std::int64_t j, double& weight) { weight = drawn(seed, i, j); });
  } else if (weights == "log-uniform") {
    each_edge(graph, [=](std::int64_t i, std::int64_t j, double& weight) {
      weight = power(10.0, decades * (drawn(seed, i, j) - 0.5));
    });
  } else if (weights == "chimera" && graph.nonzeros() > 0) {
    set_as_for_chimeras(graph, seed);
  }
  return graph;
}

namespace {

template <class T>
Csr<T> sddm(const Csr<double>& graph) {
  const std::int64_t n = graph.rows();
  std::int64_t step = 1;
  while (step * step * step < n) ++step;
  const std::int64_t kept = n - n / step;
  const auto removed = [=](std::int64_t vertex) { return (vertex + 1) % step == 0; };
  const Csr<double> laplacian = graph_matrix<double>(graph, "laplacian");
  return assemble<T>(kept, kept, [&](std::int64_t i, auto put) {
    const std::int64_t row = i + i / (step - 1);
    for (std::int64_t k = laplacian.row_offsets()[row]; k < laplacian.row_offsets()[row + 1]; ++k) {
      const std::int64_t column = laplacian.column_indices()[k];
      if (!removed(column)) put(column - (column + 1) / step, laplacian.values()[k]);
    }
  });
}

}  // namespace

template <class T>
Csr<T> graph_matrix(const Csr<double>& graph, const std::string& form) {
  if (form == "sddm") return sddm<T>(graph);
  if (form == "laplacian") return with_diagonal<T>(graph, -1, [](std::int64_t, double sum) { return sum; });
  return assemble<T>(graph.rows(), graph.rows(), [&graph](std::int64_t i, auto put) {
    for (std::int64_t k = graph.row_offsets()[i]; k < graph.row_offsets()[i + 1]; ++k) {
      put(graph.column_indices()[k], graph.values()[k]);
    }
  });
}

template Csr<float> graph_matrix(const Csr<double>&, const std::string&);
template Csr<double> graph_matrix(const Csr<double>&, const std::string&);

}  // namespace echelon::generate

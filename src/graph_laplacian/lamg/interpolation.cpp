// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/interpolation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace echelon::lamg {

namespace {

template <class T>
Vector<T> largest_weights(const Graph<T>& graph) {
  Vector<T> largest(index(graph.n));
  for (std::int32_t i = 0; i < graph.n; ++i) {
    for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      largest[index(i)] = std::max(largest[index(i)], graph.weights[k]);
    }
  }
  return largest;
}

/// The share s of `second` for which first + s (second - first) is closest to `own`.
double fitted_share(const TestValues& own, const TestValues& first, const TestValues& second) {
  double product = 0;
  double square = 0;
  for (std::size_t v = 0; v < own.size(); ++v) {
    const double difference = double{second[v]} - double{first[v]};
    product += difference * (double{own[v]} - double{first[v]});
    square += difference * difference;
  }
  return square > 0 ? product / square : 0;
}

/// Edges of a coarse graph, with repetitions.
template <class T>
struct CoarseEdges {
  Vector<std::int32_t> first, second;
  Vector<T> weights;
  void reserve(std::size_t size) {
    first.reserve(size);
    second.reserve(size);
    weights.reserve(size);
  }
  void add(std::int32_t a, std::int32_t b, T weight) {
    first.push_back(a);
    second.push_back(b);
    weights.push_back(weight);
  }
};

/// The row of P^T (e_i - e_j): coefficients of at most four aggregates, whose sum is zero.
template <class T>
struct Difference {
  std::array<std::int32_t, 4> aggregates{};
  std::array<T, 4> coefficients{};
  std::size_t count = 0;
  void add(std::int32_t aggregate, T coefficient) {
    if (coefficient == 0) return;
    for (std::size_t k = 0; k < count; ++k) {
      if (aggregates[k] != aggregate) continue;
      coefficients[k] += coefficient;
      return;
    }
    aggregates[count] = aggregate;
    coefficients[count++] = coefficient;
  }
};

/// Edges of a coarse graph in the rows of both ends, with repetitions.
template <class T>
struct CoarseRows {
  CoarseRows(const CoarseEdges<T>& edges, std::int32_t count)
      : offsets(index(count) + 1), ends(2 * edges.weights.size()), weights(ends.size()) {
    const std::size_t size = edges.weights.size();
    for (std::size_t e = 0; e < size; ++e) {
      ++offsets[index(edges.first[e]) + 1];
      ++offsets[index(edges.second[e]) + 1];
    }
    for (std::size_t a = 1; a < offsets.size(); ++a) offsets[a] += offsets[a - 1];
    Vector<std::size_t> next(offsets.begin(), offsets.end() - 1);
    const auto put = [&](std::int32_t row, std::int32_t end, T weight) {
      const std::size_t place = next[index(row)]++;
      ends[place] = end;
      weights[place] = weight;
    };
    for (std::size_t e = 0; e < size; ++e) {
      put(edges.first[e], edges.second[e], edges.weights[e]);
      put(edges.second[e], edges.first[e], edges.weights[e]);
    }
  }
  Vector<std::size_t> offsets;
  Vector<std::int32_t> ends;
  Vector<T> weights;
};

/// Adds up equal edges, in the same order in both rows, and leaves out those without a positive weight.
template <class T>
Graph<T> merged(const CoarseRows<T>& rows, std::int32_t count) {
  Graph<T> graph(count, static_cast<std::int64_t>(rows.ends.size()));
  Vector<T> sums(index(count));
  Vector<std::uint8_t> is_listed(index(count));
  Vector<std::int32_t> columns;
  std::int32_t out = 0;
  for (std::int32_t a = 0; a < count; ++a) {
    columns.clear();
    for (std::size_t k = rows.offsets[index(a)]; k < rows.offsets[index(a) + 1]; ++k) {
      const std::size_t b = index(rows.ends[k]);
      if (is_listed[b] == 0) columns.push_back(rows.ends[k]);
      sums[b] = is_listed[b] == 0 ? rows.weights[k] : sums[b] + rows.weights[k];
      is_listed[b] = 1;
    }
    T degree = 0;
    for (const bool above : {false, true}) {
      for (const std::int32_t b : columns) {
        if ((b > a) != above || !(sums[index(b)] > 0)) continue;
        graph.neighbours[out] = b;
        graph.weights[out++] = sums[index(b)];
        degree += sums[index(b)];
      }
      if (!above) graph.middle[a] = out;
    }
    for (const std::int32_t b : columns) is_listed[index(b)] = 0;
    graph.offsets[a + 1] = out;
    graph.degree[a] = degree;
  }
  graph.neighbours.shrink(out);
  graph.weights.shrink(out);
  return graph;
}

/// The aggregate, other than vertex i's own, to which strong edges lead from i; its own if there is none, or
/// more than one.
template <class T>
std::int32_t only_other_aggregate(const Graph<T>& graph, const Vector<T>& largest,
                                  const VertexAggregates& aggregates, std::int32_t i) {
  constexpr T strong = 0.5;
  const std::int32_t own = aggregates.of[i];
  std::int32_t other = own;
  for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
    const std::int32_t j = graph.neighbours[k];
    if (!(graph.weights[k] >= strong * std::max(largest[index(i)], largest[index(j)]))) continue;
    const std::int32_t a = aggregates.of[j];
    if (a == own || a == other) continue;
    if (other != own) return own;
    other = a;
  }
  return other;
}

}  // namespace

template <class T>
Interpolation<T> interpolate(const Graph<T>& graph, const Vector<TestValues>& x,
                             const VertexAggregates& aggregates) {
  constexpr double negligible = 1e-3;
  const Vector<T> largest = largest_weights(graph);
  const auto value = [&](std::int32_t aggregate) { return x[index(aggregates.seeds[aggregate])]; };
  Interpolation<T> result;
  result.second = Array<std::int32_t>(Device::serial(), graph.n);
  result.share = Array<T>(Device::serial(), graph.n);
  for (std::int32_t i = 0; i < graph.n; ++i) {
    const std::int32_t own = aggregates.of[i];
    result.second[i] = own;
    result.share[i] = 0;
    if (aggregates.seeds[own] == i) continue;
    const std::int32_t other = only_other_aggregate(graph, largest, aggregates, i);
    const double share = fitted_share(x[index(i)], value(own), value(other));
    if (!(share >= negligible && share <= 1)) continue;
    result.second[i] = other;
    result.share[i] = static_cast<T>(share);
    ++result.count;
  }
  return result;
}

template <class T>
Graph<T> galerkin_graph(const Graph<T>& graph, const VertexAggregates& aggregates,
                        const Interpolation<T>& P) {
  CoarseEdges<T> edges;
  edges.reserve(static_cast<std::size_t>(graph.ends()));
  for (std::int32_t i = 0; i < graph.n; ++i) {
    for (std::int32_t k = graph.offsets[i]; k < graph.middle[i]; ++k) {
      const std::int32_t j = graph.neighbours[k];
      if (P.share[i] == 0 && P.share[j] == 0) {
        if (aggregates.of[i] != aggregates.of[j]) {
          edges.add(aggregates.of[i], aggregates.of[j], graph.weights[k]);
        }
        continue;
      }
      Difference<T> d;
      d.add(aggregates.of[i], 1 - P.share[i]);
      d.add(P.second[i], P.share[i]);
      d.add(aggregates.of[j], P.share[j] - 1);
      d.add(P.second[j], -P.share[j]);
      for (std::size_t p = 0; p < d.count; ++p) {
        for (std::size_t q = 0; q < p; ++q) {
          const T product = d.coefficients[p] * d.coefficients[q];
          if (product != 0) edges.add(d.aggregates[p], d.aggregates[q], -graph.weights[k] * product);
        }
      }
    }
  }
  return merged(CoarseRows<T>(edges, aggregates.count), aggregates.count);
}

template Interpolation<float> interpolate(const Graph<float>&, const Vector<TestValues>&,
                                          const VertexAggregates&);
template Interpolation<double> interpolate(const Graph<double>&, const Vector<TestValues>&,
                                           const VertexAggregates&);
template Graph<float> galerkin_graph(const Graph<float>&, const VertexAggregates&,
                                     const Interpolation<float>&);
template Graph<double> galerkin_graph(const Graph<double>&, const VertexAggregates&,
                                      const Interpolation<double>&);

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/graph.hpp"

#include "linalg/dominance.hpp"
#include "support/hash.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace echelon::lamg {

namespace {

/// Number of vertices below which a level fits in the caches, in any numbering.
constexpr std::int32_t cached_vertices = 10000;
/// Mean difference of neighbours' indices, as a fraction of the number of vertices, from which a numbering
/// counts as scattered. It is 1/3 for a random numbering.
constexpr double scattered_distance = 0.1;

/// True if neighbours are far apart in the numbering, judged by every 64th vertex.
bool scattered(const std::int32_t* offsets, const std::int32_t* neighbours, std::int32_t n) {
  constexpr std::int32_t stride = 64;
  if (n < cached_vertices) return false;
  double distance = 0;
  std::int64_t ends = 0;
  for (std::int32_t i = 0; i < n; i += stride) {
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) distance += std::abs(neighbours[k] - i);
    ends += offsets[i + 1] - offsets[i];
  }
  return distance > scattered_distance * static_cast<double>(n) * static_cast<double>(ends);
}

/// Lists of the members of each aggregate, made by counting sort.
struct Members {
  Members(const Array<std::int32_t>& aggregate, std::int32_t count)
      : offsets(static_cast<std::size_t>(count) + 1), vertices(Device::serial(), aggregate.size()) {
    for (const std::int32_t a : aggregate.span()) ++offsets[static_cast<std::size_t>(a) + 1];
    for (std::size_t a = 1; a < offsets.size(); ++a) offsets[a] += offsets[a - 1];
    Vector<std::int32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::int32_t i = 0; i < aggregate.size(); ++i) {
      vertices[next[static_cast<std::size_t>(aggregate[i])]++] = i;
    }
  }
  Vector<std::int32_t> offsets;
  Array<std::int32_t> vertices;
};

/// A number that looks random, for the edge between two vertices.
std::uint64_t hash_of_edge(std::int32_t lower, std::int32_t higher) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(lower) << 32U) | static_cast<std::uint64_t>(higher);
  return hash_bits((bits + 1) * golden_ratio_64);
}

/// Copies the edges i j with a_ij < 0, if `only_mirrored` those with a_ji < 0 as well. Returns whether each
/// edge was found from both of its vertices, by the sum of its hashes with a sign for each.
template <class T>
bool copy_edges(const Csr<T>& A, bool only_mirrored, Graph<T>& graph) {
  const FindAsymmetry<T> mirror{A.row_offsets().data(), A.column_indices().data(), A.values().data()};
  std::uint64_t difference = 0;
  std::int32_t out = 0;
  for (std::int32_t i = 0; i < graph.n; ++i) {
    T degree = 0;
    const auto put_range = [&](std::int64_t& k, std::int64_t end, std::int64_t bound) {
      for (; k < end && A.column_indices()[k] < bound; ++k) {
        const std::int32_t j = A.column_indices()[k];
        T value = A.values()[k];
        if (only_mirrored && value < 0 && !(mirror.transposed(j, i) < 0)) value = 0;
        graph.neighbours[out] = j;
        graph.weights[out] = -value;
        out += value < 0 ? 1 : 0;
        degree -= std::min(value, T{0});
        if (value < 0) difference += j < i ? hash_of_edge(j, i) : -hash_of_edge(i, j);
      }
    };
    std::int64_t k = A.row_offsets()[i];
    const std::int64_t end = A.row_offsets()[i + 1];
    put_range(k, end, i);
    if (k < end && A.column_indices()[k] == i) ++k;
    graph.middle[i] = out;
    put_range(k, end, graph.n);
    graph.offsets[i + 1] = out;
    graph.degree[i] = degree;
  }
  graph.neighbours.shrink(out);
  graph.weights.shrink(out);
  return difference == 0;
}

}  // namespace

template <class T>
Graph<T> graph_of(const Csr<T>& A) {
  if (A.nonzeros() > std::numeric_limits<std::int32_t>::max()) return {};
  const auto n = static_cast<std::int32_t>(A.rows());
  Graph<T> graph(n, A.nonzeros());
  if (copy_edges(A, false, graph)) return graph;
  // Rounding errors of an A that counts as symmetric can be an element on one side only: it is no edge.
  graph = Graph<T>(n, A.nonzeros());
  copy_edges(A, true, graph);
  return graph;
}

Vector<std::int32_t> local_order(const std::int32_t* offsets, const std::int32_t* neighbours,
                                 std::int32_t n) {
  Vector<std::int32_t> order;
  if (!scattered(offsets, neighbours, n)) return order;
  order.reserve(static_cast<std::size_t>(n));
  Vector<std::uint8_t> seen(static_cast<std::size_t>(n));
  const auto visit = [&](std::int32_t vertex) {
    if (seen[static_cast<std::size_t>(vertex)] != 0) return;
    seen[static_cast<std::size_t>(vertex)] = 1;
    order.push_back(vertex);
  };
  std::size_t next = 0;
  for (std::int32_t first = 0; first < n; ++first) {
    visit(first);
    for (; next < order.size(); ++next) {
      const std::int32_t vertex = order[next];
      for (std::int32_t k = offsets[vertex]; k < offsets[vertex + 1]; ++k) visit(neighbours[k]);
    }
  }
  return order;
}

template <class T>
Graph<T> renumbered(const Graph<T>& graph, const Vector<std::int32_t>& order) {
  Vector<std::int32_t> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    number[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  Graph<T> result(graph.n, graph.ends());
  std::int32_t out = 0;
  for (std::int32_t i = 0; i < graph.n; ++i) {
    const std::int32_t vertex = order[static_cast<std::size_t>(i)];
    const std::int32_t end = graph.offsets[vertex + 1];
    // Fill the row from both ends: lower neighbours upwards from its begin, upper ones downwards from its
    // end.
    std::int32_t low = out;
    std::int32_t high = out + end - graph.offsets[vertex];
    result.offsets[i + 1] = out = high;
    for (std::int32_t k = graph.offsets[vertex]; k < end; ++k) {
      const std::int32_t neighbour = number[static_cast<std::size_t>(graph.neighbours[k])];
      const std::int32_t place = neighbour < i ? low++ : --high;
      result.neighbours[place] = neighbour;
      result.weights[place] = graph.weights[k];
    }
    result.middle[i] = low;
    result.degree[i] = graph.degree[vertex];
  }
  return result;
}

template <class T>
Graph<T> contract(const Graph<T>& graph, const Array<std::int32_t>& aggregate, std::int32_t count) {
  const Members members(aggregate, count);
  Graph<T> coarse(count, graph.ends());
  constexpr std::int32_t none = -1;
  Vector<std::int32_t> place(static_cast<std::size_t>(count), none);  // index of each column in the row
  Vector<std::int32_t> columns;
  Vector<T> sums;
  std::int32_t out = 0;
  for (std::int32_t a = 0; a < count; ++a) {
    columns.clear();
    sums.clear();
    T degree = 0;
    for (std::int32_t m = members.offsets[static_cast<std::size_t>(a)];
         m < members.offsets[static_cast<std::size_t>(a) + 1]; ++m) {
      const std::int32_t i = members.vertices[m];
      for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
        const std::int32_t b = aggregate[graph.neighbours[k]];
        if (b == a) continue;
        std::int32_t& at = place[static_cast<std::size_t>(b)];
        if (at == none) {
          at = static_cast<std::int32_t>(columns.size());
          columns.push_back(b);
          sums.push_back(graph.weights[k]);
        } else {
          sums[static_cast<std::size_t>(at)] += graph.weights[k];
        }
        degree += graph.weights[k];
      }
    }
    for (const bool above : {false, true}) {
      for (std::size_t k = 0; k < columns.size(); ++k) {
        if ((columns[k] > a) != above) continue;
        coarse.neighbours[out] = columns[k];
        coarse.weights[out++] = sums[k];
      }
      if (!above) coarse.middle[a] = out;
    }
    for (const std::int32_t b : columns) place[static_cast<std::size_t>(b)] = none;
    coarse.offsets[a + 1] = out;
    coarse.degree[a] = degree;
  }
  coarse.neighbours.shrink(out);
  coarse.weights.shrink(out);
  return coarse;
}

template <class T>
LowerTriangle<T>::LowerTriangle(const Graph<T>& graph)
    : n(graph.n),
      offsets(Device::serial(), graph.n + 1),
      neighbours(Device::serial(), graph.ends() / 2),
      weights(Device::serial(), graph.ends() / 2),
      inverse(Device::serial(), graph.n) {
  std::int32_t out = 0;
  offsets[0] = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t k = graph.offsets[i]; k < graph.middle[i]; ++k, ++out) {
      neighbours[out] = graph.neighbours[k];
      weights[out] = graph.weights[k];
    }
    offsets[i + 1] = out;
    inverse[i] = graph.degree[i] > 0 ? 1 / graph.degree[i] : T{0};
  }
}

template Graph<float> graph_of(const Csr<float>&);
template Graph<double> graph_of(const Csr<double>&);
template Graph<float> renumbered(const Graph<float>&, const Vector<std::int32_t>&);
template Graph<double> renumbered(const Graph<double>&, const Vector<std::int32_t>&);
template Graph<float> contract(const Graph<float>&, const Array<std::int32_t>&, std::int32_t);
template Graph<double> contract(const Graph<double>&, const Array<std::int32_t>&, std::int32_t);
template struct LowerTriangle<float>;
template struct LowerTriangle<double>;

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
/// Chimeras, after D. Spielman's Laplacians.jl (graphGenerators.jl): random compositions of simple graphs, on
/// which many Laplacian solvers fail.
#include "generate/families.hpp"
#include "generate/functions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace echelon::generate {

namespace {

std::int32_t as_count(double x) {
  return static_cast<std::int32_t>(x);
}

/// Log-uniform random number between 1 and x: e^(U ln x).
double log_uniform(Random& random, double x) {
  return exp(random.uniform() * log(x));
}

GeneratedGraph scaled(GeneratedGraph graph, double factor) {
  for (Edge& edge : graph.edges) edge.weight *= factor;
  return graph;
}

/// The disjoint union of `a` and `b`, vertices of `a` first, with k random edges between them.
GeneratedGraph joined(GeneratedGraph a, const GeneratedGraph& b, std::int64_t k, Random& random) {
  for (const Edge& edge : b.edges) a.edges.push_back({a.n + edge.a, a.n + edge.b, edge.weight});
  for (std::int64_t i = 0; i < k && a.n > 0 && b.n > 0; ++i) {
    a.edges.push_back({static_cast<std::int32_t>(random.below(a.n)),
                       a.n + static_cast<std::int32_t>(random.below(b.n)), 1});
  }
  a.n += b.n;
  return a;
}

/// The Cartesian product: a copy of `a` for each vertex of `b`, corresponding vertices joined as in `b`.
GeneratedGraph product(const GeneratedGraph& a, const GeneratedGraph& b) {
  GeneratedGraph result{a.n * b.n, {}};
  for (std::int32_t copy = 0; copy < b.n; ++copy) {
    for (const Edge& e : a.edges) result.edges.push_back({e.a + copy * a.n, e.b + copy * a.n, e.weight});
  }
  for (const Edge& e : b.edges) {
    for (std::int32_t v = 0; v < a.n; ++v) {
      result.edges.push_back({v + e.a * a.n, v + e.b * a.n, e.weight});
    }
  }
  return result;
}

/// A copy of `bead` for each vertex of `string`, with k random edges between two copies for each edge of
/// `string`.
GeneratedGraph necklace(const GeneratedGraph& bead, const GeneratedGraph& string, std::int64_t k,
                        Random& random) {
  GeneratedGraph result = product(bead, {string.n, {}});
  for (const Edge& e : string.edges) {
    for (std::int64_t i = 0; i < k; ++i) {
      result.edges.push_back({static_cast<std::int32_t>(random.below(bead.n)) + e.a * bead.n,
                              static_cast<std::int32_t>(random.below(bead.n)) + e.b * bead.n, e.weight});
    }
  }
  return result;
}

/// Two copies of the graph, with about k edges crossing from one to the other.
GeneratedGraph two_lift(const GeneratedGraph& graph, double k, Random& random) {
  GeneratedGraph result{2 * graph.n, {}};
  const double crossing = k / std::max(1.0, static_cast<double>(graph.edges.size()));
  for (const Edge& e : graph.edges) {
    const std::int32_t other = random.chance(crossing) ? graph.n : 0;
    result.edges.push_back({e.a, e.b + other, e.weight});
    result.edges.push_back({e.a + graph.n, e.b + graph.n - other, e.weight});
  }
  return result;
}

/// The graph with a unit edge from the first component to each other one.
GeneratedGraph connected(GeneratedGraph graph) {
  const std::vector<std::int32_t> component = components(graph);
  for (std::int32_t v = 1; v < graph.n; ++v) {
    if (component[static_cast<std::size_t>(v)] == v) graph.edges.push_back({0, v, 1});
  }
  return graph;
}

std::vector<std::int32_t> random_order(std::int32_t n, Random& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int32_t k = n; k > 1; --k) {
    std::swap(order[static_cast<std::size_t>(k - 1)], order[static_cast<std::size_t>(random.below(k))]);
  }
  return order;
}

GeneratedGraph permuted(GeneratedGraph graph, Random& random) {
  const std::vector<std::int32_t> place = random_order(graph.n, random);
  for (Edge& e : graph.edges) {
    e.a = place[static_cast<std::size_t>(e.a)];
    e.b = place[static_cast<std::size_t>(e.b)];
  }
  return graph;
}

/// The union of `count` random matchings, which leave one vertex out when n is odd.
GeneratedGraph matchings(std::int32_t n, int count, Random& random) {
  GeneratedGraph graph{n, {}};
  for (int m = 0; m < count; ++m) {
    const std::vector<std::int32_t> order = random_order(n, random);
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) graph.edges.push_back({order[i], order[i + 1], 1});
  }
  return graph;
}

/// The largest component of a random graph, joined to a complete binary tree of the other vertices.
GeneratedGraph repaired_erdos_renyi(std::int32_t n, double degree, Random& random) {
  const GeneratedGraph whole = erdos_renyi(n, degree, random.bits());
  const std::vector<std::int32_t> component = components(whole);
  std::vector<std::int32_t> sizes(component.size(), 0);
  for (const std::int32_t c : component) ++sizes[static_cast<std::size_t>(c)];
  const auto largest =
      static_cast<std::int32_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
  std::vector<std::int32_t> number(component.size(), 0);
  GeneratedGraph kept;
  for (std::size_t v = 0; v < component.size(); ++v) {
    if (component[v] == largest) number[v] = kept.n++;
  }
  for (const Edge& e : whole.edges) {
    const auto a = static_cast<std::size_t>(e.a);
    if (component[a] != largest) continue;
    kept.edges.push_back({number[a], number[static_cast<std::size_t>(e.b)], e.weight});
  }
  return joined(kept, complete_binary_tree(n - kept.n), 1, random);
}

GeneratedGraph pure_random(std::int32_t n, Random& random) {
  const double r = (n < 4 ? 31 : 37) * random.uniform();
  if (r <= 1) return path(n);
  if (r <= 4) return ring(n);
  if (r <= 7) return complete_binary_tree(n);
  if (r <= 13) return grown(n, 2, random.bits());
  if (r <= 19) return square_grid(n);
  if (r <= 25) return matchings(n, 3, random);
  if (r <= 31) return repaired_erdos_renyi(n, 2, random);
  return generalized_ring(n, 4, Random(random.bits(), 0, 0));
}

GeneratedGraph composed(std::int32_t n, Random& random);

/// A composed graph with its weights scaled by a random factor.
GeneratedGraph scaled_part(std::int32_t n, Random& random) {
  const double u = 1 - random.uniform();
  return scaled(composed(n, random), u * u);
}

GeneratedGraph two_parts(std::int32_t n, Random& random) {
  std::int32_t first = 0;
  double links = 0;
  if (n < 200) {
    first = 10 + as_count((n - 20) * random.uniform());
    links = std::ceil(log_uniform(random, std::min(first, n - first) / 2.0));
  } else {
    first = n - as_count(std::ceil(10 * log_uniform(random, n / 20.0)));
    links = std::floor(1 + log_uniform(random, std::min(first, n - first) / 2.0));
  }
  GeneratedGraph part = scaled_part(first, random);
  return joined(std::move(part), composed(n - first, random), as_count(links), random);
}

GeneratedGraph many_parts(std::int32_t n, Random& random) {
  const std::int32_t first = as_count(10 * log_uniform(random, n / 100.0));
  const std::int32_t second = n / first;
  const double kind = random.uniform();
  GeneratedGraph graph;
  if (kind < 0.9) {
    const GeneratedGraph a = scaled_part(first, random);
    const GeneratedGraph b = composed(second, random);
    graph = kind < 0.45
                ? product(a, b)
                : necklace(a, b, as_count(1 + log_uniform(random, std::min(first, second) / 10.0)), random);
  } else {
    graph = two_lift(composed(n / 2, random), log_uniform(random, n / 2.0), random);
  }
  const std::int32_t missing = n - graph.n;
  return missing == 0 ? graph : joined(std::move(graph), composed(missing, random), 2, random);
}

GeneratedGraph composed(std::int32_t n, Random& random) {
  if (n < 30 || random.uniform() < 0.2) return permuted(pure_random(n, random), random);
  const bool two = n < 200 || random.uniform() < 0.7;
  return permuted(two ? two_parts(n, random) : many_parts(n, random), random);
}

/// Adds edges between two random neighbours of each vertex, round by round, until the number of edges has
/// grown k-fold or is a quarter of all pairs.
GeneratedGraph thickened(GeneratedGraph graph, std::int64_t k, Random& random) {
  const std::int64_t n = graph.n;
  Csr<double> now = adjacency(n, graph.edges);
  const std::int64_t wanted = std::min(k * now.nonzeros(), n * n / 2);
  constexpr int most_rounds = 50;  // trees with few vertices may have no new neighbours left to join
  for (int round = 0; round < most_rounds && now.nonzeros() < wanted; ++round) {
    for (std::int64_t v = 0; v < n; ++v) {
      const std::int64_t begin = now.row_offsets()[v];
      const std::int64_t degree = now.row_offsets()[v + 1] - begin;
      if (degree < 2) continue;
      const std::int64_t first = random.below(degree);
      const std::int64_t second = (first + 1 + random.below(degree - 1)) % degree;
      graph.edges.push_back({now.column_indices()[begin + first], now.column_indices()[begin + second], 1});
    }
    now = adjacency(n, graph.edges);
  }
  return graph;
}

}  // namespace

GeneratedGraph chimera(std::int32_t n, std::uint64_t seed) {
  Random random(seed, 0, 0);
  const std::int64_t thickness = 1 + as_count(-log(1 - random.uniform()) / 2);
  GeneratedGraph graph = connected(composed(n, random));
  return thickness > 1 ? thickened(std::move(graph), thickness, random) : graph;
}

}  // namespace echelon::generate

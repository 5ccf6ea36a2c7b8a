// SPDX-License-Identifier: BSD-3-Clause
/// Systems with Laplacians of graphs, and matrices made from them.
#include "claims/linear_system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace echelon::claims {

namespace {

struct Edge {
  std::size_t i = 0;
  std::size_t j = 0;
};

struct Graph {
  std::string name = {};
  std::size_t n = 0;
  std::vector<Edge> edges = {};
};

Graph path(Draw& draw) {
  Graph graph{"path", draw.order(2)};
  for (std::size_t i = 1; i < graph.n; ++i) graph.edges.push_back({i - 1, i});
  return graph;
}

Graph cycle(Draw& draw) {
  Graph graph{"cycle", draw.order(3)};
  for (std::size_t i = 0; i < graph.n; ++i) graph.edges.push_back({i, (i + 1) % graph.n});
  return graph;
}

Graph complete(Draw& draw) {
  Graph graph{"complete", draw.order(2)};
  for (std::size_t i = 0; i < graph.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) graph.edges.push_back({i, j});
  }
  return graph;
}

/// The complete bipartite graph of k and m vertices.
Graph bipartite_of(std::size_t k, std::size_t m) {
  Graph graph{"bipartite " + std::to_string(k) + "," + std::to_string(m), k + m};
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < m; ++j) graph.edges.push_back({i, k + j});
  }
  return graph;
}

Graph bipartite(Draw& draw) {
  const std::size_t k = 1 + draw.index(15);
  return bipartite_of(k, draw.chance(0.3) ? k : 1 + draw.index(30));
}

Graph star(Draw& draw) {
  Graph graph{"star", draw.order(2)};
  for (std::size_t i = 1; i < graph.n; ++i) graph.edges.push_back({0, i});
  return graph;
}

Graph wheel(Draw& draw) {
  Graph graph{"wheel", draw.order(4)};
  const std::size_t rim = graph.n - 1;
  for (std::size_t i = 0; i < rim; ++i) {
    graph.edges.push_back({0, 1 + i});
    graph.edges.push_back({1 + i, 1 + (i + 1) % rim});
  }
  return graph;
}

Graph grid(Draw& draw) {
  const std::size_t nx = 2 + draw.index(8);
  const std::size_t ny = 2 + draw.index(8);
  Graph graph{"grid " + std::to_string(nx) + "x" + std::to_string(ny), nx * ny};
  for (std::size_t y = 0; y < ny; ++y) {
    for (std::size_t x = 0; x < nx; ++x) {
      if (x > 0) graph.edges.push_back({y * nx + x - 1, y * nx + x});
      if (y > 0) graph.edges.push_back({(y - 1) * nx + x, y * nx + x});
    }
  }
  return graph;
}

Graph tree(Draw& draw) {
  Graph graph{"tree", draw.order(2)};
  for (std::size_t i = 1; i < graph.n; ++i) graph.edges.push_back({draw.index(i), i});
  return graph;
}

/// A random graph, connected or of several components, with isolated vertices.
Graph scattered(Draw& draw) {
  Graph graph{"random", draw.order(2)};
  const double density = draw.random.uniform(0.5, 6) / static_cast<double>(graph.n);
  for (std::size_t i = 0; i < graph.n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (draw.chance(density)) graph.edges.push_back({i, j});
    }
  }
  return graph;
}

Graph hypercube(std::size_t dimensions) {
  Graph graph{"hypercube " + std::to_string(dimensions), std::size_t{1} << dimensions};
  for (std::size_t i = 0; i < graph.n; ++i) {
    for (std::size_t k = 0; k < dimensions; ++k) {
      const std::size_t j = i ^ (std::size_t{1} << k);
      if (j < i) graph.edges.push_back({i, j});
    }
  }
  return graph;
}

Graph connected_graph(Draw& draw) {
  switch (draw.integer(0, 7)) {
    case 0:
      return path(draw);
    case 1:
      return cycle(draw);
    case 2:
      return complete(draw);
    case 3:
      return bipartite(draw);
    case 4:
      return star(draw);
    case 5:
      return wheel(draw);
    case 6:
      return grid(draw);
    default:
      return tree(draw);
  }
}

/// Two or three graphs side by side.
Graph several_components(Draw& draw) {
  Graph graph{"components:"};
  const std::size_t parts = 2 + draw.index(2);
  for (std::size_t k = 0; k < parts; ++k) {
    const Graph part = connected_graph(draw);
    for (const Edge& edge : part.edges) graph.edges.push_back({graph.n + edge.i, graph.n + edge.j});
    graph.n += part.n;
    graph.name += " " + part.name;
  }
  return graph;
}

Graph any_graph(Draw& draw) {
  if (draw.chance(0.15)) return several_components(draw);
  if (draw.chance(0.15)) return scattered(draw);
  return connected_graph(draw);
}

enum class Weights { unit, integers, powers, decades };

std::vector<double> weights(Draw& draw, std::size_t edges, Weights choice) {
  std::vector<double> result(edges, 1.0);
  const double decades = draw.random.uniform(1, draw.single() ? 5 : 12);
  for (double& weight : result) {
    if (choice == Weights::integers) weight = static_cast<double>(draw.integer(1, 9));
    if (choice == Weights::powers) weight = std::ldexp(1.0, static_cast<int>(draw.integer(-6, 6)));
    if (choice == Weights::decades) weight = draw.over_decades(decades / 2);
  }
  return result;
}

Weights random_weights(Draw& draw) {
  static const std::vector<Weights> all = {Weights::unit, Weights::unit, Weights::integers, Weights::powers,
                                           Weights::decades};
  const Weights choice = draw.choose(all);
  static const std::vector<std::string> names = {"unit", "integer", "power of two", "decades of"};
  draw.note(names[static_cast<std::size_t>(choice)] + " weights");
  return choice;
}

/// Diagonal elements are sums of the others in double, so that they are exact where the weights allow it.
Elements laplacian(const Graph& graph, const std::vector<double>& weight) {
  Elements L(graph.n, graph.n);
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    const auto [i, j] = graph.edges[k];
    L(i, j) -= weight[k];
    L(j, i) -= weight[k];
    L(i, i) += weight[k];
    L(j, j) += weight[k];
  }
  return L;
}

Elements random_laplacian(Draw& draw) {
  const Graph graph = any_graph(draw);
  draw.note(graph.name + " of " + std::to_string(graph.n));
  return laplacian(graph, weights(draw, graph.edges.size(), random_weights(draw)));
}

void negate_sometimes(Draw& draw, Elements& A) {
  if (!draw.chance(0.4)) return;
  draw.note("negative");
  for (double& element : A.values()) element = -element;
}

Recipe with_balanced_side(Draw& draw, Elements A) {
  Recipe recipe{std::move(A), draw.chance(0.8)};
  if (draw.chance(0.25)) recipe.right_side = RightSide::balanced;
  return recipe;
}

Recipe plain_laplacian(Draw& draw) {
  Elements L = random_laplacian(draw);
  negate_sometimes(draw, L);
  return with_balanced_side(draw, std::move(L));
}

/// D L D with powers of two in D, which keeps the rank exactly.
Recipe congruent_laplacian(Draw& draw) {
  Elements L = random_laplacian(draw);
  const double decades = draw.random.uniform(1, draw.single() ? 6 : 40);
  std::vector<double> d(L.rows());
  for (double& factor : d) factor = draw.power_of_two(decades);
  scale(L, d, d);
  draw.note("D L D over 1e+-" + std::to_string(static_cast<int>(decades)));
  negate_sometimes(draw, L);
  return {std::move(L), draw.chance(0.8)};
}

/// S L S with signs in S: off-diagonal elements of both signs.
Recipe signed_laplacian(Draw& draw) {
  Elements L = random_laplacian(draw);
  std::vector<double> s(L.rows());
  for (double& sign : s) sign = draw.chance(0.5) ? 1 : -1;
  scale(L, s, s);
  draw.note("S L S");
  negate_sometimes(draw, L);
  return {std::move(L), draw.chance(0.8)};
}

/// D L or L D: unsymmetric.
Recipe one_sided_laplacian(Draw& draw) {
  Elements L = random_laplacian(draw);
  const double decades = draw.random.uniform(0.5, draw.single() ? 6 : 20);
  std::vector<double> d(L.rows());
  for (double& factor : d)
    factor = draw.chance(0.7) ? draw.power_of_two(decades) : draw.over_decades(decades);
  const std::vector<double> ones(L.rows(), 1.0);
  if (draw.chance(0.5)) {
    scale(L, d, ones);
    draw.note("D L");
  } else {
    scale(L, ones, d);
    draw.note("L D");
  }
  return {std::move(L), draw.chance(0.8)};
}

/// A graph all of whose degrees are powers of two.
Graph graph_of_binary_degrees(Draw& draw) {
  const auto m = std::size_t{1} << draw.index(5);
  switch (draw.integer(0, 2)) {
    case 0:
      return cycle(draw);
    case 1:
      return bipartite_of(m, m);
    default:
      return hypercube(std::size_t{1} << draw.index(3));
  }
}

/// I - P with the transition probabilities P of the Markov chain on a graph: exact for degrees that are
/// powers of two.
Recipe markov_chain(Draw& draw) {
  const bool exact = draw.chance(0.5);
  const Graph graph = exact ? graph_of_binary_degrees(draw) : any_graph(draw);
  Elements L = laplacian(graph, std::vector<double>(graph.edges.size(), 1.0));
  for (std::size_t i = 0; i < graph.n; ++i) {
    const double degree = L(i, i);
    for (std::size_t j = 0; j < graph.n && degree > 0; ++j) L(i, j) /= degree;
  }
  draw.note("I - P, " + graph.name + " of " + std::to_string(graph.n));
  if (draw.chance(0.3)) {
    for (std::size_t i = 0; i < graph.n; ++i) {
      for (std::size_t j = 0; j < i; ++j) std::swap(L(i, j), L(j, i));
    }
    draw.note("transposed");
  }
  return {std::move(L), draw.chance(0.8)};
}

/// A Laplacian with 2^-k added to one or a few diagonal elements.
Recipe grounded_laplacian(Draw& draw) {
  Elements L = random_laplacian(draw);
  const auto power = static_cast<int>(draw.integer(0, draw.single() ? 22 : 52));
  const std::size_t count = draw.chance(0.7) ? 1 : 1 + draw.index(3);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = draw.index(L.rows());
    L(i, i) += std::ldexp(1.0, -power);
  }
  draw.note(std::to_string(count) + " grounds of 2^-" + std::to_string(power));
  negate_sometimes(draw, L);
  return with_balanced_side(draw, std::move(L));
}

/// A Laplacian without the row and column of one vertex.
Recipe reduced_laplacian(Draw& draw) {
  const Elements L = random_laplacian(draw);
  const std::size_t n = L.rows() - 1;
  Elements A(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) A(i, j) = L(i, j);
  }
  draw.note("without the last vertex");
  negate_sometimes(draw, A);
  return {std::move(A), draw.chance(0.8)};
}

}  // namespace

std::vector<Kind> graph_kinds() {
  return {{"laplacian", plain_laplacian},          {"laplacian-congruent", congruent_laplacian},
          {"laplacian-signed", signed_laplacian},  {"laplacian-one-sided", one_sided_laplacian},
          {"markov-chain", markov_chain},          {"laplacian-grounded", grounded_laplacian},
          {"laplacian-reduced", reduced_laplacian}};
}

}  // namespace echelon::claims

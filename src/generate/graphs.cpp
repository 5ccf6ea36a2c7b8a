// SPDX-License-Identifier: BSD-3-Clause
/// Families of graphs.
#include "generate/families.hpp"
#include "generate/functions.hpp"
#include "generate/table.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace echelon::generate {

GeneratedGraph path(std::int32_t n) {
  GeneratedGraph graph{n, {}};
  for (std::int32_t i = 1; i < n; ++i) graph.edges.push_back({i - 1, i});
  return graph;
}

GeneratedGraph ring(std::int32_t n) {
  GeneratedGraph graph = path(n);
  if (n > 2) graph.edges.push_back({n - 1, 0});
  return graph;
}

GeneratedGraph complete_binary_tree(std::int32_t n) {
  GeneratedGraph graph{n, {}};
  for (std::int32_t i = 1; i < n; ++i) graph.edges.push_back({(i - 1) / 2, i});
  return graph;
}

GeneratedGraph grown(std::int32_t n, std::int64_t k, std::uint64_t seed) {
  GeneratedGraph graph{n, {}};
  for (std::int32_t i = 1; i < n; ++i) {
    Random random(seed, 0, static_cast<std::uint64_t>(i));
    for (std::int64_t pick = 0; pick < k; ++pick) {
      graph.edges.push_back({static_cast<std::int32_t>(random.below(i)), i});
    }
  }
  return graph;
}

GeneratedGraph generalized_ring(std::int32_t n, std::int64_t k, Random random) {
  std::vector<std::int64_t> steps = {1};
  while (n > 1 && static_cast<std::int64_t>(steps.size()) < k) {
    steps.push_back(1 + static_cast<std::int64_t>(std::ceil(exp(random.uniform() * log(n - 1.0)))));
  }
  GeneratedGraph graph{n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    for (const std::int64_t step : steps) {
      graph.edges.push_back({i, static_cast<std::int32_t>((i + step) % n)});
    }
  }
  return graph;
}

GeneratedGraph erdos_renyi(std::int32_t n, double degree, std::uint64_t seed) {
  GeneratedGraph graph{n, {}};
  const double probability = n > 1 ? std::min(1.0, degree / (n - 1.0)) : 0;
  for (std::int32_t i = 0; i < n; ++i) {
    Random random(seed, 0, static_cast<std::uint64_t>(i));
    each_chosen(random, i + 1, n, probability, [&](std::int64_t j) {
      graph.edges.push_back({i, static_cast<std::int32_t>(j)});
    });
  }
  return graph;
}

GeneratedGraph square_grid(std::int32_t n) {
  std::int32_t side = 1;
  while (std::int64_t{side} * side < n) ++side;
  GeneratedGraph graph{n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    if ((i + 1) % side != 0 && i + 1 < n) graph.edges.push_back({i, i + 1});
    if (i < n - side) graph.edges.push_back({i, i + side});
  }
  return graph;
}

std::vector<std::int32_t> components(const GeneratedGraph& graph) {
  std::vector<std::int32_t> parent(static_cast<std::size_t>(graph.n));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](std::int32_t v) {
    while (parent[static_cast<std::size_t>(v)] != v) {
      auto& above = parent[static_cast<std::size_t>(v)];
      above = parent[static_cast<std::size_t>(above)];
      v = above;
    }
    return v;
  };
  for (const Edge& edge : graph.edges) {
    const auto [low, high] = std::minmax({root(edge.a), root(edge.b)});
    parent[static_cast<std::size_t>(high)] = low;
  }
  for (std::int32_t v = 0; v < graph.n; ++v) parent[static_cast<std::size_t>(v)] = root(v);
  return parent;
}

namespace {

/// A uniformly random labelled tree: a random Pruefer sequence, decoded in O(n).
GeneratedGraph random_tree(std::int32_t n, Random random) {
  GeneratedGraph graph{n, {}};
  if (n < 2) return graph;
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(n - 2));
  std::vector<std::int32_t> degree(static_cast<std::size_t>(n), 1);
  for (std::int32_t& vertex : sequence) {
    vertex = static_cast<std::int32_t>(random.below(n));
    ++degree[static_cast<std::size_t>(vertex)];
  }
  std::int32_t smallest = 0;  // scan position: all leaves below it are used
  while (degree[static_cast<std::size_t>(smallest)] != 1) ++smallest;
  std::int32_t leaf = smallest;
  for (const std::int32_t vertex : sequence) {
    graph.edges.push_back({leaf, vertex});
    if (--degree[static_cast<std::size_t>(vertex)] == 1 && vertex < smallest) {
      leaf = vertex;
      continue;
    }
    do ++smallest;
    while (degree[static_cast<std::size_t>(smallest)] != 1);
    leaf = smallest;
  }
  graph.edges.push_back({leaf, n - 1});
  return graph;
}

/// A clique of k + 1 vertices; each further vertex is joined to k distinct earlier ones, chosen with
/// probability proportional to the degree or, with probability `uniform`, uniformly.
GeneratedGraph preferential_attachment(std::int32_t n, std::int32_t k, double uniform, Random random) {
  GeneratedGraph graph{n, {}};
  std::vector<std::int32_t> ends;  // each vertex as often as its degree
  const auto link = [&](std::int32_t a, std::int32_t b) {
    graph.edges.push_back({a, b});
    ends.insert(ends.end(), {a, b});
  };
  for (std::int32_t i = 1; i < std::min(n, k + 1); ++i) {
    for (std::int32_t j = 0; j < i; ++j) link(j, i);
  }
  std::vector<std::int32_t> picks;
  for (std::int32_t i = k + 1; i < n; ++i) {
    picks.clear();
    while (static_cast<std::int32_t>(picks.size()) < k) {
      const std::int32_t pick =
          random.chance(uniform)
              ? static_cast<std::int32_t>(random.below(i))
              : ends[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(ends.size())))];
      if (std::find(picks.begin(), picks.end(), pick) == picks.end()) picks.push_back(pick);
    }
    for (const std::int32_t pick : picks) link(pick, i);
  }
  return graph;
}

std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  const auto [low, high] = std::minmax(a, b);
  return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint64_t>(low);
}

/// Pairs half-edges at random and removes loops and double edges by switching with random other pairs.
/// Returns no edges if that takes too many attempts.
std::vector<Edge> paired_at_random(std::int32_t n, std::int32_t k, Random& random) {
  std::vector<std::int32_t> ends;
  for (std::int32_t v = 0; v < n; ++v) ends.insert(ends.end(), static_cast<std::size_t>(k), v);
  for (std::size_t i = ends.size(); i > 1; --i) {
    std::swap(ends[i - 1], ends[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  std::vector<Edge> edges;
  std::vector<bool> good;
  std::vector<std::size_t> bad;
  std::unordered_set<std::uint64_t> taken;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    edges.push_back({ends[i], ends[i + 1]});
    good.push_back(ends[i] != ends[i + 1] && taken.insert(pair_key(ends[i], ends[i + 1])).second);
    if (!good.back()) bad.push_back(i / 2);
  }
  for (std::size_t attempt = 0; !bad.empty(); ++attempt) {
    if (attempt > 1000 + 100 * edges.size()) return {};
    Edge& first = edges[bad.back()];
    const auto other = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(edges.size())));
    Edge& second = edges[other];
    const std::uint64_t one = pair_key(first.a, second.a);
    const std::uint64_t two = pair_key(first.b, second.b);
    if (!good[other] || first.a == second.a || first.b == second.b || one == two || taken.contains(one) ||
        taken.contains(two)) {
      continue;
    }
    taken.erase(pair_key(second.a, second.b));
    taken.insert({one, two});
    std::swap(first.b, second.a);
    good[bad.back()] = true;
    bad.pop_back();
  }
  return edges;
}

/// A random simple graph in which every vertex has degree k.
GeneratedGraph random_regular(std::int32_t n, std::int32_t k, Random random) {
  if (k >= n || std::int64_t{n} * k % 2 != 0) {
    throw BadOption("k", fmt::format("no graph of {} vertices has {} neighbours at each: k is below n, and "
                                     "n k even",
                                     n, k));
  }
  if (k == 0) return {n, {}};
  if (2 * k > n - 1) {
    const GeneratedGraph other = random_regular(n, n - 1 - k, random);
    std::unordered_set<std::uint64_t> missing;
    for (const Edge& edge : other.edges) missing.insert(pair_key(edge.a, edge.b));
    GeneratedGraph graph{n, {}};
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = i + 1; j < n; ++j) {
        if (!missing.contains(pair_key(i, j))) graph.edges.push_back({i, j});
      }
    }
    return graph;
  }
  for (;;) {
    std::vector<Edge> edges = paired_at_random(n, k, random);
    if (!edges.empty()) return {n, std::move(edges)};
  }
}

Csr<double> adjacency_of(const GeneratedGraph& graph) {
  return adjacency(graph.n, graph.edges);
}

/// The graph of the edges (i, j) for which `neighbours(i, put)` calls put(j, weight); each edge comes from
/// one side only.
template <class Neighbours>
Csr<double> from_neighbours(std::int64_t n, const Neighbours& neighbours) {
  return adjacency(n, n, [&neighbours](std::int64_t i, auto put) {
    neighbours(i, [&](std::int64_t j, double weight) { put(i, j, weight); });
  });
}

Csr<double> grid(const ParameterValues& a, const std::string& name, std::int64_t nz, double weight_z) {
  const std::int64_t nx = a.integer("nx");
  const std::int64_t ny = a.integer("ny");
  const double weight_y = a.real("weight_y");
  const std::int64_t n = checked_size(name, {nx, ny, nz});
  return from_neighbours(n, [=](std::int64_t i, auto put) {
    if ((i + 1) % nx != 0) put(i + 1, 1);
    if (i / nx % ny + 1 < ny) put(i + nx, weight_y);
    if (i < n - nx * ny) put(i + nx * ny, weight_z);
  });
}

/// Copies of a clique; the last vertex of each is joined to the centre, which is the last vertex.
Csr<double> sachdeva_star(std::int64_t clique, std::int64_t copies) {
  const std::int64_t centre = checked_size("sachdeva-star", {clique, copies});
  checked_size("sachdeva-star", {centre + 1});
  return from_neighbours(centre + 1, [=](std::int64_t i, auto put) {
    if (i == centre) return;
    for (std::int64_t j = i + 1; j < (i / clique + 1) * clique; ++j) put(j, 1);
    if ((i + 1) % clique == 0) put(centre, 1);
  });
}

/// Two cliques joined by a path of `length` further vertices.
Csr<double> barbell(std::int64_t clique, std::int64_t length) {
  const std::int64_t n = 2 * clique + length;
  checked_size("barbell", {n});
  return from_neighbours(n, [=](std::int64_t i, auto put) {
    const std::int64_t end = i < clique ? clique : (i >= clique + length ? n : 0);
    for (std::int64_t j = i + 1; j < end; ++j) put(j, 1);
    if (clique - 1 <= i && i < clique + length && i + 1 < n) put(i + 1, 1);
  });
}

/// R-MAT: each edge descends recursively into a random quarter of the adjacency matrix (Chakrabarti, Zhan,
/// Faloutsos, SDM 2004).
Csr<double> rmat(std::int64_t scale, std::int64_t edge_factor, double a, double b, double c,
                 std::uint64_t seed) {
  if (a + b + c > 1) {
    throw BadOption("a", fmt::format("a + b + c is at most 1, not {} + {} + {}", a, b, c));
  }
  const std::int64_t n = std::int64_t{1} << scale;
  return adjacency(n, n * edge_factor, [=](std::int64_t edge, auto put) {
    Random random(seed, 0, static_cast<std::uint64_t>(edge));
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (std::int64_t level = 0; level < scale; ++level) {
      const double u = random.uniform();
      from = 2 * from + (u >= a + b ? 1 : 0);
      to = 2 * to + ((u >= a && u < a + b) || u >= a + b + c ? 1 : 0);
    }
    put(from, to, 1);
  });
}

/// A row of the table: the family's own options, then those of all graphs.
template <class Make>
Generator graph_row(const std::string& name, const std::string& summary, std::vector<Parameter> parameters,
                    std::vector<std::string> size, const std::string& weights, Make make) {
  parameters.push_back(
      choice("form", "laplacian",
             "laplacian: degree matrix minus adjacency matrix; sddm: the Laplacian without every "
             "ceil(n^(1/3))-th row and column, positive definite",
             {"laplacian", "adjacency", "sddm"}));
  parameters.push_back(choice("weights", weights,
                              "own: weights of the family; unit: 1; uniform: in (0, 1]; log-uniform: see "
                              "decades; chimera: as in the weighted chimeras of Laplacians.jl",
                              {"unit", "own", "uniform", "log-uniform", "chimera"}));
  parameters.push_back(real("decades", 6, "powers of ten that log-uniform weights span around 1", {0, 600}));
  parameters.push_back(seed());
  const auto dimensions = static_cast<int>(size.size());
  Generator generator =
      row(name, "graphs", summary, parameters, std::move(size), [make](const ParameterValues& a, auto zero) {
        const Csr<double> graph = reweighted(make(a), a.text("weights"), a.real("decades"), a.seed());
        return graph_matrix<decltype(zero)>(graph, a.text("form"));
      });
  generator.dimensions = std::max(1, dimensions);
  return generator;
}

std::int32_t vertices(const ParameterValues& a) {
  return static_cast<std::int32_t>(a.integer("n"));
}

std::vector<Parameter> with_n(std::vector<Parameter> more = {}) {
  more.insert(more.begin(), size("n", 1000, "vertices"));
  return more;
}

Parameter weight(const std::string& axis) {
  return real("weight_" + axis, 1, "weight of the edges along " + axis + ", where weights=own",
              {0, 1e300, true});
}

std::vector<Generator> regular_families() {
  const std::vector<std::string> n = {"n"};
  return {
      graph_row("path", "path", with_n(), n, "unit",
                [](const ParameterValues& a) { return adjacency_of(path(vertices(a))); }),
      graph_row("ring", "cycle", with_n(), n, "unit",
                [](const ParameterValues& a) { return adjacency_of(ring(vertices(a))); }),
      graph_row("star", "centre, vertex 0, and leaves", with_n(), n, "unit",
                [](const ParameterValues& a) {
                  return from_neighbours(a.integer("n"), [](std::int64_t i, auto put) {
                    if (i > 0) put(0, 1);
                  });
                }),
      graph_row("complete", "every two vertices joined", {size("n", 100, "vertices")}, n, "unit",
                [](const ParameterValues& a) {
                  return from_neighbours(a.integer("n"), [](std::int64_t i, auto put) {
                    for (std::int64_t j = 0; j < i; ++j) put(j, 1);
                  });
                }),
      graph_row("complete-binary-tree", "vertex i has the parent (i - 1) / 2", with_n(), n, "unit",
                [](const ParameterValues& a) { return adjacency_of(complete_binary_tree(vertices(a))); }),
      graph_row("grid-2d", "rectangular grid",
                {size("nx", 100, "vertices along x"), size("ny", 100, "vertices along y"), weight("y")},
                {"nx", "ny"}, "own", [](const ParameterValues& a) { return grid(a, "grid-2d", 1, 0); }),
      graph_row(
          "grid-3d", "box-shaped grid",
          {size("nx", 30, "vertices along x"), size("ny", 30, "vertices along y"),
           size("nz", 30, "vertices along z"), weight("y"), weight("z")},
          {"nx", "ny", "nz"}, "own",
          [](const ParameterValues& a) { return grid(a, "grid-3d", a.integer("nz"), a.real("weight_z")); }),
      graph_row(
          "sachdeva-star", "cliques joined to one centre",
          {size("clique", 100, "vertices of a clique", 1), size("copies", 100, "cliques")},
          {"clique", "copies"}, "unit",
          [](const ParameterValues& a) { return sachdeva_star(a.integer("clique"), a.integer("copies")); }),
      graph_row("barbell", "two cliques joined by a path",
                {size("clique", 100, "vertices of a clique", 1), size("path", 100, "vertices of the path")},
                {}, "unit",
                [](const ParameterValues& a) { return barbell(a.integer("clique"), a.integer("path")); }),
  };
}

std::vector<Generator> random_families() {
  const std::vector<std::string> n = {"n"};
  return {
      graph_row("random-tree", "uniformly random labelled tree", with_n(), n, "unit",
                [](const ParameterValues& a) {
                  return adjacency_of(random_tree(vertices(a), Random(a.seed(), 0, 0)));
                }),
      graph_row("grown", "each vertex joined to k random earlier ones; repeated edges add up",
                with_n({size("k", 2, "edges from each vertex to earlier ones", 1)}), n, "own",
                [](const ParameterValues& a) {
                  return adjacency_of(grown(vertices(a), a.integer("k"), a.seed()));
                }),
      graph_row(
          "barabasi-albert", "preferential attachment: each vertex joined to earlier ones by their degree",
          with_n({size("k", 3, "edges from each new vertex", 1),
                  real("uniform", 0, "share of edges chosen regardless of the degree", {0, 1})}),
          n, "unit",
          [](const ParameterValues& a) {
            const auto k = static_cast<std::int32_t>(std::min<std::int64_t>(a.integer("k"), vertices(a) - 1));
            return adjacency_of(
                preferential_attachment(vertices(a), k, a.real("uniform"), Random(a.seed(), 0, 0)));
          }),
      graph_row("erdos-renyi", "every pair joined with the same probability",
                with_n({real("degree", 4, "average degree", {0, 1e9})}), n, "unit",
                [](const ParameterValues& a) {
                  return adjacency_of(erdos_renyi(vertices(a), a.real("degree"), a.seed()));
                }),
      graph_row("random-regular", "simple graph, every vertex of the same degree",
                with_n({size("k", 3, "degree of each vertex")}), n, "unit",
                [](const ParameterValues& a) {
                  const auto k = static_cast<std::int32_t>(a.integer("k"));
                  return adjacency_of(random_regular(vertices(a), k, Random(a.seed(), 0, 0)));
                }),
      graph_row("generalized-ring", "i joined to i + g for g = 1 and some random g",
                with_n({size("k", 4, "number of steps g", 1)}), n, "own",
                [](const ParameterValues& a) {
                  return adjacency_of(generalized_ring(vertices(a), a.integer("k"), Random(a.seed(), 0, 0)));
                }),
      graph_row(
          "rmat", "R-MAT graph with hubs and communities (Graph500)",
          {{"scale", std::int64_t{10}, "2^scale vertices", {0, 30}},
           size("edge_factor", 16, "edges drawn per vertex; repeated ones count once, loops not at all"),
           real("a", 0.57, "probability of the upper left quarter", {0, 1}),
           real("b", 0.19, "probability of the upper right quarter", {0, 1}),
           real("c", 0.19, "probability of the lower left quarter", {0, 1})},
          {}, "unit",
          [](const ParameterValues& a) {
            return rmat(a.integer("scale"), a.integer("edge_factor"), a.real("a"), a.real("b"), a.real("c"),
                        a.seed());
          }),
      graph_row("chimera", "random composition of simple graphs (Laplacians.jl); connected", with_n(), n,
                "own", [](const ParameterValues& a) { return adjacency_of(chimera(vertices(a), a.seed())); }),
  };
}

}  // namespace

std::vector<Generator> graph_rows() {
  std::vector<Generator> rows = regular_families();
  for (Generator& generator : random_families()) rows.push_back(std::move(generator));
  return rows;
}

}  // namespace echelon::generate

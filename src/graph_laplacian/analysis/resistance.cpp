// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/connected_components.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"
#include "support/hash.hpp"

#include <echelon/error.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace echelon::graph {

namespace {

constexpr std::int64_t columns_at_once = 64;
constexpr double not_computed = std::numeric_limits<double>::quiet_NaN();

std::string method_of(const SolveSettings& settings) {
  if (!settings.method.empty()) return settings.method;
  return settings.device.on_host() ? "approximate-cholesky" : "lamg";
}

/// Solver on the device of the settings for a Laplacian and vectors on the host. The Laplacian has to outlive
/// it.
class LaplacianSolver {
 public:
  LaplacianSolver(const Csr<double>& L, const SolveSettings& settings, const Options& options)
      : device_(settings.device),
        control_{.cancel = settings.cancel},
        solver_(make_solver<double>(method_of(settings), device_, options)) {
    if (!device_.on_host()) copy_ = L.to(device_);
    setup_ = solver_.setup(device_.on_host() ? L : copy_, control_);
  }
  /// Report of the set-up.
  [[nodiscard]] const Report& setup() const { return setup_; }
  Report solve(DenseView<const double> B, Dense<double>& X) {
    if (device_.on_host()) return solver_.solve(B, X, control_);
    Dense<double> on_device(device_, X.rows(), X.columns());
    Report report = solver_.solve(to_dense(MatrixRef<double>(B)).to(device_), on_device, control_);
    X = on_device.to(Device());
    return report;
  }

 private:
  Device device_;
  Control control_;
  Csr<double> copy_;  // of the Laplacian, on a GPU
  Solver<double> solver_;
  Report setup_;
};

/// Solver with one set-up for any number of right-hand sides, which are solved in blocks of columns.
class BlockSolver {
 public:
  BlockSolver(const Csr<double>& L, const SolveSettings& settings, double rtol)
      : n_(L.rows()), solver_(L, settings, {{"rtol", rtol}}) {
    if (!solver_.setup().ready()) worst_ = solver_.setup();
  }

  /// Solves for right-hand sides j = 0, ..., count - 1: fill(j, b) writes right-hand side j into a zeroed b,
  /// and use(j, x) reads its solution. Returns the number of solutions that were used: fewer than `count` if
  /// the set-up failed or a solve was cancelled.
  template <class Fill, class Use>
  std::int64_t solve(std::int64_t count, const Fill& fill, const Use& use) {
    if (!solver_.setup().ready()) return 0;
    for (std::int64_t first = 0; first < count; first += columns_at_once) {
      const std::int64_t columns = std::min(columns_at_once, count - first);
      Dense<double> B(Device(), n_, columns);
      Dense<double> X(Device(), n_, columns);
      std::fill_n(B.data(), n_ * columns, 0.0);
      for (std::int64_t j = 0; j < columns; ++j) fill(first + j, B.data() + j * n_);
      const Report report = solver_.solve(B, X);
      if (worst_.method.empty() || is_worse(report)) worst_ = report;
      if (report.status == Status::cancelled) return first;
      for (std::int64_t j = 0; j < columns; ++j) use(first + j, X.data() + j * n_);
    }
    return count;
  }
  [[nodiscard]] Report take_report() { return std::move(worst_); }

 private:
  [[nodiscard]] bool is_worse(const Report& report) const {
    if (report.solved() != worst_.solved()) return worst_.solved();
    return report.relative_residual > worst_.relative_residual;
  }

  std::int64_t n_;
  LaplacianSolver solver_;
  Report worst_;
};

/// Lists the edges in row order, with resistance 0.
std::vector<EdgeResistance> edges_of(const Csr<double>& L) {
  std::vector<EdgeResistance> edges;
  for (std::int32_t i = 0; i < L.rows(); ++i) {
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = L.column_indices()[k];
      if (j > i && L.values()[k] != 0) edges.push_back({i, j, -L.values()[k], 0});
    }
  }
  return edges;
}

/// Computes R_uv = P_uu + P_vv - 2 P_uv with the pseudo-inverse P, one row of P per solve.
void solve_for_vertices(const Csr<double>& L, const Components& parts, const SolveSettings& settings,
                        EdgeResistances& result) {
  const std::int64_t n = L.rows();
  std::vector<double> diagonal(static_cast<std::size_t>(n), 0);
  std::vector<std::int64_t> first_edge(static_cast<std::size_t>(n) + 1, 0);
  for (const EdgeResistance& edge : result.edges) ++first_edge[static_cast<std::size_t>(edge.first) + 1];
  for (std::size_t i = 1; i < first_edge.size(); ++i) first_edge[i] += first_edge[i - 1];
  BlockSolver solver(L, settings, settings.rtol);
  const auto component = [&](std::int64_t v) {
    return static_cast<std::size_t>(parts.of_vertex[static_cast<std::size_t>(v)]);
  };
  const auto fill = [&](std::int64_t v, double* b) {
    const double mean = 1 / static_cast<double>(parts.sizes[component(v)]);
    for (std::int64_t i = 0; i < n; ++i) {
      if (component(i) == component(v)) b[i] = -mean;
    }
    b[v] += 1;
  };
  result.solves = solver.solve(n, fill, [&](std::int64_t v, const double* x) {
    diagonal[static_cast<std::size_t>(v)] = x[v];
    for (std::int64_t e = first_edge[static_cast<std::size_t>(v)];
         e < first_edge[static_cast<std::size_t>(v) + 1]; ++e) {
      EdgeResistance& edge = result.edges[static_cast<std::size_t>(e)];
      edge.resistance = -2 * x[edge.second];
    }
  });
  for (EdgeResistance& edge : result.edges) {
    edge.resistance +=
        diagonal[static_cast<std::size_t>(edge.first)] + diagonal[static_cast<std::size_t>(edge.second)];
    if (edge.second >= result.solves) edge.resistance = not_computed;
  }
  result.report = solver.take_report();
}

/// Estimates R_uv = ||W^(1/2) B P (e_u - e_v)||^2, B the incidence matrix, by k projections onto random sign
/// vectors. One solve for each projection; the relative variance is at most 2 / k.
void estimate_by_projections(const Csr<double>& L, const EdgeResistanceOptions& options,
                             EdgeResistances& result) {
  const auto projections = static_cast<std::int64_t>(std::ceil(2 / (options.error * options.error)));
  BlockSolver solver(L, options.solve, options.error / 10);
  const auto fill = [&](std::int64_t j, double* b) {
    const std::uint64_t stream =
        hash_bits(options.seed + (static_cast<std::uint64_t>(j) + 1) * golden_ratio_64);
    for (std::size_t e = 0; e < result.edges.size(); ++e) {
      const EdgeResistance& edge = result.edges[e];
      const std::uint64_t bits = hash_bits(stream + (e + 1) * golden_ratio_64);
      const double value = (bits >> 63U) != 0 ? std::sqrt(edge.weight) : -std::sqrt(edge.weight);
      b[edge.first] += value;
      b[edge.second] -= value;
    }
  };
  result.solves = solver.solve(projections, fill, [&](std::int64_t, const double* x) {
    for (EdgeResistance& edge : result.edges) {
      const double difference = x[edge.first] - x[edge.second];
      edge.resistance += difference * difference / static_cast<double>(projections);
    }
  });
  if (result.solves < projections) {
    for (EdgeResistance& edge : result.edges) edge.resistance = not_computed;
  }
  result.error = std::sqrt(2 / static_cast<double>(projections));
  result.report = solver.take_report();
}

void require_vertices(const Pair& pair, std::size_t number, std::int64_t vertices) {
  for (const std::int32_t v : {pair.first, pair.second}) {
    if (v >= 0 && v < vertices) continue;
    throw BadOption("pairs",
                    fmt::format("pair {} (from 0) names the vertex {}, and the graph has {}, numbered from 0",
                                number, v, vertices));
  }
}

/// Contribution of a potential, relative to that of the sink, to the resistance of a pair.
struct Term {
  std::size_t pair;
  std::int32_t vertex;
  double factor;
};
/// A unit current from one vertex to another, and the uses of its potentials.
struct Dipole {
  std::int32_t source;
  std::int32_t sink;
  std::vector<Term> terms;
};

/// Appends the dipoles that give the resistances of some pairs in one component: one for each pair, or, if
/// these are fewer, one from each vertex to a common sink r: with G_uv the potential of u relative to r for
/// the source v, R_uv = G_uu + G_vv - 2 G_uv.
void append_dipoles(std::span<const Pair> pairs, const std::vector<std::size_t>& own,
                    std::vector<Dipole>& dipoles) {
  std::vector<std::int32_t> vertices;
  for (const std::size_t p : own) vertices.insert(vertices.end(), {pairs[p].first, pairs[p].second});
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  if (own.empty() || own.size() < vertices.size()) {
    for (const std::size_t p : own) {
      dipoles.push_back({pairs[p].first, pairs[p].second, {{p, pairs[p].first, 1}}});
    }
    return;
  }
  const std::size_t first_dipole = dipoles.size();
  const std::int32_t sink = vertices.front();
  for (std::size_t v = 1; v < vertices.size(); ++v) dipoles.push_back({vertices[v], sink, {}});
  const auto dipole_of = [&](std::int32_t vertex) -> Dipole& {
    const auto place = std::lower_bound(vertices.begin(), vertices.end(), vertex) - vertices.begin();
    return dipoles[first_dipole + static_cast<std::size_t>(place) - 1];
  };
  for (const std::size_t p : own) {
    const auto [u, v] = pairs[p];
    for (const std::int32_t vertex : {u, v}) {
      if (vertex != sink) dipole_of(vertex).terms.push_back({p, vertex, 1});
    }
    if (u != sink && v != sink) dipole_of(v).terms.push_back({p, u, -2});
  }
}

}  // namespace

Resistances resistances(const Csr<double>& laplacian, std::span<const Pair> pairs,
                        const SolveSettings& settings) {
  require_laplacian(laplacian);
  const Components parts = connected_components(laplacian);
  Resistances result;
  result.values.assign(pairs.size(), 0);
  std::vector<std::vector<std::size_t>> pairs_of_component(static_cast<std::size_t>(parts.count));
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    require_vertices(pairs[p], p, laplacian.rows());
    const auto [first, second] = pairs[p];
    const std::int32_t component = parts.of_vertex[static_cast<std::size_t>(first)];
    if (component != parts.of_vertex[static_cast<std::size_t>(second)]) {
      result.values[p] = std::numeric_limits<double>::infinity();
    } else if (first != second) {
      pairs_of_component[static_cast<std::size_t>(component)].push_back(p);
    }
  }
  std::vector<Dipole> dipoles;
  for (const std::vector<std::size_t>& own : pairs_of_component) append_dipoles(pairs, own, dipoles);
  BlockSolver solver(laplacian, settings, settings.rtol);
  result.solves = solver.solve(
      static_cast<std::int64_t>(dipoles.size()),
      [&](std::int64_t j, double* b) {
        const Dipole& dipole = dipoles[static_cast<std::size_t>(j)];
        b[dipole.source] = 1;
        b[dipole.sink] = -1;
      },
      [&](std::int64_t j, const double* x) {
        const Dipole& dipole = dipoles[static_cast<std::size_t>(j)];
        for (const Term& term : dipole.terms) {
          result.values[term.pair] += term.factor * (x[term.vertex] - x[dipole.sink]);
        }
      });
  for (auto j = static_cast<std::size_t>(result.solves); j < dipoles.size(); ++j) {
    for (const Term& term : dipoles[j].terms) result.values[term.pair] = not_computed;
  }
  result.report = solver.take_report();
  return result;
}

EdgeResistances edge_resistances(const Csr<double>& laplacian, const EdgeResistanceOptions& options) {
  if (!(options.error >= 0) || options.error > 1) {
    throw BadOption("error", fmt::format("{} is not a relative error from 0 to 1", options.error));
  }
  require_laplacian(laplacian);
  const Components parts = connected_components(laplacian);
  EdgeResistances result;
  result.edges = edges_of(laplacian);
  result.foster_rank = laplacian.rows() - parts.count;
  if (options.error > 0) {
    estimate_by_projections(laplacian, options, result);
  } else {
    solve_for_vertices(laplacian, parts, options.solve, result);
  }
  for (const EdgeResistance& edge : result.edges) result.foster_sum += edge.weight * edge.resistance;
  return result;
}

Potentials potentials(const Csr<double>& laplacian, DenseView<const double> currents,
                      const SolveSettings& settings, bool strict) {
  require_laplacian(laplacian);
  Options options = {{"rtol", settings.rtol}};
  if (strict) options.set("strict", true);
  LaplacianSolver solver(laplacian, settings, options);
  Potentials result{Dense<double>(Device(), laplacian.rows(), currents.columns()), solver.setup()};
  if (result.report.ready()) {
    result.report = solver.solve(currents, result.x);
  } else {
    std::fill_n(result.x.data(), result.x.rows() * result.x.columns(), not_computed);
  }
  return result;
}

}  // namespace echelon::graph

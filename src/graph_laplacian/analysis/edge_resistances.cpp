// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "graph_laplacian/analysis/elimination.hpp"
#include "graph_laplacian/analysis/laplacian_solver.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"
#include "support/hash.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace echelon::graph {

namespace {

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
  result.report = solver.report();
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
  result.report = solver.report();
}

/// Sum of weight times resistance over all edges, compensated: graphs may have millions of equal terms.
double foster_sum(const std::vector<EdgeResistance>& edges) {
  double sum = 0;
  double lost = 0;
  for (const EdgeResistance& edge : edges) {
    const double term = edge.weight * edge.resistance - lost;
    const double next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

/// Sentence about what Foster's theorem, or the bound w R <= 1 of every edge, refutes; empty if they hold.
/// Of estimates, only the sum is tested: its standard deviation is at most error * sqrt(rank), and half a
/// standard error of the edges is allowed for the tolerance of the solves.
std::string refutation(const EdgeResistanceOptions& options, const EdgeResistances& result) {
  constexpr double edge_tolerance = 1e-6;
  const auto rank = static_cast<double>(result.foster_rank);
  const double rtol = std::max(1e-8, 100 * options.solve.rtol);
  const double tolerance = result.error > 0 ? result.error * (rank / 2 + 6 * std::sqrt(rank)) : rtol * rank;
  if (!(std::abs(result.foster_sum - rank) <= tolerance)) {
    return fmt::format("the sum of weight times resistance is {:.10g}, and {} by Foster's theorem",
                       result.foster_sum, result.foster_rank);
  }
  if (result.error > 0) return {};
  for (const EdgeResistance& edge : result.edges) {
    const double product = edge.weight * edge.resistance;
    if (product > 0 && product <= 1 + std::max(edge_tolerance, rtol)) continue;
    return fmt::format("weight times resistance of the edge {} - {} (from 0) is {:.10g}, not between 0 and 1",
                       edge.first, edge.second, product);
  }
  return {};
}

/// Sums the resistances up, and says so if they cannot be right; a status of success is then revoked.
void check_edges(const EdgeResistanceOptions& options, EdgeResistances& result) {
  result.foster_sum = foster_sum(result.edges);
  Report& report = result.report;
  const bool computed = report.solved() || !std::isnan(result.foster_sum);
  const std::string why = computed ? refutation(options, result) : "";
  if (why.empty()) return;
  if (report.solved()) report.status = Status::stagnated;
  if (!report.message.empty()) report.message += "; ";
  report.message += "the resistances are inaccurate: " + why;
}

/// Computes the resistances by elimination. Returns false if it was given up.
bool eliminate_for_edges(const Csr<double>& L, const SolveSettings& settings, EdgeResistances& result) {
  const Stopwatch watch;
  std::vector<Pair> pairs;
  pairs.reserve(result.edges.size());
  for (const EdgeResistance& edge : result.edges) pairs.push_back({edge.first, edge.second});
  const auto values = resistances_by_elimination(L, pairs, settings, elimination_limit(L, L.rows()));
  if (!values) return false;
  for (std::size_t e = 0; e < pairs.size(); ++e) result.edges[e].resistance = (*values)[e];
  result.error = 0;
  result.report = elimination_report(watch.seconds());
  check_edges({.solve = settings}, result);
  return true;
}

}  // namespace

EdgeResistances edge_resistances(const Csr<double>& laplacian, const EdgeResistanceOptions& options) {
  return at_api_boundary([&] {
    if (!(options.error >= 0) || options.error > 1) {
      throw BadOption("error", fmt::format("{} is not a relative error from 0 to 1", options.error));
    }
    require_laplacian(laplacian);
    const Components parts = connected_components(laplacian);
    EdgeResistances result;
    result.edges = edges_of(laplacian);
    result.foster_rank = laplacian.rows() - parts.count;
    const bool may_eliminate = options.solve.method.empty();
    const bool eliminates_first = may_eliminate && options.error == 0 && options.solve.device.on_host();
    if (eliminates_first && eliminate_for_edges(laplacian, options.solve, result)) return result;
    if (options.error > 0) {
      estimate_by_projections(laplacian, options, result);
    } else {
      solve_for_vertices(laplacian, parts, options.solve, result);
    }
    check_edges(options, result);
    const bool failed = !result.report.solved() && result.report.status != Status::cancelled;
    if (failed && may_eliminate && !eliminates_first) eliminate_for_edges(laplacian, options.solve, result);
    return result;
  });
}

}  // namespace echelon::graph

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "graph_laplacian/analysis/elimination.hpp"
#include "graph_laplacian/analysis/laplacian_solver.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace echelon::graph {

namespace {

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
  std::size_t dipole;  ///< the one with the vertex as its source
};
/// A unit current from one vertex to another, and the uses of its potentials.
struct Dipole {
  std::int32_t source;
  std::int32_t sink;
  std::vector<Term> terms;
  double imbalance = 0;   ///< ||r||_1 / 2 of the residual r, see measure()
  double resistance = 0;  ///< upper bound on that between source and sink; infinite where not known
};

/// Appends one dipole for each pair.
void append_dipole_for_each(std::span<const Pair> pairs, const std::vector<std::size_t>& own,
                            std::vector<Dipole>& dipoles) {
  for (const std::size_t p : own) {
    dipoles.push_back({pairs[p].first, pairs[p].second, {{p, pairs[p].first, 1, dipoles.size()}}});
  }
}

/// Appends the dipoles that give the resistances of some pairs in one component: one for each pair, or, if
/// these are fewer, one from each vertex to a common sink r: with G_uv the potential of u relative to r for
/// the source v, R_uv = G_uu + G_vv - 2 G_uv.
void append_dipoles(std::span<const Pair> pairs, const std::vector<std::size_t>& own,
                    std::vector<Dipole>& dipoles) {
  std::vector<std::int32_t> vertices;
  for (const std::size_t p : own) vertices.insert(vertices.end(), {pairs[p].first, pairs[p].second});
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  if (own.empty() || own.size() < vertices.size()) return append_dipole_for_each(pairs, own, dipoles);
  const std::size_t first_dipole = dipoles.size();
  const std::int32_t sink = vertices.front();
  for (std::size_t v = 1; v < vertices.size(); ++v) dipoles.push_back({vertices[v], sink, {}});
  const auto dipole_of = [&](std::int32_t vertex) {
    const auto place = std::lower_bound(vertices.begin(), vertices.end(), vertex) - vertices.begin();
    return first_dipole + static_cast<std::size_t>(place) - 1;
  };
  for (const std::size_t p : own) {
    const auto [u, v] = pairs[p];
    for (const std::int32_t vertex : {u, v}) {
      if (vertex != sink) dipoles[dipole_of(vertex)].terms.push_back({p, vertex, 1, dipole_of(vertex)});
    }
    if (u != sink && v != sink) dipoles[dipole_of(v)].terms.push_back({p, u, -2, dipole_of(u)});
  }
}

/// Bounds the errors of the potentials x of a dipole. With r = b - L x, x_u - x_sink has the error y^T r, y
/// the exact potentials of the dipole from u to the sink: at most ||r||_1 / 2 times the range of y, which is
/// the resistance between u and the sink. L x is summed over edges: rounding errors of L's diagonal do not
/// enter.
void measure(const Csr<double>& L, const double* x, Dipole& dipole) {
  double sum = 0;
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    double r = i == dipole.source ? 1 : i == dipole.sink ? -1 : 0;
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      r += L.values()[k] * (x[i] - x[L.column_indices()[k]]);
    }
    sum += std::abs(r);
  }
  dipole.imbalance = sum / 2 + 4 * std::numeric_limits<double>::epsilon();
  if (dipole.imbalance < 0.5) {
    dipole.resistance = (x[dipole.source] - x[dipole.sink]) / (1 - dipole.imbalance);
  } else {
    dipole.resistance = std::numeric_limits<double>::infinity();
  }
}

/// Resistances of pairs of different vertices, each pair in one component, with bounds on their errors.
class PairSolver {
 public:
  PairSolver(const Csr<double>& L, std::span<const Pair> pairs, const SolveSettings& settings)
      : L_(L),
        pairs_(pairs),
        settings_(settings),
        solver_(L, settings, settings.rtol),
        errors_(pairs.size(), 0) {}

  /// Solves for the dipoles of some pairs and adds up their values.
  void solve(std::vector<Dipole>& dipoles, Resistances& result) {
    const auto at = [&](std::int64_t j) -> Dipole& { return dipoles[static_cast<std::size_t>(j)]; };
    const std::int64_t solves = solver_.solve(
        static_cast<std::int64_t>(dipoles.size()),
        [&](std::int64_t j, double* b) {
          b[at(j).source] = 1;
          b[at(j).sink] = -1;
        },
        [&](std::int64_t j, const double* x) {
          Dipole& dipole = at(j);
          measure(L_, x, dipole);
          for (const Term& term : dipole.terms) {
            result.values[term.pair] += term.factor * (x[term.vertex] - x[dipole.sink]);
          }
        });
    result.solves += solves;
    for (const Dipole& dipole : dipoles) {
      for (const Term& term : dipole.terms) {
        errors_[term.pair] += std::abs(term.factor) * dipole.imbalance * dipoles[term.dipole].resistance;
      }
    }
    for (auto j = solves; j < static_cast<std::int64_t>(dipoles.size()); ++j) {
      for (const Term& term : at(j).terms) result.values[term.pair] = not_computed;
    }
    result.report = solver_.report();
  }

  /// Pairs among `some` with resistances whose bounds are too large; all of them if a solve failed.
  [[nodiscard]] std::vector<std::size_t> doubtful(const std::vector<std::size_t>& some,
                                                  const Resistances& result) const {
    std::vector<std::size_t> found;
    for (const std::size_t p : some) {
      const bool accurate = errors_[p] <= tolerance() * result.values[p];
      if (!accurate || !result.report.solved()) found.push_back(p);
    }
    return found;
  }
  /// Relative error that solves to the tolerance stay below, or 1e-6.
  [[nodiscard]] double tolerance() const {
    return std::max(1e-6, std::sqrt(static_cast<double>(L_.rows())) * settings_.rtol);
  }

  /// Computes some pairs again, by elimination. Returns false if it was given up.
  bool eliminate(const std::vector<std::size_t>& some, Resistances& result) {
    const Stopwatch watch;
    std::vector<Pair> own;
    own.reserve(some.size());
    for (const std::size_t p : some) own.push_back(pairs_[p]);
    const auto limit = elimination_limit(L_, static_cast<std::int64_t>(own.size()));
    const auto values = resistances_by_elimination(L_, own, settings_, limit);
    if (!values) return false;
    for (std::size_t k = 0; k < own.size(); ++k) result.values[some[k]] = (*values)[k];
    result.report = elimination_report(watch.seconds());
    return true;
  }
  /// Computes some pairs again, by one solve for each.
  void solve_for_each(const std::vector<std::size_t>& some, Resistances& result) {
    for (const std::size_t p : some) result.values[p] = errors_[p] = 0;
    std::vector<Dipole> dipoles;
    append_dipole_for_each(pairs_, some, dipoles);
    solve(dipoles, result);
  }

 private:
  const Csr<double>& L_;
  std::span<const Pair> pairs_;
  const SolveSettings& settings_;
  BlockSolver solver_;
  std::vector<double> errors_;  ///< bounds on the absolute errors
};

/// Computes the resistances again whose solves leave doubts, by elimination if no method was asked for, else
/// by a solve for each, and says which doubts remain.
void improve(PairSolver& solver, const SolveSettings& settings, const std::vector<std::size_t>& computed,
             Resistances& result) {
  std::vector<std::size_t> doubtful = solver.doubtful(computed, result);
  if (doubtful.empty()) return;
  if (settings.method.empty() && solver.eliminate(doubtful, result)) return;
  if (!result.report.solved()) return;
  solver.solve_for_each(doubtful, result);
  doubtful = solver.doubtful(doubtful, result);
  if (doubtful.empty() || !result.report.solved()) return;
  result.report.status = Status::stagnated;
  result.report.message = fmt::format(
      "{} of {} resistances are inaccurate: rounding errors of the solves may change them by more "
      "than {:.2g} of their values",
      doubtful.size(), computed.size(), solver.tolerance());
}

}  // namespace

Resistances resistances(const Csr<double>& laplacian, std::span<const Pair> pairs,
                        const SolveSettings& settings) {
  return at_api_boundary([&] {
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
    std::vector<std::size_t> computed;
    for (const std::vector<std::size_t>& own : pairs_of_component) {
      append_dipoles(pairs, own, dipoles);
      computed.insert(computed.end(), own.begin(), own.end());
    }
    PairSolver solver(laplacian, pairs, settings);
    solver.solve(dipoles, result);
    if (result.report.status != Status::cancelled) improve(solver, settings, computed, result);
    return result;
  });
}

}  // namespace echelon::graph

// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/elimination.hpp"

#include "graph_laplacian/analysis/kron_reduction.hpp"
#include "support/first_exception.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

namespace echelon::graph {

namespace {

/// Pair of positions, the larger one first, and its number among the given pairs.
struct PlacedPair {
  std::int32_t high;
  std::int32_t low;
  std::size_t number;
};

/// Order along Morton's curve: pairs near each other in the order share most of their vertices.
bool comes_before(const PlacedPair& a, const PlacedPair& b) {
  const std::uint32_t high = static_cast<std::uint32_t>(a.high) ^ static_cast<std::uint32_t>(b.high);
  const std::uint32_t low = static_cast<std::uint32_t>(a.low) ^ static_cast<std::uint32_t>(b.low);
  const bool low_decides = high < low && high < (high ^ low);  // the highest bit that differs is one of `low`
  return low_decides ? a.low < b.low : a.high < b.high;
}

/// Pairs [first, last) and a graph reduced to a superset of their vertices.
struct Subproblem {
  ReducedGraph graph;
  std::size_t first;
  std::size_t last;
};

class PairReduction {
 public:
  PairReduction(const Csr<double>& L, std::span<const Pair> pairs, const SolveSettings& settings,
                std::int64_t operations)
      : threads_((settings.device.on_host() ? settings.device : Device()).threads()),
        budget_(operations, settings.cancel),
        resistances_(pairs.size(), 0) {
    const std::vector<std::int32_t> position = bisection_order(L);
    pairs_.reserve(pairs.size());
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const std::int32_t a = position[static_cast<std::size_t>(pairs[p].first)];
      const std::int32_t b = position[static_cast<std::size_t>(pairs[p].second)];
      pairs_.push_back({std::max(a, b), std::min(a, b), p});
    }
    std::sort(pairs_.begin(), pairs_.end(), comes_before);
    open_.push_back(reduced(graph_of(L, position), 0, pairs_.size()));
  }

  /// Divides the pairs until there are several subproblems for each thread, then treats each one.
  std::optional<std::vector<double>> run() {
    constexpr std::size_t enough = 128;
    while (!open_.empty() && open_.size() < enough && !budget_.exhausted()) {
      std::vector<Subproblem> halves(2 * open_.size());
      for_each(open_.size(), [&](std::size_t s) {
        if (is_finished(open_[s])) return;
        halves[2 * s] = first_half(open_[s]);
        halves[2 * s + 1] = second_half(open_[s]);
        open_[s].graph = {};
      });
      std::erase_if(halves, [](const Subproblem& half) { return half.first == half.last; });
      open_ = std::move(halves);
    }
    for_each(open_.size(), [&](std::size_t s) { finish(std::move(open_[s])); });
    if (budget_.exhausted()) return std::nullopt;
    return std::move(resistances_);
  }

 private:
  /// Calls f(0), ..., f(count - 1) in parallel. Memory that does not suffice exhausts the budget; other
  /// exceptions of f are rethrown.
  template <class F>
  void for_each(std::size_t count, const F& f) {
    FirstException exception;
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t s = 0; s < count; ++s) {
      exception.catch_from([&] {
        try {
          f(s);
        } catch (const std::bad_alloc&) {
          budget_.exhaust();
        } catch (const OutOfMemory&) {
          budget_.exhaust();
        }
      });
    }
    exception.rethrow();
  }

  /// Vertices of the pairs [first, last), ascending.
  [[nodiscard]] std::vector<std::int32_t> vertices_of(std::size_t first, std::size_t last) const {
    std::vector<std::int32_t> vertices;
    vertices.reserve(2 * (last - first));
    for (std::size_t p = first; p < last; ++p)
      vertices.insert(vertices.end(), {pairs_[p].high, pairs_[p].low});
    std::sort(vertices.begin(), vertices.end());
    vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
    return vertices;
  }
  Subproblem reduced(const ReducedGraph& graph, std::size_t first, std::size_t last) {
    return {reduce_to(graph, vertices_of(first, last), budget_), first, last};
  }
  static std::size_t middle(const Subproblem& whole) {
    return whole.first + (whole.last - whole.first) / 2;
  }
  Subproblem first_half(const Subproblem& whole) {
    return reduced(whole.graph, whole.first, middle(whole));
  }
  Subproblem second_half(const Subproblem& whole) {
    return reduced(whole.graph, middle(whole), whole.last);
  }

  /// Reads the resistances from a graph of two vertices. Returns whether it is one.
  bool is_finished(const Subproblem& whole) {
    if (budget_.exhausted()) return true;
    const auto* const dense = std::get_if<DenseGraph>(&whole.graph);
    if (dense == nullptr || dense->vertices.size() > 2) return false;
    for (std::size_t p = whole.first; p < whole.last; ++p) {
      resistances_[pairs_[p].number] = 1 / dense->weights[0];
    }
    return true;
  }
  void finish(Subproblem whole) {  // NOLINT(misc-no-recursion): as deep as the logarithm of the pairs
    if (is_finished(whole)) return;
    finish(first_half(whole));
    Subproblem rest = second_half(whole);
    whole.graph = {};
    finish(std::move(rest));
  }

  int threads_;
  EliminationBudget budget_;
  std::vector<PlacedPair> pairs_;
  std::vector<double> resistances_;
  std::vector<Subproblem> open_;
};

}  // namespace

std::optional<std::vector<double>> resistances_by_elimination(const Csr<double>& L,
                                                              std::span<const Pair> pairs,
                                                              const SolveSettings& settings,
                                                              std::int64_t operations) {
  if (pairs.empty()) return std::vector<double>();
  return PairReduction(L, pairs, settings, operations).run();
}

std::int64_t elimination_limit(const Csr<double>& L, std::int64_t solves) {
  constexpr double least = 2e10;
  constexpr double each_element = 100;
  const auto elements = static_cast<double>(L.rows() + L.nonzeros());
  return static_cast<std::int64_t>(
      std::min(least + each_element * elements * static_cast<double>(solves), 9e18));
}

Report elimination_report(double seconds) {
  Report report;
  report.method = "elimination";
  report.solve_seconds = seconds;
  return report;
}

}  // namespace echelon::graph

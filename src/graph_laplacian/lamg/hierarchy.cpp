// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/hierarchy.hpp"

#include "support/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace echelon::lamg {

namespace {

/// Ratio of aggregates to vertices above which another level does not pay.
constexpr double stalled_ratio = 0.9;
/// Part of the vertices between two aggregates from which interpolation from both pays: grids that are
/// strongly coupled in one direction have a half, and other graphs 0 to 0.25.
constexpr double interpolated_part = 0.3;

template <class T>
class Setup {
 public:
  Setup(const SetupOptions& options, const SetupControl& control, const LamgHierarchy<T>* previous)
      : options_(options), control_(control), previous_(previous) {}

  LamgHierarchy<T> run(Graph<T> graph) {
    hierarchy_.order = local_order(graph.offsets.data(), graph.neighbours.data(), graph.n);
    if (!hierarchy_.order.empty()) graph = renumbered(graph, hierarchy_.order);
    finest_ends_ = std::max<std::int64_t>(graph.ends(), 1);
    while (add_level(graph)) {
    }
    set_cycle_indices();
    return std::move(hierarchy_);
  }

 private:
  /// Eliminates vertices, adds a level, and replaces `graph` by the next coarser graph; false if coarsening
  /// ends here.
  bool add_level(Graph<T>& graph) {
    const Stopwatch stopwatch;
    Level<T> level;
    level.fine_edges = graph.ends() / 2;
    level.elimination = eliminate(graph);
    level.edges = graph.ends() / 2;
    level.matrix = LowerTriangle<T>(graph);
    std::optional<VertexAggregates> aggregates = kept_aggregates(level);
    if (!aggregates) aggregates = coarsen(graph, level.interpolation);
    if (aggregates) {
      graph = level.interpolation.empty() ? contract(graph, aggregates->of, aggregates->count)
                                          : galerkin_graph(graph, *aggregates, level.interpolation);
      level.aggregate = std::move(aggregates->of);
    }
    level.seconds = stopwatch.seconds();
    hierarchy_.levels.push_back(std::move(level));
    return aggregates.has_value();
  }

  /// Aggregates and interpolation of the previous hierarchy, if its level has a graph of equal size.
  std::optional<VertexAggregates> kept_aggregates(Level<T>& level) {
    const std::size_t l = hierarchy_.levels.size();
    if (previous_ == nullptr || l + 1 >= previous_->levels.size()) return std::nullopt;
    const Level<T>& old = previous_->levels[l];
    if (old.matrix.n != level.matrix.n || old.edges != level.edges) return std::nullopt;
    level.interpolation = old.interpolation;
    return VertexAggregates{old.aggregate, previous_->levels[l + 1].elimination.fine};
  }

  std::optional<VertexAggregates> end(const Graph<T>& graph, std::string why, bool direct) {
    hierarchy_.end = std::move(why);
    hierarchy_.direct = direct;
    if (direct) hierarchy_.coarsest = DenseLaplacianFactors<T>(graph);
    return std::nullopt;
  }

  std::optional<VertexAggregates> coarsen(const Graph<T>& graph, Interpolation<T>& interpolation) {
    const std::size_t l = hierarchy_.levels.size();
    if (graph.n == 0) return end(graph, "elimination left no vertex", true);
    if (graph.n <= options_.coarse_size) return end(graph, "the level is small", true);
    if (l + 1 >= options_.max_levels) return end(graph, "the number of levels is limited", false);
    const double left = static_cast<double>(graph.ends()) / static_cast<double>(finest_ends_);
    if (control_.stops_at(1 - left)) return end(graph, "stopped by the caller", false);
    TestVectors vectors = make_test_vectors(graph, options_.test_sweeps, l);
    if (vectors.reduction <= options_.fast_relaxation &&
        late_reduction(graph, vectors, options_.late_sweeps) <= options_.fast_relaxation) {
      return end(graph, "relaxation is fast", false);
    }
    const bool interpolates = options_.caliber > 1 && graph.ends() <= most_interpolated_ends;
    const Vector<TestValues> values = interpolates ? vectors.values : Vector<TestValues>();
    VertexAggregates aggregates = aggregate(graph, vectors, options_.aggregation);
    if (aggregates.count > stalled_ratio * graph.n) return end(graph, "aggregation stalls", false);
    if (interpolates) interpolation = interpolate(graph, values, aggregates);
    if (interpolation.count < interpolated_part * graph.n) interpolation = {};
    return aggregates;
  }

  /// Sets LAMG's cycle indices: 1.5 on large levels, on others bounded by the work of a cycle.
  void set_cycle_indices() {
    auto& levels = hierarchy_.levels;
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      const auto edges = static_cast<double>(std::max<std::int64_t>(levels[l].edges, 1));
      const double finest = static_cast<double>(levels.front().edges);
      levels[l].cycle_index = options_.cycle_index;
      if (edges > 0.1 * finest) continue;
      const double growth = static_cast<double>(levels[l + 1].edges) / edges;
      const double guard = growth > 0 ? options_.work_guard / growth : 2;
      levels[l].cycle_index = std::max(1.0, std::min({2.0, options_.cycle_index, guard}));
    }
  }

  SetupOptions options_;
  const SetupControl& control_;
  std::int64_t finest_ends_ = 1;
  const LamgHierarchy<T>* previous_;
  LamgHierarchy<T> hierarchy_;
};

}  // namespace

template <class T>
LamgHierarchy<T> make_hierarchy(Graph<T> graph, const SetupOptions& options, const SetupControl& control,
                                const LamgHierarchy<T>* previous) {
  return Setup<T>(options, control, previous).run(std::move(graph));
}

template LamgHierarchy<float> make_hierarchy(Graph<float>, const SetupOptions&, const SetupControl&,
                                             const LamgHierarchy<float>*);
template LamgHierarchy<double> make_hierarchy(Graph<double>, const SetupOptions&, const SetupControl&,
                                              const LamgHierarchy<double>*);

}  // namespace echelon::lamg

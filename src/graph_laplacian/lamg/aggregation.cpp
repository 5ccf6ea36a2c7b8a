// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/aggregation.hpp"

#include <algorithm>
#include <cstddef>

namespace echelon::lamg {

namespace {

/// First and second moments of the test values around vertex i: sums of w t and w t^2 over its edges for
/// t = x_v - x_i. Differences avoid cancellation, because values of close vertices agree in most digits.
struct VertexMoments {
  float weight = 0;
  TestValues first{};
  TestValues second{};

  template <class T>
  VertexMoments(const Graph<T>& graph, const Vector<TestValues>& x, std::int32_t i) {
    const TestValues& own = x[index(i)];
    const T scale = 1 / graph.degree[i];
    for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      const auto w = static_cast<float>(graph.weights[k] * scale);
      const TestValues& other = x[index(graph.neighbours[k])];
      weight += w;
      for (std::size_t v = 0; v < own.size(); ++v) {
        const float t = other[v] - own[v];
        first[v] += w * t;
        second[v] += w * t * t;
      }
    }
  }

  [[nodiscard]] bool allow(const TestValues& own, const TestValues& at, float ratio) const {
    // Differences at the level of rounding carry no information about the energy.
    constexpr float rounding = 1e-12F;
    for (std::size_t v = 0; v < own.size(); ++v) {
      const float y = at[v] - own[v];
      const float least = second[v] - first[v] * first[v] / weight;
      const float energy = y * (weight * y - 2 * first[v]) + second[v];
      if (energy > ratio * least + rounding * own[v] * own[v]) return false;
    }
    return true;
  }
};

template <class T>
class Aggregation {
 public:
  Aggregation(const Graph<T>& graph, TestVectors& vectors, const AggregationThresholds& options)
      : graph_(graph),
        x_(vectors.values),
        options_(options),
        state_(index(graph.n), State::undecided),
        seed_(index(graph.n)),
        affinity_(graph.ends() > 0 ? index(graph.offsets[graph.n]) : 0),
        count_(graph.n) {
    for (std::int32_t i = 0; i < graph.n; ++i) seed_[index(i)] = i;
    weigh_edges();
    find_hubs();
  }

  void run() {
    const auto enough = static_cast<std::int32_t>(options_.ratio * graph_.n);
    for (int stage = 0; stage < options_.stages && count_ > enough; ++stage) run_stage(enough);
  }

  [[nodiscard]] VertexAggregates result() const {
    VertexAggregates aggregates;
    aggregates.of = Array<std::int32_t>(Device::serial(), graph_.n);
    Vector<std::int32_t> number(index(graph_.n), -1);
    for (std::int32_t i = 0; i < graph_.n; ++i) {
      std::int32_t& own = number[index(seed_[index(i)])];
      if (own < 0) own = aggregates.count++;
      aggregates.of[i] = own;
    }
    aggregates.seeds = Array<std::int32_t>(Device::serial(), aggregates.count);
    for (std::int32_t i = 0; i < graph_.n; ++i) aggregates.seeds[aggregates.of[i]] = seed_[index(i)];
    return aggregates;
  }

 private:
  enum class State : std::uint8_t { undecided, seed, member };
  static constexpr int bins = 10;

  /// Computes the affinities of the strong edges; -1 for weak edges, and for edges that the veto excludes.
  void weigh_edges() {
    Vector<T> largest(index(graph_.n));
    for (std::int32_t i = 0; i < graph_.n; ++i) {
      T most = 0;
      for (std::int32_t k = graph_.offsets[i]; k < graph_.offsets[i + 1]; ++k) {
        most = std::max(most, graph_.weights[k]);
      }
      largest[index(i)] = most;
    }
    const T strength = static_cast<T>(options_.strength);
    const T veto = static_cast<T>(options_.veto);
    for (std::int32_t i = 0; i < graph_.n; ++i) {
      for (std::int32_t k = graph_.offsets[i]; k < graph_.offsets[i + 1]; ++k) {
        const std::int32_t j = graph_.neighbours[k];
        const T weight = graph_.weights[k];
        const bool strong = weight >= strength * std::min(largest[index(i)], largest[index(j)]) &&
                            weight >= veto * largest[index(i)];
        affinity_[index(k)] = strong ? affinity(x_[index(i)], x_[index(j)]) : -1;
      }
    }
  }

  void find_hubs() {
    for (std::int32_t i = 0; i < graph_.n; ++i) {
      const std::int32_t own = graph_.neighbours_of(i);
      if (own < options_.hub) continue;
      T sum = 0;
      for (std::int32_t k = graph_.offsets[i]; k < graph_.offsets[i + 1]; ++k) {
        sum += graph_.weights[k] * static_cast<T>(graph_.neighbours_of(graph_.neighbours[k]));
      }
      if (static_cast<T>(own) * graph_.degree[i] >= static_cast<T>(options_.hub) * sum) {
        state_[index(i)] = State::seed;
      }
    }
  }

  [[nodiscard]] bool open(std::int32_t i) const { return state_[index(i)] != State::member; }

  /// Bin of an undecided vertex by its largest affinity to a vertex that it could join; 0 is the strongest
  /// bin, and `bins` means that there is no such vertex.
  [[nodiscard]] int bin_of(std::int32_t i) const {
    float largest = -1;
    for (std::int32_t k = graph_.offsets[i]; k < graph_.offsets[i + 1]; ++k) {
      if (affinity_[index(k)] > largest && open(graph_.neighbours[k])) largest = affinity_[index(k)];
    }
    if (largest < 0) return bins;
    return std::clamp(static_cast<int>((1 - largest) * bins), 0, bins - 1);
  }

  void run_stage(std::int32_t enough) {
    Vector<std::uint8_t> bin(index(graph_.n), bins);
    Vector<std::int32_t> offsets(bins + 2);
    for (std::int32_t i = 0; i < graph_.n; ++i) {
      if (state_[index(i)] == State::undecided) bin[index(i)] = static_cast<std::uint8_t>(bin_of(i));
      ++offsets[std::size_t{bin[index(i)]} + 1];
    }
    for (std::size_t b = 1; b < offsets.size(); ++b) offsets[b] += offsets[b - 1];
    Vector<std::int32_t> order(index(graph_.n));
    Vector<std::int32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::int32_t i = 0; i < graph_.n; ++i) order[index(next[bin[index(i)]]++)] = i;
    for (std::size_t b = 0; b < bins && count_ > enough; ++b) {
      for (std::int32_t k = offsets[b]; k < offsets[b + 1]; ++k) decide(order[index(k)]);
    }
  }

  /// Lets an undecided vertex join the open neighbour with the largest affinity that the energy allows.
  void decide(std::int32_t i) {
    if (state_[index(i)] != State::undecided) return;
    const VertexMoments moments(graph_, x_, i);
    std::int32_t best = -1;
    float largest = -1;
    for (std::int32_t k = graph_.offsets[i]; k < graph_.offsets[i + 1]; ++k) {
      const std::int32_t j = graph_.neighbours[k];
      if (!(affinity_[index(k)] > largest) || !open(j)) continue;
      if (!moments.allow(x_[index(i)], x_[index(j)], static_cast<float>(options_.energy_ratio))) continue;
      largest = affinity_[index(k)];
      best = j;
    }
    if (best < 0) return;
    state_[index(best)] = State::seed;
    state_[index(i)] = State::member;
    seed_[index(i)] = best;
    x_[index(i)] = x_[index(best)];
    --count_;
  }

  const Graph<T>& graph_;
  Vector<TestValues>& x_;
  AggregationThresholds options_;
  Vector<State> state_;
  Vector<std::int32_t> seed_;
  Vector<float> affinity_;  ///< affinity of each stored edge; each edge is stored in two rows
  std::int32_t count_;      ///< number of aggregates, each undecided vertex counted as one
};

}  // namespace

template <class T>
VertexAggregates aggregate(const Graph<T>& graph, TestVectors& vectors,
                           const AggregationThresholds& options) {
  Aggregation<T> aggregation(graph, vectors, options);
  aggregation.run();
  return aggregation.result();
}

template <class T>
bool energy_allows(const Graph<T>& graph, const Vector<TestValues>& x, std::int32_t i, const TestValues& at,
                   double ratio) {
  return VertexMoments(graph, x, i).allow(x[index(i)], at, static_cast<float>(ratio));
}

template VertexAggregates aggregate(const Graph<float>&, TestVectors&, const AggregationThresholds&);
template VertexAggregates aggregate(const Graph<double>&, TestVectors&, const AggregationThresholds&);
template bool energy_allows(const Graph<float>&, const Vector<TestValues>&, std::int32_t, const TestValues&,
                            double);
template bool energy_allows(const Graph<double>&, const Vector<TestValues>&, std::int32_t, const TestValues&,
                            double);

}  // namespace echelon::lamg

// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/lamg/elimination.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace echelon::lamg {

namespace {

/// Fraction of the vertices that must be candidates for elimination; fewer do not repay a copy of the graph.
constexpr double worthwhile_part = 0.01;

/// Graph during the elimination: the rows of the original graph, and lists of added edges. An edge can have
/// several entries, whose weights add up.
template <class T>
class ShrinkingGraph {
  /// Range of the original row, first one and number of the added entries, and a bound of the number of
  /// remaining neighbours. They share a cache line, as they are needed together.
  struct Vertex {
    std::int32_t begin;
    std::int32_t end;
    std::int32_t first;
    std::int32_t added;
    std::int32_t count;
    [[nodiscard]] std::int32_t entries() const { return end - begin + added; }
  };
  struct Added {
    std::int32_t next;
    std::int32_t to;
    T weight;
  };

 public:
  ShrinkingGraph(const Graph<T>& graph, std::int32_t max_degree)
      : graph_(graph),
        max_degree_(max_degree),
        vertices_(static_cast<std::size_t>(graph.n)),
        gone_(static_cast<std::size_t>(graph.n)),
        waiting_(static_cast<std::size_t>(max_degree) + 1) {}

  void eliminate(EliminatedVertices<T>& record) {
    for (std::int32_t i = graph_.n - 1; i >= 0; --i) {
      const std::int32_t begin = graph_.offsets[i];
      const std::int32_t end = graph_.offsets[i + 1];
      vertices_[index(i)] = {begin, end, none, 0, end - begin};
      offer(i);
    }
    for (std::int32_t vertex = next(); vertex != none; vertex = next()) eliminate(vertex, record);
  }

  /// Builds the graph of the remaining vertices.
  [[nodiscard]] Graph<T> rest(const Vector<std::int32_t>& kept) const {
    Vector<std::int32_t> number(vertices_.size(), none);
    std::int64_t ends = 0;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      number[index(kept[k])] = static_cast<std::int32_t>(k);
      ends += vertices_[index(kept[k])].entries();
    }
    Graph<T> result(static_cast<std::int32_t>(kept.size()), ends);
    Vector<std::int32_t> place(kept.size(), none);
    Vector<std::pair<std::int32_t, T>> row;
    std::int32_t out = 0;
    for (std::int32_t k = 0; k < result.n; ++k) {
      row.clear();
      T degree = 0;
      each_entry(kept[index(k)], [&](std::int32_t to, T weight) {
        const std::int32_t column = number[index(to)];
        std::int32_t& at = place[index(column)];
        if (at == none) {
          at = static_cast<std::int32_t>(row.size());
          row.emplace_back(column, weight);
        } else {
          row[index(at)].second += weight;
        }
        degree += weight;
      });
      for (const bool above : {false, true}) {
        for (const auto& [column, weight] : row) {
          if ((column > k) != above) continue;
          result.neighbours[out] = column;
          result.weights[out++] = weight;
        }
        if (!above) result.middle[k] = out;
      }
      for (const auto& [column, weight] : row) place[index(column)] = none;
      result.offsets[k + 1] = out;
      result.degree[k] = degree;
    }
    result.neighbours.shrink(out);
    result.weights.shrink(out);
    return result;
  }

  [[nodiscard]] bool gone(std::int32_t vertex) const { return gone_[index(vertex)] != 0; }

 private:
  static constexpr std::int32_t none = -1;
  /// Largest number of entries of a row that is searched for an edge to be added.
  static constexpr std::int32_t searched = 24;

  [[nodiscard]] static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  template <class F>
  void each_entry(std::int32_t vertex, const F& f) const {
    const Vertex own = vertices_[index(vertex)];
    for (std::int32_t k = own.begin; k < own.end; ++k) {
      if (gone_[index(graph_.neighbours[k])] == 0) f(graph_.neighbours[k], graph_.weights[k]);
    }
    for (std::int32_t k = own.first; k != none; k = added_[index(k)].next) {
      if (gone_[index(added_[index(k)].to)] == 0) f(added_[index(k)].to, added_[index(k)].weight);
    }
  }

  [[nodiscard]] bool adjacent(const Vertex& vertex, std::int32_t to) const {
    for (std::int32_t k = vertex.begin; k < vertex.end; ++k) {
      if (graph_.neighbours[k] == to) return true;
    }
    for (std::int32_t k = vertex.first; k != none; k = added_[index(k)].next) {
      if (added_[index(k)].to == to) return true;
    }
    return false;
  }

  /// Queues a vertex if its number of neighbours allows its elimination.
  void offer(std::int32_t vertex) {
    const std::int32_t count = vertices_[index(vertex)].count;
    if (count <= max_degree_) waiting_[index(count)].push_back(vertex);
  }

  /// Removes from the queue a remaining vertex with the fewest neighbours, or returns `none`.
  std::int32_t next() {
    for (std::size_t degree = 0; degree < waiting_.size(); ++degree) {
      while (!waiting_[degree].empty()) {
        const std::int32_t vertex = waiting_[degree].back();
        waiting_[degree].pop_back();
        if (!gone(vertex) && index(vertices_[index(vertex)].count) == degree) return vertex;
      }
    }
    return none;
  }

  void add(std::int32_t from, std::int32_t to, T weight) {
    Vertex& own = vertices_[index(from)];
    added_.push_back({own.first, to, weight});
    own.first = static_cast<std::int32_t>(added_.size()) - 1;
    ++own.added;
  }

  /// True if a bounded search finds an edge between a and b.
  [[nodiscard]] bool joined(std::int32_t a, std::int32_t b) const {
    const Vertex& of_a = vertices_[index(a)];
    const Vertex& of_b = vertices_[index(b)];
    if (std::min(of_a.entries(), of_b.entries()) > searched) return false;
    return of_a.entries() <= of_b.entries() ? adjacent(of_a, b) : adjacent(of_b, a);
  }

  void eliminate(std::int32_t vertex, EliminatedVertices<T>& record) {
    std::int32_t neighbours[max_eliminated_degree] = {};
    T weights[max_eliminated_degree] = {};
    int count = 0;
    T sum = 0;
    each_entry(vertex, [&](std::int32_t to, T weight) {
      int k = 0;
      while (k < count && neighbours[k] != to) ++k;
      neighbours[k] = to;
      weights[k] = (k == count ? T{0} : weights[k]) + weight;
      count = std::max(count, k + 1);
      sum += weight;
    });
    gone_[index(vertex)] = 1;
    record.vertices.push_back(vertex);
    record.inverse.push_back(sum > 0 ? 1 / sum : T{0});
    for (int k = 0; k < count; ++k) {
      record.neighbours.push_back(neighbours[k]);
      record.coefficients.push_back(weights[k] / sum);
    }
    record.offsets.push_back(static_cast<std::int32_t>(record.neighbours.size()));
    for (int k = 0; k < count; ++k) {
      --vertices_[index(neighbours[k])].count;
      for (int l = 0; l < k; ++l) {
        const bool known = joined(neighbours[k], neighbours[l]);
        // Keep the weight positive: an underflow to zero would disconnect the graph.
        const T weight = std::max(weights[k] * (weights[l] / sum), std::numeric_limits<T>::min());
        add(neighbours[k], neighbours[l], weight);
        add(neighbours[l], neighbours[k], weight);
        if (known) continue;
        ++vertices_[index(neighbours[k])].count;
        ++vertices_[index(neighbours[l])].count;
      }
    }
    for (int k = 0; k < count; ++k) offer(neighbours[k]);
  }

  const Graph<T>& graph_;
  std::int32_t max_degree_;
  Vector<Vertex> vertices_;
  Vector<std::uint8_t> gone_;
  Vector<Added> added_;
  std::vector<std::vector<std::int32_t>> waiting_;  ///< by number of neighbours; may be out of date
};

}  // namespace

template <class T>
void EliminatedVertices<T>::restrict_to(T* b, T* reduced) const {
  for (std::size_t f = 0; f < vertices.size(); ++f) {
    const T value = b[vertices[f]];
    for (auto k = static_cast<std::size_t>(offsets[f]); k < static_cast<std::size_t>(offsets[f + 1]); ++k) {
      b[neighbours[k]] += coefficients[k] * value;
    }
  }
  for (std::size_t k = 0; k < kept.size(); ++k) reduced[k] = b[kept[k]];
}

template <class T>
void EliminatedVertices<T>::prolong(const T* reduced, const T* b, T* x) const {
  for (std::size_t k = 0; k < kept.size(); ++k) x[kept[k]] = reduced[k];
  for (std::size_t f = vertices.size(); f-- > 0;) {
    T value = inverse[f] * b[vertices[f]];
    for (auto k = static_cast<std::size_t>(offsets[f]); k < static_cast<std::size_t>(offsets[f + 1]); ++k) {
      value += coefficients[k] * x[neighbours[k]];
    }
    x[vertices[f]] = value;
  }
}

template <class T>
EliminatedVertices<T> eliminate(Graph<T>& graph, std::int32_t max_degree) {
  EliminatedVertices<T> record;
  record.fine = graph.n;
  std::int32_t candidates = 0;
  for (std::int32_t i = 0; i < graph.n; ++i) candidates += graph.neighbours_of(i) <= max_degree ? 1 : 0;
  if (candidates < worthwhile_part * graph.n) {
    record.kept.resize(static_cast<std::size_t>(graph.n));
    std::iota(record.kept.begin(), record.kept.end(), 0);
    return record;
  }
  ShrinkingGraph<T> shrinking(graph, max_degree);
  shrinking.eliminate(record);
  record.kept.reserve(static_cast<std::size_t>(graph.n) - record.vertices.size());
  for (std::int32_t i = 0; i < graph.n; ++i) {
    if (!shrinking.gone(i)) record.kept.push_back(i);
  }
  if (!record.vertices.empty()) graph = shrinking.rest(record.kept);
  return record;
}

template struct EliminatedVertices<float>;
template struct EliminatedVertices<double>;
template EliminatedVertices<float> eliminate(Graph<float>&, std::int32_t);
template EliminatedVertices<double> eliminate(Graph<double>&, std::int32_t);

}  // namespace echelon::lamg

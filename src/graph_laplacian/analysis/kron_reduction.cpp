// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/kron_reduction.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <vector>

namespace echelon::graph {

namespace {

/// Vertices of a graph that is always dense, at most.
constexpr std::size_t small_graph = 32;

/// Sum of count weights, in pieces: the errors of long sums of equal weights would add up.
double sum_of(const double* weights, std::size_t count) {
  constexpr std::size_t piece = 32;
  double sum = 0;
  for (std::size_t begin = 0; begin < count; begin += piece) {
    sum += std::accumulate(weights + begin, weights + std::min(begin + piece, count), 0.0);
  }
  return sum;
}

/// Adds to row i the weights that the elimination of the vertices [first, last), the last one first, leaves.
/// degrees[k - first] is the sum of row k when it is eliminated.
void add_pivot_rows(DenseGraph& graph, std::size_t i, std::size_t first, std::size_t last,
                    const double* degrees) {
  double* const target = graph.row(i);
  for (std::size_t k = last; k-- > first;) {
    const double* const pivot = graph.row(k);
    if (pivot[i] == 0) continue;
    const double factor = pivot[i] / degrees[k - first];
#pragma omp simd
    for (std::size_t j = 0; j < i; ++j) target[j] += factor * pivot[j];
  }
}

/// Eliminates the vertices from number `kept` on, the last one first, in blocks of pivots: each other row is
/// read once for a block.
void eliminate_last(DenseGraph& graph, std::size_t kept, EliminationBudget& budget) {
  constexpr std::size_t block = 16;
  std::array<double, block> degrees{};
  for (std::size_t last = graph.vertices.size(); last > kept && !budget.exhausted();) {
    const std::size_t first = last > kept + block ? last - block : kept;
    for (std::size_t k = last; k-- > first;) {
      add_pivot_rows(graph, k, k + 1, last, degrees.data() + (k + 1 - first));
      degrees[k - first] = sum_of(graph.row(k), k);
    }
    for (std::size_t i = 1; i < first; ++i) add_pivot_rows(graph, i, first, last, degrees.data());
    budget.spend(static_cast<std::int64_t>((last - first) * last * last / 2));
    last = first;
  }
  graph.vertices.resize(kept);
  graph.weights.resize(kept * (kept - 1) / 2);
}

/// Local numbers of the vertices in `kept`, then those of the others. Both lists are ascending.
std::vector<std::size_t> kept_first(std::span<const std::int32_t> vertices,
                                    std::span<const std::int32_t> kept) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> others;
  order.reserve(vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const bool is_kept = order.size() < kept.size() && kept[order.size()] == vertices[i];
    (is_kept ? order : others).push_back(i);
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

DenseGraph reduce_dense(const DenseGraph& graph, std::span<const std::int32_t> kept,
                        EliminationBudget& budget) {
  const std::vector<std::size_t> order = kept_first(graph.vertices, kept);
  std::vector<std::int32_t> vertices;
  vertices.reserve(order.size());
  for (const std::size_t i : order) vertices.push_back(graph.vertices[i]);
  DenseGraph reduced(std::move(vertices));
  for (std::size_t i = 1; i < order.size(); ++i) {
    double* const row = reduced.row(i);
    for (std::size_t j = 0; j < i; ++j) row[j] = graph.weight(order[i], order[j]);
  }
  eliminate_last(reduced, kept.size(), budget);
  return reduced;
}

/// Elimination with adjacency lists, vertices of few neighbours first. A list may have several entries for a
/// neighbour, whose weights add up, and entries for eliminated vertices, which are void.
class AdjacencyElimination {
 public:
  AdjacencyElimination(const SparseGraph& graph, std::span<const std::int32_t> kept,
                       EliminationBudget& budget)
      : vertices_(graph.vertices),
        budget_(budget),
        lists_(vertices_.size()),
        size_(vertices_.size()),
        bound_(vertices_.size()),
        eliminated_(vertices_.size(), 0),
        place_(vertices_.size(), none),
        remaining_(vertices_.size()),
        kept_(kept.size()) {
    const std::vector<std::size_t> order = kept_first(vertices_, kept);
    is_kept_.assign(vertices_.size(), 0);
    for (std::size_t i = 0; i < kept.size(); ++i) is_kept_[order[i]] = 1;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      lists_[i].assign(graph.of(i).begin(), graph.of(i).end());
      weights_ += lists_[i].size();
      size_[i] = bound_[i] = lists_[i].size();
      enqueue(i);
    }
  }

  ReducedGraph run() {
    while (!budget_.exhausted() && remaining_ > std::max(kept_, small_graph)) {
      const auto [degree, k] = queue_.top();
      queue_.pop();
      if (eliminated_[k] != 0 || degree != bound_[k]) continue;
      combine(k);
      if (2 * lists_[k].size() >= remaining_) return dense();
      eliminate(k);
    }
    combine_all();
    if (remaining_ <= small_graph || 2 * weights_ >= remaining_ * remaining_) return dense();
    return sparse();
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  /// Entries of a list that is combined whenever it changes, at most.
  static constexpr std::size_t short_list = 64;

  void enqueue(std::size_t i) {
    if (is_kept_[i] == 0) queue_.emplace(bound_[i], i);
  }

  /// Adds up the entries of list i for the same neighbour and drops void ones.
  void combine(std::size_t i) {
    std::vector<WeightedNeighbour>& list = lists_[i];
    const std::size_t before = list.size();
    std::size_t size = 0;
    for (const WeightedNeighbour& entry : list) {
      const auto j = static_cast<std::size_t>(entry.vertex);
      if (eliminated_[j] != 0) continue;
      if (place_[j] == none) {
        place_[j] = size;
        list[size++] = entry;
      } else {
        list[place_[j]].weight += entry.weight;
      }
    }
    list.resize(size);
    for (const WeightedNeighbour& entry : list) place_[static_cast<std::size_t>(entry.vertex)] = none;
    weights_ -= before - size;
    size_[i] = bound_[i] = size;
  }
  void combine_all() {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (eliminated_[i] == 0) combine(i);
    }
  }

  /// Eliminates k, whose list is combined.
  void eliminate(std::size_t k) {
    const std::vector<WeightedNeighbour> star = std::move(lists_[k]);
    lists_[k] = {};
    eliminated_[k] = 1;
    --remaining_;
    weights_ -= star.size();
    double degree = 0;
    for (const WeightedNeighbour& entry : star) degree += entry.weight;
    for (const WeightedNeighbour& target : star) connect(target, star, degree);
    budget_.spend(static_cast<std::int64_t>(8 * (star.size() * star.size() + 1)));
    budget_.hold(weights_);
  }
  /// Adds the edges from `target` that the elimination of a star leaves.
  void connect(const WeightedNeighbour& target, const std::vector<WeightedNeighbour>& star, double degree) {
    const auto i = static_cast<std::size_t>(target.vertex);
    std::vector<WeightedNeighbour>& list = lists_[i];
    const std::size_t before = list.size();
    for (const WeightedNeighbour& other : star) {
      const double weight = target.weight * (other.weight / degree);
      if (other.vertex != target.vertex && weight > 0) list.push_back({other.vertex, weight});
    }
    weights_ += list.size() - before;
    bound_[i] = std::min(bound_[i] + star.size() - 2, remaining_ - 1);
    if (list.size() <= short_list || list.size() > 2 * size_[i] + short_list) combine(i);
    enqueue(i);
  }

  SparseGraph sparse() const {
    SparseGraph reduced;
    std::vector<std::int32_t> number(lists_.size(), 0);
    reduced.offsets = {0};
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (eliminated_[i] != 0) continue;
      number[i] = static_cast<std::int32_t>(reduced.vertices.size());
      reduced.vertices.push_back(vertices_[i]);
      reduced.offsets.push_back(reduced.offsets.back() + lists_[i].size());
    }
    reduced.neighbours.reserve(reduced.offsets.back());
    for (const std::vector<WeightedNeighbour>& list : lists_) {
      for (const WeightedNeighbour& entry : list) {
        reduced.neighbours.push_back({number[static_cast<std::size_t>(entry.vertex)], entry.weight});
      }
    }
    return reduced;
  }

  /// Continues with dense weights.
  DenseGraph dense() {
    budget_.hold(remaining_ * remaining_ / 2);
    if (budget_.exhausted()) return DenseGraph({});
    combine_all();
    std::vector<std::size_t> number(lists_.size(), none);
    std::vector<std::int32_t> vertices;
    for (const std::uint8_t kept : {std::uint8_t{1}, std::uint8_t{0}}) {
      for (std::size_t i = 0; i < lists_.size(); ++i) {
        if (eliminated_[i] != 0 || is_kept_[i] != kept) continue;
        number[i] = vertices.size();
        vertices.push_back(vertices_[i]);
      }
    }
    DenseGraph reduced(std::move(vertices));
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      for (const WeightedNeighbour& entry : lists_[i]) {
        const std::size_t j = number[static_cast<std::size_t>(entry.vertex)];
        if (j < number[i]) reduced.row(number[i])[j] = entry.weight;
      }
    }
    eliminate_last(reduced, kept_, budget_);
    return reduced;
  }

  using Entry = std::pair<std::size_t, std::size_t>;  // bound of the degree, vertex

  const std::vector<std::int32_t>& vertices_;
  EliminationBudget& budget_;
  std::vector<std::vector<WeightedNeighbour>> lists_;
  std::vector<std::size_t> size_;   ///< of the list when it was last combined
  std::vector<std::size_t> bound_;  ///< of the number of neighbours, from above
  std::vector<std::uint8_t> is_kept_;
  std::vector<std::uint8_t> eliminated_;
  std::vector<std::size_t> place_;  ///< scratch memory of combine(): `none`, or the entry of a vertex
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::size_t remaining_;    ///< vertices
  std::size_t kept_;         ///< vertices
  std::size_t weights_ = 0;  ///< entries of all lists
};

}  // namespace

ReducedGraph reduce_to(const ReducedGraph& graph, std::span<const std::int32_t> kept,
                       EliminationBudget& budget) {
  if (const auto* const dense = std::get_if<DenseGraph>(&graph)) return reduce_dense(*dense, kept, budget);
  return AdjacencyElimination(std::get<SparseGraph>(graph), kept, budget).run();
}

}  // namespace echelon::graph

// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/coarsening.hpp"

#include "sparse_direct/pattern/chunks.hpp"
#include "support/hash.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Pseudo-random number for an edge, which does not depend on the direction of the edge.
std::uint64_t hash_of_edge(std::int32_t u, std::int32_t v) {
  const auto low = static_cast<std::uint64_t>(std::min(u, v));
  const auto high = static_cast<std::uint64_t>(std::max(u, v));
  std::uint64_t hash = (low << 32 | high) * golden_ratio_64;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93;
  return hash ^ (hash >> 32);
}

class Matching {
 public:
  Matching(const WeightedGraph& graph, std::int64_t largest_weight, int threads)
      : graph_(graph),
        largest_weight_(largest_weight),
        threads_(threads),
        mate_(static_cast<std::size_t>(graph.size()), -1),
        proposal_(static_cast<std::size_t>(graph.size()), -1) {}

  /// Partner of each vertex, or the vertex itself.
  std::vector<std::int32_t> run() {
    constexpr int rounds = 6;
    for (int round = 0; round < rounds; ++round) {
      if (!match_mutual_proposals()) break;
    }
    match_by_common_neighbours();
    for_each_chunk(graph_.size(), threads_, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      for (std::int64_t v = first; v < end; ++v) {
        if (mate_[v] < 0) mate_[v] = static_cast<std::int32_t>(v);
      }
    });
    return std::move(mate_);
  }

 private:
  /// Performs one round of proposals; false if no vertices were left to match.
  bool match_mutual_proposals() {
    std::vector<std::int64_t> proposals(static_cast<std::size_t>(chunks_of(graph_.size())), 0);
    for_each_chunk(graph_.size(), threads_, [&](std::int64_t c, std::int64_t first, std::int64_t end) {
      std::int64_t count = 0;  // threads write to neighbouring elements of `proposals` only once
      for (std::int64_t v = first; v < end; ++v) {
        proposal_[v] = mate_[v] < 0 ? best_free_neighbour(static_cast<std::int32_t>(v)) : -1;
        count += proposal_[v] >= 0 ? 1 : 0;
      }
      proposals[c] = count;
    });
    for_each_chunk(graph_.size(), threads_, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      for (std::int64_t v = first; v < end; ++v) {
        if (proposal_[v] >= 0 && proposal_[proposal_[v]] == v) mate_[v] = proposal_[v];
      }
    });
    return std::any_of(proposals.begin(), proposals.end(), [](std::int64_t count) { return count > 0; });
  }

  /// The neighbour with the largest rating, edge weight^2 / (product of the vertex weights), or -1. The
  /// rating keeps clusters compact (M. Holtgrewe, P. Sanders, C. Schulz, Engineering a scalable high quality
  /// graph partitioner, IPDPS 2010). Ties are broken by a number that both ends of an edge agree on.
  [[nodiscard]] std::int32_t best_free_neighbour(std::int32_t v) const {
    const std::int64_t begin = graph_.pattern.row_begin[v];
    const auto neighbours = graph_.neighbours(v);
    std::int32_t best = -1;
    double best_rating = 0;
    std::uint64_t best_hash = 0;
    for (std::size_t k = 0; k < neighbours.size(); ++k) {
      const std::int32_t u = neighbours[k];
      if (u == v || mate_[u] >= 0) continue;
      const auto weight_product = static_cast<double>(graph_.weight(u)) * graph_.weight(v);
      const auto edge = static_cast<double>(graph_.edge_weight(begin + static_cast<std::int64_t>(k)));
      const double rating = edge * edge / weight_product;
      if (rating < best_rating || !fits(u, v)) continue;
      const std::uint64_t hash = hash_of_edge(u, v);
      if (rating == best_rating && best >= 0 && hash <= best_hash) continue;
      best = u;
      best_rating = rating;
      best_hash = hash;
    }
    return best;
  }

  [[nodiscard]] bool fits(std::int32_t u, std::int32_t v) const {
    return std::int64_t{graph_.weight(u)} + graph_.weight(v) <= largest_weight_;
  }

  /// Pairs free vertices that have the same first neighbour, if many are free. These are the leaves of stars,
  /// of which only one can match the centre.
  void match_by_common_neighbours() {
    const std::int64_t n = graph_.size();
    const std::int64_t free = std::count(mate_.begin(), mate_.end(), -1);
    if (10 * free < n) return;
    std::vector<std::int32_t> waiting(static_cast<std::size_t>(n), -1);  // free vertex at each neighbour
    for (std::int32_t v = 0; v < n; ++v) {
      if (mate_[v] >= 0) continue;
      for (const std::int32_t u : graph_.neighbours(v)) {
        if (u == v) continue;
        const std::int32_t other = std::exchange(waiting[u], v);
        if (other < 0 || !fits(other, v)) break;
        mate_[v] = other;
        mate_[other] = v;
        waiting[u] = -1;
        break;
      }
    }
  }

  const WeightedGraph& graph_;
  std::int64_t largest_weight_;
  int threads_;
  std::vector<std::int32_t> mate_;
  std::vector<std::int32_t> proposal_;
};

/// Contracts the pairs of a matching. Clusters are numbered by their smaller vertices.
class MatchingContraction {
 public:
  MatchingContraction(const WeightedGraph& graph, std::vector<std::int32_t> mate, int threads)
      : graph_(graph), mate_(std::move(mate)), threads_(threads) {}

  CoarseGraph run() {
    number_clusters();
    collect_edges();
    concatenate_edges();
    return std::move(coarse_);
  }

 private:
  struct Edge {
    std::int32_t cluster;
    std::int32_t weight;
  };
  /// Edges of a chunk of clusters.
  struct Edges {
    std::vector<Edge> edges;
    std::vector<std::int32_t> degrees;
  };

  void number_clusters() {
    const std::int64_t n = graph_.size();
    std::vector<std::int64_t> begin(static_cast<std::size_t>(chunks_of(n)) + 1, 0);
    for_each_chunk(n, threads_, [&](std::int64_t c, std::int64_t first, std::int64_t end) {
      std::int64_t count = 0;
      for (std::int64_t v = first; v < end; ++v) count += v <= mate_[v] ? 1 : 0;
      begin[c + 1] = count;
    });
    for (std::size_t c = 1; c < begin.size(); ++c) begin[c] += begin[c - 1];
    coarse_.cluster_of.resize(static_cast<std::size_t>(n));
    representative_.resize(static_cast<std::size_t>(begin.back()));
    for_each_chunk(n, threads_, [&](std::int64_t c, std::int64_t first, std::int64_t end) {
      std::int64_t next = begin[c];
      for (std::int64_t v = first; v < end; ++v) {
        if (v > mate_[v]) continue;
        representative_[next] = static_cast<std::int32_t>(v);
        coarse_.cluster_of[v] = coarse_.cluster_of[mate_[v]] = static_cast<std::int32_t>(next++);
      }
    });
  }

  [[nodiscard]] std::int64_t clusters() const { return static_cast<std::int64_t>(representative_.size()); }

  void collect_edges() {
    chunks_.resize(static_cast<std::size_t>(chunks_of(clusters())));
    coarse_.vertex_weights.resize(representative_.size());
    for_each_chunk(clusters(), threads_, [&](std::int64_t c, std::int64_t first, std::int64_t end) {
      Edges& chunk_edges = chunks_[c];
      chunk_edges.degrees.reserve(static_cast<std::size_t>(end - first));
      const std::int64_t average = graph_.pattern.entries() / std::max<std::int64_t>(1, graph_.size());
      chunk_edges.edges.reserve(static_cast<std::size_t>((end - first) * 2 * average));
      for (std::int64_t cluster = first; cluster < end; ++cluster) {
        const std::int32_t v = representative_[cluster];
        const std::size_t begin = chunk_edges.edges.size();
        append_edges(v, chunk_edges.edges, begin);
        if (mate_[v] != v) append_edges(mate_[v], chunk_edges.edges, begin);
        chunk_edges.degrees.push_back(static_cast<std::int32_t>(merge(chunk_edges.edges, begin)));
        coarse_.vertex_weights[cluster] = graph_.weight(v) + (mate_[v] != v ? graph_.weight(mate_[v]) : 0);
      }
    });
  }

  /// Adds the edges of a vertex to a list that begins at `begin`. Duplicates are merged by a search in short
  /// lists.
  void append_edges(std::int32_t v, std::vector<Edge>& edges, std::size_t begin) const {
    std::int64_t position = graph_.pattern.row_begin[v];
    for (const std::int32_t u : graph_.neighbours(v)) {
      const std::int32_t weight = graph_.edge_weight(position++);
      const std::int32_t cluster = coarse_.cluster_of[u];
      if (cluster == coarse_.cluster_of[v]) continue;
      if (edges.size() - begin <= shortest_sorted) {
        const auto found = std::find_if(edges.begin() + static_cast<std::ptrdiff_t>(begin), edges.end(),
                                        [&](const Edge& edge) { return edge.cluster == cluster; });
        if (found != edges.end()) {
          found->weight += weight;
          continue;
        }
      }
      edges.push_back({cluster, weight});
    }
  }

  /// Merges duplicates in a list that was too long to be searched; returns its length.
  static std::size_t merge(std::vector<Edge>& edges, std::size_t begin) {
    if (edges.size() - begin <= shortest_sorted) return edges.size() - begin;
    const auto first = edges.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, edges.end(), [](const Edge& x, const Edge& y) { return x.cluster < y.cluster; });
    auto last = first;
    for (auto edge = first + 1; edge != edges.end(); ++edge) {
      if (edge->cluster == last->cluster) {
        last->weight += edge->weight;
      } else {
        *++last = *edge;
      }
    }
    edges.erase(last + 1, edges.end());
    return edges.size() - begin;
  }

  void concatenate_edges() {
    std::vector<std::int64_t> begin(chunks_.size() + 1, 0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) begin[c + 1] = begin[c] + std::ssize(chunks_[c].edges);
    coarse_.pattern.row_begin.resize(representative_.size() + 1);
    coarse_.pattern.row_begin[0] = 0;
    coarse_.pattern.columns.resize(static_cast<std::size_t>(begin.back()));
    coarse_.edge_weights.resize(static_cast<std::size_t>(begin.back()));
    for_each_chunk(clusters(), threads_, [&](std::int64_t c, std::int64_t first, std::int64_t) {
      std::int64_t position = begin[c];
      for (const Edge& edge : chunks_[c].edges) {
        coarse_.pattern.columns[position] = edge.cluster;
        coarse_.edge_weights[position++] = edge.weight;
      }
      std::int64_t end = begin[c];
      std::int64_t cluster = first;
      for (const std::int32_t degree : chunks_[c].degrees)
        coarse_.pattern.row_begin[++cluster] = end += degree;
    });
  }

  static constexpr std::size_t shortest_sorted = 32;

  const WeightedGraph& graph_;
  std::vector<std::int32_t> mate_;
  int threads_;
  std::vector<std::int32_t> representative_;  // smaller vertex of each cluster
  std::vector<Edges> chunks_;
  CoarseGraph coarse_;
};

}  // namespace

CoarseGraph coarsened(const WeightedGraph& graph, std::int64_t largest_weight, int threads) {
  return MatchingContraction(graph, Matching(graph, largest_weight, threads).run(), threads).run();
}

}  // namespace echelon::sparse_direct

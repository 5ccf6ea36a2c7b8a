// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/approximate_cholesky/low_degree.hpp"

#include "backend/target.hpp"
#include "graph_laplacian/approximate_cholesky/edge_lists.hpp"

#include <algorithm>
#include <utility>

namespace echelon::graph_laplacian {

namespace {

struct WeightedEdge {
  std::int32_t to;
  double weight;
};

template <class T>
class LowDegreeReduction {
 public:
  LowDegreeReduction(const Csr<T>& A, std::vector<double> excess)
      : offsets_(A.row_offsets().data()),
        columns_(A.column_indices().data()),
        values_(A.values().data()),
        n_(static_cast<std::int32_t>(A.rows())),
        vertices_(static_cast<std::size_t>(n_)),
        excess_(std::move(excess)) {}

  template <class B>
  LowDegreeElimination run(B& backend) {
    std::int64_t low = 0;
    backend.reduce(
        n_, [this](std::int64_t v) { return Sum{count_edges(static_cast<std::int32_t>(v)) ? 1.0 : 0.0}; },
        [&low](Sum sum) { low = static_cast<std::int64_t>(sum.value); });
    if (5 * low < n_) return {};
    for (std::int32_t v = 0; v < n_; ++v) {
      pending_.push_back(v);
      while (!pending_.empty()) {
        const std::int32_t next = pending_.back();
        pending_.pop_back();
        if (at(next).degree >= 0 && at(next).degree <= highest_degree) eliminate(next);
      }
    }
    build_core();
    return std::move(result_);
  }

 private:
  static constexpr std::int32_t highest_degree = 2;
  static constexpr std::int32_t eliminated = -1;

  struct Vertex {
    std::int32_t degree = 0;  ///< number of edges to remaining vertices
    std::int32_t edges = EdgeLists<double>::empty;
    std::int32_t place = -1;  ///< index in the star being collected; in the end, index in the core
  };
  Vertex& at(std::int32_t v) { return vertices_[static_cast<std::size_t>(v)]; }
  double& excess(std::int32_t v) { return excess_[static_cast<std::size_t>(v)]; }

  /// Sets the degree of v; true if it is low.
  bool count_edges(std::int32_t v) {
    std::int32_t degree = 0;
    for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
      if (columns_[k] != v && values_[k] != T{0}) ++degree;
    }
    at(v).degree = degree;
    return degree <= highest_degree;
  }

  /// Collects the edges of v to remaining vertices. An edge of A and a new edge to the same vertex stay
  /// separate.
  void collect(std::int32_t v) {
    star_.clear();
    for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
      const std::int32_t u = columns_[k];
      if (u == v || values_[k] == T{0} || at(u).degree == eliminated) continue;
      star_.push_back({u, -static_cast<double>(values_[k])});
    }
    own_edges_ = star_.size();
    edges_.drain(at(v).edges, [this](std::int32_t u, double weight) {
      if (at(u).degree != eliminated) star_.push_back({u, weight});
    });
    at(v).edges = EdgeLists<double>::empty;
  }

  /// Eliminates v. In a pattern that is not symmetric, as that of a matrix whose small elements differ from
  /// their mirror images, v may have more neighbours than it is one of, and then stays.
  void eliminate(std::int32_t v) {
    collect(v);
    if (star_.size() > highest_degree) {
      at(v).degree = static_cast<std::int32_t>(star_.size());
      for (std::size_t i = own_edges_; i < star_.size(); ++i)
        edges_.add(star_[i].to, star_[i].weight, at(v).edges);
      return;
    }
    at(v).degree = eliminated;
    double total = excess(v);
    for (const WeightedEdge& edge : star_) total += edge.weight;
    const double inverse = total > 0 ? 1 / total : 0;
    LowDegreeStep step{v, {-1, -1}, {0, 0}, inverse};
    for (std::size_t i = 0; i < star_.size(); ++i) {
      const auto [u, weight] = star_[i];
      step.neighbour[i] = u;
      step.fraction[i] = weight * inverse;
      excess(u) += excess(v) * step.fraction[i];
      if (at(u).degree > 0) --at(u).degree;
    }
    if (star_.size() == 2 && star_[0].to != star_[1].to) {
      const double weight = star_[0].weight * step.fraction[1];
      edges_.add(star_[1].to, weight, at(star_[0].to).edges);
      edges_.add(star_[0].to, weight, at(star_[1].to).edges);
      ++at(star_[0].to).degree;
      ++at(star_[1].to).degree;
    }
    for (const WeightedEdge& edge : star_) {
      if (at(edge.to).degree <= highest_degree) pending_.push_back(edge.to);
    }
    result_.steps.push_back(step);
  }

  /// Builds the matrix of the remaining graph, with parallel edges merged.
  void build_core() {
    auto& kept = result_.kept;
    for (std::int32_t v = 0; v < n_; ++v) {
      if (at(v).degree == eliminated) continue;
      at(v).place = static_cast<std::int32_t>(kept.size());
      kept.push_back(v);
    }
    const auto m = static_cast<std::int64_t>(kept.size());
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    result_.core_excess.reserve(kept.size());
    for (const std::int32_t v : kept) {
      collect(v);
      const std::int32_t own = at(v).place;
      double diagonal = excess(v);
      for (WeightedEdge& edge : star_) {
        diagonal += edge.weight;
        edge.to = at(edge.to).place;
        edge.weight = -edge.weight;
      }
      star_.push_back({own, diagonal});
      std::sort(star_.begin(), star_.end(), [](const WeightedEdge& a, const WeightedEdge& b) {
        return a.to != b.to ? a.to < b.to : a.weight < b.weight;
      });
      const std::size_t first = columns.size();
      for (const WeightedEdge& edge : star_) {
        if (columns.size() > first && columns.back() == edge.to) {
          values.back() += edge.weight;
        } else {
          columns.push_back(edge.to);
          values.push_back(edge.weight);
        }
      }
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
      result_.core_excess.push_back(excess(v));
    }
    const Device host;
    result_.core =
        Csr<double>::unchecked(m, m, Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                               Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
                               Array<double>(host, std::span<const double>(values)));
  }

  const std::int64_t* offsets_;
  const std::int32_t* columns_;
  const T* values_;
  std::int32_t n_;
  std::vector<Vertex> vertices_;
  std::vector<double> excess_;
  EdgeLists<double> edges_;
  std::vector<WeightedEdge> star_;
  std::size_t own_edges_ = 0;  // edges of A in star_, which are the first
  std::vector<std::int32_t> pending_;
  LowDegreeElimination result_;
};

}  // namespace

// The chains of dependent steps of several vectors overlap, and each step is read once for all of them.

void LowDegreeElimination::restrict_to(std::span<const ReducedVector> vectors) const {
  for (const LowDegreeStep& step : steps) {
    for (int side = 0; side < 2; ++side) {
      if (step.neighbour[side] < 0) continue;
      for (const ReducedVector& v : vectors)
        v.r[step.neighbour[side]] += step.fraction[side] * v.r[step.vertex];
    }
  }
  for (const ReducedVector& v : vectors) {
    for (std::size_t i = 0; i < kept.size(); ++i) v.core_r[i] = v.r[kept[i]];
  }
}

void LowDegreeElimination::prolong(std::span<const ProlongedVector> vectors) const {
  for (const ProlongedVector& v : vectors) {
    for (std::size_t i = 0; i < kept.size(); ++i) v.r[kept[i]] = v.core_x[i];
  }
  for (std::size_t k = steps.size(); k-- > 0;) {
    const LowDegreeStep& step = steps[k];
    for (const ProlongedVector& v : vectors) {
      double own = v.r[step.vertex] * step.inverse_pivot;
      for (int side = 0; side < 2; ++side) {
        if (step.neighbour[side] >= 0) own += step.fraction[side] * v.r[step.neighbour[side]];
      }
      v.r[step.vertex] = own;
    }
  }
}

template <class B>
LowDegreeElimination eliminate_low_degrees(B& backend, const Csr<double>& A,
                                           const std::vector<double>& excess) {
  return LowDegreeReduction<double>(A, excess).run(backend);
}
template LowDegreeElimination eliminate_low_degrees(Host&, const Csr<double>&, const std::vector<double>&);

}  // namespace echelon::graph_laplacian

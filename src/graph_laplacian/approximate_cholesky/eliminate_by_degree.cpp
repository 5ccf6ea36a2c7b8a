// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/approximate_cholesky/degree_queue.hpp"
#include "graph_laplacian/approximate_cholesky/edge_lists.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/star.hpp"

#include <utility>

namespace echelon::graph_laplacian {

namespace {

/// Graph during the elimination: the edges of A, read in place, and the sampled edges in lists that only
/// grow. An edge is in the lists of both of its ends; entries whose other end has been eliminated are skipped
/// when the list is read, which happens once.
template <class F, class T>
class Elimination {
 public:
  Elimination(const Csr<T>& A, const T* excess, const SamplingOptions& options)
      : offsets_(A.row_offsets().data()),
        columns_(A.column_indices().data()),
        values_(A.values().data()),
        n_(static_cast<std::int32_t>(A.rows())),
        options_(options),
        vertices_(static_cast<std::size_t>(n_)),
        ground_(excess, excess + n_) {
    for (double& weight : ground_) weight *= options_.scale;
    const auto expected = static_cast<std::size_t>(A.nonzeros() * 3 / 2);
    factor_.rows.reserve(expected);
    factor_.values.reserve(expected);
    factor_.order.reserve(static_cast<std::size_t>(n_));
    factor_.inverse_pivots.reserve(static_cast<std::size_t>(n_));
    factor_.offsets.reserve(static_cast<std::size_t>(n_) + 1);
    factor_.offsets.push_back(0);
    for (std::int32_t v = n_; v-- > 0;) {
      std::int32_t degree = 0;
      for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
        if (columns_[k] != v && values_[k] != T{0}) degree += options_.split;
      }
      at(v).degree = degree;
      queue_.put(v, degree, at(v).bucket);
    }
  }

  ApproximateFactor<F> run(const std::stop_token& cancel) {
    constexpr std::int64_t steps_per_check = 65536;
    bool exact = true;
    const auto bucket_of = [this](std::int32_t v) -> DegreeQueue::Bucket& { return at(v).bucket; };
    for (std::int32_t v = queue_.take(bucket_of); v >= 0; v = queue_.take(bucket_of)) {
      collect_star(v);
      const bool samples = star_.size() > 2;
      if (exact && samples) {
        exact = false;
        factor_.exact_columns = factor_.vertices();
      }
      if (samples) sort_by_weight(star_, options_.split);
      store_column(v);
      at(v).degree = eliminated;
      changes_.assign(star_.size(), 0);
      sample_clique(star_, options_.seed, v, options_.split, suffix_,
                    [this](std::size_t i, std::size_t j, double weight) { join(i, j, weight); });
      update_degrees();
      if (factor_.vertices() % steps_per_check == 0 && cancel.stop_requested()) break;
    }
    if (exact) factor_.exact_columns = factor_.vertices();
    return std::move(factor_);
  }

 private:
  static constexpr std::int32_t eliminated = -1;

  struct Vertex {
    std::int32_t edges = EdgeLists<F>::empty;  ///< list of sampled edges
    std::int32_t degree = 0;                   ///< number of copies of edges to remaining vertices
    std::uint32_t slot = 0;                    ///< index in the star; valid if the star has this vertex there
    DegreeQueue::Bucket bucket = DegreeQueue::none;
  };

  Vertex& at(std::int32_t v) { return vertices_[static_cast<std::size_t>(v)]; }

  /// Collects the remaining neighbours of v in the star, each once, with the ground last.
  void collect_star(std::int32_t v) {
    star_.clear();
    for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
      const std::int32_t u = columns_[k];
      if (u == v || at(u).degree == eliminated || values_[k] == T{0}) continue;
      at(u).slot = static_cast<std::uint32_t>(star_.size());
      star_.push_back({-options_.scale * static_cast<double>(values_[k]), u, options_.split});
    }
    edges_.drain(at(v).edges, [this](std::int32_t u, F weight) {
      Vertex& other = at(u);
      if (other.degree == eliminated) return;
      if (other.slot < star_.size() && star_[other.slot].vertex == u) {
        star_[other.slot].weight += static_cast<double>(weight);
        ++star_[other.slot].copies;
      } else {
        other.slot = static_cast<std::uint32_t>(star_.size());
        star_.push_back({static_cast<double>(weight), u, 1});
      }
    });
    const double ground = ground_[static_cast<std::size_t>(v)];
    if (ground > 0) star_.push_back({ground, n_, options_.split});
  }

  void store_column(std::int32_t v) {
    double total = 0;
    for (const Neighbour& neighbour : star_) total += neighbour.weight;
    const double inverse = total > 0 ? 1 / total : 0;
    for (const Neighbour& neighbour : star_) {
      if (neighbour.vertex == n_) continue;
      factor_.rows.push_back(neighbour.vertex);
      factor_.values.push_back(static_cast<F>(neighbour.weight * inverse));
    }
    factor_.order.push_back(v);
    factor_.inverse_pivots.push_back(inverse * options_.scale);
    factor_.offsets.push_back(factor_.nonzeros());
  }

  /// Adds an edge between two neighbours in the star, one of which may be the ground.
  void join(std::size_t i, std::size_t j, double weight) {
    const std::int32_t u = star_[i].vertex;
    const std::int32_t w = star_[j].vertex;
    if (u == n_ || w == n_) {
      ground_[static_cast<std::size_t>(u == n_ ? w : u)] += weight;
      return;
    }
    ++changes_[i];
    ++changes_[j];
    edges_.add(w, static_cast<F>(weight), at(u).edges);
    edges_.add(u, static_cast<F>(weight), at(w).edges);
  }

  void update_degrees() {
    for (std::size_t i = 0; i < star_.size(); ++i) {
      const std::int32_t u = star_[i].vertex;
      if (u == n_) continue;
      Vertex& vertex = at(u);
      vertex.degree += changes_[i] - star_[i].copies;
      queue_.put(u, vertex.degree, vertex.bucket);
    }
  }

  const std::int64_t* offsets_;
  const std::int32_t* columns_;
  const T* values_;
  std::int32_t n_;
  SamplingOptions options_;
  std::vector<Vertex> vertices_;
  std::vector<double> ground_;  // weight of each vertex's edge to the ground
  DegreeQueue queue_;
  EdgeLists<F> edges_;
  std::vector<Neighbour> star_;
  std::vector<std::int32_t> changes_;
  std::vector<double> suffix_;
  ApproximateFactor<F> factor_;
};

}  // namespace

template <class F, class T>
ApproximateFactor<F> eliminate_by_degree(const Csr<T>& A, const T* excess, const SamplingOptions& options,
                                         const std::stop_token& cancel) {
  return Elimination<F, T>(A, excess, options).run(cancel);
}

template ApproximateFactor<float> eliminate_by_degree(const Csr<float>&, const float*, const SamplingOptions&,
                                                      const std::stop_token&);
template ApproximateFactor<float> eliminate_by_degree(const Csr<double>&, const double*,
                                                      const SamplingOptions&, const std::stop_token&);
template ApproximateFactor<double> eliminate_by_degree(const Csr<double>&, const double*,
                                                       const SamplingOptions&, const std::stop_token&);

}  // namespace echelon::graph_laplacian

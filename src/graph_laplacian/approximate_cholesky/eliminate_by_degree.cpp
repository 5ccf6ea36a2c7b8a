// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "graph_laplacian/approximate_cholesky/degree_queue.hpp"
#include "graph_laplacian/approximate_cholesky/edge_lists.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/for_nodes.hpp"
#include "graph_laplacian/approximate_cholesky/star.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

namespace echelon::graph_laplacian {

namespace {

/// State of a vertex during the elimination, written by the node that it belongs to.
template <class F>
struct Vertex {
  std::int32_t edges = EdgeLists<F>::empty;  ///< list of sampled edges
  std::int32_t degree = 0;                   ///< number of copies of edges to remaining vertices
  std::uint32_t slot = 0;                    ///< index in the star; valid if the star has this vertex there.
                                             ///< Once eliminated: index in the node's block
  DegreeQueue::Bucket bucket = DegreeQueue::none;
  std::uint8_t level = 0;  ///< level of its node
};

template <class F>
struct SetLevel {
  const std::uint8_t* level_of;
  Vertex<F>* vertices;
  void operator()(std::int64_t v) const { vertices[v].level = level_of[v]; }
};

/// Sampled edge between two ancestors of a node, or between an ancestor and the ground.
struct PassedEdge {
  std::int32_t first;
  std::int32_t second;
  double weight;
};

/// Graph that all nodes share.
template <class F>
struct SharedGraph {
  const Csr<double>* A;
  const double* excess;
  SamplingOptions options;
  const EliminationTree* tree;
  std::vector<Vertex<F>> vertices;
  std::vector<std::vector<PassedEdge>> passed;  ///< by node: edges for its ancestors
  ApproximateFactor<F>* factor;
  std::atomic<std::int64_t> eliminated{0};  ///< vertices, in the units of tests for a request to stop
};

/// Elimination of one node of the tree: the edges of A, read in place, and the sampled edges in lists that
/// only grow. An edge within the node is in the lists of both of its ends; entries whose other end has been
/// eliminated are skipped when the list is read, which happens once. An edge to an ancestor is in the list of
/// the node's vertex alone.
template <class F>
class TreeNodeElimination {
 public:
  TreeNodeElimination(SharedGraph<F>& graph, std::int32_t node, int level)
      : graph_(&graph),
        tree_(graph.tree),
        offsets_(graph.A->row_offsets().data()),
        columns_(graph.A->column_indices().data()),
        values_(graph.A->values().data()),
        n_(static_cast<std::int32_t>(graph.A->rows())),
        options_(graph.options),
        vertices_(graph.vertices.data()),
        node_(node),
        level_(level),
        factor_(&graph.factor->nodes[static_cast<std::size_t>(node)]),
        passed_(&graph.passed[static_cast<std::size_t>(node)]),
        members_(graph.tree->members.data() + graph.tree->offsets[static_cast<std::size_t>(node)]),
        size_(graph.tree->size(node)) {
    place_ancestors();
  }

  void run(const SetupControl& control) {
    receive();
    start();
    eliminate(control);
    if (control.stop_requested()) return;
    number_rows();
  }

 private:
  static constexpr std::int32_t eliminated = -1;
  static constexpr std::int32_t absent = -1;

  /// Numbers the vertices of all ancestors, level by level.
  void place_ancestors() {
    const EliminationTree& tree = *tree_;
    std::int64_t count = 0;
    for (int level = level_ + 1; level < tree.levels; ++level) {
      ancestor_begin_[static_cast<std::size_t>(level)] = count;
      count += tree.size(tree.first_node(level) + ((node_ - tree.first_node(level_)) >> (level - level_)));
    }
    ancestor_slot_.assign(static_cast<std::size_t>(count), 0);
    ancestor_row_.assign(static_cast<std::size_t>(count), absent);
  }
  [[nodiscard]] std::size_t ancestor(std::int32_t v) const {
    return static_cast<std::size_t>(ancestor_begin_[vertices_[v].level] +
                                    tree_->rank[static_cast<std::size_t>(v)]);
  }
  [[nodiscard]] bool is_own(std::int32_t v) const { return vertices_[v].level == level_; }
  /// Index of an ancestor in the node's boundary.
  std::int32_t boundary_row(std::int32_t v) {
    std::int32_t& row = ancestor_row_[ancestor(v)];
    if (row == absent) {
      row = static_cast<std::int32_t>(factor_->boundary.size());
      factor_->boundary.push_back(v);
    }
    return row;
  }

  Vertex<F>& at(std::int32_t v) { return vertices_[v]; }
  double& ground(std::int32_t v) {
    return ground_[static_cast<std::size_t>(tree_->rank[static_cast<std::size_t>(v)])];
  }

  /// Takes the edges that the children pass up, the first child's before the second's.
  void receive() {
    ground_.resize(static_cast<std::size_t>(size_));
    for (std::int64_t k = 0; k < size_; ++k) {
      ground_[static_cast<std::size_t>(k)] = graph_->excess[members_[k]] * options_.scale;
    }
    if (level_ == 0) return;
    for (const std::int32_t child : tree_->children(node_, level_)) {
      std::vector<PassedEdge>& edges = graph_->passed[static_cast<std::size_t>(child)];
      for (const PassedEdge& edge : edges) {
        add_edge(edge.first, edge.second, edge.weight);
        if (edge.second == n_) continue;
        for (const std::int32_t end : {edge.first, edge.second}) {
          if (is_own(end)) ++at(end).degree;
        }
      }
      edges = {};
    }
  }

  void start() {
    for (std::int64_t k = size_; k-- > 0;) {
      const std::int32_t v = members_[k];
      Vertex<F>& vertex = at(v);
      for (std::int64_t e = offsets_[v]; e < offsets_[v + 1]; ++e) {
        const std::int32_t u = columns_[e];
        if (u == v || values_[e] == 0 || at(u).level < level_) continue;
        vertex.degree += options_.split;
      }
      queue_.put(v, vertex.degree, vertex.bucket);
    }
    const auto count = static_cast<std::size_t>(size_);
    factor_->rows.reserve(expected_nonzeros());
    factor_->values.reserve(expected_nonzeros());
    factor_->order.reserve(count);
    factor_->inverse_pivots.reserve(count);
    factor_->offsets.reserve(count + 1);
    factor_->offsets.push_back(0);
  }
  [[nodiscard]] std::size_t expected_nonzeros() const {
    std::int64_t nonzeros = 0;
    for (std::int64_t k = 0; k < size_; ++k) nonzeros += offsets_[members_[k] + 1] - offsets_[members_[k]];
    return static_cast<std::size_t>(nonzeros * 3 / 2);
  }

  void eliminate(const SetupControl& control) {
    constexpr std::int64_t steps_per_check = 8192;
    const auto bucket_of = [this](std::int32_t v) -> DegreeQueue::Bucket& { return at(v).bucket; };
    for (std::int32_t v = queue_.take(bucket_of); v >= 0; v = queue_.take(bucket_of)) {
      collect_star(v);
      if (star_.size() > 2) sort_by_weight(star_, options_.split);
      store_column(v);
      at(v).degree = eliminated;
      changes_.assign(star_.size(), 0);
      sample_clique(star_, options_.seed, v, options_.split, suffix_,
                    [this](std::size_t i, std::size_t j, double weight) { join(i, j, weight); });
      update_degrees();
      if (factor_->vertices() % steps_per_check != 0) continue;
      const std::int64_t done = graph_->eliminated += steps_per_check;  // by all threads
      if (control.stops_at(static_cast<double>(done) / static_cast<double>(n_))) return;
    }
  }

  std::uint32_t& slot_of(std::int32_t u) { return is_own(u) ? at(u).slot : ancestor_slot_[ancestor(u)]; }

  /// Collects the remaining neighbours of v in the star, each once, with the ground last.
  void collect_star(std::int32_t v) {
    star_.clear();
    for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
      const std::int32_t u = columns_[k];
      if (u == v || at(u).degree == eliminated || values_[k] == 0) continue;
      slot_of(u) = static_cast<std::uint32_t>(star_.size());
      star_.push_back({-options_.scale * values_[k], u, options_.split});
    }
    edges_.drain(at(v).edges, [this](std::int32_t u, F weight) {
      if (at(u).degree == eliminated) return;
      std::uint32_t& slot = slot_of(u);
      if (slot < star_.size() && star_[slot].vertex == u) {
        star_[slot].weight += static_cast<double>(weight);
        ++star_[slot].copies;
      } else {
        slot = static_cast<std::uint32_t>(star_.size());
        star_.push_back({static_cast<double>(weight), u, 1});
      }
    });
    const double own = ground(v);
    if (own > 0) star_.push_back({own, n_, options_.split});
  }

  /// Stores a column; rows of ancestors are stored as -1 - row until the node's size is known.
  void store_column(std::int32_t v) {
    double total = 0;
    for (const Neighbour& neighbour : star_) total += neighbour.weight;
    const double inverse = total > 0 ? 1 / total : 0;
    for (const Neighbour& neighbour : star_) {
      if (neighbour.vertex == n_) continue;
      factor_->rows.push_back(is_own(neighbour.vertex) ? neighbour.vertex
                                                       : -1 - boundary_row(neighbour.vertex));
      factor_->values.push_back(static_cast<F>(neighbour.weight * inverse));
    }
    factor_->order.push_back(v);
    factor_->inverse_pivots.push_back(inverse * options_.scale);
    factor_->offsets.push_back(factor_->nonzeros());
  }

  /// Adds an edge between two neighbours in the star, one of which may be the ground.
  void join(std::size_t i, std::size_t j, double weight) {
    const std::int32_t u = star_[i].vertex;
    const std::int32_t w = star_[j].vertex;
    if (u == n_) {
      add_edge(w, u, weight);
      return;
    }
    if (w != n_) {
      ++changes_[i];
      ++changes_[j];
    }
    add_edge(u, w, weight);
  }

  /// Adds an edge between remaining vertices; the second end may be the ground.
  void add_edge(std::int32_t u, std::int32_t w, double weight) {
    const bool u_is_own = is_own(u);
    if (w == n_) {
      if (u_is_own) {
        ground(u) += weight;
      } else {
        passed_->push_back({u, w, weight});
      }
      return;
    }
    const bool w_is_own = is_own(w);
    if (u_is_own) edges_.add(w, static_cast<F>(weight), at(u).edges);
    if (w_is_own) edges_.add(u, static_cast<F>(weight), at(w).edges);
    if (!u_is_own && !w_is_own) passed_->push_back({u, w, weight});
  }

  void update_degrees() {
    for (std::size_t i = 0; i < star_.size(); ++i) {
      const std::int32_t u = star_[i].vertex;
      if (u == n_ || !is_own(u)) continue;
      Vertex<F>& vertex = at(u);
      vertex.degree += changes_[i] - star_[i].copies;
      queue_.put(u, vertex.degree, vertex.bucket);
    }
  }

  /// Renumbers rows to indices in the node's block, and connects the children's boundaries with it.
  void number_rows() {
    const auto size = static_cast<std::int32_t>(size_);
    for (std::int32_t k = 0; k < size; ++k)
      at(factor_->order[static_cast<std::size_t>(k)]).slot = static_cast<std::uint32_t>(k);
    if (level_ > 0) {
      for (const std::int32_t child : tree_->children(node_, level_)) {
        FactorNode<F>& below = graph_->factor->nodes[static_cast<std::size_t>(child)];
        below.parent_rows.reserve(below.boundary.size());
        for (const std::int32_t v : below.boundary) {
          below.parent_rows.push_back(is_own(v) ? static_cast<std::int32_t>(at(v).slot)
                                                : size + boundary_row(v));
        }
      }
    }
    for (std::int32_t& row : factor_->rows) {
      row = row < 0 ? size - 1 - row : static_cast<std::int32_t>(at(row).slot);
    }
  }

  SharedGraph<F>* graph_;
  const EliminationTree* tree_;
  const std::int64_t* offsets_;
  const std::int32_t* columns_;
  const double* values_;
  std::int32_t n_;
  SamplingOptions options_;
  Vertex<F>* vertices_;
  std::int32_t node_;
  int level_;
  FactorNode<F>* factor_;
  std::vector<PassedEdge>* passed_;
  const std::int32_t* members_;
  std::int64_t size_;
  std::array<std::int64_t, EliminationTree::most_levels> ancestor_begin_{};
  std::vector<std::uint32_t> ancestor_slot_;
  std::vector<std::int32_t> ancestor_row_;  // index in the boundary, or absent
  std::vector<double> ground_;              // weight of each own vertex's edge to the ground
  DegreeQueue queue_;
  EdgeLists<F> edges_;
  std::vector<Neighbour> star_;
  std::vector<std::int32_t> changes_;
  std::vector<double> suffix_;
};

}  // namespace

template <class F, class B>
ApproximateFactor<F> eliminate_by_degree(B& backend, const Csr<double>& A, const double* excess,
                                         const EliminationTree& tree, const SamplingOptions& options,
                                         const SetupControl& control) {
  ApproximateFactor<F> factor;
  factor.levels = tree.levels;
  const auto nodes = static_cast<std::size_t>(tree.nodes());
  factor.nodes.resize(nodes);
  SharedGraph<F> graph{&A, excess, options, &tree, {}, {}, &factor, {}};
  graph.vertices.resize(static_cast<std::size_t>(A.rows()));
  backend.for_each(A.rows(), SetLevel<F>{tree.level_of.data(), graph.vertices.data()});
  graph.passed.resize(nodes);
  for (int level = 0; level < tree.levels; ++level) {
    for_nodes(backend, tree.width(level), [&](std::int32_t k) {
      TreeNodeElimination<F>(graph, tree.first_node(level) + k, level).run(control);
    });
    if (control.stop_requested()) return {};
  }
  factor.place_blocks();
  return factor;
}

template ApproximateFactor<float> eliminate_by_degree(Host&, const Csr<double>&, const double*,
                                                      const EliminationTree&, const SamplingOptions&,
                                                      const SetupControl&);
template ApproximateFactor<double> eliminate_by_degree(Host&, const Csr<double>&, const double*,
                                                       const EliminationTree&, const SamplingOptions&,
                                                       const SetupControl&);

}  // namespace echelon::graph_laplacian

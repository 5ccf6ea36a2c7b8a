// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/ordering/dissection/gain_queue.hpp"
#include "sparse_direct/ordering/dissection/separator_tree.hpp"
#include "sparse_direct/ordering/dissection/weighted_graph.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace echelon::sparse_direct {

/// Properties of a vertex that a refinement reads for all neighbours, next to each other in memory.
struct LabelledVertex {
  SeparatorTree::Node label;  ///< the node that it belongs to
  std::int32_t weight;
  std::int32_t slot;  ///< scratch memory, -1 between two refinements
};

/// A graph with the nodes of a separator tree that its vertices belong to. Tasks for nodes of which none is
/// below another work on disjoint vertices.
struct LabelledGraph {
  WeightedGraph graph;
  std::span<LabelledVertex> vertices;

  /// Moves a vertex of the task's node to a node. A task of another node may at the same time read the label
  /// of the vertex, to check that the vertex still belongs to its node.
  void set_label(std::int32_t v, SeparatorTree::Node node) const {
    std::atomic_ref(vertices[v].label).store(node, std::memory_order_relaxed);
  }
  [[nodiscard]] bool has_label(std::int32_t v, SeparatorTree::Node node) const {
    return std::atomic_ref(vertices[v].label).load(std::memory_order_relaxed) == node;
  }
};

/// Moves vertices between the separator of one node and its two sides. C. Fiduccia, R. Mattheyses, A
/// linear-time heuristic for improving network partitions, DAC (1982); for separators: C. Ashcraft, J. Liu, A
/// partition improvement algorithm for generalized nested dissection, BCSTECH-94-020 (1994).
class SeparatorRefinement {
 public:
  using Node = SeparatorTree::Node;

  SeparatorRefinement(const LabelledGraph& graph, SeparatorTree& tree, Node node);

  /// Makes the separator lighter, without making the heavier side heavier than `largest_side`. `separator`
  /// lists its vertices. Afterwards it lists them again.
  void refine(std::vector<std::int32_t>& separator, std::int64_t largest_side, int passes);

  /// Vertices that changed sides or left the separator for one, since the construction.
  [[nodiscard]] const std::vector<std::int32_t>& moved() const { return moved_; }

  /// Grows side 0 from a vertex until it is as heavy as side 1, to which all `vertices` belong. Leaves the
  /// separator in the list.
  void grow(std::span<const std::int32_t> vertices, std::size_t first, std::vector<std::int32_t>& separator);

 private:
  /// A vertex that is or was part of the separator.
  struct Candidate {
    std::int32_t vertex;
    bool moved;                        ///< once in this pass
    std::array<std::int64_t, 2> gain;  ///< by how much the separator gets lighter if it moves to either side
  };
  struct Change {
    std::int32_t vertex;
    Node before;
    Node after;
  };
  struct Quality {
    std::int64_t excess;  ///< of the heavier side over the limit
    std::int64_t separator;
    std::int64_t heavier_side;
    friend bool operator<(const Quality& a, const Quality& b) {
      return std::tie(a.excess, a.separator, a.heavier_side) <
             std::tie(b.excess, b.separator, b.heavier_side);
    }
  };

  void begin_pass(std::span<const std::int32_t> separator, std::int64_t typical_weight);
  bool run_pass(std::int64_t largest_side);
  void end_pass(std::vector<std::int32_t>& separator);

  [[nodiscard]] int choose_side(std::int64_t largest_side);
  [[nodiscard]] const Candidate* best_candidate(int side);
  void move_best(int side);
  void pull(std::int32_t vertex, int side);
  void gain_neighbour(std::int32_t vertex, int side, std::int64_t weight);
  void add_candidate(std::int32_t vertex);
  void add_candidate(std::int32_t vertex, const std::array<std::int64_t, 2>& gain);
  void change_label(std::int32_t vertex, int from, int to, Node label);
  void undo(std::size_t changes);

  [[nodiscard]] int side_of(std::int32_t vertex) const {
    return SeparatorTree::side_of(g_.vertices[vertex].label, node_);
  }
  [[nodiscard]] Quality quality(std::int64_t largest_side) const;

  LabelledGraph g_;
  SeparatorTree& tree_;
  Node node_;
  std::array<std::int64_t, 3> weight_;  // of the sides and of the separator
  std::vector<Candidate> candidates_;
  std::array<GainQueue, 2> queue_;    // of the moves to either side
  int preferred_side_ = 0;            // for equal gains
  std::vector<std::int32_t> pulled_;  // by one move
  std::vector<Change> changes_;       // of this pass
  std::vector<std::int32_t> moved_;
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/separator_refinement.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

using Node = SeparatorTree::Node;

/// The node that a vertex can join below a given one without being connected to two branches: the deepest of
/// its neighbours' labels, or where these part.
class CommonBranch {
 public:
  explicit CommonBranch(Node top) : node_(top) {}

  /// Adds the label of a neighbour, which is `top` or below it.
  void add(Node label) {
    const int deeper = std::bit_width(label) - std::bit_width(node_);
    const Node a = deeper > 0 ? label >> deeper : label;
    const Node b = deeper < 0 ? node_ >> -deeper : node_;
    if (a != b) {
      node_ = a >> std::bit_width(a ^ b);
      parted_ = true;
    } else if (!parted_ && deeper > 0) {
      node_ = label;
    }
  }
  [[nodiscard]] Node node() const { return node_; }

 private:
  Node node_;
  bool parted_ = false;
};

}  // namespace

SeparatorRefinement::SeparatorRefinement(const LabelledGraph& graph, SeparatorTree& tree, Node node)
    : g_(graph),
      tree_(tree),
      node_(node),
      weight_{tree.weight(SeparatorTree::child(node, 0)), tree.weight(SeparatorTree::child(node, 1)),
              tree.separator_weight(node)} {}

void SeparatorRefinement::refine(std::vector<std::int32_t>& separator, std::int64_t largest_side,
                                 int passes) {
  for (int pass = 0; pass < passes && !separator.empty(); ++pass) {
    preferred_side_ = pass % 2;
    begin_pass(separator, weight_[SeparatorTree::separator] / std::ssize(separator));
    const bool improved = run_pass(largest_side);
    end_pass(separator);
    if (!improved) break;
  }
}

void SeparatorRefinement::grow(std::span<const std::int32_t> vertices, std::size_t first,
                               std::vector<std::int32_t>& separator) {
  begin_pass({}, tree_.weight(node_) / std::ssize(vertices));
  std::size_t seed = first;
  for (std::size_t seeds = 0; seeds < vertices.size() && weight_[0] < weight_[1]; ++seeds) {
    const std::int32_t vertex = vertices[seed];
    seed = seed + 1 < vertices.size() ? seed + 1 : 0;
    if (side_of(vertex) != 1) continue;
    pull(vertex, 0);
    while (weight_[0] < weight_[1] && best_candidate(0) != nullptr) move_best(0);
  }
  end_pass(separator);
}

void SeparatorRefinement::begin_pass(std::span<const std::int32_t> separator, std::int64_t typical_weight) {
  changes_.clear();
  for (GainQueue& queue : queue_) queue.reset(typical_weight);
  for (const std::int32_t vertex : separator) add_candidate(vertex);
}

/// Moves the best vertex repeatedly, even if the separator grows, and returns to the best state. True if that
/// is better than the initial state.
bool SeparatorRefinement::run_pass(std::int64_t largest_side) {
  const std::size_t most_moves_without_gain = std::clamp<std::size_t>(8 * candidates_.size(), 100, 2000);
  const Quality first = quality(largest_side);
  Quality best = first;
  std::size_t best_changes = 0;
  for (std::size_t moves = 0; moves < most_moves_without_gain; ++moves) {
    const int side = choose_side(largest_side);
    if (side < 0) break;
    move_best(side);
    const Quality now = quality(largest_side);
    if (now < best) {
      best = now;
      best_changes = changes_.size();
      moves = 0;
    }
  }
  undo(best_changes);
  return best < first;
}

/// Updates the weights of the nodes below, and lists the separator.
void SeparatorRefinement::end_pass(std::vector<std::int32_t>& separator) {
  for (const auto& [vertex, before, after] : changes_) {
    const std::int64_t weight = g_.vertices[vertex].weight;
    tree_.add_weight(before, node_, -weight);
    tree_.add_weight(after, node_, weight);
    moved_.push_back(vertex);
  }
  separator.clear();
  for (const Candidate& candidate : candidates_) {
    if (g_.vertices[candidate.vertex].label == node_) separator.push_back(candidate.vertex);
    g_.vertices[candidate.vertex].slot = -1;
  }
  candidates_.clear();
}

SeparatorRefinement::Quality SeparatorRefinement::quality(std::int64_t largest_side) const {
  const std::int64_t heavier = std::max(weight_[0], weight_[1]);
  return {std::max<std::int64_t>(0, heavier - largest_side), weight_[SeparatorTree::separator], heavier};
}

/// Side with the larger gain, unless it would become too heavy; -1 if no candidate is left. If gains are
/// equal, one side is preferred during a whole pass, so that the separator can move: alternating sides would
/// undo each other's moves.
int SeparatorRefinement::choose_side(std::int64_t largest_side) {
  const int lighter = weight_[0] <= weight_[1] ? 0 : 1;
  const Candidate* const to_lighter = best_candidate(lighter);
  const Candidate* const to_heavier = best_candidate(1 - lighter);
  const auto fits = [&](int side, const Candidate& candidate) {
    return weight_[side] + g_.vertices[candidate.vertex].weight <= largest_side;
  };
  if (to_heavier == nullptr || !fits(1 - lighter, *to_heavier)) return to_lighter != nullptr ? lighter : -1;
  if (to_lighter == nullptr || !fits(lighter, *to_lighter)) return 1 - lighter;
  const std::int64_t difference = to_lighter->gain[lighter] - to_heavier->gain[1 - lighter];
  return difference > 0 ? lighter : difference < 0 ? 1 - lighter : preferred_side_;
}

/// Candidate with the largest gain for a side, or null. Removes outdated entries of the queue: an entry in
/// too high a bucket moves to the right one; one in too low a bucket has another entry.
const SeparatorRefinement::Candidate* SeparatorRefinement::best_candidate(int side) {
  GainQueue& queue = queue_[side];
  for (int bucket = queue.best_bucket(); bucket >= 0; bucket = queue.best_bucket()) {
    const std::int32_t index = queue.top(bucket);
    const Candidate& candidate = candidates_[index];
    const bool is_free = !candidate.moved && g_.vertices[candidate.vertex].label == node_;
    const int right_bucket = queue.bucket_of(candidate.gain[side]);
    if (is_free && right_bucket == bucket) return &candidate;
    queue.pop(bucket);
    if (is_free && right_bucket < bucket) queue.push(candidate.gain[side], index);
  }
  return nullptr;
}

/// Moves the best candidate to a side; its neighbours on the other side join the separator.
void SeparatorRefinement::move_best(int side) {
  const int bucket = queue_[side].best_bucket();
  const std::int32_t index = queue_[side].top(bucket);
  queue_[side].pop(bucket);
  candidates_[index].moved = true;
  const std::int32_t vertex = candidates_[index].vertex;
  const std::int64_t weight = g_.vertices[vertex].weight;
  CommonBranch branch(SeparatorTree::child(node_, side));
  pulled_.clear();
  for (const std::int32_t u : g_.graph.neighbours(vertex)) {
    const int side_of_u = side_of(u);
    if (side_of_u == side) {
      branch.add(g_.vertices[u].label);
    } else if (side_of_u == 1 - side) {
      pulled_.push_back(u);
    } else if (side_of_u == SeparatorTree::separator && u != vertex && g_.vertices[u].slot >= 0) {
      candidates_[g_.vertices[u].slot].gain[1 - side] -= weight;  // u would pull `vertex` back
    }
  }
  change_label(vertex, SeparatorTree::separator, side, branch.node());
  for (const std::int32_t u : pulled_) pull(u, side);
}

/// Moves a vertex from the side opposite to `side` to the separator.
void SeparatorRefinement::pull(std::int32_t vertex, int side) {
  const std::int64_t weight = g_.vertices[vertex].weight;
  change_label(vertex, 1 - side, SeparatorTree::separator, node_);
  std::array<std::int64_t, 2> gain = {weight, weight};
  for (const std::int32_t u : g_.graph.neighbours(vertex)) {
    const int side_of_u = side_of(u);
    if (side_of_u < 2) {
      gain[1 - side_of_u] -= g_.vertices[u].weight;
    } else if (side_of_u == SeparatorTree::separator && u != vertex) {
      gain_neighbour(u, side, weight);
    }
  }
  if (g_.vertices[vertex].slot < 0) add_candidate(vertex, gain);
}

/// Records that a vertex of the separator has one neighbour less to pull when it moves to `side`.
void SeparatorRefinement::gain_neighbour(std::int32_t vertex, int side, std::int64_t weight) {
  const std::int32_t slot = g_.vertices[vertex].slot;
  if (slot < 0 || candidates_[slot].moved) return;
  candidates_[slot].gain[side] += weight;
  queue_[side].push(candidates_[slot].gain[side], slot);
}

void SeparatorRefinement::add_candidate(std::int32_t vertex) {
  const std::int64_t weight = g_.vertices[vertex].weight;
  std::array<std::int64_t, 2> gain = {weight, weight};
  for (const std::int32_t u : g_.graph.neighbours(vertex)) {
    const int side = side_of(u);
    if (side < 2) gain[1 - side] -= g_.vertices[u].weight;
  }
  add_candidate(vertex, gain);
}

void SeparatorRefinement::add_candidate(std::int32_t vertex, const std::array<std::int64_t, 2>& gain) {
  const auto index = static_cast<std::int32_t>(candidates_.size());
  g_.vertices[vertex].slot = index;
  candidates_.push_back({vertex, false, gain});
  for (const int side : {0, 1}) queue_[side].push(gain[side], index);
}

void SeparatorRefinement::change_label(std::int32_t vertex, int from, int to, Node label) {
  const std::int64_t weight = g_.vertices[vertex].weight;
  weight_[from] -= weight;
  weight_[to] += weight;
  changes_.push_back({vertex, g_.vertices[vertex].label, label});
  g_.set_label(vertex, label);
}

/// Undoes all changes but the first `changes` ones.
void SeparatorRefinement::undo(std::size_t changes) {
  while (changes_.size() > changes) {
    const auto [vertex, before, after] = changes_.back();
    const std::int64_t weight = g_.vertices[vertex].weight;
    weight_[SeparatorTree::side_of(after, node_)] -= weight;
    weight_[SeparatorTree::side_of(before, node_)] += weight;
    g_.set_label(vertex, before);
    changes_.pop_back();
  }
}

}  // namespace echelon::sparse_direct

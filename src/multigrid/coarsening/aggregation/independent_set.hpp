// SPDX-License-Identifier: BSD-3-Clause
/// Maximal independent sets of distance 2, the roots of aggregates: no two roots are neighbours or share a
/// neighbour, and every other node is at most two edges from a root.
///
/// Every undecided node has a key, (hash of node and round, node). In a round, each node finds the smallest
/// key among its neighbours and itself, and then the smallest of the keys found by these: a node that finds
/// its own key becomes a root, and a node that finds a root's key is excluded. Keys are integers without ties
/// and every step reads only results of the step before, so that the set is the same on every device with
/// any number of threads.
/// B. Kelley, S. Rajamanickam, Parallel, portable algorithms for distance-2 maximal independent set and graph
/// coarsening, IPDPS 2022.
#pragma once

#include "multigrid/coarsening/aggregation/strength.hpp"
#include "multigrid/coarsening/rounds.hpp"
#include "support/hash.hpp"

namespace echelon::multigrid::aggregation {

/// Keys of decided nodes; keys of undecided nodes lie strictly between root_key and other_key.
inline constexpr std::uint64_t root_key = 0;
inline constexpr std::uint64_t other_key = UINT64_MAX;
/// Value of nearest[i] for a node that does not take part.
inline constexpr std::uint64_t outside_key = UINT64_MAX - 1;

ECHELON_ANYWHERE inline bool is_decided(std::uint64_t key) {
  return key == root_key || key == other_key;
}

/// Draws the keys of a round for the undecided nodes.
struct DrawKey {
  const std::int32_t* nodes;
  std::uint64_t round;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const auto node = static_cast<std::uint64_t>(nodes[place]);
    if (round > 0 && is_decided(keys[node])) return;
    const std::uint64_t hash = hash_bits(node + (round + 1) * golden_ratio_64);
    keys[node] = (hash & 0xffffffff00000000U) | (node + 1);
  }
};

/// nearest[i] = the smallest key of i and its neighbours; other_key next to a root.
struct FindNearest {
  const std::int32_t* nodes;
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::uint64_t* keys;
  std::uint64_t* nearest;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = nodes[place];
    std::uint64_t least = other_key;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::uint64_t key = keys[neighbours[k]];
      least = key < least ? key : least;
    }
    nearest[i] = least == root_key ? other_key : least;
  }
};

/// Makes a node a root if all its neighbours have found its key, and excludes nodes within two edges of a
/// root.
struct DecideRoot {
  const std::int32_t* nodes;
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::uint64_t* nearest;
  std::uint64_t* keys;
  std::uint8_t* undecided;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = nodes[place];
    const std::uint64_t own = keys[i];
    undecided[place] = 0;
    if (is_decided(own)) return;
    bool is_root = true;
    bool is_near = false;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::uint64_t key = nearest[neighbours[k]];
      if (key == outside_key) continue;
      is_near = is_near || key == other_key;
      is_root = is_root && key == own;
    }
    if (is_near) {
      keys[i] = other_key;
    } else if (is_root) {
      keys[i] = root_key;
    }
    undecided[place] = is_near || is_root ? 0 : 1;
  }
};

/// Marks the nodes whose nearest key is that of an undecided node; the others need no further visits.
struct MarkOpen {
  const std::int32_t* nodes;
  const std::uint64_t* nearest;
  std::uint8_t* open;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    open[place] = nearest[nodes[place]] != other_key ? 1 : 0;
  }
};

/// Finds a set in the subgraph of the `count` nodes in `candidates`, whose contents are overwritten. `keys`
/// has an element for each node of the graph, other_key for nodes that are not candidates; on return roots
/// have root_key and all other nodes other_key. Waits for the number of undecided nodes, in every round while
/// they are many; the number of rounds grows like log n, 6 to 10 in practice.
template <class B>
void find_independent_set(B& backend, const NodeGraph& graph, Array<std::int32_t>& candidates,
                          std::int64_t count, std::uint64_t* keys) {
  const Device& device = backend.device();
  const std::int64_t* offsets = graph.offsets.data();
  const std::int32_t* neighbours = graph.neighbours.data();
  Array<std::uint64_t> nearest(device, graph.nodes);
  backend.fill(graph.nodes, outside_key, nearest.data());
  Array<std::uint8_t> flags(device, count);
  Array<std::int32_t> spare(device, count);
  Array<std::int32_t> open = candidates;  // undecided nodes and their neighbours
  std::int64_t undecided_count = count;
  std::int64_t open_count = count;
  for (std::uint64_t round = 0; undecided_count > 0;) {
    const int rounds = rounds_between_selections(backend, undecided_count);
    for (int r = 0; r < rounds; ++r, ++round) {
      backend.for_each(undecided_count, DrawKey{candidates.data(), round, keys});
      backend.for_each(open_count, FindNearest{open.data(), offsets, neighbours, keys, nearest.data()});
      backend.for_each(undecided_count, DecideRoot{candidates.data(), offsets, neighbours, nearest.data(),
                                                   keys, flags.data()});
    }
    undecided_count = backend.select(undecided_count, flags.data(), candidates.data(), spare.data());
    candidates.swap(spare);
    if (undecided_count == 0) break;
    backend.for_each(open_count, MarkOpen{open.data(), nearest.data(), flags.data()});
    open_count = backend.select(open_count, flags.data(), open.data(), spare.data());
    open.swap(spare);
  }
}

}  // namespace echelon::multigrid::aggregation

// SPDX-License-Identifier: BSD-3-Clause
/// Aggregates of nodes around the roots of an independent set of distance 2.
///
/// 1. Each root and its neighbours form an aggregate.
/// 2. Optionally, step 1 is repeated on the graph of the remaining nodes; aggregates of fewer than three
///    nodes are not made. Aggregates become more alike in size: fewer iterations for more coarse nodes.
/// 3. Each remaining node joins the aggregate of steps 1 and 2 to which most of its neighbours belong; ties
///    go to the aggregate with the smallest number.
/// Isolated nodes stay outside: the smoother solves their equations.
#pragma once

#include "backend/store.hpp"
#include "multigrid/coarsening/aggregation/independent_set.hpp"

#include <cstdint>
#include <utility>

namespace echelon::multigrid::aggregation {

inline constexpr std::int32_t no_aggregate = -1;

struct Aggregates {
  std::int64_t count = 0;
  Array<std::int32_t> of_node;  ///< no_aggregate for isolated nodes
};

struct Count {
  std::int64_t value = 0;
  friend ECHELON_ANYWHERE Count combine(Count a, Count b) { return {a.value + b.value}; }
};

/// Marks the nodes without an aggregate that have neighbours.
struct MarkFree {
  const std::int64_t* offsets;
  const std::int32_t* aggregates;
  std::int32_t* numbers;
  std::uint8_t* flags;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    numbers[i] = static_cast<std::int32_t>(i);
    flags[i] = aggregates[i] == no_aggregate && offsets[i + 1] - offsets[i] > 1 ? 1 : 0;
  }
};

/// counts[i] = 1 for a root whose aggregate would have at least `least` nodes, otherwise 0.
struct CountRoot {
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::int32_t* aggregates;
  const std::uint64_t* keys;
  std::int64_t least;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t members = 0;
    if (keys[i] == root_key) {
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
        members += aggregates[neighbours[k]] == no_aggregate ? 1 : 0;
      }
    }
    counts[i] = members >= least ? 1 : 0;
  }
};

/// Gives each root the number of its aggregate, and its free neighbours the number of their root.
struct JoinRoot {
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::int64_t* roots_before;  ///< the number of roots before each node
  std::int32_t first;                ///< number of the first new aggregate
  const std::int32_t* aggregates;
  std::int32_t* joined;
  ECHELON_ANYWHERE std::int32_t number_of(std::int32_t root) const {
    return first + static_cast<std::int32_t>(roots_before[root]);
  }
  ECHELON_ANYWHERE bool is_root(std::int32_t i) const { return roots_before[i + 1] > roots_before[i]; }
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    joined[i] = aggregates[i];
    if (aggregates[i] != no_aggregate) return;
    const auto own = static_cast<std::int32_t>(i);
    if (is_root(own)) {
      joined[i] = number_of(own);
      return;
    }
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (!is_root(neighbours[k])) continue;
      joined[i] = number_of(neighbours[k]);
      return;
    }
  }
};

/// Joins a remaining node to the aggregate to which most of its neighbours belong.
struct JoinMajority {
  const std::int64_t* offsets;
  const std::int32_t* neighbours;
  const std::int32_t* aggregates;
  std::int32_t* joined;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    joined[i] = aggregates[i];
    if (aggregates[i] != no_aggregate) return;
    std::int64_t most = 0;
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    for (std::int64_t k = begin; k < end && (most == 0 || k < begin + reach); ++k) {
      const std::int32_t candidate = aggregates[neighbours[k]];
      if (candidate == no_aggregate) continue;
      // The first link to a candidate counts all of them; later links count fewer and change nothing.
      std::int64_t links = 0;
      for (std::int64_t l = k; l < end && l < k + reach; ++l) {
        links += aggregates[neighbours[l]] == candidate ? 1 : 0;
      }
      if (links > most || (links == most && candidate < joined[i])) {
        most = links;
        joined[i] = candidate;
      }
    }
  }
  /// Largest number of neighbours examined, which bounds the work for a long row.
  static constexpr std::int64_t reach = 128;
};

/// Makes aggregates of the free nodes around the roots of an independent set among them.
template <class B>
void aggregate_around_roots(B& backend, const NodeGraph& graph, std::int64_t least, Aggregates& aggregates) {
  const Device& device = backend.device();
  const std::int64_t n = graph.nodes;
  Array<std::int32_t> numbers(device, n);
  Array<std::int32_t> candidates(device, n);
  Array<std::uint8_t> flags(device, n);
  backend.for_each(n,
                   MarkFree{graph.offsets.data(), aggregates.of_node.data(), numbers.data(), flags.data()});
  const std::int64_t count = backend.select(n, flags.data(), numbers.data(), candidates.data());
  if (count == 0) return;
  Array<std::uint64_t> keys(device, n);
  backend.fill(n, other_key, keys.data());
  find_independent_set(backend, graph, candidates, count, keys.data());
  Array<std::int64_t> roots_before(device, n + 1);
  backend.for_each(n, CountRoot{graph.offsets.data(), graph.neighbours.data(), aggregates.of_node.data(),
                                keys.data(), least, roots_before.data()});
  const std::int64_t roots = backend.exclusive_scan(n, roots_before.data(), roots_before.data());
  backend.for_each(
      n, JoinRoot{graph.offsets.data(), graph.neighbours.data(), roots_before.data(),
                  static_cast<std::int32_t>(aggregates.count), aggregates.of_node.data(), numbers.data()});
  aggregates.of_node.swap(numbers);
  aggregates.count += roots;
}

struct IsFree {
  const std::int64_t* offsets;
  const std::int32_t* aggregates;
  ECHELON_ANYWHERE Count operator()(std::int64_t i) const {
    return {aggregates[i] == no_aggregate && offsets[i + 1] - offsets[i] > 1 ? 1 : 0};
  }
};

/// Makes the aggregates of a graph. `fill_gaps` enables step 2.
template <class B>
Aggregates aggregate(B& backend, const NodeGraph& graph, bool fill_gaps) {
  const Device& device = backend.device();
  const std::int64_t n = graph.nodes;
  Aggregates aggregates{0, Array<std::int32_t>(device, n)};
  backend.fill(n, no_aggregate, aggregates.of_node.data());
  aggregate_around_roots(backend, graph, 1, aggregates);
  if (fill_gaps) aggregate_around_roots(backend, graph, 3, aggregates);
  // One pass joins all nodes of a symmetric graph. Rounding may make a graph unsymmetric, whose roots some
  // nodes do not see.
  Array<Count> left(device, 1);
  std::int64_t before = INT64_MAX;
  for (;;) {
    backend.reduce(n, IsFree{graph.offsets.data(), aggregates.of_node.data()}, Store<Count>{left.data()});
    const std::int64_t free = backend.read(left.data()).value;
    if (free == 0 || free == before || aggregates.count == 0) return aggregates;
    before = free;
    Array<std::int32_t> joined(device, n);
    backend.for_each(n, JoinMajority{graph.offsets.data(), graph.neighbours.data(), aggregates.of_node.data(),
                                     joined.data()});
    aggregates.of_node.swap(joined);
  }
}

}  // namespace echelon::multigrid::aggregation

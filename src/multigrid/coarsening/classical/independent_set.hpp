// SPDX-License-Identifier: BSD-3-Clause
/// PMIS: a splitting of the points of a graph into coarse and fine ones, by a maximal independent set.
///
/// Each point has a key, its number of dependents first and a hash of its index second; keys are unique. In
/// each round the points whose key is larger than those of all undecided points that they depend on, or that
/// depend on them, become coarse, and undecided points that depend on a coarse one become fine. The steps of
/// a round read only results of the step before, or values whose meaning does not change while they are
/// written, so that the splitting is the same on every device with any number of threads. On the host points
/// are decided in the order of their dependences instead, with the same result.
/// H. De Sterck, U. M. Yang, J. Heys, Reducing complexity in parallel algebraic multigrid preconditioners,
/// SIAM J. Matrix Anal. Appl. 27, 2006.
#pragma once

#include "backend/store.hpp"
#include "multigrid/coarsening/classical/strength.hpp"
#include "multigrid/coarsening/rounds.hpp"

#include <cstdint>
#include <utility>

namespace echelon::multigrid::classical {

/// States of points; an undecided point's state is its number of dependents, which is positive.
inline constexpr std::int32_t fine_point = 0;
inline constexpr std::int32_t coarse_point = -1;
/// A fine point that depends on no other: it is not interpolated.
inline constexpr std::int32_t isolated_point = -2;

/// One-to-one scrambling of 32 bits: C. Wellons's hash "lowbias32".
ECHELON_ANYWHERE inline std::uint32_t scramble(std::uint32_t bits) {
  bits = (bits ^ (bits >> 16U)) * 0x7feb352dU;
  bits = (bits ^ (bits >> 15U)) * 0x846ca68bU;
  return bits ^ (bits >> 16U);
}

/// Key of point i; unique, because scramble() is one-to-one.
ECHELON_ANYWHERE inline std::uint64_t key_of(std::int32_t dependents, std::int32_t i) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(dependents)) << 32U |
         scramble(static_cast<std::uint32_t>(i));
}

/// Sets the initial states: points that depend on no other are isolated (or coarse, if requested), and points
/// on which no other depends are fine.
struct InitialState {
  const std::uint8_t* is_isolated;
  bool isolated_become_coarse;
  std::int32_t* states;  ///< in: number of dependents
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (is_isolated[i] != 0) states[i] = isolated_become_coarse ? coarse_point : isolated_point;
  }
};

/// Makes fine the points that depend on an initially coarse point.
struct ExcludeDependents {
  DependenceView graph;
  std::int32_t* states;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (states[i] <= 0) return;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      if (graph.depends(k) && atomic_load(states + graph.neighbours[k]) == coarse_point) {
        atomic_store(states + i, fine_point);
        return;
      }
    }
  }
};

/// The points of a round: a list, or all points.
struct PointList {
  const std::int32_t* list;
  ECHELON_ANYWHERE std::int32_t operator[](std::int64_t place) const {
    return list == nullptr ? static_cast<std::int32_t>(place) : list[place];
  }
};

/// Compares the keys of each dependent pair of undecided points. The point with the smaller key is beaten:
/// its `beaten` becomes the parity of the round. A point that stays undecided is beaten in every round, so
/// that the parity distinguishes this round from the previous one.
struct Compare {
  DependenceView graph;
  PointList points;
  const std::int32_t* states;
  std::uint8_t parity;
  std::uint8_t* beaten;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = points[place];
    const std::int32_t own = states[i];
    if (own <= 0) return;
    const std::uint32_t hash = scramble(static_cast<std::uint32_t>(i));
    bool is_beaten = false;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      if (!graph.depends(k)) continue;
      const std::int32_t j = graph.neighbours[k];
      const std::int32_t other = states[j];
      if (other <= 0) continue;
      const bool is_smaller = own != other ? own < other : hash < scramble(static_cast<std::uint32_t>(j));
      if (is_smaller) {
        is_beaten = true;
      } else {
        atomic_store(beaten + j, parity);
      }
    }
    if (is_beaten) atomic_store(beaten + i, parity);
  }
};

/// Makes unbeaten points coarse and the points that depend on one fine. An undecided, unbeaten neighbour
/// counts as coarse whether or not its state has been written yet, so that the order of execution is
/// irrelevant.
struct DecidePoint {
  DependenceView graph;
  PointList points;
  const std::uint8_t* beaten;
  std::uint8_t parity;
  std::int32_t* states;
  std::uint8_t* undecided;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = points[place];
    undecided[place] = 0;
    if (states[i] <= 0) return;
    if (beaten[i] != parity) {
      atomic_store(states + i, coarse_point);
      return;
    }
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      if (!graph.depends(k)) continue;
      const std::int32_t j = graph.neighbours[k];
      const std::int32_t other = atomic_load(states + j);
      if (other == coarse_point || (other > 0 && beaten[j] != parity)) {
        atomic_store(states + i, fine_point);
        return;
      }
    }
    undecided[place] = 1;
  }
};

/// Decides the undecided points in rounds. Waits for their number, in every round while they are many; the
/// number of rounds grows like log n, 5 to 8 in practice.
template <class B>
void decide_in_rounds(B& backend, const DependenceView& graph, std::int64_t n, std::int32_t* states) {
  const Device& device = backend.device();
  Array<std::uint8_t> beaten(device, n);
  Array<std::uint8_t> undecided(device, n);
  Array<std::int32_t> list(device, n);
  Array<std::int32_t> spare(device, n);
  backend.fill(n, std::uint8_t{0}, beaten.data());
  backend.for_each(n, Iota{spare.data()});
  std::int64_t count = n;
  std::uint8_t parity = 1;
  for (bool is_first = true; count > 0; is_first = false) {
    const PointList points{is_first ? nullptr : list.data()};
    for (int round = 0; round < rounds_between_selections(backend, count); ++round, parity ^= 1) {
      backend.for_each(count, Compare{graph, points, states, parity, beaten.data()});
      backend.for_each(count, DecidePoint{graph, points, beaten.data(), parity, states, undecided.data()});
    }
    if (!is_first) list.swap(spare);
    count = backend.select(count, undecided.data(), spare.data(), list.data());
  }
}

/// Sets the decisions that the initial states make.
struct BeginDecisions {
  static constexpr std::int32_t undecided = 1;
  const std::int32_t* states;
  std::int32_t* decisions;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    decisions[i] = states[i] > 0 ? undecided : states[i];
  }
};

/// Decides a point: it becomes fine if it depends on a coarse point with a larger key, and coarse otherwise.
/// Points with larger keys on which it depends are decided before. Threads may decide a point at the same
/// time; they decide alike.
struct DecideByDependences {
  DependenceView graph;
  const std::int32_t* states;
  std::int32_t* decisions;
  std::int32_t* is_unfinished;  ///< set if a point was left undecided at the end of the stack

  void operator()(std::int64_t i) const {
    if (atomic_load(decisions + i) != BeginDecisions::undecided) return;
    constexpr int capacity = 64;
    Visit stack[capacity];  // uninitialised: few points need more than a few entries
    int depth = 0;
    stack[0] = {static_cast<std::int32_t>(i), graph.offsets[i]};
    while (depth >= 0) {
      const std::int32_t next = advance(stack[depth]);
      if (next < 0) {
        --depth;
      } else if (depth + 1 < capacity) {
        stack[++depth] = {next, graph.offsets[next]};
      } else {
        atomic_exchange(is_unfinished, 1);
        return;
      }
    }
  }

 private:
  /// A point under decision and the next of its elements.
  struct Visit {
    std::int32_t point;
    std::int64_t element;
  };

  /// Decides the point, or returns an undecided one that has to be decided before.
  std::int32_t advance(Visit& visit) const {
    const std::int32_t i = visit.point;
    const std::int32_t own = states[i];
    const std::uint32_t hash = scramble(static_cast<std::uint32_t>(i));
    for (std::int64_t& k = visit.element; k < graph.offsets[i + 1]; ++k) {
      if (!graph.depends(k)) continue;
      const std::int32_t j = graph.neighbours[k];
      const std::int32_t decision = atomic_load(decisions + j);
      if (decision != coarse_point && decision != BeginDecisions::undecided) continue;
      const std::int32_t other = states[j];
      const bool is_larger = other != own ? other > own : scramble(static_cast<std::uint32_t>(j)) > hash;
      if (!is_larger) continue;
      if (decision == BeginDecisions::undecided) return j;
      atomic_store(decisions + i, fine_point);
      return -1;
    }
    atomic_store(decisions + i, coarse_point);
    return -1;
  }
};

/// Decides the undecided points, each after those with larger keys on which it depends. The result is that of
/// decide_in_rounds(), because a point with a smaller key cannot be decided before its neighbours; on the
/// host one traversal of the dependences takes less time than a traversal per round.
template <class B>
void decide_by_dependences(B& backend, const DependenceView& graph, std::int64_t n, std::int32_t* states) {
  Array<std::int32_t> decisions(backend.device(), n);
  backend.for_each(n, BeginDecisions{states, decisions.data()});
  for (std::int32_t is_unfinished = 1; is_unfinished != 0;) {
    is_unfinished = 0;
    backend.for_each(n, DecideByDependences{graph, states, decisions.data(), &is_unfinished});
  }
  backend.copy(n, decisions.data(), states);
}

/// Splits the n points of a graph. `states` holds the number of dependents of each point on entry and its
/// state on return. Elsewhere than on the host it waits, see decide_in_rounds().
template <class B>
void split_points(B& backend, const DependenceView& graph, std::int64_t n, const std::uint8_t* is_isolated,
                  bool isolated_become_coarse, std::int32_t* states) {
  backend.for_each(n, InitialState{is_isolated, isolated_become_coarse, states});
  if (isolated_become_coarse) backend.for_each(n, ExcludeDependents{graph, states});
  if constexpr (B::on_host) {
    decide_by_dependences(backend, graph, n, states);
  } else {
    decide_in_rounds(backend, graph, n, states);
  }
}

/// Coarse points of a splitting, numbered in ascending order.
struct Splitting {
  std::int64_t coarse = 0;           ///< number of coarse points
  Array<std::int32_t> coarse_index;  ///< for each point: its number if it is coarse, else `fine_index` or
                                     ///< `isolated_index`
};
inline constexpr std::int32_t fine_index = -1;
inline constexpr std::int32_t isolated_index = -2;

struct CountCoarse {
  const std::int32_t* states;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { counts[i] = states[i] == coarse_point ? 1 : 0; }
};
struct NumberCoarse {
  const std::int64_t* coarse_before;
  std::int32_t* states;  ///< becomes coarse_index
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t state = states[i];
    states[i] = state == coarse_point     ? static_cast<std::int32_t>(coarse_before[i])
                : state == isolated_point ? isolated_index
                                          : fine_index;
  }
};

/// Numbers the coarse points among n states.
template <class B>
Splitting number_coarse(B& backend, Array<std::int32_t> states) {
  const std::int64_t n = states.size();
  Array<std::int64_t> before(backend.device(), n + 1);
  backend.for_each(n, CountCoarse{states.data(), before.data()});
  const std::int64_t coarse = backend.exclusive_scan(n, before.data(), before.data());
  backend.for_each(n, NumberCoarse{before.data(), states.data()});
  return {coarse, std::move(states)};
}

}  // namespace echelon::multigrid::classical

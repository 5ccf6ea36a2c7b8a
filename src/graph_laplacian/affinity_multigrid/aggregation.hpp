// SPDX-License-Identifier: BSD-3-Clause
/// Aggregation by affinity in parallel rounds.
///
/// Edges are scored once: by the affinity of their ends, or as closed if they are weak or if the energy of a
/// test vector would grow too much when the end u took the value of the end s. In each round every undecided
/// vertex u chooses the neighbour s of the largest score that is undecided or a seed. Undecided vertices have
/// hashed priorities, and seeds the highest. u joins s if s has the higher priority and does not itself join
/// another vertex in this round; s then becomes a seed. After the rounds, a vertex whose neighbours are all
/// members joins the seed of one of them, if the energy with that seed's values is small enough. All others
/// become aggregates of their own. Every step reads only results of the step before, and keys are integers
/// without ties: the aggregates are the same with any number of threads.
#pragma once

#include "backend/arena.hpp"
#include "backend/atomic.hpp"
#include "graph_laplacian/affinity_multigrid/for_each_costly.hpp"
#include "graph_laplacian/affinity_multigrid/test_vectors.hpp"
#include "graph_laplacian/lamg/aggregation.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace echelon::affinity_multigrid {

using lamg::AggregationThresholds;

/// Score of an edge across which its row's vertex cannot join.
inline constexpr float closed_edge = -1;

struct LargestWeight {
  float value = 0;
  friend ECHELON_ANYWHERE LargestWeight combine(LargestWeight a, LargestWeight b) {
    return a.value > b.value ? a : b;
  }
};
template <class T>
struct EdgeWeight {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  ECHELON_ANYWHERE LargestWeight operator()(std::int64_t k) const {
    return {A.is_edge(rows[k], k) ? -static_cast<float>(A.values[k]) : 0};
  }
};
/// w_ij and w_ij times the number of neighbours of j.
template <class T>
struct NeighbourDegree {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t k) const {
    if (!A.is_edge(rows[k], k)) return {};
    const std::int32_t j = A.columns[k];
    const double weight = -static_cast<double>(A.values[k]);
    return {weight, weight * static_cast<double>(A.offsets[j + 1] - A.offsets[j] - 1)};
  }
};

/// First and second moments of the test values around a vertex u: sums of w t and w t^2 over its edges (u, v)
/// for t = x_v - x_u and weights w that sum to 1. Differences avoid cancellation, because values of close
/// vertices agree in most digits.
struct NormalizedMoments {
  TestValues first;
  TestValues second;
  friend ECHELON_ANYWHERE NormalizedMoments combine(const NormalizedMoments& a, const NormalizedMoments& b) {
    return {combine(a.first, b.first), combine(a.second, b.second)};
  }
  /// Whether the energy sum of w (y - x_v)^2 / 2 at the value y = x_s is at most `ratio` times the least one,
  /// in every test vector.
  ECHELON_ANYWHERE bool allow(const TestValues& own, const TestValues& at, float ratio) const {
    // Differences at the level of rounding carry no information about the energy.
    constexpr float rounding = 1e-12F;
    for (int v = 0; v < test_vector_count; ++v) {
      const float y = at.at[v] - own.at[v];
      const float least = second.at[v] - first.at[v] * first.at[v];
      const float energy = y * (y - 2 * first.at[v]) + second.at[v];
      if (energy > ratio * least + rounding * own.at[v] * own.at[v]) return false;
    }
    return true;
  }
};
template <class T>
struct EdgeMoments {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const T* inverse;
  const TestValues* x;
  ECHELON_ANYWHERE NormalizedMoments operator()(std::int64_t k) const {
    const std::int32_t i = rows[k];
    NormalizedMoments moments;
    if (!A.is_edge(i, k)) return moments;
    const float weight = -static_cast<float>(A.values[k] * inverse[i]);
    const TestValues own = x[i];
    const TestValues other = x[A.columns[k]];
    for (int v = 0; v < test_vector_count; ++v) {
      const float t = other.at[v] - own.at[v];
      moments.first.at[v] = weight * t;
      moments.second.at[v] = weight * t * t;
    }
    return moments;
  }
};

/// Squared cosine of the angle between the test values of two vertices.
ECHELON_ANYWHERE inline float affinity(const TestValues& u, const TestValues& v) {
  float product = 0;
  float square_u = 0;
  float square_v = 0;
  for (int k = 0; k < test_vector_count; ++k) {
    product += u.at[k] * v.at[k];
    square_u += u.at[k] * u.at[k];
    square_v += v.at[k] * v.at[k];
  }
  const float squares = square_u * square_v;
  return squares > 0 ? product * product / squares : 1;
}

template <class T>
struct ScoreEdge {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const LargestWeight* largest;
  const NormalizedMoments* moments;
  const TestValues* x;
  float strength;
  float veto;
  float energy_ratio;
  float* scores;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t i = rows[k];
    scores[k] = closed_edge;
    if (!A.is_edge(i, k)) return;
    const std::int32_t j = A.columns[k];
    const float weight = -static_cast<float>(A.values[k]);
    const float own = largest[i].value;
    const float other = largest[j].value;
    if (weight < strength * (own < other ? own : other) || weight < veto * own) return;
    if (!moments[i].allow(x[i], x[j], energy_ratio)) return;
    scores[k] = affinity(x[i], x[j]);
  }
};

enum class VertexState : std::uint8_t { undecided, seed, member };

struct MarkHub {
  const std::int64_t* offsets;
  const TwoSums* sums;
  double ratio;
  VertexState* states;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto degree = static_cast<double>(offsets[i + 1] - offsets[i] - 1);
    const bool hub = degree >= ratio && degree * sums[i].first >= ratio * sums[i].second;
    states[i] = hub ? VertexState::seed : VertexState::undecided;
  }
};

/// The largest score among some edges, and the other end of that edge: its bits, and then the vertex. Zero
/// for none.
struct StrongestEdge {
  std::uint64_t key = 0;
  ECHELON_ANYWHERE static StrongestEdge of(float score, std::int32_t vertex) {
    // The bits of nonnegative numbers have the order of the numbers; 1 is added as zero means none. nvcc
    // calls std::bit_cast on the host only.
    std::uint32_t bits = 0;
    memcpy(&bits, &score, sizeof bits);
    return {(std::uint64_t{bits} + 1) << 32U | static_cast<std::uint64_t>(vertex)};
  }
  ECHELON_ANYWHERE bool is_none() const { return key == 0; }
  ECHELON_ANYWHERE std::int32_t vertex() const { return static_cast<std::int32_t>(key & 0xffffffffU); }
  friend ECHELON_ANYWHERE StrongestEdge combine(StrongestEdge a, StrongestEdge b) {
    return a.key > b.key ? a : b;
  }
};

/// Choice of an undecided vertex across element k of its row.
struct ChooseNeighbour {
  const std::int32_t* rows;
  const std::int32_t* columns;
  const float* scores;
  const VertexState* states;
  ECHELON_ANYWHERE StrongestEdge operator()(std::int64_t k) const {
    const std::int32_t j = columns[k];
    if (!(scores[k] >= 0) || states[rows[k]] != VertexState::undecided || states[j] == VertexState::member) {
      return {};
    }
    return StrongestEdge::of(scores[k], j);
  }
};

/// Whether a vertex would join the neighbour that it chose.
struct WouldJoin {
  const StrongestEdge* choices;
  const VertexState* states;
  std::uint64_t round;
  ECHELON_ANYWHERE std::uint64_t priority(std::int64_t i) const {
    if (states[i] == VertexState::seed) return UINT64_MAX;
    const auto vertex = static_cast<std::uint64_t>(i);
    return hash_bits(vertex + (round + 1) * golden_ratio_64) >> 33U << 32U | vertex;
  }
  ECHELON_ANYWHERE bool operator()(std::int64_t i) const {
    return states[i] == VertexState::undecided && !choices[i].is_none() &&
           priority(choices[i].vertex()) > priority(i);
  }
};

/// Lets vertex i join the neighbour that it chose, unless that one joins another.
struct JoinNeighbour {
  WouldJoin would_join;
  std::int32_t* seeds;  ///< seed of each member, and each other vertex itself
  std::uint8_t* becomes_seed;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (!would_join(i)) return;
    const std::int32_t s = would_join.choices[i].vertex();
    if (would_join(s)) return;
    seeds[i] = s;
    atomic_store(becomes_seed + s, std::uint8_t{1});
  }
};
/// Updates the state of a vertex, and clears its mark for the next round.
struct UpdateState {
  const std::int32_t* seeds;
  std::uint8_t* becomes_seed;
  VertexState* states;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (seeds[i] != i) {
      states[i] = VertexState::member;
    } else if (becomes_seed[i] != 0) {
      states[i] = VertexState::seed;
    }
    becomes_seed[i] = 0;
  }
};

/// Choice of an undecided vertex among the seeds of its neighbours; the score is that of the edge.
struct ChooseSeed {
  const std::int32_t* rows;
  const std::int32_t* columns;
  const float* scores;
  const VertexState* states;
  const std::int32_t* seeds;
  const NormalizedMoments* moments;
  const TestValues* x;
  float energy_ratio;
  ECHELON_ANYWHERE StrongestEdge operator()(std::int64_t k) const {
    const std::int32_t i = rows[k];
    if (!(scores[k] >= 0) || states[i] != VertexState::undecided) return {};
    const std::int32_t s = seeds[columns[k]];
    if (states[s] != VertexState::seed || !moments[i].allow(x[i], x[s], energy_ratio)) return {};
    return StrongestEdge::of(scores[k], s);
  }
};
/// The largest choice of vertex i among the elements of its row.
template <class Choose>
struct ChooseInRow {
  const std::int64_t* offsets;
  Choose choose;
  StrongestEdge* choices;
  void operator()(std::int64_t i) const {
    StrongestEdge largest;
    if (choose.states[i] == VertexState::undecided) {
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) largest = combine(largest, choose(k));
    }
    choices[i] = largest;
  }
};
/// Writes the choices of all vertices. After the first round most vertices have none, whose rows the host
/// does not read.
ECHELON_LOOPS_ANYWHERE
template <class B, class Choose>
ECHELON_ANYWHERE void choose_in_rows(B& backend, std::int64_t n, const std::int64_t* offsets, Choose choose,
                                     StrongestEdge* choices) {
  if constexpr (HostBackend<B>) {
    for_each_costly(backend, n, ChooseInRow<Choose>{offsets, choose, choices});
  } else {
    backend.segmented_reduce(n, offsets, choose, choices);
  }
}

/// Lets a vertex join the seed that it chose; counts[i] = 1 if it is a seed itself.
struct JoinSeed {
  const StrongestEdge* choices;
  std::int32_t* seeds;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (!choices[i].is_none()) seeds[i] = choices[i].vertex();
    counts[i] = seeds[i] == i ? 1 : 0;
  }
};
struct NumberAggregate {
  const std::int32_t* seeds;
  const std::int64_t* number;
  std::int32_t* aggregates;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    aggregates[i] = static_cast<std::int32_t>(number[seeds[i]]);
  }
};
/// Makes every vertex its own seed, without a mark.
struct BeginJoining {
  std::int32_t* seeds;
  std::uint8_t* becomes_seed;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    seeds[i] = static_cast<std::int32_t>(i);
    becomes_seed[i] = 0;
  }
};

struct ParallelAggregates {
  std::int64_t count = 0;
  Array<std::int32_t> of;
};

/// Marks hubs and scores edges.
template <class T>
struct ScoreEdges {
  std::int64_t n;
  std::int64_t nonzeros;
  ScoreEdge<T> score;
  EdgeMoments<T> moments_of_edge;
  double hub;
  TwoSums* degrees;
  LargestWeight* largest;
  NormalizedMoments* moments;
  VertexState* states;
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    const LaplacianRows<T>& A = score.A;
    loops.segmented_reduce(n, A.offsets, NeighbourDegree<T>{A, score.rows}, degrees);
    loops.for_each(n, MarkHub{A.offsets, degrees, hub, states});
    loops.segmented_reduce(n, A.offsets, EdgeWeight<T>{A, score.rows}, largest);
    loops.segmented_reduce(n, A.offsets, moments_of_edge, moments);
    for_each_costly(loops, nonzeros, score);
  }
};

/// Number of rounds in which vertices join neighbours.
inline constexpr std::uint64_t aggregation_rounds = 4;

/// Lets vertices join neighbours and then the seeds of neighbours, and numbers the aggregates.
struct JoinAggregates {
  std::int64_t n;
  const std::int64_t* offsets;
  ChooseNeighbour choose_neighbour;
  ChooseSeed choose_seed;
  VertexState* states;
  std::int32_t* seeds;
  StrongestEdge* choices;
  std::uint8_t* becomes_seed;
  std::int64_t* number;  ///< n + 1; the last element becomes that of aggregates
  std::int32_t* aggregates;
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.for_each(n, BeginJoining{seeds, becomes_seed});
    for (std::uint64_t round = 0; round < aggregation_rounds; ++round) {
      choose_in_rows(loops, n, offsets, choose_neighbour, choices);
      for_each_costly(loops, n, JoinNeighbour{{choices, states, round}, seeds, becomes_seed});
      loops.for_each(n, UpdateState{seeds, becomes_seed, states});
    }
    choose_in_rows(loops, n, offsets, choose_seed, choices);
    loops.for_each(n, JoinSeed{choices, seeds, number});
    loops.scan(n, number, number);
    loops.for_each(n, NumberAggregate{seeds, number, aggregates});
  }
};

/// Makes the aggregates of the graph with the Laplacian A. `rows` has the row of each element, `inverse` the
/// reciprocals of the diagonal, x the test vectors. Waits once.
template <class B, class T>
ParallelAggregates aggregate(B& backend, const Csr<T>& A, const std::int32_t* rows, const T* inverse,
                             const TestValues* x, const AggregationThresholds& options) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int32_t* columns = A.column_indices().data();
  const LaplacianRows<T> elements(A);
  const auto energy_ratio = static_cast<float>(options.energy_ratio);
  Arena memory(device, Arena::bytes<float>(A.nonzeros()) + 2 * Arena::bytes<VertexState>(n) +
                           Arena::bytes<NormalizedMoments>(n) + Arena::bytes<TwoSums>(n) +
                           Arena::bytes<LargestWeight>(n) + Arena::bytes<std::int32_t>(n) +
                           Arena::bytes<StrongestEdge>(n) + Arena::bytes<std::int64_t>(n + 1));
  auto* const scores = memory.take<float>(A.nonzeros());
  auto* const states = memory.take<VertexState>(n);
  auto* const moments = memory.take<NormalizedMoments>(n);
  auto* const largest = memory.take<LargestWeight>(n);
  const ScoreEdge<T> score{elements,
                           rows,
                           largest,
                           moments,
                           x,
                           static_cast<float>(options.strength),
                           static_cast<float>(options.veto),
                           energy_ratio,
                           scores};
  run_sequence(backend, A.nonzeros(),
               ScoreEdges<T>{n,
                             A.nonzeros(),
                             score,
                             {elements, rows, inverse, x},
                             static_cast<double>(options.hub),
                             memory.take<TwoSums>(n),
                             largest,
                             moments,
                             states});
  auto* const seeds = memory.take<std::int32_t>(n);
  auto* const number = memory.take<std::int64_t>(n + 1);
  ParallelAggregates result;
  result.of = Array<std::int32_t>(device, n);
  run_sequence(backend, A.nonzeros(),
               JoinAggregates{n,
                              offsets,
                              {rows, columns, scores, states},
                              {rows, columns, scores, states, seeds, moments, x, energy_ratio},
                              states,
                              seeds,
                              memory.take<StrongestEdge>(n),
                              memory.take<std::uint8_t>(n),
                              number,
                              result.of.data()});
  result.count = backend.read(number + n);
  return result;
}

}  // namespace echelon::affinity_multigrid

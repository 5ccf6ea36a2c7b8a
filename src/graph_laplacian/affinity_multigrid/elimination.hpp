// SPDX-License-Identifier: BSD-3-Clause
/// Exact elimination of an independent set of vertices with few neighbours, in parallel.
///
/// A vertex of at most four neighbours is eliminated if its key, its degree and then a hash, is smaller than
/// those of all neighbours that could be eliminated as well; the neighbours of such vertices are kept, and
/// this is repeated, as in Luby's algorithm. Vertex f, with edges of weights w_c to neighbours c and the sum
/// d of these, leaves edges (c, c') of weights w_c w_c' / d. No subtraction occurs, so that the weights keep
/// their relative accuracy. M. Luby, A simple parallel algorithm for the maximal independent set problem,
/// SIAM J. Comput. 15 (1986).
#pragma once

#include "backend/arena.hpp"
#include "graph_laplacian/affinity_multigrid/elimination_by_rows.hpp"
#include "graph_laplacian/affinity_multigrid/elimination_by_sorting.hpp"
#include "graph_laplacian/lamg/elimination.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/transform.hpp>

#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

/// Number of rounds of Luby's algorithm, by which the independent set is nearly a maximal one.
inline constexpr int elimination_passes = 3;

/// Key of vertices that are not eliminated.
inline constexpr std::uint64_t kept_key = UINT64_MAX;

template <class T>
struct DrawEliminationKey {
  LaplacianRows<T> A;
  std::uint64_t round;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    keys[i] = kept_key;
    if (A.offsets[i + 1] - A.offsets[i] > lamg::max_eliminated_degree + 1) return;
    std::uint64_t degree = 0;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) degree += A.is_edge(i, k) ? 1 : 0;
    if (degree > static_cast<std::uint64_t>(lamg::max_eliminated_degree)) return;
    const auto vertex = static_cast<std::uint64_t>(i);
    const std::uint64_t hash = hash_bits(vertex + (round + 1) * golden_ratio_64);
    keys[i] = degree << 60U | hash >> 36U << 32U | vertex;
  }
};

/// Chooses vertices for elimination whose keys are less than those of their neighbours.
template <class T>
struct ChooseVertex {
  LaplacianRows<T> A;
  const std::uint64_t* keys;
  std::uint8_t* chosen;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    bool least = keys[i] != kept_key;
    for (std::int64_t k = A.offsets[i]; least && k < A.offsets[i + 1]; ++k) {
      least = !A.is_edge(i, k) || keys[i] < keys[A.columns[k]];
    }
    if (least) chosen[i] = 1;
  }
};
/// Excludes the neighbours of chosen vertices.
template <class T>
struct KeepNeighbours {
  LaplacianRows<T> A;
  const std::uint8_t* chosen;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (keys[i] == kept_key || chosen[i] != 0) return;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      if (A.is_edge(i, k) && chosen[A.columns[k]] != 0) keys[i] = kept_key;
    }
  }
};
/// kept[i] = 1 for the vertices that are not eliminated.
struct MarkKeptVertices {
  const std::uint8_t* chosen;
  std::int64_t* kept;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { kept[i] = chosen[i] == 0 ? 1 : 0; }
};

/// kept[p] = 1 if the vertex at place p of an order is not eliminated.
struct CountKeptInOrder {
  const std::int32_t* order;
  const std::uint8_t* chosen;
  std::int64_t* kept;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const { kept[p] = chosen[order[p]] == 0 ? 1 : 0; }
};
struct NumberInOrder {
  const std::int32_t* order;
  const std::int64_t* kept_before;
  std::int64_t* number;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const { number[order[p]] = kept_before[p]; }
};
/// Numbers the kept vertices in the order given.
template <class B>
void number_in_order(B& backend, const Array<std::int32_t>& order, const std::uint8_t* chosen,
                     std::int64_t* number) {
  const std::int64_t n = order.size();
  Array<std::int64_t> kept(backend.device(), n + 1);
  backend.for_each(n, CountKeptInOrder{order.data(), chosen, kept.data()});
  backend.scan(n, kept.data(), kept.data());
  backend.for_each(n, NumberInOrder{order.data(), kept.data(), number});
}

/// Chooses an independent set of vertices with few neighbours, and numbers the others.
template <class T>
struct ChooseSet {
  LaplacianRows<T> A;
  std::int64_t n;
  std::uint64_t round;
  std::uint64_t* keys;  ///< scratch
  std::uint8_t* chosen;
  std::int64_t* number;  ///< n + 1; the last element becomes the number of the others
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    for_each_costly(loops, n, DrawEliminationKey<T>{A, round, keys});
    loops.fill(n, std::uint8_t{0}, chosen);
    for (int pass = 0; pass < elimination_passes; ++pass) {
      if (pass > 0) for_each_costly(loops, n, KeepNeighbours<T>{A, chosen, keys});
      for_each_costly(loops, n, ChooseVertex<T>{A, keys, chosen});
    }
    loops.for_each(n, MarkKeptVertices{chosen, number});
    loops.scan(n, number, number);
  }
};

/// Parameters of an elimination.
struct EliminationOptions {
  std::uint64_t round = 0;      ///< seed of the hashes
  double least = 0;             ///< part of the vertices that pays
  bool with_transpose = false;  ///< makes R of the stage, for an A whose rows have diagonal elements
};

/// Eliminates an independent set from the graph with the Laplacian A, and overwrites `coarse` with the
/// Laplacian of the remaining vertices, which may be none. Does nothing and returns false if the set has less
/// than the part `least` of the vertices. The remaining vertices are numbered as before or, if it is not
/// empty, by `order`, a permutation; the columns of P then do not ascend. Waits.
template <class B, class T>
bool eliminate(B& backend, const Csr<T>& A, const EliminationOptions& options, EliminationStage<T>& stage,
               Csr<T>& coarse, const Array<std::int32_t>& order = {}) {
  const std::int64_t n = A.rows();
  Arena memory(backend.device(), Arena::bytes<std::uint8_t>(n) + Arena::bytes<std::int64_t>(n + 1) +
                                     Arena::bytes<std::uint64_t>(n));
  auto* const chosen = memory.take<std::uint8_t>(n);
  auto* const number = memory.take<std::int64_t>(n + 1);
  run_sequence(
      backend, n,
      ChooseSet<T>{LaplacianRows<T>(A), n, options.round, memory.take<std::uint64_t>(n), chosen, number});
  const std::int64_t kept = backend.read(number + n);
  const auto eliminated = static_cast<double>(n - kept);
  if (kept == n || eliminated < options.least * static_cast<double>(n)) return false;
  if (order.size() > 0) number_in_order(backend, order, chosen, number);
  if constexpr (HostBackend<B>) {
    coarse = eliminate_by_rows(backend, A, kept, chosen, number, stage);
    if (options.with_transpose) stage.R = transpose(stage.P);
  } else {
    coarse = eliminate_by_sorting(backend, A, kept, chosen, number, options.with_transpose, stage);
  }
  stage.nonzeros = A.nonzeros();
  stage.transfer_nonzeros = stage.P.nonzeros();
  return true;
}

/// number[i] = number of the kept vertex i, or -1.
template <class T>
struct NumberOfVertex {
  const std::int64_t* row_offsets;  ///< of P
  const std::int32_t* columns;
  const T* inverse;
  std::int32_t* number;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const bool is_kept = inverse[i] == T{0} && row_offsets[i] < row_offsets[i + 1];
    number[i] = is_kept ? columns[row_offsets[i]] : -1;
  }
};
/// Replaces P by the numbers of the kept vertices, which take a tenth of its memory and suffice where the
/// matrix A before the elimination is kept: its elements are those of P, but for the factors `inverse`.
template <class B, class T>
void keep_numbers(B& backend, EliminationStage<T>& stage) {
  stage.number = Array<std::int32_t>(backend.device(), stage.rows());
  backend.for_each(stage.rows(),
                   NumberOfVertex<T>{stage.P.row_offsets().data(), stage.P.column_indices().data(),
                                     stage.inverse.data(), stage.number.data()});
  stage.P = Csr<T>();
}

/// Use of the product of A and inverse * b: the right-hand side of the kept vertices.
template <class T>
struct PutReduced {
  const std::int32_t* number;
  const T* b;
  T* reduced;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    if (number[i] >= 0) reduced[number[i]] = b[i] - sum;
  }
};
/// Solution of the kept vertices, and zero at the others, evaluated on access.
template <class T>
struct KeptElement {
  const std::int32_t* number;
  const T* reduced;
  ECHELON_ANYWHERE T operator[](std::int64_t i) const { return number[i] >= 0 ? reduced[number[i]] : T{0}; }
};
/// Use of the product of A and the kept elements: completes x.
template <class T>
struct CompleteVertex {
  KeptElement<T> kept;
  const T* inverse;
  const T* b;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    x[i] = kept.number[i] >= 0 ? kept[i] : inverse[i] * (b[i] - sum);
  }
};

}  // namespace echelon::affinity_multigrid

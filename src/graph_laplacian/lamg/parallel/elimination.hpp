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

#include "graph_laplacian/lamg/elimination.hpp"
#include "graph_laplacian/lamg/parallel/edge_list.hpp"
#include "graph_laplacian/lamg/parallel/for_each_costly.hpp"
#include "graph_laplacian/lamg/parallel/row_accumulation.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/transform.hpp>

#include <cstdint>
#include <utility>

namespace echelon::lamg::parallel {

/// Record of an elimination: b_c = P^T b, and x = P x_c + inverse * b (element by element).
template <class T>
struct EliminationStage {
  Csr<T> P;
  Csr<T> R;                            ///< P^T, which the caller forms if it needs it
  Array<T> inverse;                    ///< 1 / a_ii of eliminated vertices, otherwise 0
  Array<std::int32_t> number;          ///< of kept vertices, otherwise -1; where keep_numbers() was called
  std::int64_t nonzeros = 0;           ///< of the matrix before the elimination
  std::int64_t transfer_nonzeros = 0;  ///< of P
  [[nodiscard]] std::int64_t rows() const { return inverse.size(); }
  [[nodiscard]] std::size_t bytes() const { return P.bytes() + R.bytes() + inverse.bytes() + number.bytes(); }
};

/// Number of rounds of Luby's algorithm, by which the independent set is nearly a maximal one.
inline constexpr int elimination_passes = 3;

/// Key of vertices that are not eliminated.
inline constexpr std::uint64_t kept_key = UINT64_MAX;

/// Elements of one row of a Laplacian.
template <class T>
struct LaplacianRows {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  explicit LaplacianRows(const Csr<T>& A)
      : offsets(A.row_offsets().data()), columns(A.column_indices().data()), values(A.values().data()) {}
  /// Whether element k of row i is an edge.
  ECHELON_ANYWHERE bool is_edge(std::int64_t i, std::int64_t k) const {
    return columns[k] != i && values[k] < T{0};
  }
};

/// inverse[i] = 1 / a_ii, or zero without a diagonal element. Columns ascend.
template <class T>
struct InvertDiagonal {
  LaplacianRows<T> A;
  T* inverse;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t end = A.offsets[i + 1];
    const std::int64_t k = lower_bound(A.columns, A.offsets[i], end, i);
    inverse[i] = k < end && A.columns[k] == i && A.values[k] != T{0} ? T{1} / A.values[k] : T{0};
  }
};
template <class B, class T>
void invert_diagonal(B& backend, const Csr<T>& A, T* inverse) {
  for_each_costly(backend, A.rows(), InvertDiagonal<T>{LaplacianRows<T>(A), inverse});
}

template <class T>
struct DrawEliminationKey {
  LaplacianRows<T> A;
  std::uint64_t round;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    keys[i] = kept_key;
    if (A.offsets[i + 1] - A.offsets[i] > max_eliminated_degree + 1) return;
    std::uint64_t degree = 0;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) degree += A.is_edge(i, k) ? 1 : 0;
    if (degree > static_cast<std::uint64_t>(max_eliminated_degree)) return;
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
struct CountKept {
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

/// Lengths of the rows of P, and numbers of edges that the eliminations add.
template <class T>
struct CountElimination {
  LaplacianRows<T> A;
  const std::uint8_t* chosen;
  std::int64_t* lengths;
  std::int64_t* fill;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    lengths[i] = 1;
    fill[i] = 0;
    if (chosen[i] == 0) return;
    std::int64_t degree = 0;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) degree += A.is_edge(i, k) ? 1 : 0;
    lengths[i] = degree;
    fill[i] = degree > 0 ? degree * (degree - 1) : 0;
  }
};

/// Writes row i of P and, for an eliminated vertex, the new edges between its neighbours unless `keys` is
/// null.
template <class T>
struct EliminateVertex {
  LaplacianRows<T> A;
  const std::uint8_t* chosen;
  const std::int64_t* number;  ///< of kept vertices
  const std::int64_t* row_offsets;
  std::int32_t* columns;
  T* values;
  T* inverse;
  const std::int64_t* fill = nullptr;
  int bits = 0;
  std::uint64_t* keys = nullptr;
  T* weights = nullptr;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t begin = row_offsets[i];
    inverse[i] = T{0};
    if (chosen[i] == 0) {
      columns[begin] = static_cast<std::int32_t>(number[i]);
      values[begin] = T{1};
      return;
    }
    const std::int64_t end = write_row(i, begin);
    if (keys == nullptr) return;
    std::int64_t place = fill[i];
    for (std::int64_t a = begin; a < end; ++a) {
      for (std::int64_t b = begin; b < end; ++b) {
        if (a == b) continue;
        keys[place] = static_cast<std::uint64_t>(columns[a]) << bits | static_cast<std::uint64_t>(columns[b]);
        // Equal in both directions: the product does not depend on the order of its factors.
        weights[place++] = (values[a] * values[b]) / inverse[i];
      }
    }
  }
  /// Writes w_c / d and returns the end of the row.
  ECHELON_ANYWHERE std::int64_t write_row(std::int64_t i, std::int64_t place) const {
    T sum = 0;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      if (A.is_edge(i, k)) sum -= A.values[k];
    }
    if (!(sum > T{0})) return place;
    inverse[i] = T{1} / sum;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      if (!A.is_edge(i, k)) continue;
      columns[place] = static_cast<std::int32_t>(number[A.columns[k]]);
      values[place++] = -A.values[k] / sum;
    }
    return place;
  }
};

/// Writes the edge of element k of A between kept vertices.
template <class T>
struct KeepEdge {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const std::uint8_t* chosen;
  const std::int64_t* number;
  int bits;
  std::uint8_t* flags;
  std::uint64_t* keys;
  T* weights;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t i = rows[k];
    const std::int32_t j = A.columns[k];
    flags[k] = A.is_edge(i, k) && chosen[i] == 0 && chosen[j] == 0 ? 1 : 0;
    keys[k] = static_cast<std::uint64_t>(number[i]) << bits | static_cast<std::uint64_t>(number[j]);
    weights[k] = -A.values[k];
  }
};

/// The Schur complement by a sort of its edges; `fill` has the numbers of edges that the vertices add.
template <class B, class T>
Csr<T> complement_by_sorting(B& backend, const Csr<T>& A, std::int64_t kept, Array<std::int64_t>& fill,
                             EliminateVertex<T> eliminate_vertex) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  const std::int64_t nonzeros = A.nonzeros();
  const std::int64_t added = backend.exclusive_scan(n, fill.data(), fill.data());
  EdgeList<T> edges(device, kept, nonzeros + added);
  {
    const Array<std::int32_t> row_of = rows_of_elements(backend, A);
    Array<std::uint8_t> flags(device, nonzeros);
    Array<std::uint64_t> keys(device, nonzeros);
    Array<T> weights(device, nonzeros);
    backend.for_each(nonzeros, KeepEdge<T>{eliminate_vertex.A, row_of.data(), eliminate_vertex.chosen,
                                           eliminate_vertex.number, edges.bits, flags.data(), keys.data(),
                                           weights.data()});
    edges.size = backend.select(nonzeros, flags.data(), keys.data(), edges.keys.data());
    backend.select(nonzeros, flags.data(), weights.data(), edges.weights.data());
  }
  eliminate_vertex.fill = fill.data();
  eliminate_vertex.bits = edges.bits;
  eliminate_vertex.keys = edges.keys.data() + edges.size;
  eliminate_vertex.weights = edges.weights.data() + edges.size;
  backend.for_each(n, eliminate_vertex);
  edges.size += added;
  return laplacian_of(backend, std::move(edges));
}

/// number[i] = number of the kept vertex i, or -1: one access for each neighbour tells both.
struct NumberOrNone {
  const std::uint8_t* chosen;
  const std::int64_t* kept_before;
  std::int32_t* number;
  void operator()(std::int64_t i) const {
    number[i] = chosen[i] != 0 ? -1 : static_cast<std::int32_t>(kept_before[i]);
  }
};

/// Number of edges to which the elements of a kept vertex contribute, at its number.
template <class T>
struct CountContributions {
  EliminateVertex<T> stage;
  const std::int32_t* number;
  std::int32_t* kept;  ///< vertex of each number
  std::int64_t* counts;
  void operator()(std::int64_t i) const {
    if (number[i] < 0) return;
    std::int64_t count = 0;
    for (std::int64_t k = stage.A.offsets[i]; k < stage.A.offsets[i + 1]; ++k) {
      const std::int32_t j = stage.A.columns[k];
      count += number[j] >= 0 ? 1 : stage.row_offsets[j + 1] - stage.row_offsets[j];
    }
    kept[number[i]] = static_cast<std::int32_t>(i);
    counts[number[i]] = count;
  }
};

/// Passes the edges of the kept vertex i in the Schur complement to `add`: those to kept vertices, and those
/// that eliminated neighbours leave.
template <class T, class Add>
void visit_complement_row(const EliminateVertex<T>& stage, const std::int32_t* number, std::int32_t i,
                          const Add& add) {
  const LaplacianRows<T>& A = stage.A;
  for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
    const std::int32_t j = A.columns[k];
    if (A.is_edge(i, k) && number[j] >= 0) add(number[j], -static_cast<double>(A.values[k]));
  }
  for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
    const std::int32_t f = A.columns[k];
    if (!A.is_edge(i, k) || number[f] >= 0 || stage.inverse[f] == 0) continue;
    const std::int64_t end = stage.row_offsets[f + 1];
    std::int64_t own = stage.row_offsets[f];
    while (own < end && stage.columns[own] != number[i]) ++own;
    for (std::int64_t b = stage.row_offsets[f]; b < end; ++b) {
      if (b == own) continue;
      const T weight = (stage.values[own] * stage.values[b]) / stage.inverse[f];
      add(stage.columns[b], static_cast<double>(weight));
    }
  }
}

/// The Schur complement row by row, on the host, with the bits of complement_by_sorting.
template <HostBackend B, class T>
Csr<T> complement_by_rows(B& backend, std::int64_t kept, std::int64_t n, const EliminateVertex<T>& stage) {
  const Device& device = backend.device();
  for_each_costly(backend, n, stage);
  Array<std::int32_t> numbers(device, n);
  const std::int32_t* const number = numbers.data();
  backend.for_each(n, NumberOrNone{stage.chosen, stage.number, numbers.data()});
  Array<std::int32_t> vertices(device, kept);
  Array<std::int64_t> begins(device, kept + 1);
  for_each_costly(backend, n, CountContributions<T>{stage, number, vertices.data(), begins.data()});
  backend.exclusive_scan(kept, begins.data(), begins.data());
  const std::int32_t* const vertex = vertices.data();
  return accumulate_rows<T>(backend, kept, begins.data(), [&](std::int64_t row, const auto& add) {
    visit_complement_row(stage, number, vertex[row], add);
  });
}

/// Eliminates an independent set from the graph with the Laplacian A, and overwrites `coarse` with the
/// Laplacian of the remaining vertices, which may be none. Does nothing and returns false if the set has less
/// than the part `least` of the vertices. `round` seeds the hashes. The remaining vertices are numbered as
/// before or, if it is not empty, by `order`, a permutation; the columns of P then do not ascend. Waits.
template <class B, class T>
bool eliminate(B& backend, const Csr<T>& A, std::uint64_t round, double least, EliminationStage<T>& stage,
               Csr<T>& coarse, const Array<std::int32_t>& order = {}) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  const LaplacianRows<T> rows(A);
  Array<std::uint8_t> chosen(device, n);
  Array<std::int64_t> number(device, n + 1);
  {
    Array<std::uint64_t> keys(device, n);
    for_each_costly(backend, n, DrawEliminationKey<T>{rows, round, keys.data()});
    backend.fill(n, std::uint8_t{0}, chosen.data());
    for (int pass = 0; pass < elimination_passes; ++pass) {
      if (pass > 0) for_each_costly(backend, n, KeepNeighbours<T>{rows, chosen.data(), keys.data()});
      for_each_costly(backend, n, ChooseVertex<T>{rows, keys.data(), chosen.data()});
    }
    backend.for_each(n, CountKept{chosen.data(), number.data()});
  }
  const std::int64_t kept = backend.exclusive_scan(n, number.data(), number.data());
  if (kept == n || static_cast<double>(n - kept) < least * static_cast<double>(n)) return false;
  if (order.size() > 0) number_in_order(backend, order, chosen.data(), number.data());

  Array<std::int64_t> offsets(device, n + 1);
  Array<std::int64_t> fill(device, n + 1);
  for_each_costly(backend, n, CountElimination<T>{rows, chosen.data(), offsets.data(), fill.data()});
  const std::int64_t length = backend.exclusive_scan(n, offsets.data(), offsets.data());
  stage.inverse = Array<T>(device, n);
  Array<std::int32_t> columns(device, length);
  Array<T> values(device, length);
  EliminateVertex<T> eliminate_vertex{.A = rows,
                                      .chosen = chosen.data(),
                                      .number = number.data(),
                                      .row_offsets = offsets.data(),
                                      .columns = columns.data(),
                                      .values = values.data(),
                                      .inverse = stage.inverse.data()};
  if constexpr (HostBackend<B>) {
    coarse = complement_by_rows(backend, kept, n, eliminate_vertex);
  } else {
    coarse = complement_by_sorting(backend, A, kept, fill, eliminate_vertex);
  }
  stage.P = Csr<T>::unchecked(n, kept, std::move(offsets), std::move(columns), std::move(values));
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

}  // namespace echelon::lamg::parallel

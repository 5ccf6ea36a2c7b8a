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
  Csr<T> R;                            ///< P^T, if it was asked for
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

/// Lengths of the rows of P.
template <class T>
struct CountElimination {
  LaplacianRows<T> A;
  const std::uint8_t* chosen;
  std::int64_t* lengths;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    lengths[i] = 1;
    if (chosen[i] == 0) return;
    std::int64_t degree = 0;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) degree += A.is_edge(i, k) ? 1 : 0;
    lengths[i] = degree;
  }
};
/// CountElimination, and the numbers of edges that the eliminations add.
template <class T>
struct CountAddedEdges {
  CountElimination<T> rows;
  std::int64_t* added;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    rows(i);
    const std::int64_t degree = rows.chosen[i] != 0 ? rows.lengths[i] : 0;
    added[i] = degree > 0 ? degree * (degree - 1) : 0;
  }
};

/// Writes row i of P and, for an eliminated vertex, the new edges between its neighbours unless `keys` is
/// null: from place added[i] - first on.
template <class T>
struct EliminateVertex {
  LaplacianRows<T> A;
  const std::uint8_t* chosen;
  const std::int64_t* number;  ///< of kept vertices
  const std::int64_t* row_offsets;
  std::int32_t* columns;
  T* values;
  T* inverse;
  const std::int64_t* added = nullptr;
  std::int64_t first = 0;
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
    std::int64_t place = added[i] - first;
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

/// Elements of A by the ends of their edges.
template <class T>
struct ClassifiedElements {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const std::uint8_t* chosen;
  /// Whether element k is an edge between kept vertices.
  ECHELON_ANYWHERE bool is_kept(std::int64_t k) const {
    return chosen[rows[k]] == 0 && A.is_edge(rows[k], k) && chosen[A.columns[k]] == 0;
  }
  /// Whether P^T has an element in place of element k: on the diagonal of a kept vertex, and for its edges to
  /// eliminated ones.
  ECHELON_ANYWHERE bool is_transferred(std::int64_t k) const {
    if (chosen[rows[k]] != 0) return false;
    return A.columns[k] == rows[k] || (A.is_edge(rows[k], k) && chosen[A.columns[k]] != 0);
  }
};
template <class T>
struct CountElements {
  ClassifiedElements<T> elements;
  std::int64_t* kept;
  std::int64_t* transferred;  ///< null without P^T
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    kept[k] = elements.is_kept(k) ? 1 : 0;
    if (transferred != nullptr) transferred[k] = elements.is_transferred(k) ? 1 : 0;
  }
};
/// Writes the edge of element k of A, if it is one between kept vertices, to its place.
template <class T>
struct KeepEdge {
  ClassifiedElements<T> elements;
  const std::int64_t* places;
  std::int64_t first;  ///< places[0]
  const std::int64_t* number;
  int bits;
  std::uint64_t* keys;
  T* weights;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t place = places[k];
    if (places[k + 1] == place) return;
    const auto i = static_cast<std::uint64_t>(number[elements.rows[k]]);
    const auto j = static_cast<std::uint64_t>(number[elements.A.columns[k]]);
    keys[place - first] = i << bits | j;
    weights[place - first] = -elements.A.values[k];
  }
};

/// Writes the element of R = P^T in place of element k of A.
template <class T>
struct WriteTransferred {
  EliminateVertex<T> stage;
  const std::int32_t* rows;
  const std::int64_t* places;
  std::int64_t first;  ///< places[0]
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t place = places[k];
    if (places[k + 1] == place) return;
    const std::int32_t j = stage.A.columns[k];
    columns[place - first] = j;
    values[place - first] = j == rows[k] ? T{1} : coefficient(j, stage.number[rows[k]]);
  }
  /// P(f, c).
  ECHELON_ANYWHERE T coefficient(std::int64_t f, std::int64_t c) const {
    for (std::int64_t k = stage.row_offsets[f]; k < stage.row_offsets[f + 1]; ++k) {
      if (stage.columns[k] == c) return stage.values[k];
    }
    return T{0};
  }
};
/// Offset of the row of R of the kept vertex i; i = n stands for the end.
template <class T>
struct WriteTransferredOffset {
  EliminateVertex<T> stage;
  std::int64_t n;
  const std::int64_t* places;
  std::int64_t first;  ///< places[0]
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (i == n || stage.chosen[i] == 0) offsets[stage.number[i]] = places[stage.A.offsets[i]] - first;
  }
};

/// First places of the kinds of EliminationPlaces after the first one, and their end.
struct EliminationSizes {
  std::int64_t added = 0;
  std::int64_t kept = 0;
  std::int64_t transferred = 0;
  std::int64_t end = 0;
};
struct GatherSizes {
  std::int64_t* added;
  std::int64_t* kept;
  std::int64_t* transferred;
  std::int64_t* end;
  EliminationSizes* sizes;
  ECHELON_ANYWHERE void operator()(std::int64_t /*only*/) const {
    *sizes = {*added, *kept, *transferred, *end};
  }
};

/// Places of four kinds of things in one scanned array, each kind from the end of the kind before on:
/// elements of P by rows, edges that eliminations add by vertices, edges between kept vertices and elements
/// of P^T by elements of A.
struct EliminationPlaces {
  static std::int64_t count(std::int64_t n, std::int64_t nonzeros, bool with_transpose) {
    return 2 * n + (with_transpose ? 2 : 1) * nonzeros + 1;
  }
  /// `all` has count() elements.
  EliminationPlaces(std::int64_t* all, std::int64_t n, std::int64_t nonzeros, bool with_transpose)
      : transfer(all),
        added(transfer + n),
        kept(added + n),
        transferred(kept + nonzeros),
        end(all + count(n, nonzeros, with_transpose) - 1) {}
  [[nodiscard]] GatherSizes gather(EliminationSizes* sizes) const {
    return {added, kept, transferred, end, sizes};
  }

  std::int64_t* transfer;
  std::int64_t* added;
  std::int64_t* kept;
  std::int64_t* transferred;  ///< `end` without P^T
  std::int64_t* end;
};
/// Arrays of a matrix to be written; empty if the number of rows is negative.
template <class T>
struct CsrArrays {
  CsrArrays(const Device& device, std::int64_t rows, std::int64_t nonzeros)
      : offsets(device, rows + 1), columns(device, nonzeros), values(device, nonzeros) {}
  [[nodiscard]] Csr<T> matrix(std::int64_t columns_of_matrix) && {
    const std::int64_t rows = offsets.size() - 1;  // before the arguments are moved, in any order
    return Csr<T>::unchecked(rows, columns_of_matrix, std::move(offsets), std::move(columns),
                             std::move(values));
  }
  Array<std::int64_t> offsets;
  Array<std::int32_t> columns;
  Array<T> values;
};

/// Counts what an elimination makes, and assigns the places.
template <class T>
struct AssignPlaces {
  ClassifiedElements<T> elements;
  std::int64_t n;
  std::int64_t nonzeros;
  std::int32_t* rows;  ///< those of `elements`
  std::int64_t* transfer;
  GatherSizes places;  ///< where each other kind begins
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    std::int64_t* const transferred = places.transferred < places.end ? places.transferred : nullptr;
    loops.segmented_for_each(n, elements.A.offsets, WriteRowOfElement{rows});
    loops.for_each(n, CountAddedEdges<T>{{elements.A, elements.chosen, transfer}, places.added});
    loops.for_each(nonzeros, CountElements<T>{elements, places.kept, transferred});
    loops.scan(places.end - transfer, transfer, transfer);
    loops.for_each(1, places);
  }
};

/// Writes P, the edges of the Schur complement and, unless its offsets are null, R = P^T, in the order of the
/// elements of A.
template <class T>
struct WriteElimination {
  std::int64_t n;
  std::int64_t nonzeros;
  const std::int64_t* transfer;  ///< places of the rows of P
  std::int64_t* offsets;         ///< of P
  KeepEdge<T> keep_edge;
  EliminateVertex<T> eliminate_vertex;
  WriteTransferredOffset<T> write_offset;
  WriteTransferred<T> write_transferred;
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.copy(n + 1, transfer, offsets);
    loops.for_each(nonzeros, keep_edge);
    loops.for_each(n, eliminate_vertex);
    if (write_offset.offsets == nullptr) return;
    loops.for_each(n + 1, write_offset);
    loops.for_each(nonzeros, write_transferred);
  }
};

/// Writes P, R if it is asked for, and `inverse` of the stage for the chosen vertices, and returns the Schur
/// complement, by a sort of its edges. Waits twice.
template <class B, class T>
Csr<T> eliminate_by_sorting(B& backend, const Csr<T>& A, std::int64_t kept, const std::uint8_t* chosen,
                            const std::int64_t* number, bool with_transpose, EliminationStage<T>& stage) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  const std::int64_t nonzeros = A.nonzeros();
  const std::int64_t place_count = EliminationPlaces::count(n, nonzeros, with_transpose);
  Arena memory(device, Arena::bytes<std::int32_t>(nonzeros) + Arena::bytes<std::int64_t>(place_count) +
                           Arena::bytes<EliminationSizes>(1));
  auto* const rows = memory.take<std::int32_t>(nonzeros);
  const EliminationPlaces places(memory.take<std::int64_t>(place_count), n, nonzeros, with_transpose);
  auto* const found = memory.take<EliminationSizes>(1);
  const ClassifiedElements<T> elements{LaplacianRows<T>(A), rows, chosen};
  run_sequence(backend, nonzeros,
               AssignPlaces<T>{elements, n, nonzeros, rows, places.transfer, places.gather(found)});
  const EliminationSizes sizes = backend.read(found);

  EdgeList<T> edges(device, kept, sizes.transferred - sizes.added);
  const std::int64_t kept_edges = sizes.transferred - sizes.kept;
  CsrArrays<T> P(device, n, sizes.added);
  CsrArrays<T> R(device, with_transpose ? kept : -1, sizes.end - sizes.transferred);
  stage.inverse = Array<T>(device, n);
  const EliminateVertex<T> eliminate_vertex{.A = elements.A,
                                            .chosen = chosen,
                                            .number = number,
                                            .row_offsets = P.offsets.data(),
                                            .columns = P.columns.data(),
                                            .values = P.values.data(),
                                            .inverse = stage.inverse.data(),
                                            .added = places.added,
                                            .first = sizes.added,
                                            .bits = edges.bits,
                                            .keys = edges.keys + kept_edges,
                                            .weights = edges.weights + kept_edges};
  run_sequence(
      backend, nonzeros,
      WriteElimination<T>{
          n, nonzeros, places.transfer, P.offsets.data(),
          KeepEdge<T>{elements, places.kept, sizes.kept, number, edges.bits, edges.keys, edges.weights},
          eliminate_vertex,
          WriteTransferredOffset<T>{eliminate_vertex, n, places.transferred, sizes.transferred,
                                    R.offsets.data()},
          WriteTransferred<T>{eliminate_vertex, rows, places.transferred, sizes.transferred, R.columns.data(),
                              R.values.data()}});
  stage.P = std::move(P).matrix(kept);
  if (with_transpose) stage.R = std::move(R).matrix(n);
  memory = Arena();
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

/// Writes P and `inverse` of the stage for the chosen vertices, and returns the Schur complement, on the
/// host.
template <HostBackend B, class T>
Csr<T> eliminate_by_rows(B& backend, const Csr<T>& A, std::int64_t kept, const std::uint8_t* chosen,
                         const std::int64_t* number, EliminationStage<T>& stage) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  const LaplacianRows<T> rows(A);
  Array<std::int64_t> offsets(device, n + 1);
  for_each_costly(backend, n, CountElimination<T>{rows, chosen, offsets.data()});
  const std::int64_t length = backend.exclusive_scan(n, offsets.data(), offsets.data());
  stage.inverse = Array<T>(device, n);
  Array<std::int32_t> columns(device, length);
  Array<T> values(device, length);
  Csr<T> coarse = complement_by_rows(backend, kept, n,
                                     EliminateVertex<T>{.A = rows,
                                                        .chosen = chosen,
                                                        .number = number,
                                                        .row_offsets = offsets.data(),
                                                        .columns = columns.data(),
                                                        .values = values.data(),
                                                        .inverse = stage.inverse.data()});
  stage.P = Csr<T>::unchecked(n, kept, std::move(offsets), std::move(columns), std::move(values));
  return coarse;
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
    loops.for_each(n, CountKept{chosen, number});
    loops.scan(n, number, number);
  }
};

/// Properties of an elimination beside the graph.
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

}  // namespace echelon::lamg::parallel

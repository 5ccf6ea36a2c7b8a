// SPDX-License-Identifier: BSD-3-Clause
/// Eliminations on a GPU: the edges of the Schur complement are listed and sorted.
#pragma once

#include "backend/arena.hpp"
#include "backend/loop_sequence.hpp"
#include "graph_laplacian/affinity_multigrid/elimination_stage.hpp"
#include "graph_laplacian/affinity_multigrid/packed_edges.hpp"

#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

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

  PackedEdges<T> edges(device, kept, sizes.transferred - sizes.added);
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

}  // namespace echelon::affinity_multigrid

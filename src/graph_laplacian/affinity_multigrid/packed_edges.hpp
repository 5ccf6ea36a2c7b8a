// SPDX-License-Identifier: BSD-3-Clause
/// Laplacians from lists of edges in any order with repetitions: quotient graphs and Schur complements.
#pragma once

#include "backend/arena.hpp"
#include "backend/loop_sequence.hpp"
#include "backend/lower_bound.hpp"
#include "backend/target.hpp"
#include "linalg/rows_of_elements.hpp"

#include <echelon/matrix/csr.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

/// Directed edges between `vertices` vertices; an undirected edge is in the list in both directions. Edges of
/// equal ends stand for one edge with the sum of their weights.
template <class T>
struct PackedEdges {
  PackedEdges(const Device& device, std::int64_t n, std::int64_t edges)
      : vertices(n),
        bits(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n > 0 ? n - 1 : 0)))),
        size(edges),
        memory(device, Arena::bytes<std::uint64_t>(edges) + Arena::bytes<T>(edges)),
        keys(memory.take<std::uint64_t>(edges)),
        weights(memory.take<T>(edges)) {}

  std::int64_t vertices;
  int bits;  ///< bits of a vertex number
  std::int64_t size;
  Arena memory;
  std::uint64_t* keys;  ///< row << bits | column
  T* weights;
};

/// Marks the first of each run of equal keys.
struct MarkRun {
  const std::uint64_t* keys;
  std::int64_t* marks;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    marks[k] = k == 0 || keys[k] != keys[k - 1] ? 1 : 0;
  }
};
/// Sorted keys, and the number of runs of equal ones that begin before each of them and before the end.
struct SortedEdges {
  const std::uint64_t* keys;
  const std::int64_t* runs_before;
  std::int64_t size;
  int bits;
  ECHELON_ANYWHERE std::int64_t runs_below(std::uint64_t key) const {
    return runs_before[lower_bound(keys, 0, size, key)];
  }
};
/// Writes the offset of a row of the Laplacian, which has one more element than edges, and a zero on the
/// diagonal. Row n is the end of the last one.
template <class T>
struct BeginRow {
  SortedEdges edges;
  std::int64_t n;
  std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto row = static_cast<std::uint64_t>(i);
    offsets[i] = edges.runs_below(row << edges.bits) + i;
    if (i == n) return;
    const std::int64_t place = edges.runs_below(row << edges.bits | row) + i;
    columns[place] = static_cast<std::int32_t>(i);
    values[place] = T{0};
  }
};
/// Adds up the weights of equal edges, in the order of the list, from the first of them on, and writes the
/// element of the Laplacian. Columns ascend; the place of the diagonal is left free.
template <class T>
struct WriteElement {
  SortedEdges edges;
  const T* weights;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t run = edges.runs_before[k];
    if (edges.runs_before[k + 1] == run) return;
    const std::uint64_t key = edges.keys[k];
    double sum = 0;
    for (; k < edges.size && edges.keys[k] == key; ++k) sum += static_cast<double>(weights[k]);
    const auto row = static_cast<std::int64_t>(key >> edges.bits);
    const auto column = static_cast<std::int64_t>(key & ((std::uint64_t{1} << edges.bits) - 1));
    const std::int64_t place = run + row + (column > row ? 1 : 0);
    columns[place] = static_cast<std::int32_t>(column);
    values[place] = static_cast<T>(-sum);
  }
};
template <class T>
struct NegatedElement {
  const T* values;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const { return {-static_cast<double>(values[k])}; }
};
/// Writes the diagonal: the sum of the weights of a row.
template <class T>
struct WriteDiagonal {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const Sum* sums;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto own = static_cast<std::int32_t>(i);
    const std::int64_t place = lower_bound(columns, offsets[i], offsets[i + 1], own);
    values[place] = static_cast<T>(sums[i].value);
  }
};

/// Numbers the runs of equal keys among `size` sorted ones.
struct NumberRuns {
  const std::uint64_t* keys;
  std::int64_t size;
  std::int64_t* runs_before;  ///< size + 1
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.for_each(size, MarkRun{keys, runs_before});
    loops.scan(size, runs_before, runs_before);
  }
};
/// Writes the Laplacian of sorted edges.
template <class T>
struct WriteLaplacian {
  SortedEdges edges;
  const T* weights;
  std::int64_t n;
  std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  Sum* sums;  ///< n, scratch
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.for_each(n + 1, BeginRow<T>{edges, n, offsets, columns, values});
    loops.for_each(edges.size, WriteElement<T>{edges, weights, columns, values});
    loops.segmented_reduce(n, offsets, NegatedElement<T>{values}, sums);
    loops.for_each(n, WriteDiagonal<T>{offsets, columns, sums, values});
  }
};

/// Makes the Laplacian of a graph, whose edges are used up. The order of summation is that of the list, so
/// that the result is the same on every device. Sorts; O(edges) memory. Waits once.
template <class B, class T>
Csr<T> laplacian_of(B& backend, PackedEdges<T> edges) {
  const Device& device = backend.device();
  const std::int64_t n = edges.vertices;
  Arena memory(device, Arena::bytes<std::uint64_t>(edges.size) + Arena::bytes<T>(edges.size) +
                           Arena::bytes<std::int64_t>(edges.size + 1) + Arena::bytes<Sum>(n));
  auto* const keys = memory.take<std::uint64_t>(edges.size);
  T* const weights = memory.take<T>(edges.size);
  auto* const runs = memory.take<std::int64_t>(edges.size + 1);
  Sum* const sums = memory.take<Sum>(n);
  backend.sort_by_key(edges.size, 0, 2 * edges.bits, edges.keys, keys, edges.weights, weights);
  edges.memory = Arena();
  run_sequence(backend, edges.size, NumberRuns{keys, edges.size, runs});
  const std::int64_t count = backend.read(runs + edges.size);
  Array<std::int64_t> offsets(device, n + 1);
  Array<std::int32_t> columns(device, count + n);
  Array<T> values(device, count + n);
  run_sequence(backend, edges.size + n,
               WriteLaplacian<T>{{keys, runs, edges.size, edges.bits},
                                 weights,
                                 n,
                                 offsets.data(),
                                 columns.data(),
                                 values.data(),
                                 sums});
  return Csr<T>::unchecked(n, n, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::affinity_multigrid

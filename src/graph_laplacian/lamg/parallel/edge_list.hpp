// SPDX-License-Identifier: BSD-3-Clause
/// Laplacians from lists of edges in any order with repetitions: quotient graphs and Schur complements.
#pragma once

#include "backend/lower_bound.hpp"
#include "backend/target.hpp"
#include "linalg/rows_of_elements.hpp"

#include <echelon/matrix/csr.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace echelon::lamg::parallel {

/// Directed edges between `vertices` vertices; an undirected edge is in the list in both directions. Edges of
/// equal ends stand for one edge with the sum of their weights.
template <class T>
struct EdgeList {
  EdgeList(const Device& device, std::int64_t n, std::int64_t capacity)
      : vertices(n),
        bits(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n > 0 ? n - 1 : 0)))),
        keys(device, capacity),
        weights(device, capacity) {}

  std::int64_t vertices;
  int bits;                   ///< bits of a vertex number
  std::int64_t size = 0;      ///< number of edges, at most the capacity
  Array<std::uint64_t> keys;  ///< row << bits | column
  Array<T> weights;
};

/// Computes the offsets of the rows of the Laplacian, with one more element, the diagonal, in each, from the
/// sorted keys without repetitions.
struct WriteRowOffset {
  const std::uint64_t* keys;
  std::int64_t count;
  int bits;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    offsets[i] = lower_bound(keys, 0, count, static_cast<std::uint64_t>(i) << bits) + i;
  }
};
/// Adds up the weights of equal edges, in the order of the list, and writes the elements of the Laplacian.
/// Columns ascend; the place of the diagonal is left free.
template <class T>
struct WriteElement {
  const std::uint64_t* keys;
  const std::int64_t* first;  ///< first edge of each run of equal ones
  const T* weights;
  int bits;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t run) const {
    const std::uint64_t key = keys[run];
    const auto row = static_cast<std::int64_t>(key >> bits);
    const auto column = static_cast<std::int64_t>(key & ((std::uint64_t{1} << bits) - 1));
    double sum = 0;
    for (std::int64_t k = first[run]; k < first[run + 1]; ++k) sum += static_cast<double>(weights[k]);
    const std::int64_t place = run + row + (column > row ? 1 : 0);
    columns[place] = static_cast<std::int32_t>(column);
    values[place] = static_cast<T>(-sum);
  }
};
/// Places a zero on the diagonal.
template <class T>
struct PlaceDiagonal {
  const std::uint64_t* keys;
  std::int64_t count;
  int bits;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const auto row = static_cast<std::uint64_t>(i);
    const std::int64_t place = lower_bound(keys, 0, count, row << bits | row) + i;
    columns[place] = static_cast<std::int32_t>(i);
    values[place] = T{0};
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

/// Makes the Laplacian of a graph, whose edges are used up. The order of summation is that of the list, so
/// that the result is the same on every device. Sorts; O(edges) memory.
template <class B, class T>
Csr<T> laplacian_of(B& backend, EdgeList<T> edges) {
  const Device& device = backend.device();
  const std::int64_t n = edges.vertices;
  Array<std::uint64_t> sorted(device, edges.size);
  Array<T> weights(device, edges.size);
  backend.sort_by_key(edges.size, 0, 2 * edges.bits, edges.keys.data(), sorted.data(), edges.weights.data(),
                      weights.data());
  edges.weights = Array<T>();
  Array<std::int64_t> first(device, edges.size + 1);
  const std::int64_t count =
      edges.size > 0 ? backend.run_lengths(edges.size, sorted.data(), edges.keys.data(), first.data()) : 0;
  sorted = Array<std::uint64_t>();
  backend.scan(count, first.data(), first.data());
  const std::uint64_t* keys = edges.keys.data();
  Array<std::int64_t> offsets(device, n + 1);
  backend.for_each(n + 1, WriteRowOffset{keys, count, edges.bits, offsets.data()});
  Array<std::int32_t> columns(device, count + n);
  Array<T> values(device, count + n);
  backend.for_each(
      count, WriteElement<T>{keys, first.data(), weights.data(), edges.bits, columns.data(), values.data()});
  backend.for_each(n, PlaceDiagonal<T>{keys, count, edges.bits, columns.data(), values.data()});
  Array<Sum> sums(device, n);
  backend.segmented_reduce(n, offsets.data(), NegatedElement<T>{values.data()}, sums.data());
  backend.for_each(n, WriteDiagonal<T>{offsets.data(), columns.data(), sums.data(), values.data()});
  return Csr<T>::unchecked(n, n, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::lamg::parallel

// SPDX-License-Identifier: BSD-3-Clause
/// Strength of connection for aggregation.
///
/// With m_i = max over j != i of |g_ij|, i and j are strongly connected if g_ij != 0 and
/// |g_ij| >= threshold sqrt(m_i m_j): relative to both rows, and symmetric where G is. The usual measure,
/// relative to sqrt(a_ii a_jj), is absolute: with the threshold 0.08 it drops every element of a 27-point
/// Laplacian, whose elements are 1/26 of the diagonal.
#pragma once

#include "backend/target.hpp"

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::multigrid::aggregation {

/// Square roots of the largest off-diagonal magnitudes m_i of the rows.
template <class T>
struct RowScale {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    T largest = 0;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const T magnitude = std::fabs(values[k]);
      if (columns[k] != i && magnitude > largest) largest = magnitude;
    }
    scale[i] = std::sqrt(largest);
  }
};

/// Whether element k of row i of G connects i strongly to its column.
template <class T>
struct IsStrong {
  const std::int32_t* columns;
  const T* values;
  const T* scale;
  T threshold;
  ECHELON_ANYWHERE bool operator()(std::int64_t i, std::int64_t k) const {
    const std::int32_t j = columns[k];
    return j != i && values[k] != T{0} && std::fabs(values[k]) >= threshold * scale[i] * scale[j];
  }
};

/// Adjacency lists of a graph. Each node is listed among its own neighbours; a node without another neighbour
/// is isolated.
struct NodeGraph {
  std::int64_t nodes = 0;
  Array<std::int64_t> offsets;
  Array<std::int32_t> neighbours;  ///< ascending for each node

  [[nodiscard]] std::size_t bytes() const { return offsets.bytes() + neighbours.bytes(); }
};

template <class T>
struct CountStrong {
  const std::int64_t* row_offsets;
  IsStrong<T> is_strong;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 1;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) count += is_strong(i, k) ? 1 : 0;
    counts[i] = count;
  }
};

template <class T>
struct FillStrong {
  const std::int64_t* row_offsets;
  IsStrong<T> is_strong;
  const std::int64_t* offsets;
  std::int32_t* neighbours;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t place = offsets[i];
    bool before = true;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      if (before && is_strong.columns[k] >= i) {
        neighbours[place++] = static_cast<std::int32_t>(i);
        before = false;
      }
      if (is_strong(i, k)) neighbours[place++] = is_strong.columns[k];
    }
    if (before) neighbours[place] = static_cast<std::int32_t>(i);
  }
};

/// The graph of strong connections of G, n by n. Reads G three times. Synchronises.
template <class B, class T>
NodeGraph strong_connections(B& backend, const Csr<T>& G, double threshold) {
  const std::int64_t n = G.rows();
  const Device& device = backend.device();
  Array<T> scale(device, n);
  const std::int64_t* row_offsets = G.row_offsets().data();
  const std::int32_t* columns = G.column_indices().data();
  backend.for_each(n, RowScale<T>{row_offsets, columns, G.values().data(), scale.data()});
  const IsStrong<T> is_strong{columns, G.values().data(), scale.data(), static_cast<T>(threshold)};
  NodeGraph graph{n, Array<std::int64_t>(device, n + 1), {}};
  backend.for_each(n, CountStrong<T>{row_offsets, is_strong, graph.offsets.data()});
  const std::int64_t size = backend.exclusive_scan(n, graph.offsets.data(), graph.offsets.data());
  graph.neighbours = Array<std::int32_t>(device, size);
  backend.for_each(n, FillStrong<T>{row_offsets, is_strong, graph.offsets.data(), graph.neighbours.data()});
  return graph;
}

}  // namespace echelon::multigrid::aggregation

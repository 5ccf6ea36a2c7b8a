// SPDX-License-Identifier: BSD-3-Clause
/// The filtered matrix A^F: A without its weak elements, which are added to the diagonal so that row sums,
/// and with them A^F times a constant, stay what they were.
#pragma once

#include "multigrid/coarsening/aggregation/strength.hpp"

namespace echelon::multigrid::aggregation {

/// Least fraction of a diagonal element that may remain after weak elements are added. Below it the diagonal
/// element stays unchanged: on coarse levels of problems with large jumps the sums can be tiny or negative,
/// and D^-1 A^F would have huge eigenvalues.
inline constexpr double least_filtered_diagonal = 0.25;

/// Elements of row i of A that A^F keeps: those of its own node and of strongly connected ones, and the
/// diagonal element, stored or not. Visits the columns of A's row and of the graph's in ascending order.
template <class T>
struct FilteredRows {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
  std::int64_t block;  ///< rows of A per node of the graph
  const std::int64_t* graph_offsets;
  const std::int32_t* neighbours;

  /// keep(j, a_ij) for each element kept and drop(j, a_ij) for the others.
  template <class Keep, class Drop>
  ECHELON_ANYWHERE void visit(std::int64_t i, Keep keep, Drop drop) const {
    const std::int64_t node = i / block;
    std::int64_t g = graph_offsets[node];
    const std::int64_t g_end = graph_offsets[node + 1];
    bool before_diagonal = true;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const std::int64_t j = columns[k];
      const std::int64_t other = block == 1 ? j : j / block;
      if (before_diagonal && j >= i) {
        if (j > i) keep(i, T{0});
        before_diagonal = false;
      }
      while (g < g_end && neighbours[g] < other) ++g;
      if (g < g_end && neighbours[g] == other) {
        keep(j, values[k]);
      } else {
        drop(j, values[k]);
      }
    }
    if (before_diagonal) keep(i, T{0});
  }
};

template <class T>
struct CountKeptElements {
  FilteredRows<T> rows;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    rows.visit(
        i, [&count](std::int64_t, T) { ++count; }, [](std::int64_t, T) {});
    counts[i] = count;
  }
};

/// Writes row i of A^F.
template <class T>
struct FillFiltered {
  FilteredRows<T> rows;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t place = offsets[i];
    std::int64_t diagonal = place;
    T dropped = 0;
    rows.visit(
        i,
        [&](std::int64_t j, T value) {
          if (j == i) diagonal = place;
          columns[place] = static_cast<std::int32_t>(j);
          values[place++] = value;
        },
        [&](std::int64_t j, T value) {
          if (j % rows.block == i % rows.block) dropped += value;
        });
    const T a_ii = values[diagonal];
    const T sum = a_ii + dropped;
    const T least = static_cast<T>(least_filtered_diagonal) * a_ii;
    if (a_ii > 0 ? sum >= least : sum <= least) values[diagonal] = sum;
  }
};

/// A^F for the graph of strong connections between nodes of `block` rows. Synchronises.
template <class B, class T>
Csr<T> filtered_matrix(B& backend, const Csr<T>& A, std::int64_t block, const NodeGraph& graph) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  const FilteredRows<T> rows{A.row_offsets().data(), A.column_indices().data(), A.values().data(), block,
                             graph.offsets.data(),   graph.neighbours.data()};
  Array<std::int64_t> offsets(device, n + 1);
  backend.for_each(n, CountKeptElements<T>{rows, offsets.data()});
  const std::int64_t nonzeros = backend.exclusive_scan(n, offsets.data(), offsets.data());
  Array<std::int32_t> columns(device, nonzeros);
  Array<T> values(device, nonzeros);
  backend.for_each(n, FillFiltered<T>{rows, offsets.data(), columns.data(), values.data()});
  return Csr<T>::unchecked(n, n, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::multigrid::aggregation

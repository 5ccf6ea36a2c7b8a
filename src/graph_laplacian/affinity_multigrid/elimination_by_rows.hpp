// SPDX-License-Identifier: BSD-3-Clause
/// Eliminations on the host: each row of the Schur complement is summed by itself.
#pragma once

#include "graph_laplacian/affinity_multigrid/elimination_stage.hpp"
#include "graph_laplacian/affinity_multigrid/row_accumulation.hpp"

#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

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

}  // namespace echelon::affinity_multigrid

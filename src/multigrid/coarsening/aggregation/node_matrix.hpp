// SPDX-License-Identifier: BSD-3-Clause
/// The matrix of nodes: element (I, J) is the Frobenius norm of the block of rows of node I and columns of
/// node J.
#pragma once

#include "backend/target.hpp"
#include "matrix/rows.hpp"

#include <cmath>
#include <utility>

namespace echelon::multigrid::aggregation {

/// Largest number of rows per node: a row of the node matrix merges that many rows of A in registers.
inline constexpr std::int64_t max_block = 16;

template <class T>
struct NodeRows {
  SparseRows<T> A;
  std::int64_t block;

  /// emit(J, sum of squares of block (I, J)) for the blocks of row I, in ascending order.
  template <class Emit>
  ECHELON_ANYWHERE void visit(std::int64_t node, Emit emit) const {
    std::int64_t place[max_block];
    for (std::int64_t b = 0; b < block; ++b) place[b] = A.begin(node * block + b);
    for (;;) {
      std::int64_t least = INT64_MAX;
      for (std::int64_t b = 0; b < block; ++b) {
        if (place[b] == A.end(node * block + b)) continue;
        const std::int64_t other = A.column(place[b]) / block;
        least = other < least ? other : least;
      }
      if (least == INT64_MAX) return;
      double squares = 0;
      for (std::int64_t b = 0; b < block; ++b) {
        for (; place[b] < A.end(node * block + b) && A.column(place[b]) / block == least; ++place[b]) {
          const auto value = static_cast<double>(A.values[place[b]]);
          squares += value * value;
        }
      }
      emit(least, squares);
    }
  }
};

template <class T>
struct CountNodeRow {
  NodeRows<T> rows;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t node) const {
    std::int64_t count = 0;
    rows.visit(node, [&count](std::int64_t, double) { ++count; });
    counts[node] = count;
  }
};

template <class T>
struct FillNodeRow {
  NodeRows<T> rows;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t node) const {
    std::int64_t place = offsets[node];
    rows.visit(node, [&](std::int64_t other, double squares) {
      columns[place] = static_cast<std::int32_t>(other);
      values[place++] = static_cast<T>(std::sqrt(squares));
    });
  }
};

/// Makes the node matrix of A for nodes of `block` rows each; `block` divides the rows of A. Synchronises.
template <class B, class T>
Csr<T> node_matrix(B& backend, const Csr<T>& A, std::int64_t block) {
  const std::int64_t nodes = A.rows() / block;
  const NodeRows<T> rows{SparseRows<T>(A), block};
  Array<std::int64_t> offsets(backend.device(), nodes + 1);
  backend.for_each(nodes, CountNodeRow<T>{rows, offsets.data()});
  const std::int64_t nonzeros = backend.exclusive_scan(nodes, offsets.data(), offsets.data());
  Array<std::int32_t> columns(backend.device(), nonzeros);
  Array<T> values(backend.device(), nonzeros);
  backend.for_each(nodes, FillNodeRow<T>{rows, offsets.data(), columns.data(), values.data()});
  return Csr<T>::unchecked(nodes, nodes, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::multigrid::aggregation

// SPDX-License-Identifier: BSD-3-Clause
/// Records of eliminations, and the row of an eliminated vertex.
#pragma once

#include "backend/target.hpp"
#include "graph_laplacian/affinity_multigrid/for_each_costly.hpp"
#include "graph_laplacian/inverse_diagonal.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::affinity_multigrid {

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

/// Reciprocals of the diagonal, or zero.
template <class B, class T>
void invert_diagonal(B& backend, const Csr<T>& A, T* inverse) {
  for_each_costly(backend, A.rows(), graph_laplacian::InvertDiagonal<T>{A, inverse});
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

}  // namespace echelon::affinity_multigrid

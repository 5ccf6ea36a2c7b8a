// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

/// Triangles that hold all nonzeros seen, and the number of nonzeros on the diagonal.
struct TriangularShape {
  bool lower = true;
  bool upper = true;
  std::int64_t on_diagonal = 0;

  void add(std::int64_t i, std::int64_t j) {
    lower = lower && j <= i;
    upper = upper && j >= i;
    on_diagonal += i == j ? 1 : 0;
  }
  [[nodiscard]] bool possible() const { return lower || upper; }
};

/// The shape of a matrix in host memory, as far as it is triangular.
template <class T>
TriangularShape triangular_shape(const MatrixRef<T>& A) {
  TriangularShape shape;
  for (std::int64_t i = 0; i < A.rows() && shape.possible() && A.is_sparse(); ++i) {
    const Csr<T>& csr = *A.csr();
    for (std::int64_t k = csr.row_offsets()[i]; k < csr.row_offsets()[i + 1]; ++k) {
      if (csr.values()[k] != 0) shape.add(i, csr.column_indices()[k]);
    }
  }
  for (std::int64_t j = 0; j < A.columns() && shape.possible() && !A.is_sparse(); ++j) {
    for (std::int64_t i = 0; i < A.rows() && shape.possible(); ++i) {
      if (A.dense()(i, j) != 0) shape.add(i, j);
    }
  }
  return shape;
}

}  // namespace echelon

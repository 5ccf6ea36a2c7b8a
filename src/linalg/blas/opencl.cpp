// SPDX-License-Identifier: BSD-3-Clause
// Products of dense matrices. A and B are copied to panels of 8 rows and 8 columns, padded by zeros, so that
// a tile of C reads both in the order of memory.
#include "backend/target.hpp"
#include "linalg/blas/gemm.hpp"
#include "matrix/rows.hpp"

#include <echelon/array.hpp>

#include <cstdint>

namespace echelon {

namespace {

/// Rows and columns of a tile, whose 64 sums a work-item holds in registers, a vector for each column:
/// drivers for processors do not find vectors in loops over single numbers.
constexpr std::int64_t tile = 8;

/// Writes column k of a panel: rows [8 p, 8 p + 8) of a matrix with `rows` rows, as 8 neighbours.
template <class T>
struct PackPanel {
  DenseRows<T> from;
  std::int64_t rows, inner;
  T* panels;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t first = e / inner * tile;
    const std::int64_t k = e % inner;
    for (std::int64_t i = 0; i < tile; ++i) {
      panels[e * tile + i] = first + i < rows ? from.at(first + i, k) : T{0};
    }
  }
};

template <class T>
struct MultiplyTile {
  using Column = T __attribute__((ext_vector_type(tile)));  ///< of a tile
  const T* left;                                            ///< panels of A
  const T* right;                                           ///< panels of the transpose of B
  std::int64_t panels_down, inner, rows, columns;
  T alpha, beta;
  T* C;
  std::int64_t row_step, column_step;  ///< of C

  ECHELON_ANYWHERE void operator()(std::int64_t t) const {
    const std::int64_t down = t % panels_down;
    const std::int64_t across = t / panels_down;
    Column sums[tile] = {};
    const auto* a = reinterpret_cast<const Column*>(left + down * inner * tile);
    const T* b = right + across * inner * tile;
    for (std::int64_t k = 0; k < inner; ++k, b += tile) {
      const Column column = a[k];
#pragma unroll
      for (int j = 0; j < tile; ++j) sums[j] += column * b[j];
    }
    put(sums, down * tile, across * tile);
  }

 private:
  ECHELON_ANYWHERE void put(const Column (&sums)[tile], std::int64_t first_row,
                            std::int64_t first_column) const {
    for (std::int64_t j = 0; j < tile && first_column + j < columns; ++j) {
      for (std::int64_t i = 0; i < tile && first_row + i < rows; ++i) {
        T& target = C[(first_row + i) * row_step + (first_column + j) * column_step];
        target = beta == T{0} ? alpha * sums[j][i] : alpha * sums[j][i] + beta * target;
      }
    }
  }
};

template <class T>
Array<T> pack(OpenCl& backend, const DenseView<const T>& A) {
  const std::int64_t panels = (A.rows() + tile - 1) / tile;
  Array<T> packed(backend.device(), panels * A.columns() * tile);
  backend.for_each(panels * A.columns(), PackPanel<T>{DenseRows<T>(A), A.rows(), A.columns(), packed.data()});
  return packed;
}

}  // namespace

template <class T>
void gemm(OpenCl& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  if (C.rows() == 0 || C.columns() == 0) return;
  const Array<T> left = pack(backend, A);
  const Array<T> right = pack(backend, transposed(B));
  const std::int64_t down = (C.rows() + tile - 1) / tile;
  const std::int64_t across = (C.columns() + tile - 1) / tile;
  const bool by_column = C.layout() == Layout::column_major;
  backend.for_each(down * across, MultiplyTile<T>{.left = left.data(),
                                                  .right = right.data(),
                                                  .panels_down = down,
                                                  .inner = A.columns(),
                                                  .rows = C.rows(),
                                                  .columns = C.columns(),
                                                  .alpha = alpha,
                                                  .beta = beta,
                                                  .C = C.data(),
                                                  .row_step = by_column ? 1 : C.leading(),
                                                  .column_step = by_column ? C.leading() : 1});
}

template void gemm(OpenCl&, float, DenseView<const float>, DenseView<const float>, float, DenseView<float>);
template void gemm(OpenCl&, double, DenseView<const double>, DenseView<const double>, double,
                   DenseView<double>);

}  // namespace echelon

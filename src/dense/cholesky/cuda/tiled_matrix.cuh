// SPDX-License-Identifier: BSD-3-Clause
/// A symmetric positive definite matrix on a GPU, padded to whole tiles, and its Cholesky factor in its
/// place.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "dense/cholesky/cuda/tiled_factorization.cuh"
#include "dense/cholesky/cuda/tiled_triangles.cuh"
#include "dense/panels/workspace.cuh"
#include "linalg/blas/float_products.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace echelon::dense_cholesky {

/// Vectors of one substitution in progress.
template <class T>
struct SubstitutionVectors {
  SubstitutionVectors(const Device& device, std::int64_t rows)
      : rhs(device, rows), forward(device, rows), solution(device, rows), counters(device, 2) {}
  [[nodiscard]] std::size_t bytes() const {
    return rhs.bytes() + forward.bytes() + solution.bytes() + counters.bytes();
  }
  Array<T> rhs;  ///< the right-hand side, zero beyond n
  Array<T> forward, solution;
  Array<int> counters;
};

/// A pivot that is not positive.
struct NotPositive {
  std::int64_t column;
  double value;
};

template <class T>
class TiledMatrix {
 public:
  TiledMatrix() = default;
  /// Uninitialised, for n rows.
  TiledMatrix(const Device& device, std::int64_t n);

  /// Number of rows with those that fill the last tile, where the matrix is extended by the identity.
  [[nodiscard]] std::int64_t padded_rows() const { return matrix_.rows(); }
  [[nodiscard]] DenseView<T> view() { return matrix_.view(); }
  [[nodiscard]] std::size_t bytes() const { return matrix_.bytes() + triangles_.bytes(); }

  /// Replaces the lower triangle by the factor L, A = L L^T. Reads the lower triangle only. n^3 / 3 flops,
  /// of which those of the products of tiles of floats are in the arithmetic `products`. Returns the first
  /// pivot that is not positive. Waits.
  [[nodiscard]] std::optional<NotPositive> factor(Cuda& backend,
                                                  FloatProducts products = FloatProducts::in_float);

  /// arrays.solution = A^-1 arrays.rhs by the factor. Queued, in one kernel. 2 n^2 flops.
  void substitute(Cuda& backend, SubstitutionVectors<T>& arrays) const;
  /// Computes X = A^-1 X for many columns, by cuBLAS. X has n rows. Queued.
  void substitute(Cuda& backend, DenseView<T> X) const;

 private:
  using State = cholesky_kernels::TiledState<T>;

  /// Columns of tiles [first, end), to which those before have been applied.
  struct Panel {
    int first;
    int end;
  };
  void factor_panel(cudaStream_t stream, const Panel& panel, FloatProducts products, int* counters,
                    State* state);
  void factor_panels_ahead(Cuda& backend, int* counters, State* state);
  /// Subtracts the product of a panel from the columns of tiles [first, end), on and below the diagonal.
  void subtract_product(const StreamContext& context, const Panel& panel, int first, int end);

  Dense<T> matrix_;
  TiledTriangles<T> triangles_;  // L
  std::unique_ptr<LookaheadStream> lookahead_;
};

}  // namespace echelon::dense_cholesky

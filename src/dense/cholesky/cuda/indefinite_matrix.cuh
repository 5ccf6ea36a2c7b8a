// SPDX-License-Identifier: BSD-3-Clause
/// A dense symmetric or Hermitian indefinite matrix on a GPU, and its factors L D L^T or L D L^H in its
/// place.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "dense/cholesky/cuda/tiled_triangles.cuh"
#include "dense/tiles/indefinite_steps.cuh"
#include "support/triangle_mirror.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::dense_symmetric {

/// Rows and columns that bring parts far from each other into one block of pivots: constraints without
/// diagonal elements, which often follow each other, and the variables that they need for pivots of order
/// two. Sectors of memory stay together.
struct Spread {
  static constexpr std::int64_t sector = 4;
  std::int64_t n = 0;
  std::int64_t stride = 1;  ///< of the sectors, without a common divisor with their number

  explicit Spread(std::int64_t n_ = 0);
  /// The user's row that is row i here.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t operator()(std::int64_t i) const {
    const std::int64_t sectors = n / sector;
    const std::int64_t s = i / sector;
    return s >= sectors ? i : s * stride % sectors * sector + i % sector;
  }
};

/// Vectors of one substitution in progress.
template <class T>
struct IndefiniteVectors {
  IndefiniteVectors(const Device& device, std::int64_t rows)
      : rhs(device, rows), forward(device, rows), solution(device, rows), counters(device, 2) {}
  [[nodiscard]] std::size_t bytes() const {
    return rhs.bytes() + forward.bytes() + solution.bytes() + counters.bytes() + columns.bytes();
  }
  Array<T> rhs, forward, solution;
  Array<int> counters;
  Array<T> columns;  ///< for the largest number of right-hand sides of a solve so far
};

template <class T>
class IndefiniteMatrix {
 public:
  IndefiniteMatrix() = default;
  /// Uninitialised, for n rows.
  IndefiniteMatrix(const Device& device, std::int64_t n, TriangleMirror mirror = {});

  /// Number of rows with the spare rows and those that fill the last block, where the matrix is extended by
  /// the identity.
  [[nodiscard]] std::int64_t padded_rows() const { return matrix_.rows(); }
  [[nodiscard]] DenseView<T> view() { return matrix_.view(); }
  [[nodiscard]] const Spread& spread() const { return spread_; }
  [[nodiscard]] std::size_t bytes() const {
    return matrix_.bytes() + triangles_.bytes() + diagonal_.bytes() + place_.bytes();
  }

  /// Replaces the lower triangle, whose row i is row spread()(i) of the user's matrix, by L. Columns of
  /// `facts` are the user's. n^3 / 3 flops. Waits.
  [[nodiscard]] tiles::IndefiniteFacts factor(Cuda& backend, const CancellationToken& cancel);

  /// Computes x = S A^-1 S b, or without `scale`, x = A^-1 b, in the user's order, for a real A. Queued; 2
  /// n^2 flops.
  void solve(Cuda& backend, const T* scale, const T* b, T* x, IndefiniteVectors<T>& vectors) const
      requires(!is_complex<T>);
  /// Solves A X = B, or conj(A) X = B, for the columns of B and X with the same scaling, by cuBLAS.
  void solve(Cuda& backend, const Real<T>* scale, bool conjugated, DenseView<const T> B, DenseView<T> X,
             IndefiniteVectors<T>& vectors) const;

 private:
  Spread spread_;
  TriangleMirror mirror_;
  Dense<T> matrix_;
  dense_cholesky::TiledTriangles<T> triangles_;  // L; empty if A is complex
  Array<T> diagonal_;                            // two elements a row: of D, and below it
  Array<std::int32_t> place_;                    // of each row of D: the user's row, or -1 for a spare one
};

}  // namespace echelon::dense_symmetric

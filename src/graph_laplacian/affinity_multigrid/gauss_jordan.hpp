// SPDX-License-Identifier: BSD-3-Clause
/// Inverse of a symmetric positive definite matrix in parallel, by Gauss-Jordan elimination of blocks of rows
/// without pivoting.
#pragma once

#include "backend/target.hpp"
#include "backend/unroll.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::affinity_multigrid {

/// Rows that are eliminated together: their block of the matrix is in the registers of a thread.
inline constexpr int pivot_rows = 8;

struct alignas(16) PivotColumns {
  double at[pivot_rows] = {};
};

/// A row-major matrix, and the block of rows and columns that is eliminated.
struct EliminatedBlock {
  double* matrix;
  std::int64_t n;
  std::int64_t first;
  int count;
  ECHELON_ANYWHERE bool contains(std::int64_t i) const { return i >= first && i < first + count; }
};

/// Solves P w = m for the pivot block P and column j of its rows, or column j - first of the unit matrix for
/// a j inside the block; keeps the elements of row j in the block's columns.
struct SolvePivotBlock {
  EliminatedBlock block;
  double* solved;  ///< w, by rows of n
  PivotColumns* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    double p[pivot_rows][pivot_rows];
    double w[pivot_rows];
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) {
      const double* row = block.matrix + (block.first + a) * block.n;
      ECHELON_UNROLL
      for (int c = 0; c < pivot_rows; ++c) {
        p[a][c] = a < block.count && c < block.count ? row[block.first + c] : (a == c ? 1 : 0);
      }
      const bool unit = block.contains(j);
      w[a] = unit ? (j == block.first + a ? 1 : 0) : (a < block.count ? row[j] : 0);
    }
    eliminate(p, w);
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) {  // a loop to block.count would keep w in memory
      if (a >= block.count) continue;
      solved[a * block.n + j] = w[a];
      columns[j].at[a] = block.matrix[j * block.n + block.first + a];
    }
  }

 private:
  ECHELON_ANYWHERE static void eliminate(double (&p)[pivot_rows][pivot_rows], double (&w)[pivot_rows]) {
    double reciprocals[pivot_rows];
    ECHELON_UNROLL
    for (int k = 0; k < pivot_rows; ++k) {
      reciprocals[k] = 1 / p[k][k];
      ECHELON_UNROLL
      for (int a = k + 1; a < pivot_rows; ++a) {
        const double factor = p[a][k] * reciprocals[k];
        ECHELON_UNROLL
        for (int c = k + 1; c < pivot_rows; ++c) p[a][c] -= factor * p[k][c];
        w[a] -= factor * w[k];
      }
    }
    ECHELON_UNROLL
    for (int k = pivot_rows - 1; k >= 0; --k) {
      ECHELON_UNROLL
      for (int c = k + 1; c < pivot_rows; ++c) w[k] -= p[k][c] * w[c];
      w[k] *= reciprocals[k];
    }
  }
};

/// m_ij -= (m_i1, ..., m_ic) w_j for `tile_rows` rows i and one column j; the block's rows become w, and its
/// columns begin from zero.
struct UpdateInverse {
  static constexpr int tile_rows = 4;
  EliminatedBlock block;
  const double* solved;
  const PivotColumns* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t tile) const {
    const auto n = static_cast<std::uint32_t>(block.n);
    const auto group = static_cast<std::uint32_t>(tile) / n;
    const std::int64_t j = static_cast<std::uint32_t>(tile) - group * n;
    double w[pivot_rows];
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) w[a] = a < block.count ? solved[a * block.n + j] : 0;
    const bool begins = block.contains(j);
    ECHELON_UNROLL
    for (int t = 0; t < tile_rows; ++t) {
      const std::int64_t i = std::int64_t{group} * tile_rows + t;
      if (i >= block.n) return;
      double& element = block.matrix[i * block.n + j];
      if (block.contains(i)) {
        element = solved[(i - block.first) * block.n + j];
        continue;
      }
      const PivotColumns own = columns[i];
      double sum = begins ? 0 : element;
      ECHELON_UNROLL
      for (int a = 0; a < pivot_rows; ++a) sum -= own.at[a] * w[a];
      element = sum;
    }
  }
};

/// Replaces a symmetric positive definite matrix of at most 2^15 rows by its inverse: 2 n^3 flops, and n / 8
/// passes over the matrix. Does not wait.
template <class B>
void invert_in_place(B& backend, std::int64_t n, Array<double>& matrix) {
  const Device& device = backend.device();
  Array<double> solved(device, pivot_rows * n);
  Array<PivotColumns> columns(device, n);
  backend.fill(n, PivotColumns{}, columns.data());
  const std::int64_t tiles = (n + UpdateInverse::tile_rows - 1) / UpdateInverse::tile_rows * n;
  for (std::int64_t first = 0; first < n; first += pivot_rows) {
    const EliminatedBlock block{matrix.data(), n, first,
                                static_cast<int>(std::min<std::int64_t>(pivot_rows, n - first))};
    backend.for_each(n, SolvePivotBlock{block, solved.data(), columns.data()});
    backend.for_each(tiles, UpdateInverse{block, solved.data(), columns.data()});
  }
}

}  // namespace echelon::affinity_multigrid

// SPDX-License-Identifier: BSD-3-Clause
/// Inverse of a symmetric positive definite matrix in parallel, by Gauss-Jordan elimination of blocks of rows
/// without pivoting.
#pragma once

#include "backend/target.hpp"

#include <cstdint>

// Arrays whose loops are unrolled are in registers on a GPU.
#ifdef __CUDA_ARCH__
#define ECHELON_UNROLL _Pragma("unroll")
#else
#define ECHELON_UNROLL
#endif

namespace echelon::lamg::parallel {

/// Rows that are eliminated together: their block of the matrix is in the registers of a thread.
inline constexpr int pivot_rows = 8;

struct alignas(16) PivotColumns {
  double at[pivot_rows] = {};
};
/// The block of rows and columns that begins at a multiple of pivot_rows, by rows.
struct alignas(16) PivotBlock {
  PivotColumns rows[pivot_rows] = {};
};

/// A row-major matrix, and the block of rows and columns that is eliminated.
struct EliminatedBlock {
  double* matrix;
  std::int64_t n;
  std::int64_t first;
  [[nodiscard]] ECHELON_ANYWHERE bool contains(std::int64_t i) const {
    return i >= first && i < first + pivot_rows;
  }
  /// Rows of the block that the matrix has.
  [[nodiscard]] ECHELON_ANYWHERE int count() const {
    return n - first < pivot_rows ? static_cast<int>(n - first) : pivot_rows;
  }
  [[nodiscard]] ECHELON_ANYWHERE EliminatedBlock next() const { return {matrix, n, first + pivot_rows}; }
};

/// What the elimination of a block reads besides the matrix.
struct EliminationFactors {
  double* solved;         ///< P^-1 m_j for the pivot block P and each column m_j of its rows, by rows of n
  PivotColumns* columns;  ///< elements of each row in the block's columns
  PivotBlock* ahead;      ///< next pivot block, before this elimination
};

/// Solves P w = m for the pivot block P and column j of its rows, or column j - first of the unit matrix for
/// a j inside the block, and writes w. Rows that the matrix does not have are those of the unit matrix.
ECHELON_ANYWHERE inline void solve_pivot_block(const EliminatedBlock& block,
                                               double (&p)[pivot_rows][pivot_rows], double (&w)[pivot_rows],
                                               std::int64_t j, double* solved) {
  const bool unit = block.contains(j);
  ECHELON_UNROLL
  for (int a = 0; a < pivot_rows; ++a) {
    if (unit) w[a] = j == block.first + a ? 1 : 0;
  }
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
  ECHELON_UNROLL
  for (int a = 0; a < pivot_rows; ++a) {  // a loop to count() would keep w in memory
    if (a < block.count()) solved[a * block.n + j] = w[a];
  }
}

/// Computes the factors of the first block, from column j of the matrix.
struct BeginElimination {
  EliminatedBlock block;
  EliminationFactors factors;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    double p[pivot_rows][pivot_rows];
    double w[pivot_rows];
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) {
      ECHELON_UNROLL
      for (int c = 0; c < pivot_rows; ++c) p[a][c] = element(block, a, c);
      w[a] = a < block.count() ? block.matrix[a * block.n + j] : 0;
      factors.columns[j].at[a] = a < block.count() ? block.matrix[j * block.n + a] : 0;
    }
    solve_pivot_block(block, p, w, j, factors.solved);
    const EliminatedBlock next = block.next();
    if (!next.contains(j)) return;
    for (int a = 0; a < pivot_rows; ++a) {
      factors.ahead->rows[a].at[j - next.first] = element(next, a, static_cast<int>(j - next.first));
    }
  }

 private:
  /// Element of a block on the diagonal.
  ECHELON_ANYWHERE static double element(const EliminatedBlock& block, int a, int c) {
    if (a >= block.count() || c >= block.count()) return a == c ? 1 : 0;
    return block.matrix[(block.first + a) * block.n + block.first + c];
  }
};

/// m_ij -= (m_i1, ..., m_i8) w_j for a group of pivot_rows rows i and one column j; the block's rows become
/// w, and its columns begin from zero. The threads of the group that is the next block compute its factors as
/// well: from their own elements, and the next pivot block, which each of them updates by itself. No thread
/// reads what another one writes: the factors of two blocks are in different memory.
struct EliminateBlock {
  EliminatedBlock block;
  EliminationFactors factors;
  EliminationFactors next_factors;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const auto n = static_cast<std::uint32_t>(block.n);
    const std::uint32_t groups = (n + pivot_rows - 1) / pivot_rows;
    const EliminatedBlock next = block.next();
    // The group of the next block comes first, since its threads take longest.
    const std::uint32_t turn = static_cast<std::uint32_t>(place) / n;
    const std::uint32_t group = (turn + static_cast<std::uint32_t>(next.first) / pivot_rows) % groups;
    const std::int64_t j = static_cast<std::uint32_t>(place) - turn * n;
    const std::int64_t first = std::int64_t{group} * pivot_rows;
    double w[pivot_rows];
    double updated[pivot_rows];
    load_solved(j, w);
    ECHELON_UNROLL
    for (int t = 0; t < pivot_rows; ++t) {
      updated[t] = 0;
      if (first + t < block.n) updated[t] = update(first + t, j, w);
    }
    if (next.contains(j)) write_column(next, first, j, updated);
    if (first == next.next().first && next.next().contains(j)) write_ahead(first, j, updated);
    if (first == next.first && next.first < block.n) solve_next(next, j, updated);
  }

 private:
  ECHELON_ANYWHERE void load_solved(std::int64_t j, double (&w)[pivot_rows]) const {
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) w[a] = a < block.count() ? factors.solved[a * block.n + j] : 0;
  }
  ECHELON_ANYWHERE double update(std::int64_t i, std::int64_t j, const double (&w)[pivot_rows]) const {
    double& element = block.matrix[i * block.n + j];
    if (block.contains(i)) return element = factors.solved[(i - block.first) * block.n + j];
    return element = reduced(block.contains(j) ? 0 : element, factors.columns[i], w);
  }
  ECHELON_ANYWHERE static double reduced(double sum, const PivotColumns& own, const double (&w)[pivot_rows]) {
    ECHELON_UNROLL
    for (int a = 0; a < pivot_rows; ++a) sum -= own.at[a] * w[a];
    return sum;
  }
  /// Keeps the elements of a group of rows in column j of the next block.
  ECHELON_ANYWHERE void write_column(const EliminatedBlock& next, std::int64_t first, std::int64_t j,
                                     const double (&updated)[pivot_rows]) const {
    ECHELON_UNROLL
    for (int t = 0; t < pivot_rows; ++t) {
      if (first + t < block.n) next_factors.columns[first + t].at[j - next.first] = updated[t];
    }
  }
  /// Keeps the elements in column j of the block after the next, whose rows begin with `first`.
  ECHELON_ANYWHERE void write_ahead(std::int64_t first, std::int64_t j,
                                    const double (&updated)[pivot_rows]) const {
    ECHELON_UNROLL
    for (int t = 0; t < pivot_rows; ++t) next_factors.ahead->rows[t].at[j - first] = updated[t];
  }
  ECHELON_ANYWHERE void solve_next(const EliminatedBlock& next, std::int64_t j,
                                   double (&updated)[pivot_rows]) const {
    double p[pivot_rows][pivot_rows];
    ECHELON_UNROLL
    for (int c = 0; c < pivot_rows; ++c) {
      double w[pivot_rows];
      if (c < next.count()) load_solved(next.first + c, w);
      ECHELON_UNROLL
      for (int a = 0; a < pivot_rows; ++a) {
        const bool exists = a < next.count() && c < next.count();
        p[a][c] = exists ? reduced(factors.ahead->rows[a].at[c], factors.columns[next.first + a], w)
                         : (a == c ? 1 : 0);
      }
    }
    solve_pivot_block(next, p, updated, j, next_factors.solved);
  }
};

/// Replaces a symmetric positive definite matrix of at most 2^15 rows by its inverse: 2 n^3 flops, and n / 8
/// passes over the matrix. Does not wait.
template <class B>
void invert_in_place(B& backend, std::int64_t n, Array<double>& matrix) {
  if (n == 0) return;
  const Device& device = backend.device();
  Array<double> solved(device, 2 * pivot_rows * n);
  Array<PivotColumns> columns(device, 2 * n);
  Array<PivotBlock> ahead(device, 2);
  backend.fill(2 * n, PivotColumns{}, columns.data());
  const auto factors = [&](std::int64_t step) {
    const std::int64_t side = step % 2;
    return EliminationFactors{solved.data() + side * pivot_rows * n, columns.data() + side * n,
                              ahead.data() + side};
  };
  const std::int64_t groups = (n + pivot_rows - 1) / pivot_rows;
  backend.for_each(n, BeginElimination{{matrix.data(), n, 0}, factors(0)});
  for (std::int64_t step = 0; step < groups; ++step) {
    const EliminatedBlock block{matrix.data(), n, step * pivot_rows};
    backend.for_each(groups * n, EliminateBlock{block, factors(step), factors(step + 1)});
  }
}

}  // namespace echelon::lamg::parallel

#undef ECHELON_UNROLL

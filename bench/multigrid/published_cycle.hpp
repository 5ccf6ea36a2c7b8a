// SPDX-License-Identifier: BSD-3-Clause
/// The multigrid cycle of document 004 as serial loops, for dense and sparse matrices.
#pragma once

#include "matrix/rows.hpp"
#include "support/published_loops.hpp"

#include <echelon/matrix/builder.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::bench {

/// A square matrix with all of its elements, row by row.
template <class T>
struct RowMajorMatrix {
  std::int64_t n = 0;
  std::vector<T> elements;

  [[nodiscard]] std::int64_t rows() const { return n; }
};

template <class T>
DenseRows<T> rows_of(const RowMajorMatrix<T>& A) {
  return DenseRows<T>(DenseView<const T>(A.elements.data(), A.n, A.n, A.n, Device(), Layout::row_major));
}
template <class T>
SparseRows<T> rows_of(const Csr<T>& A) {
  return SparseRows<T>(A);
}

/// Calls f(coarse unknown, weight) for those from which unknown i is interpolated: coarse unknown j is
/// unknown 2j + 1, and the others take half of each of their neighbours.
template <class F>
void for_each_coarse(std::int64_t i, std::int64_t coarse, const F& f) {
  const std::int64_t j = i / 2;
  if (i % 2 == 1) return f(j, 1.0F);
  if (j > 0) f(j - 1, 0.5F);
  if (j < coarse) f(j, 0.5F);
}

/// Row `row` of R A I with R = I^T, all elements.
template <class Rows, class T = typename Rows::Value>
std::vector<T> coarse_row(const Rows& A, std::int64_t n, std::int64_t row) {
  std::vector<T> sums(static_cast<std::size_t>(n / 2));
  for (std::int64_t i = 2 * row; i < std::min(2 * row + 3, n); ++i) {
    const T outer = i == 2 * row + 1 ? T{1} : T{0.5};
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      for_each_coarse(A.column(k), n / 2, [&](std::int64_t j, float inner) {
        sums[static_cast<std::size_t>(j)] += outer * static_cast<T>(inner) * A.value(i, k);
      });
    }
  }
  return sums;
}

template <class T>
RowMajorMatrix<T> coarse_matrix(const RowMajorMatrix<T>& A) {
  RowMajorMatrix<T> coarse{A.n / 2, {}};
  for (std::int64_t i = 0; i < coarse.n; ++i) {
    const std::vector<T> row = coarse_row(rows_of(A), A.n, i);
    coarse.elements.insert(coarse.elements.end(), row.begin(), row.end());
  }
  return coarse;
}
template <class T>
Csr<T> coarse_matrix(const Csr<T>& A) {
  const std::int64_t n = A.rows() / 2;
  CsrBuilder<T> coarse(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::vector<T> row = coarse_row(rows_of(A), A.rows(), i);
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] != 0) coarse.add(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), row[j]);
    }
  }
  return coarse.build();
}

template <class Rows, class T>
void jacobi_sweeps(const Rows& A, const std::vector<T>& b, std::vector<T>& x, int sweeps) {
  std::vector<T> next(x.size());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      T sum = b[i];
      T diagonal = 1;
      for (std::int64_t k = A.begin(row); k < A.end(row); ++k) {
        const auto j = static_cast<std::size_t>(A.column(k));
        if (j == i) {
          diagonal = A.value(row, k);
        } else {
          sum -= A.value(row, k) * x[j];
        }
      }
      next[i] = sum / diagonal;
    }
    x.swap(next);
  }
}

/// The residual b - A x.
template <class Rows, class T>
std::vector<T> residual(const Rows& A, const std::vector<T>& b, const std::vector<T>& x) {
  std::vector<T> r = b;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t k = A.begin(row); k < A.end(row); ++k)
      r[i] -= A.value(row, k) * x[static_cast<std::size_t>(A.column(k))];
  }
  return r;
}

/// Gaussian elimination of the coarsest matrix.
template <class Rows, class T>
std::vector<T> eliminate(const Rows& A, std::vector<T> b) {
  const std::size_t n = b.size();
  std::vector<T> elements(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::int64_t k = A.begin(row); k < A.end(row); ++k)
      elements[i * n + static_cast<std::size_t>(A.column(k))] = A.value(row, k);
  }
  solve_by_elimination(elements, b);
  return b;
}

/// One cycle: Jacobi sweeps before and after a correction by every other unknown. R A I is computed anew in
/// each cycle, as published. The published product of sparse matrices compares all pairs of elements; here it
/// goes row by row.
template <class Matrix, class T>
void multigrid_as_published(const Matrix& A, const std::vector<T>& b, std::vector<T>& x, int sweeps) {
  constexpr std::int64_t coarsest = 100;
  if (A.rows() <= coarsest) {
    x = eliminate(rows_of(A), b);
    return;
  }
  jacobi_sweeps(rows_of(A), b, x, sweeps);
  const Matrix coarse = coarse_matrix(A);
  const std::vector<T> r = residual(rows_of(A), b, x);
  std::vector<T> coarse_r(static_cast<std::size_t>(coarse.rows()));
  for (std::size_t i = 0; i < r.size(); ++i) {
    for_each_coarse(static_cast<std::int64_t>(i), coarse.rows(), [&](std::int64_t j, float weight) {
      coarse_r[static_cast<std::size_t>(j)] += static_cast<T>(weight) * r[i];
    });
  }
  std::vector<T> correction(coarse_r.size());
  multigrid_as_published(coarse, coarse_r, correction, sweeps);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for_each_coarse(static_cast<std::int64_t>(i), coarse.rows(), [&](std::int64_t j, float weight) {
      x[i] += static_cast<T>(weight) * correction[static_cast<std::size_t>(j)];
    });
  }
  jacobi_sweeps(rows_of(A), b, x, sweeps);
}

}  // namespace echelon::bench

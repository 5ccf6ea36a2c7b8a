// SPDX-License-Identifier: BSD-3-Clause
/// Serial loops of the documents whose methods the library has, as they were published.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::bench {

/// Gauss-Jordan elimination of a row-major n by n matrix without pivoting: down, then up, with a call, a
/// comparison with 1e-6 and a quotient for every element. The quotient is the reciprocal of the published
/// one, with which rows shrink until they count as zero and are skipped.
template <class T>
void eliminate_as_published(std::vector<T>& matrix, std::int64_t n) {
  const auto element = [&](std::int64_t row, std::int64_t column) -> T& {
    return matrix[static_cast<std::size_t>(row * n + column)];
  };
  const auto update = [&](std::int64_t pivot, std::int64_t row, std::int64_t column, T factor) {
    if (std::abs(factor) < T(1e-6)) return;
    const T multiple = factor / element(pivot, pivot);
    T& target = element(row, column);
    target = column == pivot ? T{0} : target - element(pivot, column) * multiple;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t y = i + 1; y < n; ++y) {
      const T factor = element(y, i);
      for (std::int64_t x = i; x < n; ++x) update(i, y, x, factor);
    }
  }
  for (std::int64_t i = n - 1; i > 0; --i) {
    for (std::int64_t y = 0; y < i; ++y) {
      const T factor = element(y, i);
      for (std::int64_t x = 0; x <= i; ++x) update(i, y, x, factor);
    }
  }
}

/// Forward Gauss-Seidel sweep with the diagonal in a separate vector. In the publication b is x itself: the
/// sum begins with x[i].
template <class T>
[[gnu::noinline]] void sweep_as_published(const Csr<T>& A, const T* diagonal, const T* b, T* x) {
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int32_t* columns = A.column_indices().data();
  const T* values = A.values().data();
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    T sum = b[i];
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) sum -= values[k] * x[columns[k]];
    sum += x[i] * diagonal[i];
    x[i] = sum / diagonal[i];
  }
}

/// Jacobi's iteration for a row-major n by n matrix.
template <class T>
void jacobi_as_published(const std::vector<T>& matrix, const std::vector<T>& b, std::vector<T>& x,
                         int sweeps) {
  const std::size_t n = b.size();
  std::vector<T> next(n);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < n; ++i) {
      T sum = b[i];
      for (std::size_t j = 0; j < n; ++j) {
        if (j != i) sum -= matrix[i * n + j] * x[j];
      }
      next[i] = sum / matrix[i * n + i];
    }
    x.swap(next);
  }
}

/// Gaussian elimination of a row-major n by n matrix without pivoting, and back substitution.
template <class T>
void solve_by_elimination(std::vector<T>& matrix, std::vector<T>& b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const T multiple = matrix[i * n + k] / matrix[k * n + k];
      for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= multiple * matrix[k * n + j];
      b[i] -= multiple * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= matrix[k * n + j] * b[j];
    b[k] /= matrix[k * n + k];
  }
}

}  // namespace echelon::bench

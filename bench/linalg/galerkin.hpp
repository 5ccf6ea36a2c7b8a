// SPDX-License-Identifier: BSD-3-Clause
/// Prolongations of multigrid, for the benchmarks of sparse products.
#pragma once

#include "support/measure.hpp"

#include <echelon/echelon.hpp>
#include <echelon/linalg/sparse_product.hpp>
#include <echelon/linalg/sparse_sum.hpp>

#include <cstdint>
#include <utility>

namespace echelon::bench {

/// Piecewise constant prolongation from aggregates of 2 x 2 x 2 points of a cube of side^3.
template <class T>
Csr<T> aggregation(std::int64_t side) {
  const std::int64_t n = side * side * side;
  const std::int64_t coarse = (side + 1) / 2;
  const Device host;
  Array<std::int64_t> offsets(host, n + 1);
  Array<std::int32_t> columns(host, n);
  Array<T> values(host, n);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t x = i % side / 2;
    const std::int64_t y = i / side % side / 2;
    const std::int64_t z = i / (side * side) / 2;
    offsets[i] = i;
    columns[i] = static_cast<std::int32_t>(x + coarse * (y + coarse * z));
    values[i] = 1;
  }
  offsets[n] = n;
  return Csr<T>::unchecked(n, coarse * coarse * coarse, std::move(offsets), std::move(columns),
                           std::move(values));
}

/// Smoothed prolongation (I - 2/3 D^-1 A) P for a matrix with diagonal 6.
template <class T>
Csr<T> smoothed(const Csr<T>& A, const Csr<T>& P) {
  return add<T>(T{1}, P, T{-1} / T{9}, multiply(A, P));
}

template <class T>
Csr<T> transposed(const Csr<T>& A) {
  const Device host;
  Array<std::int64_t> offsets(host, A.columns() + 1);
  std::fill_n(offsets.data(), A.columns() + 1, 0);
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) ++offsets[A.column_indices()[k] + std::int64_t{1}];
  for (std::int64_t j = 0; j < A.columns(); ++j) offsets[j + 1] += offsets[j];
  Array<std::int64_t> next = offsets;
  Array<std::int32_t> columns(host, A.nonzeros());
  Array<T> values(host, A.nonzeros());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t target = next[A.column_indices()[k]]++;
      columns[target] = static_cast<std::int32_t>(i);
      values[target] = A.values()[k];
    }
  }
  return Csr<T>::unchecked(A.columns(), A.rows(), std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::bench

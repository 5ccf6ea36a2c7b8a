// SPDX-License-Identifier: BSD-3-Clause
/// Products of a sparse matrix with a vector whose elements are used as soon as they are computed, by a
/// functor that is passed in: a residual, a smoothing step.
#pragma once

#include "backend/target.hpp"
#include "linalg/row_partition.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>

#ifdef __CUDACC__
#include "linalg/spmv/row_products.cuh"
#else

namespace echelon {

/// use(i, sum over j of a_ij x[j]) for the rows i in [begin, end).
template <class T, class X, class Use>
void for_row_products(const Csr<T>& A, std::int64_t begin, std::int64_t end, X x, Use use) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  std::int64_t k = begin < end ? row_offsets[begin] : 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row_end = row_offsets[i + 1];
    prefetch_ahead(values, column_indices, k, row_end);
    T sum = 0;
    for (; k < row_end; ++k) sum += values[k] * x[column_indices[k]];
    use(i, sum);
  }
}

/// use(i, sum over j of a_ij x[j]) for each row i, the sums as `multiply` computes them. `x` is a pointer, or
/// a functor with the operator []; it must not read what `use` writes. Memory movement: that of `multiply`,
/// and what `use` reads and writes.
template <class T, class X, class Use>
void for_row_products(Serial& /*backend*/, const Csr<T>& A, X x, Use use) {
  for_row_products(A, 0, A.rows(), x, use);
}
template <class T, class X, class Use>
void for_row_products(OpenMp& backend, const Csr<T>& A, X x, Use use) {
  backend.parallel(A.nonzeros() > parallel_threshold, [&](int part, int parts) {
    for_row_products(A, part_begin(A, part, parts), part_begin(A, part + 1, parts), x, use);
  });
}

/// use(i, sum over j of m_ij x[j]) for the n rows of a small dense matrix, row by row in memory.
template <class B, class T, class Use>
void for_dense_row_products(B& backend, std::int64_t n, const T* rows, const T* x, Use use) {
  backend.parallel(n * n > parallel_threshold, [=](int part, int parts) {
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      const T* row = rows + i * n;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < n; ++j) sum += row[j] * x[j];
      use(i, sum);
    }
  });
}

}  // namespace echelon

#endif

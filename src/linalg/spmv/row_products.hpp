// SPDX-License-Identifier: BSD-3-Clause
/// Products of a sparse matrix with a vector whose elements are used as soon as they are computed, by a
/// functor that is passed in: a residual, a smoothing step.
#pragma once

#include "backend/columns.hpp"
#include "linalg/spmv/row_partition.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace echelon {

/// A vector to multiply, and the use of the product.
template <class X, class Use>
struct VectorProduct {
  X x;
  Use use;
};
template <class X, class Use>
VectorProduct(X, Use) -> VectorProduct<X, Use>;

/// Use of a product that stores it: y_i = (A x)_i.
template <class T>
struct PutElement {
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { y[i] = sum; }
};

/// Use of a product for the residual r = b - A x.
template <class T>
struct SubtractProduct {
  const T* b;
  T* r;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { r[i] = b[i] - sum; }
};

/// Inner product in a fixed order: 16 partial sums, which vector instructions compute, added in pairs. A
/// reduction by `omp simd` may be compiled to different orders in different places.
template <class T>
ECHELON_ANYWHERE T inner_product_in_order(std::int64_t n, const T* x, const T* y) {
  constexpr std::int64_t lanes = 16;
  T sums[lanes] = {};
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += x[j + lane] * y[j + lane];
  }
  for (std::int64_t lane = 0; j + lane < n; ++lane) sums[lane] += x[j + lane] * y[j + lane];
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

}  // namespace echelon

#ifdef __CUDACC__
#include "linalg/spmv/row_products.cuh"
#elif defined(ECHELON_OPENCL_TARGET)
#include "linalg/spmv/row_product_loops.hpp"
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
void for_row_products(Host& backend, const Csr<T>& A, X x, Use use) {
  backend.parallel(A.nonzeros() + A.rows() > spinning_threshold, [&](int part, int parts) {
    for_row_products(A, part_begin(A, part, parts), part_begin(A, part + 1, parts), x, use);
  });
}

/// Rows of a tile, which stays in the caches while it is multiplied with all vectors.
inline constexpr std::int64_t product_tile_rows = 128;

/// Two products for the rows in [begin, end), in one pass.
template <class T, class X, class Use>
void for_two_row_products(const Csr<T>& A, std::int64_t begin, std::int64_t end,
                          const VectorProduct<X, Use>* products) {
  const std::int64_t* __restrict row_offsets = A.row_offsets().data();
  const std::int32_t* __restrict column_indices = A.column_indices().data();
  const T* __restrict values = A.values().data();
  const VectorProduct<X, Use> first = products[0];
  const VectorProduct<X, Use> second = products[1];
  std::int64_t k = begin < end ? row_offsets[begin] : 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row_end = row_offsets[i + 1];
    prefetch_ahead(values, column_indices, k, row_end);
    T first_sum = 0;
    T second_sum = 0;
    for (; k < row_end; ++k) {
      const std::int64_t column = column_indices[k];
      first_sum += values[k] * first.x[column];
      second_sum += values[k] * second.x[column];
    }
    first.use(i, first_sum);
    second.use(i, second_sum);
  }
}

/// All products, tile by tile: A is read from memory once.
template <class B, class T, class X, class Use>
void for_several_row_products(B& backend, const Csr<T>& A,
                              const FunctorArray<VectorProduct<X, Use>>& products) {
  backend.parallel((A.nonzeros() + A.rows()) * products.count > spinning_threshold, [&](int part, int parts) {
    const std::int64_t end = part_begin(A, part + 1, parts);
    for (std::int64_t row = part_begin(A, part, parts); row < end; row += product_tile_rows) {
      const std::int64_t tile_end = std::min(row + product_tile_rows, end);
      int c = 0;
      for (; c + 1 < products.count; c += 2) for_two_row_products(A, row, tile_end, products.at + c);
      if (c < products.count) for_row_products(A, row, tile_end, products.at[c].x, products.at[c].use);
    }
  });
}

/// use(i, sum over j of m_ij x[j]) for the n rows of a small dense matrix, row by row in memory.
template <class B, class T, class Use>
void for_dense_row_products(B& backend, std::int64_t n, const T* rows, const T* x, Use use) {
  backend.parallel(n * n > parallel_threshold, [=](int part, int parts) {
    for (std::int64_t i = n * part / parts; i < n * (part + 1) / parts; ++i) {
      use(i, inner_product_in_order(n, rows + i * n, x));
    }
  });
}

/// for_dense_row_products for each of several vectors, with the bits that each has alone.
template <class B, class T, class X, class Use>
void for_several_dense_row_products(B& backend, std::int64_t n, const T* rows,
                                    const FunctorArray<VectorProduct<X, Use>>& products) {
  for (int c = 0; c < products.count; ++c) {
    for_dense_row_products(backend, n, rows, products.at[c].x, products.at[c].use);
  }
}

}  // namespace echelon

#endif

namespace echelon {

/// Products of A with at most `most_columns` vectors: make(c) returns the VectorProduct of vector c. Each
/// product has the bits of for_row_products with that vector alone, and no vector may be read and written by
/// the same call.
template <class B, class T, class Make>
void for_column_products(B& backend, const Csr<T>& A, int columns, Make make) {
  if (columns == 0) return;
  if (columns > 1) return for_several_row_products(backend, A, make_functors(columns, make));
  const auto one = make(0);
  for_row_products(backend, A, one.x, one.use);
}

/// Overload for records of vectors; make(columns[c]) returns the VectorProduct of column c.
template <class B, class T, class Column, class Make>
void for_column_products(B& backend, const Csr<T>& A, std::span<Column> columns, Make make) {
  for_column_products(backend, A, static_cast<int>(columns.size()),
                      [&](int c) { return make(columns[static_cast<std::size_t>(c)]); });
}

/// Products of the n rows of a small dense matrix with at most `most_columns` vectors, which are pointers.
template <class B, class T, class Make>
void for_dense_column_products(B& backend, std::int64_t n, const T* rows, int columns, Make make) {
  if (columns == 0) return;
  if (columns > 1) return for_several_dense_row_products(backend, n, rows, make_functors(columns, make));
  const auto one = make(0);
  for_dense_row_products(backend, n, rows, one.x, one.use);
}

}  // namespace echelon

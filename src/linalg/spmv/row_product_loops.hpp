// SPDX-License-Identifier: BSD-3-Clause
/// The products of row_products.hpp in the loops of any backend: each row is an element of a loop, and its
/// sum has the bits of the host.
#pragma once

#include "backend/columns.hpp"
#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon {

template <class T, class X, class Use>
struct RowProductLoop {
  SparseRows<T> A;
  X x;
  Use use;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    T sum = 0;
    const std::int64_t end = A.end(i);
    for (std::int64_t k = A.begin(i); k < end; ++k) sum += A.values[k] * x[A.column_indices[k]];
    use(i, sum);
  }
};

template <class B, class T, class X, class Use>
void for_row_products(B& backend, const Csr<T>& A, X x, Use use) {
  backend.for_each(A.rows(), RowProductLoop<T, X, Use>{SparseRows<T>(A), x, use});
}

template <class B, class T, class X, class Use>
void for_several_row_products(B& backend, const Csr<T>& A,
                              const FunctorArray<VectorProduct<X, Use>>& products) {
  for (int c = 0; c < products.count; ++c) {
    for_row_products(backend, A, products.at[c].x, products.at[c].use);
  }
}

template <class T, class Use>
struct DenseRowProduct {
  std::int64_t n;
  const T* rows;
  const T* x;
  Use use;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    use(i, inner_product_in_order(n, rows + i * n, x));
  }
};

template <class B, class T, class Use>
void for_dense_row_products(B& backend, std::int64_t n, const T* rows, const T* x, Use use) {
  backend.for_each(n, DenseRowProduct<T, Use>{n, rows, x, use});
}

template <class B, class T, class X, class Use>
void for_several_dense_row_products(B& backend, std::int64_t n, const T* rows,
                                    const FunctorArray<VectorProduct<X, Use>>& products) {
  for (int c = 0; c < products.count; ++c) {
    for_dense_row_products(backend, n, rows, products.at[c].x, products.at[c].use);
  }
}

}  // namespace echelon

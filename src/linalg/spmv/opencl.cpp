// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/compression/radix.hpp"
#include "matrix/rows.hpp"
#include "matrix/stencil/stencil_product.hpp"
#include "matrix/stencil/stencil_state.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace echelon {

namespace {

/// y_i = alpha sum + beta y_i.
template <class T>
struct PutScaled {
  T alpha, beta;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    y[i] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[i];
  }
};

template <class T>
struct PutScaledStrided {
  T alpha, beta;
  Strided<T> y;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const {
    y[i] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[i];
  }
};

/// One element of A x for a dense A.
template <class T>
struct DenseElement {
  DenseRows<T> A;
  const T* x;
  PutScaled<T> put;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    T sum = 0;
    for (std::int64_t j = 0; j < A.columns; ++j) sum += A.at(i, j) * x[j];
    put(i, sum);
  }
};

/// Sum over one of equal ranges of the elements of a column.
template <class T>
struct SumRange {
  const T* columns;
  std::int64_t leading, rows, ranges;
  const T* x;
  T* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t range = e % ranges;
    const T* const column = columns + e / ranges * leading;
    T sum = 0;
    for (std::int64_t i = rows * range / ranges; i < rows * (range + 1) / ranges; ++i)
      sum += column[i] * x[i];
    sums[e] = sum;
  }
};
template <class T>
struct AddRanges {
  const T* sums;
  std::int64_t ranges;
  PutScaled<T> put;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T sum = 0;
    for (std::int64_t e = j * ranges; e < (j + 1) * ranges; ++e) sum += sums[e];
    put(j, sum);
  }
};

}  // namespace

template <class T>
void multiply(OpenCl& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (const StencilMatrix<T>* stencil = stencil_matrix_of(A))
    return multiply_stencil(backend, *stencil, alpha, x, beta, y);
  if (A.is_operator()) return apply_operator(*A.linear_operator(), alpha, x, beta, y);
  const PutScaled<T> put{alpha, beta, y};
  if (A.is_sparse()) return for_row_products(backend, *A.csr(), x, put);
  const DenseView<const T>& a = A.dense();
  backend.for_each(a.rows(), DenseElement<T>{DenseRows<T>(a), x, put});
}

template <class T>
void multiply_transposed(OpenCl& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  constexpr std::int64_t range_size = 2048;
  const std::int64_t ranges = std::max<std::int64_t>(V.rows() / range_size, 1);
  Array<T> sums(backend.device(), ranges * V.columns());
  backend.for_each(ranges * V.columns(),
                   SumRange<T>{V.data(), V.leading(), V.rows(), ranges, x, sums.data()});
  backend.for_each(V.columns(), AddRanges<T>{sums.data(), ranges, {alpha, beta, y}});
}

template <class T>
void multiply_several(OpenCl& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                      DenseView<T> Y) {
  const auto step = [](const auto& view) {
    return view.layout() == Layout::column_major ? std::int64_t{1} : view.leading();
  };
  for (std::int64_t j = 0; j < Y.columns(); ++j) {
    const auto offset = [j](const auto& view) {
      return view.layout() == Layout::column_major ? j * view.leading() : j;
    };
    for_row_products(backend, A, Strided<const T>{X.data() + offset(X), step(X)},
                     PutScaledStrided<T>{alpha, beta, {Y.data() + offset(Y), step(Y)}});
  }
}

template <class T>
void multiply_transposed(OpenCl& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  CompressedRows<T> rows = compress_by_radix(backend, TransposedEntries<T>(A), A.columns(), A.rows());
  multiply_several(backend, alpha,
                   Csr<T>::unchecked(A.columns(), A.rows(), std::move(rows.offsets), std::move(rows.columns),
                                     std::move(rows.values)),
                   X, beta, Y);
}

#define ECHELON_INSTANTIATE(T)                                                                    \
  template void multiply(OpenCl&, T, const MatrixRef<T>&, const T*, T, T*);                       \
  template void multiply_transposed(OpenCl&, T, const DenseView<const T>&, const T*, T, T*);      \
  template void multiply_several(OpenCl&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>); \
  template void multiply_transposed(OpenCl&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

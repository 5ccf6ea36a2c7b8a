// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/spmv/adjoint.hpp"
#include "linalg/spmv/row_products.hpp"
#include "matrix/stencil/stencil_product.hpp"
#include "matrix/stencil/stencil_state.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <vector>

namespace echelon {

namespace {

/// y[i] = alpha sum + beta y[i].
template <class T>
struct PutProduct {
  T alpha;
  T beta;
  T* __restrict y;
  void operator()(std::int64_t i, T sum) const {
    y[i] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[i];
  }
};

/// Shape of the tiles of a matrix, one call of BLAS each. Tiles do not depend on the number of threads, so
/// that the result does not either.
struct TileShape {
  std::int64_t rows;
  std::int64_t columns;
};

/// y = alpha op(M) x + beta y for column-major M by tiles; op is the identity, the transpose or the adjoint.
/// The sums of several tiles that contribute to an element are added in order.
template <class B, class T>
void multiply_tiles(B& backend, CBLAS_TRANSPOSE op, TileShape tile, T alpha, const DenseView<const T>& M,
                    const T* x, T beta, T* y) {
  const std::int64_t down = (M.rows() + tile.rows - 1) / tile.rows;
  const std::int64_t across = (M.columns() + tile.columns - 1) / tile.columns;
  const bool trans = op != CblasNoTrans;
  const std::int64_t terms = trans ? down : across;
  const std::int64_t outputs = trans ? M.columns() : M.rows();
  std::vector<T> sums(static_cast<std::size_t>(terms > 1 ? terms * outputs : 0));
  const auto multiply_tile = [&](std::int64_t t) {
    const std::int64_t row = t % down * tile.rows;
    const std::int64_t column = t / down * tile.columns;
    const std::int64_t output = trans ? column : row;
    T* target = terms > 1 ? sums.data() + (trans ? t % down : t / down) * outputs : y;
    blas::gemv(op, blas::dimension(std::min(tile.rows, M.rows() - row)),
               blas::dimension(std::min(tile.columns, M.columns() - column)), alpha,
               M.data() + row + column * M.leading(), blas::dimension(M.leading()),
               x + (trans ? row : column), terms > 1 ? T{0} : beta, target + output);
  };
  const std::int64_t tiles = down * across;
  backend.parallel(M.rows() * M.columns() > parallel_threshold, [&](int part, int parts) {
    for (std::int64_t t = tiles * part / parts; t < tiles * (part + 1) / parts; ++t) multiply_tile(t);
  });
  if (terms == 1) return;
  for (std::int64_t i = 0; i < outputs; ++i) {
    T sum = 0;
    for (std::int64_t t = 0; t < terms; ++t) sum += sums[static_cast<std::size_t>(t * outputs + i)];
    y[i] = beta == T{0} ? sum : sum + beta * y[i];
  }
}

template <class B, class T>
void multiply_dense(B& backend, CBLAS_TRANSPOSE operation, T alpha, const DenseView<const T>& A, const T* x,
                    T beta, T* y) {
  const bool transposed = operation != CblasNoTrans;
  const std::int64_t outputs = transposed ? A.columns() : A.rows();
  if (A.rows() == 0 || A.columns() == 0) {
    for (std::int64_t i = 0; i < outputs; ++i) y[i] = beta == T{0} ? T{0} : beta * y[i];
    return;
  }
  // A row-major matrix is the transpose of a column-major one.
  const bool by_column = A.layout() == Layout::column_major;
  const DenseView<const T> M(A.data(), by_column ? A.rows() : A.columns(), by_column ? A.columns() : A.rows(),
                             A.leading());
  const blas::Threads one_per_call(Device::serial(), 1);
  if (transposed == by_column) {
    multiply_tiles(backend, transposed ? operation : CblasTrans, {4096, 32}, alpha, M, x, beta, y);
  } else {
    multiply_tiles(backend, CblasNoTrans, {256, 4096}, alpha, M, x, beta, y);
  }
}

}  // namespace

template <class T>
void multiply(Host& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (const StencilMatrix<T>* stencil = stencil_matrix_of(A)) {
    if constexpr (!is_complex<T>) multiply_stencil(backend, *stencil, alpha, x, beta, y);
  } else if (A.is_operator()) {
    apply_operator(*A.linear_operator(), alpha, x, beta, y);
  } else if (A.is_sparse()) {
    for_row_products(backend, *A.csr(), x, PutProduct<T>{alpha, beta, y});
  } else {
    multiply_dense(backend, CblasNoTrans, alpha, A.dense(), x, beta, y);
  }
}

template <class T>
void multiply_transposed(Host& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  multiply_dense(backend, CblasTrans, alpha, V, x, beta, y);
}

template <class T>
void multiply_conjugate_transposed(Host& backend, T alpha, const DenseView<const T>& V, const T* x, T beta,
                                   T* y) {
  multiply_dense(backend, CblasConjTrans, alpha, V, x, beta, y);
}

#define ECHELON_INSTANTIATE(T)                                                             \
  template void multiply(Host&, T, const MatrixRef<T>&, const T*, T, T*);                  \
  template void multiply_transposed(Host&, T, const DenseView<const T>&, const T*, T, T*); \
  template void multiply_conjugate_transposed(Host&, T, const DenseView<const T>&, const T*, T, T*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// Products of dense matrices on the host.
#include "linalg/blas/gemm.hpp"

#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

/// Order of the square tiles of the result, one call of BLAS each. Tiles do not depend on the number of
/// threads, so that the result does not either. Large tiles amortise packing; small ones balance the threads.
/// The smallest products are one tile: with 16 threads, several tiles took longer.
constexpr std::int64_t tile_side(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t many = std::int64_t{1024} * 1024;
  constexpr std::int64_t few = std::int64_t{640} * 640;
  constexpr std::int64_t fewest = std::int64_t{256} * 256;
  const std::int64_t elements = rows * columns;
  if (elements >= many) return 512;
  return elements > few || elements <= fewest ? 256 : 128;
}

/// Products with fewer multiplications run on the calling thread.
constexpr double least_parallel_work = 500'000;

/// A view as an argument of BLAS: column-major, possibly transposed.
template <class T>
struct BlasOperand {
  const T* data;
  int leading;
  CBLAS_TRANSPOSE transpose;
  std::int64_t row_step;
  std::int64_t column_step;
  explicit BlasOperand(const DenseView<const T>& view)
      : data(view.data()),
        leading(blas::dimension(view.leading())),
        transpose(view.layout() == Layout::column_major ? CblasNoTrans : CblasTrans),
        row_step(view.layout() == Layout::column_major ? 1 : view.leading()),
        column_step(view.layout() == Layout::column_major ? view.leading() : 1) {}
};

/// C = alpha A B + beta C for a column-major C.
template <class T>
void multiply_tiles(const Device& device, T alpha, DenseView<const T> A, DenseView<const T> B, T beta,
                    DenseView<T> C) {
  const BlasOperand<T> a(A);
  const BlasOperand<T> b(B);
  const int terms = blas::dimension(A.columns());
  const int leading = blas::dimension(C.leading());
  const double work =
      static_cast<double>(C.rows()) * static_cast<double>(C.columns()) * static_cast<double>(terms);
  const int threads = device.threads();  // read before BLAS is restricted to one thread
  const std::int64_t tile = tile_side(C.rows(), C.columns());
  const blas::Threads one_per_call(Device::serial(), 1);
#pragma omp parallel for collapse(2) num_threads(threads) schedule(dynamic) if (work > least_parallel_work)
  for (std::int64_t j = 0; j < C.columns(); j += tile) {
    for (std::int64_t i = 0; i < C.rows(); i += tile) {
      blas::gemm(a.transpose, b.transpose, static_cast<int>(std::min(tile, C.rows() - i)),
                 static_cast<int>(std::min(tile, C.columns() - j)), terms, alpha, a.data + i * a.row_step,
                 a.leading, b.data + j * b.column_step, b.leading, beta, C.data() + i + j * C.leading(),
                 leading);
    }
  }
}

template <class T>
void multiply_dense(const Device& device, T alpha, DenseView<const T> A, DenseView<const T> B, T beta,
                    DenseView<T> C) {
  if (C.layout() == Layout::row_major) {  // C^T = B^T A^T
    multiply_tiles(device, alpha, transposed(B), transposed(A), beta, transposed(C));
  } else {
    multiply_tiles(device, alpha, A, B, beta, C);
  }
}

}  // namespace

template <class T>
void gemm(Host& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  multiply_dense(backend.device(), alpha, A, B, beta, C);
}

#define ECHELON_INSTANTIATE(T) \
  template void gemm(Host&, T, DenseView<const T>, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

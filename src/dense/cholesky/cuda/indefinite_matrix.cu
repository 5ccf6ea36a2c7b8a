// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "dense/cholesky/cuda/indefinite_matrix.cuh"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <numeric>

namespace echelon::dense_symmetric {

namespace {

using dense_cholesky::mark_not_ready;
using dense_cholesky::substitute_in_tiles;
using tiles::IndefiniteFacts;
using tiles::IndefiniteFront;
using tiles::IndefiniteState;

/// Columns in a block of pivots.
constexpr int block_width = tiles::indefinite_width;
/// Least number of rows below a block for which cuBLAS updates them, in squares of this many columns.
constexpr int vendor_rows = 2048;
constexpr int vendor_columns = 1024;

std::int64_t padded_size(std::int64_t n) {
  return (n + block_width - 1) / block_width * block_width + tiles::spare_columns(n);
}

template <class T>
struct OneFront {
  IndefiniteFront<T> front;
  __device__ IndefiniteFront<T> operator()(int) const { return front; }
};

/// Finds the user's row of each row in the order of the pivots.
struct FindUsersRow {
  Spread spread;
  std::int32_t* order;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t i = order[k];
    order[k] = i < spread.n ? static_cast<std::int32_t>(spread(i)) : -1;
  }
};

/// Computes y = S x, or its conjugate, in the order of the pivots, zero in spare rows.
template <class T>
struct GatherPivotOrder {
  const std::int32_t* place;
  const Real<T>* scale;
  TriangleMirror mirror;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t i = place[k];
    y[k] = i < 0 ? T{} : mirror(scale == nullptr ? x[i] : scale[i] * x[i]);
  }
};
/// The inverse of GatherPivotOrder with the same scale.
template <class T>
struct ScatterPivotOrder {
  const std::int32_t* place;
  const Real<T>* scale;
  TriangleMirror mirror;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t i = place[k];
    if (i >= 0) y[i] = mirror(scale == nullptr ? x[k] : scale[i] * x[k]);
  }
};

/// The operation that turns a lower triangle into the upper one.
cublasOperation_t form_of(TriangleMirror mirror) {
  return mirror.conjugates ? CUBLAS_OP_C : CUBLAS_OP_T;
}

void subtract_product(cublasHandle_t handle, TriangleMirror mirror, int rows, int columns, const Complex* a,
                      int lda, const Complex* b, int ldb, Complex* c, int ldc) {
  const cuDoubleComplex minus_one = to_library(Complex{-1});
  const cuDoubleComplex one = to_library(Complex{1});
  check(cublasZgemm(handle, CUBLAS_OP_N, form_of(mirror), rows, columns, block_width, &minus_one,
                    to_library(a), lda, to_library(b), ldb, &one, to_library(c), ldc));
}
void subtract_product(cublasHandle_t handle, TriangleMirror /*mirror*/, int rows, int columns,
                      const double* a, int lda, const double* b, int ldb, double* c, int ldc) {
  const double minus_one = -1;
  const double one = 1;
  check(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, block_width, &minus_one, a, lda, b, ldb,
                    &one, c, ldc));
}
void subtract_product(cublasHandle_t handle, TriangleMirror /*mirror*/, int rows, int columns, const float* a,
                      int lda, const float* b, int ldb, float* c, int ldc) {
  const float minus_one = -1;
  const float one = 1;
  check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, rows, columns, block_width, &minus_one, a, lda, b, ldb,
                    &one, c, ldc));
}

void solve_with_unit_triangle(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                              const double* l, int leading, double* x) {
  const double one = 1;
  check(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, form, CUBLAS_DIAG_UNIT, n, columns,
                    &one, l, leading, x, n));
}
void solve_with_unit_triangle(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                              const float* l, int leading, float* x) {
  const float one = 1;
  check(cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, form, CUBLAS_DIAG_UNIT, n, columns,
                    &one, l, leading, x, n));
}

void solve_with_unit_triangle(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                              const Complex* l, int leading, Complex* x) {
  const cuDoubleComplex one = to_library(Complex{1});
  check(cublasZtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, form, CUBLAS_DIAG_UNIT, n, columns,
                    &one, to_library(l), leading, to_library(x), n));
}

/// The lower triangle from row and column `begin` on, less L W^T or L W^H, by block columns.
template <class T>
void update_by_vendor(Cuda& backend, TriangleMirror mirror, Dense<T>& matrix, int begin, const T* l,
                      const T* w) {
  const auto n = static_cast<int>(matrix.rows());
  const int rows = n - begin;
  for (int j = 0; j < rows; j += vendor_columns) {
    subtract_product(backend.blas(), mirror, rows - j, std::min(vendor_columns, rows - j), l + j, n, w + j, n,
                     matrix.data() + (begin + j) + std::int64_t{begin + j} * n, n);
  }
}

template <class T>
void solve_diagonal(TriangleMirror mirror, std::int64_t n, const T* diagonal, T* x, std::int64_t columns) {
  constexpr int threads_of_diagonal = 256;
  const dim3 grid(static_cast<unsigned>((n + threads_of_diagonal - 1) / threads_of_diagonal),
                  static_cast<unsigned>(columns));
  tiles::solve_indefinite_diagonal<<<grid, threads_of_diagonal, 0, stream()>>>(mirror, n, diagonal, x, n);
  check(cudaGetLastError());
}

}  // namespace

Spread::Spread(std::int64_t n_) : n(n_) {
  const std::int64_t sectors = n / sector;
  constexpr double golden_ratio = 0.6180339887498949;
  stride = std::max<std::int64_t>(1, static_cast<std::int64_t>(golden_ratio * static_cast<double>(sectors)));
  while (sectors > 0 && std::gcd(stride, sectors) != 1) ++stride;
}

template <class T>
IndefiniteMatrix<T>::IndefiniteMatrix(const Device& device, std::int64_t n, TriangleMirror mirror)
    : spread_(n),
      mirror_(mirror),
      matrix_(device, padded_size(n), padded_size(n)),
      triangles_(device, is_complex<T> ? 0 : matrix_.rows()),
      diagonal_(device, 2 * matrix_.rows()),
      place_(device, matrix_.rows()) {}

template <class T>
IndefiniteFacts IndefiniteMatrix<T>::factor(Cuda& backend, const CancellationToken& cancel) {
  const CurrentDevice current(backend.device().id());
  const auto n = static_cast<int>(padded_rows());
  Array<T> work(backend.device(), tiles::indefinite_work_size(n, n));
  Array<IndefiniteState<T>> state(backend.device(), 1);
  Array<IndefiniteFacts> facts(backend.device(), 1);
  backend.fill(1, IndefiniteFacts{}, facts.data());
  const OneFront<T> fronts{{.panel = matrix_.data(),
                            .leading = n,
                            .rest = nullptr,
                            .rows = n,
                            .pivots = n,
                            .spare = static_cast<int>(spread_.n),
                            .first = 0,
                            .mirror = mirror_,
                            .diagonal = diagonal_.data(),
                            .order = place_.data(),
                            .inverses = is_complex<T> ? nullptr : triangles_.inverses(),
                            .work = work.data(),
                            .state = state.data()}};
  const tiles::IndefiniteBatch batch{1, n, n};
  tiles::allow_tiles<T, OneFront<T>>();
  tiles::start_fronts<T>(fronts, batch);
  const T* const below = work.data() + std::int64_t{2} * block_width * block_width;
  for (int p = 0; p < n && !cancel.stop_requested(); p += block_width) {
    const int rows = n - p - block_width;
    const tiles::IndefiniteStep step{p, rows, false, true};
    tiles::eliminate_blocks<T>(fronts, batch, step, facts.data());
    if (rows >= vendor_rows) {
      update_by_vendor(backend, mirror_, matrix_, p + block_width, below,
                       below + std::int64_t{n} * block_width);
    } else {
      tiles::update_rest<T>(fronts, batch, step);
    }
  }
  if constexpr (!is_complex<T>) triangles_.form_links(matrix_);
  backend.for_each(n, FindUsersRow{spread_, place_.data()});
  IndefiniteFacts result = backend.read(facts.data());
  for (int* column : {&result.zero_column, &result.crowded_column}) {
    if (*column != IndefiniteFacts::none) *column = static_cast<int>(spread_(*column));
  }
  return result;
}

template <class T>
void IndefiniteMatrix<T>::solve(Cuda& backend, const T* scale, const T* b, T* x,
                                IndefiniteVectors<T>& vectors) const requires(!is_complex<T>) {
  const CurrentDevice current(backend.device().id());
  const std::int64_t n = padded_rows();
  const auto rows = static_cast<int>(n / tiles::side);
  backend.for_each(n, GatherPivotOrder<T>{place_.data(), scale, {}, b, vectors.rhs.data()});
  mark_not_ready(vectors.forward);
  mark_not_ready(vectors.solution);
  substitute_in_tiles<T>(triangles_.lower(matrix_, vectors.rhs.data(), vectors.forward.data()), nullptr, rows,
                         vectors.counters);
  solve_diagonal(mirror_, n, diagonal_.data(), vectors.forward.data(), 1);
  substitute_in_tiles<T>(triangles_.upper(matrix_, vectors.forward.data(), vectors.solution.data(), false),
                         nullptr, rows, vectors.counters);
  backend.for_each(n, ScatterPivotOrder<T>{place_.data(), scale, {}, vectors.solution.data(), x});
}

template <class T>
void IndefiniteMatrix<T>::solve(Cuda& backend, const Real<T>* scale, bool conjugated, DenseView<const T> B,
                                DenseView<T> X, IndefiniteVectors<T>& vectors) const {
  const CurrentDevice current(backend.device().id());
  const std::int64_t n = padded_rows();
  const std::int64_t count = B.columns();
  if (vectors.columns.size() < n * count) vectors.columns = Array<T>(backend.device(), n * count);
  T* const columns = vectors.columns.data();
  const TriangleMirror conjugate{conjugated};
  for (std::int64_t j = 0; j < count; ++j)
    backend.for_each(n, GatherPivotOrder<T>{place_.data(), scale, conjugate, B.column(j), columns + j * n});
  const auto order = static_cast<int>(n);
  solve_with_unit_triangle(backend.blas(), CUBLAS_OP_N, order, static_cast<int>(count), matrix_.data(), order,
                           columns);
  solve_diagonal(mirror_, n, diagonal_.data(), columns, count);
  solve_with_unit_triangle(backend.blas(), form_of(mirror_), order, static_cast<int>(count), matrix_.data(),
                           order, columns);
  for (std::int64_t j = 0; j < count; ++j)
    backend.for_each(n, ScatterPivotOrder<T>{place_.data(), scale, conjugate, columns + j * n, X.column(j)});
}

#define ECHELON_INSTANTIATE(T) template class IndefiniteMatrix<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::dense_symmetric

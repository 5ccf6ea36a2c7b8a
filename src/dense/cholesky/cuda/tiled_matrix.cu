// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/cholesky/cuda/tiled_factorization.cuh"
#include "dense/cholesky/cuda/tiled_matrix.cuh"
#include "dense/tiles/tensor_product.cuh"
#include "linalg/spmv/multiply.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace echelon::dense_cholesky {

namespace {

using cholesky_kernels::TiledJob;
using cholesky_kernels::TiledState;
using cholesky_kernels::TileTask;
using tiles::side;

/// Number of blocks per multiprocessor with which a factorisation of this many rows of tiles is fastest. With
/// few rows, blocks that share a multiprocessor slow down those that work on the diagonal tiles, for which
/// all others wait.
int factoring_blocks(int rows) {
  constexpr int few_rows = 32;
  constexpr int many_rows = 64;
  return rows <= few_rows ? 1 : rows <= many_rows ? 2 : 3;
}

template <class T>
using FactorKernel = void (*)(TiledJob<T>);

/// The kernel for the arithmetic of the products of tiles.
template <class T>
FactorKernel<T> factor_kernel(FloatProducts products) {
  using cholesky_kernels::factor_tiles;
  if constexpr (std::is_same_v<T, float>) {
    switch (products) {
      case FloatProducts::in_float:
        break;
      case FloatProducts::tf32x3:
        return factor_tiles<T, tiles::TensorProduct<FloatProducts::tf32x3>>;
      case FloatProducts::bf16x3:
        return factor_tiles<T, tiles::TensorProduct<FloatProducts::bf16x3>>;
      case FloatProducts::tf32:
        return factor_tiles<T, tiles::TensorProduct<FloatProducts::tf32>>;
    }
  }
  return factor_tiles<T, tiles::WarpProduct<T>>;
}

/// Most rows of tiles of a matrix that one kernel factors, since the chain of its diagonal tiles takes longer
/// than the products.
constexpr int one_panel = 64;
/// Columns of tiles of a panel of larger matrices, and rows of tiles of the last panel.
constexpr int panel_columns = 16;
constexpr int last_panel = 32;

/// Number of counters for all panels of a matrix: each panel has one for each of its rows and one for its
/// tasks.
std::int64_t count_counters(std::int64_t rows) {
  const std::int64_t panels = rows / panel_columns + 1;
  return rows <= one_panel ? rows + 1 : panels * (rows + 1);
}

/// Computes c -= a a^T on and below the diagonal.
cublasStatus_t subtract_square(cublasHandle_t handle, int n, int terms, const float* a, int leading,
                               float* c) {
  const float minus_one = -1;
  const float one = 1;
  return cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, terms, &minus_one, a, leading, &one, c,
                     leading);
}
cublasStatus_t subtract_square(cublasHandle_t handle, int n, int terms, const double* a, int leading,
                               double* c) {
  const double minus_one = -1;
  const double one = 1;
  return cublasDsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, terms, &minus_one, a, leading, &one, c,
                     leading);
}

cublasStatus_t solve_triangle(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                              const float* a, int leading, float* x, int leading_x) {
  const float one = 1;
  return cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, form, CUBLAS_DIAG_NON_UNIT, n, columns,
                     &one, a, leading, x, leading_x);
}
cublasStatus_t solve_triangle(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                              const double* a, int leading, double* x, int leading_x) {
  const double one = 1;
  return cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, form, CUBLAS_DIAG_NON_UNIT, n, columns,
                     &one, a, leading, x, leading_x);
}

}  // namespace

template <class T>
TiledMatrix<T>::TiledMatrix(const Device& device, std::int64_t n)
    : matrix_(device, (n + side - 1) / side * side, (n + side - 1) / side * side),
      triangles_(device, matrix_.rows()) {}

template <class T>
std::optional<NotPositive> TiledMatrix<T>::factor(Cuda& backend, FloatProducts products) {
  const CurrentDevice current(backend.device().id());
  const int rows = static_cast<int>(padded_rows() / side);
  Array<State> state(backend.device(), 1);
  Array<int> counters(backend.device(), count_counters(rows));
  backend.fill(1, State{}, state.data());
  backend.fill(counters.size(), 0, counters.data());
  if (rows <= one_panel || products != FloatProducts::in_float) {
    factor_panel(stream(), {0, rows}, products, counters.data(), state.data());
  } else {
    factor_panels_ahead(backend, counters.data(), state.data());
  }
  triangles_.form_links(matrix_);
  const State result = backend.read(state.data());
  if (result.abandoned != 0) throw CudaError("the Cholesky factorisation has not made progress");
  if (result.failed_pivot == 0) return std::nullopt;
  return NotPositive{result.failed_pivot - 1, static_cast<double>(result.failed_value)};
}

template <class T>
void TiledMatrix<T>::factor_panel(cudaStream_t stream, const Panel& panel, FloatProducts products,
                                  int* counters, State* state) {
  const int rows = static_cast<int>(padded_rows() / side) - panel.first;
  const std::int64_t begin = std::int64_t{panel.first} * side;
  const TiledJob<T> job{.a = matrix_.data() + begin + begin * matrix_.leading(),
                        .leading = matrix_.leading(),
                        .rows = rows,
                        .columns = panel.end - panel.first,
                        .first = panel.first,
                        .inverses = triangles_.inverses() + begin * side,
                        .next_task = counters,
                        .complete = counters + 1,
                        .state = state};
  constexpr std::size_t shared_bytes = sizeof(typename TileTask<T>::Shared);
  const FactorKernel<T> factor_tiles = factor_kernel<T>(products);
  allow_shared_memory(factor_tiles);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
      cholesky_kernels::count_tasks(rows, job.columns),
      resident_blocks(factor_tiles, tiles::threads, shared_bytes, factoring_blocks(rows))));
  factor_tiles<<<blocks, tiles::threads, shared_bytes, stream>>>(job);
  check(cudaGetLastError());
}

/// Each panel is brought up to date and factored on the look-ahead stream, while the product of the one
/// before is subtracted from the columns after it.
template <class T>
void TiledMatrix<T>::factor_panels_ahead(Cuda& backend, int* counters, State* state) {
  if (lookahead_ == nullptr) lookahead_ = std::make_unique<LookaheadStream>(backend.device());
  const StreamContext main{backend, stream()};
  const StreamContext ahead = lookahead_->context();
  const int rows = static_cast<int>(padded_rows() / side);
  const auto panel_at = [&](int first) {
    return Panel{first, rows - first <= last_panel ? rows : first + panel_columns};
  };
  lookahead_->record_main();
  lookahead_->wait_for_main();
  Panel panel = panel_at(0);
  factor_panel(ahead.stream, panel, FloatProducts::in_float, counters, state);
  lookahead_->record();
  while (panel.end < rows) {
    counters += 1 + rows - panel.first;
    const Panel next = panel_at(panel.end);
    lookahead_->make_main_wait();
    lookahead_->wait_for_main();
    subtract_product(ahead, panel, next.first, next.end);
    factor_panel(ahead.stream, next, FloatProducts::in_float, counters, state);
    lookahead_->record();
    if (next.end < rows) subtract_product(main, panel, next.end, rows);
    lookahead_->record_main();
    panel = next;
  }
  lookahead_->make_main_wait();
}

template <class T>
void TiledMatrix<T>::subtract_product(const StreamContext& context, const Panel& panel, int first, int end) {
  const std::int64_t leading = matrix_.leading();
  const auto at = [&](int row, int column) {
    return matrix_.data() + std::int64_t{row} * side + std::int64_t{column} * side * leading;
  };
  const std::int64_t columns = std::int64_t{end - first} * side;
  const std::int64_t terms = std::int64_t{panel.end - panel.first} * side;
  const T* const beside = at(first, panel.first);
  check(subtract_square(context.backend.blas(), static_cast<int>(columns), static_cast<int>(terms), beside,
                        static_cast<int>(leading), at(first, first)));
  const std::int64_t below = padded_rows() - std::int64_t{end} * side;
  if (below == 0) return;
  const Device& device = matrix_.device();
  gemm(context.backend, T{-1}, {at(end, panel.first), below, terms, leading, device},
       {beside, terms, columns, leading, device, Layout::row_major}, T{1},
       {at(end, first), below, columns, leading, device});
}

template <class T>
void TiledMatrix<T>::substitute(Cuda& backend, SubstitutionVectors<T>& arrays) const {
  const CurrentDevice current(backend.device().id());
  mark_not_ready(arrays.forward);
  mark_not_ready(arrays.solution);
  const tiles::TiledTriangle<T> upper =
      triangles_.upper(matrix_, arrays.forward.data(), arrays.solution.data(), true);
  substitute_in_tiles(triangles_.lower(matrix_, arrays.rhs.data(), arrays.forward.data()), &upper,
                      static_cast<int>(padded_rows() / side), arrays.counters);
}

template <class T>
void TiledMatrix<T>::substitute(Cuda& backend, DenseView<T> X) const {
  const CurrentDevice current(backend.device().id());
  for (const cublasOperation_t form : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    check(solve_triangle(backend.blas(), form, static_cast<int>(X.rows()), static_cast<int>(X.columns()),
                         matrix_.data(), static_cast<int>(matrix_.leading()), X.data(),
                         static_cast<int>(X.leading())));
  }
}

template class TiledMatrix<float>;
template class TiledMatrix<double>;

}  // namespace echelon::dense_cholesky

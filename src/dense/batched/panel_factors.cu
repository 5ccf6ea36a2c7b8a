// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/batched/leaf_elimination.cuh"
#include "dense/batched/panel_factors.cuh"
#include "dense/batched/panel_kernels.cuh"

#include <algorithm>
#include <limits>

namespace echelon {

namespace {

using batch_kernels::applied_columns;
using batch_kernels::apply_threads;
using batch_kernels::BatchColumns;
using batch_kernels::inverted_order;
using batch_kernels::leaf_threads;
using batch_kernels::most_leaf_blocks;
using batch_kernels::most_leaf_columns;
using batch_kernels::most_panel_columns;
using batch_kernels::norm_threads;
using batch_kernels::PanelExchanges;
using batch_kernels::PanelFactors;
using batch_kernels::PanelTile;

/// Most matrices of one launch, which is the largest grid in the second dimension.
constexpr std::int64_t most_matrices = 65535;

cublasStatus_t multiply_strided(cublasHandle_t handle, int m, int n, int k, const float* alpha,
                                const float* a, int lda, std::int64_t stride_a, const float* b, int ldb,
                                std::int64_t stride_b, const float* beta, float* c, int ldc,
                                std::int64_t stride_c, int count) {
  return cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, lda, stride_a, b, ldb,
                                   stride_b, beta, c, ldc, stride_c, count);
}
cublasStatus_t multiply_strided(cublasHandle_t handle, int m, int n, int k, const double* alpha,
                                const double* a, int lda, std::int64_t stride_a, const double* b, int ldb,
                                std::int64_t stride_b, const double* beta, double* c, int ldc,
                                std::int64_t stride_c, int count) {
  return cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, lda, stride_a, b, ldb,
                                   stride_b, beta, c, ldc, stride_c, count);
}

/// How a leaf is eliminated: its columns, and the blocks of threads for each matrix.
template <class T>
struct BatchLeafPlan {
  void (*kernel)(PanelFactors<T>, int, int, int, double, const double*);
  int columns;
  unsigned blocks, threads;
};

/// Plan with a thread for each row where clusters of blocks have enough threads, else with more rows and
/// fewer columns for each thread. At most 8192 rows.
template <class T>
BatchLeafPlan<T> plan_leaf(int rows, bool has_clusters) {
  BatchLeafPlan<T> plan{batch_kernels::eliminate_leaves<T, 1>, most_leaf_columns, 1, 0};
  int rows_per_thread = 1;
  const auto threads = [&] { return (rows - 1) / (static_cast<int>(plan.blocks) * rows_per_thread) + 1; };
  while (has_clusters && threads() > leaf_threads && plan.blocks < most_leaf_blocks) plan.blocks *= 2;
  const auto take_if_needed = [&](int more_rows, auto kernel) {
    if (threads() <= leaf_threads) return;
    rows_per_thread = more_rows;
    plan.kernel = kernel;
    plan.columns = most_leaf_columns / more_rows;
  };
  take_if_needed(2, batch_kernels::eliminate_leaves<T, 2>);
  take_if_needed(4, batch_kernels::eliminate_leaves<T, 4>);
  take_if_needed(8, batch_kernels::eliminate_leaves<T, 8>);
  plan.threads = static_cast<unsigned>((threads() + warp_size - 1) / warp_size * warp_size);
  return plan;
}

/// Factorisation of, and solves with, a part of a batch of at most most_matrices matrices.
template <class T>
class PanelBatch {
 public:
  PanelBatch(Cuda& backend, const batch_detail::Factors<T>& factors, std::int64_t first, std::int64_t count)
      : backend_(backend),
        factors_{.a = factors.A.data() + first * factors.A.stride(),
                 .leading = factors.A.leading(),
                 .stride = factors.A.stride(),
                 .n = static_cast<int>(factors.A.rows()),
                 .pivots = factors.pivots.size() == 0
                               ? nullptr
                               : const_cast<std::int32_t*>(factors.pivots.data()) + first * factors.A.rows(),
                 .outcomes = const_cast<BatchOutcome*>(factors.outcomes.data()) + first},
        count_(static_cast<unsigned>(count)),
        has_clusters_(cluster::available(backend.device())),
        exchanges_(backend.device(), factors_.pivots == nullptr ? 0 : count),
        inverses_(backend.device(), count * most_panel_columns * inverted_order) {}

  void factor(double tolerance) {
    Array<double> norms(backend_.device(), count_);
    backend_.fill(count_, 0.0, norms.data());
    const dim3 blocks((static_cast<unsigned>(factors_.n) + norm_threads - 1) / norm_threads, count_);
    batch_kernels::find_norms<<<blocks, norm_threads, 0, stream()>>>(
        factors_, reinterpret_cast<unsigned long long*>(norms.data()));
    check(cudaGetLastError());
    for (int begin = 0; begin < factors_.n; begin += most_panel_columns) {
      const int width = std::min(most_panel_columns, factors_.n - begin);
      factor_panel(begin, width, tolerance, norms.data());
      apply(begin, width, of_matrices(begin + width, factors_.n));
    }
  }

  /// Solves for right-hand sides.
  void solve(const BatchColumns<T>& B) {
    for (int begin = 0; begin < factors_.n; begin += most_panel_columns)
      apply(begin, std::min(most_panel_columns, factors_.n - begin), B);
    const int panels = (factors_.n + most_panel_columns - 1) / most_panel_columns;
    for (int p = panels - 1; p >= 0; --p) {
      const int begin = p * most_panel_columns;
      const int width = std::min(most_panel_columns, factors_.n - begin);
      invert_diagonal_blocks<true>(begin, width);
      allow_shared_memory(batch_kernels::solve_upper_panels<T>);
      batch_kernels::
          solve_upper_panels<<<blocks_for(B.count), apply_threads, bytes_of_tile(width), stream()>>>(
              factors_, begin, width, B, inverses_.data());
      check(cudaGetLastError());
      subtract_product(0, begin, begin, width, B);
    }
  }

 private:
  /// Columns [begin, end) of the matrices.
  [[nodiscard]] BatchColumns<T> of_matrices(int begin, int end) const {
    return {factors_.a + begin * factors_.leading, factors_.leading, factors_.stride, end - begin};
  }
  [[nodiscard]] dim3 blocks_for(int columns) const {
    return {static_cast<unsigned>((columns + applied_columns - 1) / applied_columns), count_};
  }

  void factor_panel(int begin, int width, double tolerance, const double* norms) {
    const int end = begin + width;
    for (int first = begin; first < end;) {
      const BatchLeafPlan<T> plan = plan_leaf<T>(factors_.n - first, has_clusters_);
      const int columns = std::min(plan.columns, end - first);
      eliminate_leaf(plan, first, columns, tolerance, norms);
      apply(first, columns, of_matrices(first + columns, end));
      exchange_and_solve(first, columns, of_matrices(begin, first), false);
      first += columns;
    }
  }

  void eliminate_leaf(const BatchLeafPlan<T>& plan, int begin, int width, double tolerance,
                      const double* norms) {
    if (plan.blocks == 1) {
      plan.kernel<<<count_, plan.threads, 0, stream()>>>(factors_, begin, width, 1, tolerance, norms);
      check(cudaGetLastError());
      return;
    }
    const cluster::Launch launch(plan.blocks, count_ * plan.blocks, plan.threads, 0, stream(), false);
    check(cudaLaunchKernelEx(launch.config(), plan.kernel, factors_, begin, width,
                             static_cast<int>(plan.blocks), tolerance, norms));
  }

  /// Applies a panel to columns: exchanges, the solution with its diagonal block, and its product.
  void apply(int begin, int width, const BatchColumns<T>& columns) {
    if (factors_.pivots != nullptr) {
      batch_kernels::find_panel_exchanges<<<count_, warp_size, 0, stream()>>>(factors_, begin, width,
                                                                              exchanges_.data());
      check(cudaGetLastError());
    }
    exchange_and_solve(begin, width, columns, true);
    if (columns.count > 0) subtract_product(begin + width, factors_.n, begin, width, columns);
  }
  /// Applies the exchanges found last, and the solution if `solves` is set.
  void exchange_and_solve(int begin, int width, const BatchColumns<T>& columns, bool solves) {
    if (columns.count == 0) return;
    if (solves) invert_diagonal_blocks<false>(begin, width);
    allow_shared_memory(batch_kernels::apply_panels<T>);
    batch_kernels::apply_panels<<<blocks_for(columns.count), apply_threads, bytes_of_tile(width), stream()>>>(
        factors_, begin, width, factors_.pivots == nullptr ? nullptr : exchanges_.data(), columns,
        solves ? inverses_.data() : nullptr);
    check(cudaGetLastError());
  }
  template <bool upper>
  void invert_diagonal_blocks(int begin, int width) {
    batch_kernels::invert_diagonal_blocks<upper>
        <<<count_, most_panel_columns, 0, stream()>>>(factors_, begin, width, inverses_.data());
    check(cudaGetLastError());
  }
  [[nodiscard]] static std::size_t bytes_of_tile(int width) {
    return static_cast<std::size_t>(PanelTile<T>::size(width)) * sizeof(T);
  }

  /// X = X - A Y for rows [top, bottom) of the columns, where A is the factors' part in these rows and in
  /// columns [begin, begin + width), and Y the columns' rows of these numbers.
  void subtract_product(int top, int bottom, int begin, int width, const BatchColumns<T>& columns) {
    if (top >= bottom) return;
    const T minus_one = -1;
    const T one = 1;
    check(multiply_strided(backend_.blas(), bottom - top, columns.count, width, &minus_one,
                           factors_.a + top + begin * factors_.leading, static_cast<int>(factors_.leading),
                           factors_.stride, columns.first + begin, static_cast<int>(columns.leading),
                           columns.stride, &one, columns.first + top, static_cast<int>(columns.leading),
                           columns.stride, static_cast<int>(count_)));
  }

  Cuda& backend_;
  PanelFactors<T> factors_;
  unsigned count_;
  bool has_clusters_;
  Array<PanelExchanges> exchanges_;
  Array<T> inverses_;  // of diagonal blocks of a panel
};

/// Calls f(part, first) for parts of a batch of as many matrices as a launch takes.
template <class T, class F>
void for_each_launch(Cuda& backend, const batch_detail::Factors<T>& factors, F f) {
  for (std::int64_t first = 0; first < factors.A.count(); first += most_matrices) {
    PanelBatch<T> part(backend, factors, first, std::min(most_matrices, factors.A.count() - first));
    f(part, first);
  }
}

/// Fills the solutions of matrices that were not factored with NaN.
template <class T>
struct MarkUnsolved {
  const BatchOutcome* outcomes;
  T* data;
  std::int64_t rows, columns, leading, stride;
  T nan;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t line = e / rows;
    const std::int64_t matrix = line / columns;
    if (outcomes[matrix].status == Status::direct) return;
    data[matrix * stride + line % columns * leading + e % rows] = nan;
  }
};

}  // namespace

template <class T>
void factor_batch_in_panels(batch_detail::Factors<T>& factors, double tolerance) {
  Cuda backend(factors.A.device());
  const CurrentDevice current(backend.device().id());
  for_each_launch(backend, factors, [&](PanelBatch<T>& part, std::int64_t) { part.factor(tolerance); });
}

template <class T>
void substitute_batch_in_panels(const batch_detail::Factors<T>& factors, const DenseBatch<T>& B) {
  Cuda backend(B.device());
  const CurrentDevice current(backend.device().id());
  for_each_launch(backend, factors, [&](PanelBatch<T>& part, std::int64_t first) {
    part.solve({B.data() + first * B.stride(), B.leading(), B.stride(), static_cast<int>(B.columns())});
  });
  backend.for_each(B.rows() * B.columns() * B.count(),
                   MarkUnsolved<T>{factors.outcomes.data(), B.data(), B.rows(), B.columns(), B.leading(),
                                   B.stride(), std::numeric_limits<T>::quiet_NaN()});
}

template void factor_batch_in_panels(batch_detail::Factors<float>&, double);
template void factor_batch_in_panels(batch_detail::Factors<double>&, double);
template void substitute_batch_in_panels(const batch_detail::Factors<float>&, const DenseBatch<float>&);
template void substitute_batch_in_panels(const batch_detail::Factors<double>&, const DenseBatch<double>&);

}  // namespace echelon

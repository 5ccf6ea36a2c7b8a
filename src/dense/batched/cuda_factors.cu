// SPDX-License-Identifier: BSD-3-Clause
// LU and Cholesky factors of batches on a GPU: a block for each matrix, or some lanes of a warp for those of
// at most 32 rows; LU in panels of all matrices from 513 rows on.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/batched/block_factorization.cuh"
#include "dense/batched/block_substitution.cuh"
#include "dense/batched/lane_factors.cuh"
#include "dense/batched/operations.hpp"
#include "dense/batched/panel_factors.cuh"
#include "dense/batched/tile_cholesky.cuh"

#include <algorithm>

namespace echelon {

namespace {

using batch_kernels::BlockFactors;
using batch_kernels::BlockSystem;
using batch_kernels::max_block_threads;

template <class T>
BlockFactors<T> block_factors(const batch_detail::Factors<T>& factors) {
  return {.a = factors.A.data(),
          .leading = factors.A.leading(),
          .stride = factors.A.stride(),
          .count = factors.A.count(),
          .n = static_cast<int>(factors.A.rows()),
          .steps = factors.pivots.size() > 0 ? const_cast<std::int32_t*>(factors.pivots.data()) : nullptr,
          .inverses = const_cast<T*>(factors.inverses.data()),
          .outcomes = const_cast<BatchOutcome*>(factors.outcomes.data())};
}

/// Number of blocks, one for each matrix; beyond the limit of a grid the loops of the kernels take several
/// matrices.
unsigned blocks_for(std::int64_t count) {
  constexpr std::int64_t most_blocks = 1 << 30;
  return static_cast<unsigned>(std::min(count, most_blocks));
}

/// Number of threads: whole warps, with one thread for every `rows_per_thread` rows.
unsigned threads_for(int n, int rows_per_thread) {
  const int threads = (n + rows_per_thread - 1) / rows_per_thread;
  return static_cast<unsigned>((threads + warp_size - 1) / warp_size * warp_size);
}

template <int rows_per_thread, class T>
void factor_lu(const BlockFactors<T>& factors, double tolerance) {
  batch_kernels::factor_batch<T, rows_per_thread>
      <<<blocks_for(factors.count), threads_for(factors.n, rows_per_thread), 0, stream()>>>(factors,
                                                                                            tolerance);
  check(cudaGetLastError());
}

template <class T>
void factor_cholesky(const BlockFactors<T>& factors, double tolerance) {
  constexpr int bytes = sizeof(typename batch_kernels::BatchedTileCholesky<T>::Shared);
  allow_shared_memory(batch_kernels::factor_batch_by_tiles<T>);
  batch_kernels::factor_batch_by_tiles<T>
      <<<blocks_for(factors.count), tiles::threads, bytes, stream()>>>(factors, tolerance);
  check(cudaGetLastError());
}

template <int rows_per_thread, int rhs, class T>
void substitute(const BlockSystem<T>& system) {
  batch_kernels::substitute_batch<T, rows_per_thread, rhs>
      <<<blocks_for(system.factors.count), threads_for(system.factors.n, rows_per_thread), 0, stream()>>>(
          system);
  check(cudaGetLastError());
}

/// Calls f with the number of lanes for n rows, as a constant.
template <class F>
void with_lanes_for(int n, const F& f) {
  if (n <= 2) {
    f.template operator()<2>();
  } else if (n <= 4) {
    f.template operator()<4>();
  } else if (n <= 8) {
    f.template operator()<8>();
  } else if (n <= 16) {
    f.template operator()<16>();
  } else {
    f.template operator()<batch_kernels::max_lane_rows>();
  }
}

/// Number of blocks of batch_kernels::lane_threads threads, with `lanes` threads for each matrix.
unsigned blocks_of_lanes(std::int64_t count, int lanes) {
  constexpr std::int64_t threads = batch_kernels::lane_threads;
  return static_cast<unsigned>((count * lanes + threads - 1) / threads);
}

template <class T>
void factor_in_lanes(const BlockFactors<T>& factors, bool lu, double tolerance) {
  with_lanes_for(factors.n, [&]<int lanes>() {
    const auto kernel =
        lu ? batch_kernels::factor_lu_in_lanes<T, lanes> : batch_kernels::factor_cholesky_in_lanes<T, lanes>;
    kernel<<<blocks_of_lanes(factors.count, lanes), batch_kernels::lane_threads, 0, stream()>>>(factors,
                                                                                                tolerance);
  });
  check(cudaGetLastError());
}

template <class T>
void substitute_in_lanes(const BlockSystem<T>& system) {
  with_lanes_for(system.factors.n, [&]<int lanes>() {
    batch_kernels::substitute_in_lanes<T, lanes>
        <<<blocks_of_lanes(system.factors.count, lanes), batch_kernels::lane_threads, 0, stream()>>>(system);
  });
  check(cudaGetLastError());
}

template <class T>
void substitute(const BlockFactors<T>& factors, const DenseBatch<T>& B) {
  constexpr int many = 4;
  const BlockSystem<T> system{.factors = factors,
                              .b = B.data(),
                              .leading = B.leading(),
                              .stride = B.stride(),
                              .columns = B.columns()};
  if (factors.n <= batch_kernels::max_lane_rows) {
    substitute_in_lanes(system);
    return;
  }
  const bool one_row = factors.n <= max_block_threads;
  if (B.columns() == 1) {
    one_row ? substitute<1, 1>(system) : substitute<2, 1>(system);
  } else {
    one_row ? substitute<1, many>(system) : substitute<2, many>(system);
  }
}

}  // namespace

template <class Target, class T>
void factor_batch_on(batch_detail::Factors<T>& factors, double tolerance) {
  const Device& device = factors.A.device();
  const std::int64_t n = factors.A.rows();
  const std::int64_t count = factors.A.count();
  if (n == 0) Cuda(device).fill(count, BatchOutcome{}, factors.outcomes.data());
  if (n == 0 || count == 0) return;
  const bool lu = factors.kind == BatchFactorization::lu;
  if (lu) factors.pivots = Array<std::int32_t>(device, n * count);
  if (n <= batch_kernels::max_lane_rows) {
    const CurrentDevice current(device.id());
    factor_in_lanes(block_factors(factors), lu, tolerance);
    return;
  }
  if (lu && n > batch_kernels::max_block_rows) return factor_batch_in_panels(factors, tolerance);
  constexpr int width = batch_kernels::block_width;
  factors.inverses = Array<T>(device, (n + width - 1) / width * 2 * batch_kernels::block_area * count);
  const CurrentDevice current(device.id());
  if (!lu) {
    factor_cholesky(block_factors(factors), tolerance);
  } else if (n <= max_block_threads) {
    factor_lu<1>(block_factors(factors), tolerance);
  } else {
    factor_lu<2>(block_factors(factors), tolerance);
  }
}

template <class Target, class T>
void substitute_batch_on(const batch_detail::Factors<T>& factors, const DenseBatch<T>& B) {
  if (B.rows() == 0 || B.columns() == 0 || B.count() == 0) return;
  if (B.rows() > batch_kernels::max_block_rows) return substitute_batch_in_panels(factors, B);
  const CurrentDevice current(B.device().id());
  substitute(block_factors(factors), B);
}

template void factor_batch_on<CudaTarget>(batch_detail::Factors<float>&, double);
template void factor_batch_on<CudaTarget>(batch_detail::Factors<double>&, double);
template void substitute_batch_on<CudaTarget>(const batch_detail::Factors<float>&, const DenseBatch<float>&);
template void substitute_batch_on<CudaTarget>(const batch_detail::Factors<double>&,
                                              const DenseBatch<double>&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// One operation on several vectors: row y of the grid does what the whole grid does for a single vector.
#pragma once

#include "backend/cuda/cuda.cuh"

namespace echelon {

namespace cuda_kernels {

template <class F>
__global__ void __launch_bounds__(block_size)
    for_each_column(std::int64_t n, const __grid_constant__ EachColumn<F> f) {
  for_each_in_row(n, f.at[blockIdx.y]);
}

template <class V, class F, class Finish>
__global__ void __launch_bounds__(block_size)
    reduce_columns(std::int64_t n, const __grid_constant__ EachColumn<F> f,
                   const __grid_constant__ EachColumn<Finish> finish, V* partial, unsigned* finished) {
  const unsigned c = blockIdx.y;
  reduce_in_row<V>(n, f.at[c], finish.at[c], partial + std::size_t{c} * gridDim.x, finished + c);
}

template <class V, class F>
__global__ void __launch_bounds__(block_size)
    segmented_reduce_columns(std::int64_t n, const std::int64_t* offsets,
                             const __grid_constant__ EachColumn<F> f,
                             const __grid_constant__ EachColumn<V*> sums) {
  segmented_reduce_in_row<V>(n, offsets, f.at[blockIdx.y], sums.at[blockIdx.y]);
}

}  // namespace cuda_kernels

/// Cuda::for_each for each column.
template <class F>
void for_each_column(Cuda& backend, std::int64_t n, const EachColumn<F>& f) {
  if (n <= 0 || f.count == 0) return;
  if (f.count == 1) return backend.for_each(n, f.at[0]);
  const CurrentDevice current(backend.device().id());
  const dim3 grid(backend.blocks_for(n, 1), static_cast<unsigned>(f.count));
  cuda_kernels::for_each_column<<<grid, cuda_kernels::block_size, 0, stream()>>>(n, f);
  check(cudaGetLastError());
}

/// Cuda::reduce for each column.
template <class F, class Finish>
void reduce_columns(Cuda& backend, std::int64_t n, const EachColumn<F>& f, const EachColumn<Finish>& finish) {
  using V = decltype(f.at[0](n));
  if (f.count == 0) return;
  if (f.count == 1) return backend.reduce(n, f.at[0], finish.at[0]);
  const CurrentDevice current(backend.device().id());
  const dim3 grid(backend.blocks_for(n, 4), static_cast<unsigned>(f.count));
  auto* partial = static_cast<V*>(backend.scratch(std::size_t{grid.x} * grid.y * sizeof(V)));
  cuda_kernels::reduce_columns<V>
      <<<grid, cuda_kernels::block_size, 0, stream()>>>(n, f, finish, partial, backend.counters(f.count));
  check(cudaGetLastError());
}

/// Cuda::segmented_reduce for each column.
template <class F, class V>
void segmented_reduce_columns(Cuda& backend, std::int64_t n, const std::int64_t* offsets,
                              const EachColumn<F>& f, const EachColumn<V*>& sums) {
  if (n <= 0 || f.count == 0) return;
  if (f.count == 1) return backend.segmented_reduce(n, offsets, f.at[0], sums.at[0]);
  const CurrentDevice current(backend.device().id());
  const dim3 grid(backend.blocks_for_segments(n), static_cast<unsigned>(f.count));
  cuda_kernels::segmented_reduce_columns<V>
      <<<grid, cuda_kernels::block_size, 0, stream()>>>(n, offsets, f, sums);
  check(cudaGetLastError());
}

}  // namespace echelon

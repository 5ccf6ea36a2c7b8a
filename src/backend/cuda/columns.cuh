// SPDX-License-Identifier: BSD-3-Clause
/// One operation on several vectors: row y of the grid does what the whole grid does for a single vector.
#pragma once

#include "backend/cuda/cuda.cuh"

#include <type_traits>

namespace echelon {

namespace cuda_kernels {

template <class F>
__global__ void __launch_bounds__(block_size)
    for_each_column(std::int64_t n, const __grid_constant__ FunctorArray<F> f) {
  for_each_in_row(n, f.at[blockIdx.y]);
}

template <class V, class F, class Finish>
__global__ void __launch_bounds__(block_size)
    reduce_columns(std::int64_t n, const __grid_constant__ FunctorArray<F> f,
                   const __grid_constant__ FunctorArray<Finish> finish, V* partial, unsigned* finished) {
  const unsigned c = blockIdx.y;
  reduce_in_row<V>(n, f.at[c], finish.at[c], partial + std::size_t{c} * gridDim.x, finished + c);
}

template <class V, class F>
__global__ void __launch_bounds__(block_size)
    segmented_reduce_columns(std::int64_t n, const std::int64_t* offsets,
                             const __grid_constant__ FunctorArray<F> f,
                             const __grid_constant__ FunctorArray<V*> sums) {
  segmented_reduce_in_row<V>(n, offsets, f.at[blockIdx.y], sums.at[blockIdx.y]);
}

}  // namespace cuda_kernels

/// Cuda::for_each for each of at most `most_columns` vectors; make(c) returns the functor of vector c.
template <class Make>
void for_each_column(Cuda& backend, std::int64_t n, int columns, Make make) {
  if (n <= 0 || columns == 0) return;
  if (columns == 1) return backend.for_each(n, make(0));
  const CurrentDevice current(backend.device().id());
  const auto f = make_functors(columns, make);
  const dim3 grid(backend.blocks_for(n, 1), static_cast<unsigned>(columns));
  cuda_kernels::for_each_column<<<grid, cuda_kernels::block_size, 0, stream()>>>(n, f);
  check(cudaGetLastError());
}

/// Cuda::reduce for each of at most `most_columns` vectors.
template <class Make, class MakeFinish>
void reduce_columns(Cuda& backend, std::int64_t n, int columns, Make make, MakeFinish make_finish) {
  using V = decltype(make(0)(n));
  if (columns == 0) return;
  if (columns == 1) return backend.reduce(n, make(0), make_finish(0));
  const CurrentDevice current(backend.device().id());
  const auto f = make_functors(columns, make);
  const auto finish = make_functors(columns, make_finish);
  const dim3 grid(backend.blocks_for(n, 4), static_cast<unsigned>(columns));
  auto* partial = static_cast<V*>(backend.scratch(std::size_t{grid.x} * grid.y * sizeof(V)));
  cuda_kernels::reduce_columns<V>
      <<<grid, cuda_kernels::block_size, 0, stream()>>>(n, f, finish, partial, backend.counters(columns));
  check(cudaGetLastError());
}

/// Cuda::segmented_reduce for each of at most `most_columns` vectors; make_sums(c) is where those of vector c
/// are stored.
template <class Make, class MakeSums>
void segmented_reduce_columns(Cuda& backend, std::int64_t n, const std::int64_t* offsets, int columns,
                              Make make, MakeSums make_sums) {
  using V = std::remove_pointer_t<decltype(make_sums(0))>;
  if (n <= 0 || columns == 0) return;
  if (columns == 1) return backend.segmented_reduce(n, offsets, make(0), make_sums(0));
  const CurrentDevice current(backend.device().id());
  const auto f = make_functors(columns, make);
  const auto sums = make_functors(columns, make_sums);
  const dim3 grid(backend.blocks_for_segments(n), static_cast<unsigned>(columns));
  cuda_kernels::segmented_reduce_columns<V>
      <<<grid, cuda_kernels::block_size, 0, stream()>>>(n, offsets, f, sums);
  check(cudaGetLastError());
}

}  // namespace echelon

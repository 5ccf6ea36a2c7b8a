// SPDX-License-Identifier: BSD-3-Clause
/// Loops in steps on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/warp.cuh"

#include <algorithm>
#include <cstdint>

namespace echelon {

namespace cuda_kernels {

/// A sequence of short steps by one block, with a barrier after each.
template <class F>
__global__ void __launch_bounds__(1024)
    run_steps(const std::int64_t* ends, std::int64_t first, std::int64_t last, F f) {
  std::int64_t begin = first == 0 ? 0 : ends[first - 1];
  for (std::int64_t step = first; step < last; ++step) {
    const std::int64_t end = ends[step];
    for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) f(i);
    begin = end;
    __syncthreads();
  }
}

}  // namespace cuda_kernels

/// Calls f(i) for every item, step after step. Consecutive steps of at most 2048 items are one launch of one
/// block.
template <class F>
void for_each_step(Cuda& backend, const Steps& steps, F f) {
  constexpr std::int64_t short_step = 2048;
  const auto length = [&](std::int64_t step) { return steps.end(step) - steps.begin(step); };
  const CurrentDevice current(backend.device().id());
  for (std::int64_t step = 0; step < steps.size();) {
    if (length(step) > short_step) {
      backend.for_each(length(step), Shifted<F>{f, steps.begin(step)});
      ++step;
      continue;
    }
    const std::int64_t first = step;
    std::int64_t widest = 1;
    for (; step < steps.size() && length(step) <= short_step; ++step) widest = std::max(widest, length(step));
    const std::int64_t threads =
        std::min<std::int64_t>((widest + warp_size - 1) / warp_size * warp_size, 1024);
    cuda_kernels::run_steps<<<1, static_cast<unsigned>(threads), 0, stream()>>>(steps.ends(), first, step, f);
    check(cudaGetLastError());
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// Parallel reductions that find the largest magnitude of an array and its place, as a search for a pivot
// does: pairs in shared memory by interleaved addressing (figure 1.10 of the document on Crout's method) and
// by sequential addressing (figure 1.11), and warp shuffles, which Crout's methods use here.
//   bench_largest_element_gpu
// prints a Markdown table. As in the document one launch leaves an element for each block, and a second one,
// of one block, reduces those. Each thread of the first loads one element.
#include "dense_gpu.cuh"
#include "studies/crout/cuda/grid.cuh"

#include <echelon/echelon.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

namespace ec = echelon;
using ec::crout::PivotMaximum;
using namespace echelon::bench;

namespace {

constexpr int threads = 1024;

enum class Form { interleaved, sequential, shuffles };

/// The best of the block's candidates, in thread 0.
template <Form form>
__device__ PivotMaximum best_of_block(PivotMaximum own) {
  if constexpr (form == Form::shuffles) {
    return ec::crout::block_best<threads>(own);
  } else {
    __shared__ PivotMaximum shared[threads];
    const auto t = static_cast<int>(threadIdx.x);
    shared[t] = own;
    __syncthreads();
    for (int step = 1; step < threads; step *= 2) {
      const int apart = form == Form::interleaved ? step : threads / 2 / step;
      const int place = form == Form::interleaved ? 2 * step * t : t;
      const int last = form == Form::interleaved ? threads : apart;
      if (place < last) shared[place] = combine(shared[place], shared[place + apart]);
      __syncthreads();
    }
    return shared[0];
  }
}

template <Form form, class T>
__global__ void __launch_bounds__(threads)
    reduce_elements(std::int64_t n, const T* x, PivotMaximum* of_blocks) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const PivotMaximum best = best_of_block<form>(i < n ? ec::crout::candidate(x[i], i) : PivotMaximum{});
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = best;
}

template <Form form>
__global__ void __launch_bounds__(threads)
    reduce_candidates(unsigned count, const PivotMaximum* candidates, PivotMaximum* result) {
  PivotMaximum own;
  for (unsigned k = threadIdx.x; k < count; k += threads) own = combine(own, candidates[k]);
  const PivotMaximum best = best_of_block<form>(own);
  if (threadIdx.x == 0) *result = best;
}

/// Seconds of the two launches. Ends the program if the place is not the expected one.
template <Form form, class T>
double seconds(const ec::Array<T>& x, std::int64_t expected) {
  const auto blocks = static_cast<unsigned>((x.size() + threads - 1) / threads);
  ec::Array<PivotMaximum> candidates(x.device(), blocks + 1);
  const auto search = [&] {
    reduce_elements<form><<<blocks, threads, 0, ec::stream()>>>(x.size(), x.data(), candidates.data() + 1);
    reduce_candidates<form>
        <<<1, threads, 0, ec::stream()>>>(blocks, candidates.data() + 1, candidates.data());
    ec::check(cudaGetLastError());
  };
  const double time = gpu_seconds(search);
  PivotMaximum found;
  ec::check(cudaMemcpy(&found, candidates.data(), sizeof found, cudaMemcpyDeviceToHost));
  insist(found.row == expected, "the place of the largest element");
  return time;
}

template <class T>
void measure(std::int64_t n, const char* type) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> host(static_cast<std::size_t>(n));
  for (T& value : host) value = uniform(random);
  const std::int64_t place = n / 3;
  host[static_cast<std::size_t>(place)] = -2;
  const ec::Array<T> x(ec::Device::cuda(), host);
  const double interleaved = seconds<Form::interleaved>(x, place);
  const double sequential = seconds<Form::sequential>(x, place);
  const double shuffles = seconds<Form::shuffles>(x, place);
  std::printf("| %lld | %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", static_cast<long long>(n), type,
              1e6 * interleaved, 1e6 * sequential, 1e6 * shuffles, interleaved / sequential,
              sequential / shuffles);
}

}  // namespace

int main() {
  std::printf("%s\n\n", hardware(ec::Device::cuda()).c_str());
  std::printf(
      "| elements | type | interleaved us | sequential us | shuffles us | interleaved / sequential "
      "| sequential / shuffles |\n|---|---|---|---|---|---|---|\n");
  for (const std::int64_t n : {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26}) {
    measure<float>(n, "float");
    measure<double>(n, "double");
  }
}

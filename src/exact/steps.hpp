// SPDX-License-Identifier: BSD-3-Clause
/// Loops in steps: the items of a step are independent, and depend on the steps before.
#pragma once

#include "backend/target.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::mapped {

/// Items 0 .. count() - 1, divided into consecutive steps. Also in the backend's memory.
class Steps {
 public:
  Steps() = default;
  /// `ends`: the end of each step; ascending.
  Steps(const Device& device, std::vector<std::int64_t> ends)
      : ends_(std::move(ends)), on_device_(device, std::span<const std::int64_t>(ends_)) {}

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] std::int64_t begin(std::int64_t step) const { return step == 0 ? 0 : end(step - 1); }
  [[nodiscard]] std::int64_t end(std::int64_t step) const { return ends_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] std::int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] const std::int64_t* ends() const { return on_device_.data(); }
  [[nodiscard]] std::size_t bytes() const { return on_device_.bytes(); }

 private:
  std::vector<std::int64_t> ends_;
  Array<std::int64_t> on_device_;
};

/// Loop body with an offset.
template <class F>
struct Shifted {
  F f;
  std::int64_t begin;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { f(begin + i); }
};

#ifdef __CUDACC__

namespace kernels {

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

}  // namespace kernels

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
    kernels::run_steps<<<1, static_cast<unsigned>(threads), 0, stream()>>>(steps.ends(), first, step, f);
    check(cudaGetLastError());
  }
}

#else

template <class B, class F>
void for_each_step(B& backend, const Steps& steps, F f) {
  for (std::int64_t step = 0; step < steps.size(); ++step) {
    backend.for_each(steps.end(step) - steps.begin(step), Shifted<F>{f, steps.begin(step)});
  }
}

#endif

}  // namespace echelon::mapped

// SPDX-License-Identifier: BSD-3-Clause
/// Measurements of the benchmark programs for GPUs.
#pragma once

#include "backend/cuda/check.cuh"
#include "support/measure.hpp"

#include <echelon/array.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::bench {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { check(cudaEventRecord(event_, stream())); }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventSynchronize(event_));
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds of the work that f queues on the GPU: median of 15 measurements, each the mean over as many calls
/// as take a millisecond.
template <class F>
double gpu_seconds(F f) {
  Event start;
  Event end;
  const auto mean = [&](int repeats) {
    start.record();
    for (int k = 0; k < repeats; ++k) f();
    end.record();
    return end.seconds_since(start) / repeats;
  };
  mean(3);
  const int repeats = std::max(1, static_cast<int>(1e-3 / mean(3)));
  std::vector<double> seconds;
  for (int run = 0; run < 15; ++run) seconds.push_back(mean(repeats));
  return median(std::move(seconds));
}

/// Bytes per second, read and written, of copies within the GPU's memory, many times larger than its caches.
inline double copy_bandwidth() {
  constexpr std::int64_t size = std::int64_t{1} << 30;
  const Array<unsigned char> source(Device::cuda(), size);
  Array<unsigned char> target(Device::cuda(), size);
  const double seconds = gpu_seconds([&] {
    check(cudaMemcpyAsync(target.data(), source.data(), size, cudaMemcpyDeviceToDevice, stream()));
  });
  return 2.0 * size / seconds;
}

}  // namespace echelon::bench

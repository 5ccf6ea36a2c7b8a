// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/host_sum.hpp"

#include <echelon/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

/// The host's cores through OpenMP. Loops too short to pay for waking the threads run on the calling one.
class OpenMp {
 public:
  explicit OpenMp(const Device& device) : device_(device), threads_(device.threads()) {}
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] int threads() const { return threads_; }

  template <class F>
  void for_each(std::int64_t n, F f) {
#pragma omp parallel for num_threads(threads_) schedule(static) if (n > serial_limit)
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }

  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    const std::int64_t blocks = (n + reduction_block - 1) / reduction_block;
    std::vector<V> partial(static_cast<std::size_t>(blocks));
#pragma omp parallel for num_threads(threads_) schedule(static) firstprivate(f) if (n > serial_limit)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = block * reduction_block;
      partial[static_cast<std::size_t>(block)] = sum_block<V>(begin, std::min(begin + reduction_block, n), f);
    }
    V total{};
    for (const V& p : partial) total = combine(total, p);
    finish(total);
  }

  /// Two passes: each thread sums its share, then scans it from the sum of the shares before.
  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    const std::int64_t share = (n + threads_ - 1) / threads_;
    std::vector<std::int64_t> start(static_cast<std::size_t>(threads_) + 1, 0);
#pragma omp parallel num_threads(threads_) if (n > serial_limit)
    {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads_; ++t) {
        std::int64_t sum = 0;
        for (std::int64_t i = std::min(t * share, n); i < std::min((t + 1) * share, n); ++i) sum += counts[i];
        start[static_cast<std::size_t>(t) + 1] = sum;
      }
#pragma omp single
      for (std::size_t t = 1; t < start.size(); ++t) start[t] += start[t - 1];
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads_; ++t) {
        std::int64_t sum = start[static_cast<std::size_t>(t)];
        for (std::int64_t i = std::min(t * share, n); i < std::min((t + 1) * share, n); ++i) {
          const std::int64_t count = counts[i];  // counts and offsets may be the same array
          offsets[i] = sum;
          sum += count;
        }
      }
    }
    offsets[n] = start.back();
    return start.back();
  }

  template <class T>
  void copy(std::int64_t n, const T* source, T* target) {
    for_each(n, [=](std::int64_t i) { target[i] = source[i]; });
  }
  template <class T>
  void fill(std::int64_t n, T value, T* target) {
    for_each(n, [=](std::int64_t i) { target[i] = value; });
  }
  template <class V>
  V read(const V* source) {
    return *source;
  }
  template <class V>
  void write(const V& value, V* target) {
    *target = value;
  }
  void synchronize() {}

 private:
  static constexpr std::int64_t serial_limit = 8 * reduction_block;
  Device device_;
  int threads_;
};

}  // namespace echelon

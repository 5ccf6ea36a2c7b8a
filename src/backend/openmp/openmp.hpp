// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/openmp/radix_sort.hpp"
#include "backend/openmp/thread_throttle.hpp"
#include "backend/serial/host_sum.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace echelon {

/// The host's cores through OpenMP. Loops too short to pay for waking the threads run on the calling thread,
/// and so do all loops while the machine is overloaded (see ThreadThrottle), unless the number of threads was
/// given. Not thread-safe.
class OpenMp {
 public:
  static constexpr bool on_host = true;
  explicit OpenMp(const Device& device)
      : device_(device), threads_(device.threads()), throttle_(threads_ > 1 && may_choose_threads(device)) {}
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] int threads() const { return threads_; }

  /// Calls part(p, parts) for p = 0, ..., parts - 1, each on its own thread, or part(0, 1) on the calling
  /// thread if the loop is too short. The parts have about equal work, and must not throw.
  template <class Part>
  void parallel(bool worth_threads, const Part& part) {
    if (!worth_threads || threads_ == 1) {
      part(0, 1);
      return;
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = throttle_.is_enabled() ? Clock::now() : Clock::time_point();
    if (throttle_.is_serial(start)) {
      part(0, 1);
      return;
    }
    const ThreadThrottle::Seconds cpu_start = throttle_.cpu_time();
    ThreadThrottle::Seconds cpu_end{};
    int parts = 1;
#pragma omp parallel num_threads(threads_)
    {
      part(omp_get_thread_num(), omp_get_num_threads());
#pragma omp master
      {
        cpu_end = throttle_.cpu_time();
        parts = omp_get_num_threads();
      }
    }
    const Clock::time_point end = Clock::now();
    throttle_.record(parts, cpu_end - cpu_start, end - start, end);
  }

  /// Whether the machine is too busy for parallel loops.
  [[nodiscard]] bool is_throttled() const {
    return throttle_.is_enabled() && throttle_.is_serial(std::chrono::steady_clock::now());
  }

  template <class F>
  void for_each(std::int64_t n, F f) {
    parallel(n > serial_limit, [n, &f](int part, int parts) {
      F own = f;  // a copy for each thread: the compiler then knows that f is constant, and vectorises
      const std::int64_t end = n * (part + 1) / parts;
      for (std::int64_t i = n * part / parts; i < end; ++i) own(i);
    });
  }

  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    if (n <= reduction_block) {
      finish(combine(V{}, sum_block<V>(0, n, f)));
      return;
    }
    const std::int64_t blocks = (n + reduction_block - 1) / reduction_block;
    std::vector<V> partial(static_cast<std::size_t>(blocks));
    parallel(n > serial_limit, [&](int part, int parts) {
      F own = f;
      for (std::int64_t block = blocks * part / parts; block < blocks * (part + 1) / parts; ++block) {
        const std::int64_t begin = block * reduction_block;
        partial[static_cast<std::size_t>(block)] =
            sum_block<V>(begin, std::min(begin + reduction_block, n), own);
      }
    });
    V total{};
    for (const V& p : partial) total = combine(total, p);
    finish(total);
  }

  /// Two passes: each thread sums its part, then scans it from the sum of the parts before.
  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    const int threads = threads_for(n > serial_limit);
    const std::int64_t part_size = (n + threads - 1) / threads;
    std::vector<std::int64_t> start(static_cast<std::size_t>(threads) + 1, 0);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t) {
        std::int64_t sum = 0;
        for (std::int64_t i = std::min(t * part_size, n); i < std::min((t + 1) * part_size, n); ++i)
          sum += counts[i];
        start[static_cast<std::size_t>(t) + 1] = sum;
      }
#pragma omp single
      for (std::size_t t = 1; t < start.size(); ++t) start[t] += start[t - 1];
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t) {
        std::int64_t sum = start[static_cast<std::size_t>(t)];
        for (std::int64_t i = std::min(t * part_size, n); i < std::min((t + 1) * part_size, n); ++i) {
          const std::int64_t count = counts[i];  // counts and offsets may be the same array
          offsets[i] = sum;
          sum += count;
        }
      }
    }
    offsets[n] = start.back();
    return start.back();
  }

  void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    exclusive_scan(n, counts, offsets);
  }

  template <class K, class V>
  void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                   const V* values, V* sorted_values) {
    const auto size = static_cast<std::size_t>(n);
    unsigned char* scratch = this->scratch(size * (sizeof(K) + sizeof(V)) + alignof(V));
    auto* scratch_keys = reinterpret_cast<K*>(scratch);
    const std::size_t after_keys = (size * sizeof(K) + alignof(V) - 1) / alignof(V) * alignof(V);
    auto* scratch_values = reinterpret_cast<V*>(scratch + after_keys);
    openmp_detail::radix_sort<K, V>(threads_for(n > serial_limit), n, {first_bit, last_bit}, {keys, values},
                                    {sorted_keys, sorted_values}, {scratch_keys, scratch_values});
  }

  template <class T>
  std::int64_t select(std::int64_t n, const std::uint8_t* flags, const T* source, T* target) {
    return pack(
        n, [=](std::int64_t i) { return flags[i] != 0; },
        [=](std::int64_t i, std::int64_t place) { target[place] = source[i]; });
  }

  template <class F>
  void segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
#pragma omp parallel for num_threads(threads_for(n > 1)) schedule(dynamic, 256)
    for (std::int64_t s = 0; s < n; ++s) {
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) f(s, k);
    }
  }

  template <class F, class V>
  void segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
#pragma omp parallel for num_threads(threads_for(n > 1)) schedule(dynamic, 256)
    for (std::int64_t s = 0; s < n; ++s) {
      V sum{};
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) sum = combine(sum, f(k));
      sums[s] = sum;
    }
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

  static bool may_choose_threads(const Device& device) {
    return device == Device::openmp() && std::getenv("OMP_NUM_THREADS") == nullptr;
  }

  [[nodiscard]] int threads_for(bool worth_threads) const {
    return worth_threads && !is_throttled() ? threads_ : 1;
  }

  /// Calls emit(i, position) for each i with keep(i); positions count from 0 in the order of i. Returns their
  /// number.
  template <class Keep, class Emit>
  std::int64_t pack(std::int64_t n, Keep keep, Emit emit) {
    const int threads = threads_for(n > serial_limit);
    const std::int64_t part_size = (n + threads - 1) / threads;
    std::vector<std::int64_t> places(static_cast<std::size_t>(threads) + 1, 0);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t) {
        std::int64_t count = 0;
        for (std::int64_t i = std::min(t * part_size, n); i < std::min((t + 1) * part_size, n); ++i) {
          if (keep(i)) ++count;
        }
        places[static_cast<std::size_t>(t) + 1] = count;
      }
#pragma omp single
      for (std::size_t t = 1; t < places.size(); ++t) places[t] += places[t - 1];
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t) {
        std::int64_t place = places[static_cast<std::size_t>(t)];
        for (std::int64_t i = std::min(t * part_size, n); i < std::min((t + 1) * part_size, n); ++i) {
          if (keep(i)) emit(i, place++);
        }
      }
    }
    return places.back();
  }

  unsigned char* scratch(std::size_t bytes) {
    if (scratch_.bytes() < bytes) {
      scratch_ = Array<unsigned char>();  // frees the old array before the new one is allocated
      scratch_ = Array<unsigned char>(device_, static_cast<std::int64_t>(bytes));
    }
    return scratch_.data();
  }

  Device device_;
  int threads_;
  ThreadThrottle throttle_;
  Array<unsigned char> scratch_;
};

}  // namespace echelon

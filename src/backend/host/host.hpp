// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/host/equal_parts.hpp"
#include "backend/host/host_sum.hpp"
#include "backend/host/radix_sort.hpp"
#include "backend/host/thread_throttle.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

/// The host's processors: the calling thread on the device `serial`, threads of OpenMP on `openmp`. Loops too
/// short to pay for waking the threads run on the calling thread, and so do all loops while the machine is
/// overloaded (see ThreadThrottle), unless the number of threads was given. Results do not depend on the
/// number of threads. Not thread-safe.
///
/// The body of a loop is compiled once, as a function that the calling thread or each of the threads calls;
/// the code that starts threads is in host.cpp.
class Host {
 public:
  static constexpr bool on_host = true;
  /// Throws DeviceMismatch for a device that is not of the host: its memory cannot be read here.
  explicit Host(const Device& device);
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] int threads() const { return threads_; }

  /// Calls part(p, parts) for p = 0, ..., parts - 1, each on its own thread, or part(0, 1) on the calling
  /// thread if the loop is too short. The parts have about equal work, and must not throw.
  template <class Part>
  void parallel(bool worth_threads, const Part& part) {
    if (worth_threads && threads_ > 1) return run_parts(&call_part<Part>, &part);
    call_part<Part>(&part, 0, 1);
  }

  /// Calls f(begin, end) for consecutive ranges that cover [0, n), as `parallel` calls its parts.
  template <class F>
  void for_each_range(std::int64_t n, bool worth_threads, const F& f) {
    if (worth_threads && threads_ > 1) return run_ranges(n, &call_range<F>, &f);
    call_range<F>(&f, 0, n);
  }

  /// Whether the machine is too busy for parallel loops.
  [[nodiscard]] bool is_throttled() const;

  template <class F>
  void for_each(std::int64_t n, F f) {
    for_each_range(n, n > serial_limit, [&f](std::int64_t begin, std::int64_t end) {
      F own = f;  // a copy for each thread: the compiler then knows that f is constant, and vectorises
      for (std::int64_t i = begin; i < end; ++i) own(i);
    });
  }

  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    const std::int64_t blocks = (n + reduction_block - 1) / reduction_block;
    V one{};
    std::vector<V> several(static_cast<std::size_t>(blocks > 1 ? blocks : 0));
    V* const sums = blocks > 1 ? several.data() : &one;
    for_each_range(blocks, n > serial_limit, [n, sums, &f](std::int64_t first, std::int64_t last) {
      F own = f;
      for (std::int64_t block = first; block < last; ++block) {
        const std::int64_t begin = block * reduction_block;
        sums[block] = sum_block<V>(begin, std::min(begin + reduction_block, n), own);
      }
    });
    V total{};
    for (std::int64_t block = 0; block < blocks; ++block) total = combine(total, sums[block]);
    finish(total);
  }

  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);
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
    host_detail::radix_sort<Host, K, V>(*this, parts_of(n), {first_bit, last_bit}, {keys, values},
                                        {sorted_keys, sorted_values}, {scratch_keys, scratch_values});
  }

  template <class T>
  std::int64_t select(std::int64_t n, const std::uint8_t* flags, const T* source, T* target) {
    const EqualParts parts = parts_of(n);
    std::vector<std::int64_t> places = places_of_selected(parts, flags);
    for_each_part(parts, [=, &places](int p) {
      std::int64_t place = places[static_cast<std::size_t>(p)];
      for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) {
        if (flags[i] != 0) target[place++] = source[i];
      }
      if (p + 1 == parts.count) places.back() = place;
    });
    return places.back();
  }

  template <class F>
  void segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
    for_each_chunk(n, [offsets, &f](std::int64_t begin, std::int64_t end) {
      F own = f;
      for (std::int64_t s = begin; s < end; ++s) {
        for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) own(s, k);
      }
    });
  }

  template <class F, class V>
  void segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
    for_each_chunk(n, [offsets, sums, &f](std::int64_t begin, std::int64_t end) {
      F own = f;
      for (std::int64_t s = begin; s < end; ++s) {
        V sum{};
        for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) sum = combine(sum, own(k));
        sums[s] = sum;
      }
    });
  }

  template <class T>
  void copy(std::int64_t n, const T* source, T* target) {
    for_each_range(n, n > serial_limit, [=](std::int64_t begin, std::int64_t end) {
      std::copy(source + begin, source + end, target + begin);
    });
  }
  template <class T>
  void fill(std::int64_t n, T value, T* target) {
    for_each_range(n, n > serial_limit, [=](std::int64_t begin, std::int64_t end) {
      std::fill(target + begin, target + end, value);
    });
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

  /// Calls f(p) for each part, on as many threads.
  template <class F>
  void for_each_part(const EqualParts& parts, const F& f) {
    parallel(parts.count > 1, [count = parts.count, &f](int thread, int threads) {
      for (int p = thread; p < count; p += threads) f(p);
    });
  }

 private:
  static constexpr std::int64_t serial_limit = 8 * reduction_block;
  using PartFunction = void (*)(const void* body, int part, int parts);
  using RangeFunction = void (*)(const void* body, std::int64_t begin, std::int64_t end);

  template <class Part>
  [[gnu::noinline]] static void call_part(const void* body, int part, int parts) {
    (*static_cast<const Part*>(body))(part, parts);
  }
  template <class F>
  [[gnu::noinline]] static void call_range(const void* body, std::int64_t begin, std::int64_t end) {
    (*static_cast<const F*>(body))(begin, end);
  }
  void run_parts(PartFunction function, const void* body);
  void run_ranges(std::int64_t n, RangeFunction function, const void* body);

  /// Calls f(begin, end) for ranges that cover [0, n), the next one by the next thread that is free.
  template <class F>
  void for_each_chunk(std::int64_t n, const F& f) {
    constexpr std::int64_t chunk = 256;
    std::atomic<std::int64_t> next{0};
    parallel(n > chunk, [n, &next, &f](int /*part*/, int parts) {
      if (parts == 1) return f(std::int64_t{0}, n);
      std::int64_t begin = 0;
      while ((begin = next.fetch_add(chunk, std::memory_order_relaxed)) < n) {
        f(begin, std::min(begin + chunk, n));
      }
    });
  }

  /// One part for each thread, if n elements are worth several.
  [[nodiscard]] EqualParts parts_of(std::int64_t n) const {
    return {n, n > serial_limit && !is_throttled() ? threads_ : 1};
  }
  /// For each part the number of nonzero flags before it, and another element.
  std::vector<std::int64_t> places_of_selected(const EqualParts& parts, const std::uint8_t* flags);

  /// At least this many bytes, uninitialised, until the next call.
  unsigned char* scratch(std::size_t bytes);

  Device device_;
  int threads_;
  ThreadThrottle throttle_;
  Array<unsigned char> scratch_;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/host_sum.hpp"

#include <echelon/device.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// One core: the oracle for the other backends.
class Serial {
 public:
  explicit Serial(const Device& device) : device_(device) {}
  [[nodiscard]] const Device& device() const { return device_; }

  template <class F>
  void for_each(std::int64_t n, F f) {
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }

  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    V total{};
    for (std::int64_t begin = 0; begin < n; begin += reduction_block) {
      total = combine(total, sum_block<V>(begin, std::min(begin + reduction_block, n), f));
    }
    finish(total);
  }

  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t count = counts[i];  // counts and offsets may be the same array
      offsets[i] = sum;
      sum += count;
    }
    offsets[n] = sum;
    return sum;
  }

  template <class T>
  void copy(std::int64_t n, const T* source, T* target) {
    std::copy_n(source, n, target);
  }
  template <class T>
  void fill(std::int64_t n, T value, T* target) {
    std::fill_n(target, n, value);
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
  Device device_;
};

}  // namespace echelon

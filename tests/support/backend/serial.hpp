// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/host/host_sum.hpp"

#include <echelon/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace echelon::test {

/// The reference implementation of a backend's operations, one line after another, with which tests compare
/// the others.
class Serial {
 public:
  static constexpr bool on_host = true;
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

  void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    exclusive_scan(n, counts, offsets);
  }

  template <class K, class V>
  void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                   const V* values, V* sorted_values) {
    const int width = last_bit - first_bit;
    const K mask =
        width == 0 ? K{0} : std::numeric_limits<K>::max() >> (std::numeric_limits<K>::digits - width);
    const auto digits = [=](K key) { return first_bit < last_bit ? (key >> first_bit) & mask : K{0}; };
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [=](std::int64_t a, std::int64_t b) { return digits(keys[a]) < digits(keys[b]); });
    for (const std::int64_t k : order) {
      *sorted_keys++ = keys[k];
      *sorted_values++ = values[k];
    }
  }

  template <class T>
  std::int64_t select(std::int64_t n, const std::uint8_t* flags, const T* source, T* target) {
    std::int64_t selected = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (flags[i] != 0) target[selected++] = source[i];
    }
    return selected;
  }

  template <class F>
  void segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
    for (std::int64_t s = 0; s < n; ++s) {
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) f(s, k);
    }
  }

  template <class F, class V>
  void segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
    for (std::int64_t s = 0; s < n; ++s) {
      V sum{};
      for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) sum = combine(sum, f(k));
      sums[s] = sum;
    }
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

}  // namespace echelon::test

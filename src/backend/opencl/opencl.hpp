// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/opencl/kernels.hpp"
#include "backend/opencl/runtime.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace echelon {

/// A device of an OpenCL driver, compiled by Clang only (see builtins.hpp). Work is queued in the order of
/// the calling thread; sums are divided independently of the device, so that equal operations have equal bits
/// on all that round alike. Not thread-safe.
class OpenCl {
 public:
  static constexpr bool on_host = false;
  /// Throws DeviceMismatch for a device of another kind.
  explicit OpenCl(const Device& device);
  [[nodiscard]] const Device& device() const { return device_; }

  template <class F>
  void for_each(std::int64_t n, F f) {
    if (n <= 0) return;
    launch({(n + loop_size_ - 1) / loop_size_, loop_size_}, opencl_kernels::for_each<F>, n, f);
  }

  /// Two kernels: sums of ranges, and their sum.
  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    using namespace opencl_kernels;
    const std::int64_t ranges = std::clamp<std::int64_t>(n / range_size, 1, most_ranges);
    V* const sums = scratch<V>(most_ranges);
    const LocalBytes memory{sizeof(V) * group_size};
    launch({ranges, group_size}, reduce_ranges<V, F>, std::max<std::int64_t>(n, 0), f, sums, memory);
    launch({1, group_size}, reduce_sums<V, Finish>, ranges, static_cast<const V*>(sums), finish, memory);
  }

  void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);
  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    scan(n, counts, offsets);
    return read(offsets + n);
  }

  /// Radix sort by counting: the digits of each part are counted, then its elements moved.
  template <class K, class V>
  void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                   const V* values, V* sorted_values) {
    using namespace opencl_kernels;
    constexpr int digit_bits = 4;
    const Parts parts = parts_of(n);
    const int passes = (last_bit - first_bit + digit_bits - 1) / digit_bits;
    Array<std::int64_t> counts(device_, (parts.count << digit_bits) + 1);
    Array<K> other_keys(device_, passes > 1 ? n : 0);
    Array<V> other_values(device_, passes > 1 ? n : 0);
    if (passes == 0) {
      copy(n, keys, sorted_keys);
      copy(n, values, sorted_values);
    }
    for (int pass = 0; pass < passes; ++pass) {
      const int shift = first_bit + pass * digit_bits;
      const SortDigit<K> digit{shift,
                               static_cast<K>((K{1} << std::min(digit_bits, last_bit - shift)) - K{1})};
      const bool is_odd = (passes - pass) % 2 == 1;
      K* const to_keys = is_odd ? sorted_keys : other_keys.data();
      V* const to_values = is_odd ? sorted_values : other_values.data();
      for_each(parts.count, CountDigits<K>{parts, digit, keys, counts.data()});
      scan((static_cast<std::int64_t>(digit.mask) + 1) * parts.count, counts.data(), counts.data());
      for_each(parts.count, MoveByDigit<K, V>{parts, digit, keys, values, counts.data(), to_keys, to_values});
      keys = to_keys;
      values = to_values;
    }
  }

  template <class T>
  std::int64_t select(std::int64_t n, const std::uint8_t* flags, const T* source, T* target) {
    using namespace opencl_kernels;
    const Parts parts = parts_of(n);
    auto* const sums = scratch<std::int64_t>(most_parts + 1);
    for_each(parts.count, CountFlags{parts, flags, sums});
    for_each(1, ScanSums{parts.count, sums, sums + parts.count});
    for_each(parts.count, TakeFlagged<T>{parts, flags, sums, source, target});
    return read(sums + parts.count);
  }

  /// Sums in order, as the host does.
  template <class F, class V>
  void segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
    for_each(n, opencl_kernels::SumSegment<F, V>{offsets, f, sums});
  }
  template <class F>
  void segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
    for_each(n, opencl_kernels::EachOfSegment<F>{offsets, f});
  }

  template <class T>
  void copy(std::int64_t n, const T* source, T* target) {
    if (n > 0) opencl::copy(device_.id(), target, source, static_cast<std::size_t>(n) * sizeof(T));
  }
  template <class T>
  void fill(std::int64_t n, T value, T* target) {
    for_each(n, opencl_kernels::FillValue<T>{value, target});
  }
  template <class V>
  V read(const V* source) {
    V value;
    opencl::read(device_.id(), &value, source, sizeof(V));
    return value;
  }
  /// A small value is an argument of a kernel, for which nothing waits.
  template <class V>
  void write(const V& value, V* target) {
    if constexpr (sizeof(V) <= 256) {
      fill(1, value, target);
    } else {
      opencl::write(device_.id(), target, &value, sizeof(V));
    }
  }
  void synchronize() { opencl::synchronize(device_.id()); }

  /// Queues a kernel. The arguments have exactly the types of its parameters, with LocalBytes for
  /// LocalMemory; the driver compares their sizes.
  template <class Kernel, class... A>
  void launch(opencl::LaunchSize size, Kernel* kernel, const A&... arguments) {
    const std::array<opencl::Argument, sizeof...(A)> list = {argument(arguments)...};
    opencl::launch(device_.id(), reinterpret_cast<const void*>(kernel), size, list);
  }

 private:
  static constexpr std::int64_t range_size = 2048;  // elements of a range, at least
  static constexpr std::int64_t most_ranges = 1024;
  static constexpr std::int64_t part_size = 256;
  static constexpr std::int64_t most_parts = 4096;

  [[nodiscard]] static opencl_kernels::Parts parts_of(std::int64_t n) {
    return {n, std::clamp<std::int64_t>(n / part_size, 1, most_parts)};
  }
  template <class A>
  static opencl::Argument argument(const A& value) {
    if constexpr (std::is_same_v<A, opencl_kernels::LocalBytes>) {
      return {nullptr, value.size, false};
    } else {
      return {&value, sizeof(A), std::is_pointer_v<A>};
    }
  }
  /// Memory for `count` elements until the next call.
  template <class V>
  V* scratch(std::int64_t count) {
    const auto bytes = count * static_cast<std::int64_t>(sizeof(V));
    if (scratch_.size() < bytes) {
      scratch_ = Array<unsigned char>();  // frees the old array before the new one is allocated
      scratch_ = Array<unsigned char>(device_, bytes);
    }
    return reinterpret_cast<V*>(scratch_.data());
  }

  Device device_;
  std::int64_t loop_size_;
  Array<unsigned char> scratch_;
};

}  // namespace echelon

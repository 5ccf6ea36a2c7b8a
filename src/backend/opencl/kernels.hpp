// SPDX-License-Identifier: BSD-3-Clause
/// Kernels of the backend OpenCl, and loop bodies of its operations that consist of loops.
///
/// Local memory is an argument of a kernel, because a driver that runs groups on threads may share static
/// local memory among them. A group is not assumed to have sub-groups.
#pragma once

#include <echelon/annotate.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::opencl_kernels {

/// Work-items of a group in kernels with local memory.
inline constexpr int group_size = 64;

ECHELON_DEVICE inline std::int64_t global_id() {
  return static_cast<std::int64_t>(_Z13get_global_idj(0));
}
ECHELON_DEVICE inline int local_id() {
  return static_cast<int>(_Z12get_local_idj(0));
}
ECHELON_DEVICE inline std::int64_t group_id() {
  return static_cast<std::int64_t>(_Z12get_group_idj(0));
}
ECHELON_DEVICE inline std::int64_t group_count() {
  return static_cast<std::int64_t>(_Z14get_num_groupsj(0));
}
/// Waits for the group's items; what they wrote to local memory is then visible to all of them.
ECHELON_DEVICE inline void barrier() {
  _Z7barrierj(1);
}

/// Memory of a group.
using LocalMemory = __attribute__((address_space(3))) unsigned char*;
/// Argument of a launch in place of LocalMemory.
struct LocalBytes {
  std::size_t size;
};

template <class F>
ECHELON_KERNEL void for_each(std::int64_t n, F f) {
  const std::int64_t i = global_id();
  if (i < n) f(i);
}

/// Sum over the items of a group, as a tree; valid in item 0.
template <class V>
ECHELON_DEVICE V combine_group(V value, LocalMemory memory) {
  V* const partial = (V*)memory;
  const int l = local_id();
  partial[l] = value;
  barrier();
  for (int half = group_size / 2; half > 0; half /= 2) {
    if (l < half) partial[l] = combine(partial[l], partial[l + half]);
    barrier();
  }
  return partial[0];
}

/// Each group sums one of equal ranges, of which neighbouring items read neighbouring elements.
template <class V, class F>
ECHELON_KERNEL void reduce_ranges(std::int64_t n, F f, V* sums, LocalMemory memory) {
  const std::int64_t group = group_id();
  const std::int64_t end = n * (group + 1) / group_count();
  V value{};
  for (std::int64_t i = n * group / group_count() + local_id(); i < end; i += group_size) {
    value = combine(value, f(i));
  }
  value = combine_group(value, memory);
  if (local_id() == 0) sums[group] = value;
}

/// One group finishes a reduction.
template <class V, class Finish>
ECHELON_KERNEL void reduce_sums(std::int64_t n, const V* sums, Finish finish, LocalMemory memory) {
  V value{};
  for (std::int64_t i = local_id(); i < n; i += group_size) value = combine(value, sums[i]);
  value = combine_group(value, memory);
  if (local_id() == 0) finish(value);
}

template <class T>
struct FillValue {
  T value;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = value; }
};

/// Sum of f over segment s, in order.
template <class F, class V>
struct SumSegment {
  const std::int64_t* offsets;
  F f;
  V* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t s) const {
    V sum{};
    for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) sum = combine(sum, f(k));
    sums[s] = sum;
  }
};
template <class F>
struct EachOfSegment {
  const std::int64_t* offsets;
  F f;
  ECHELON_ANYWHERE void operator()(std::int64_t s) const {
    for (std::int64_t k = offsets[s]; k < offsets[s + 1]; ++k) f(s, k);
  }
};

/// Division of [0, n) into consecutive parts of about equal size.
struct Parts {
  std::int64_t n;
  std::int64_t count;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t begin(std::int64_t p) const { return n * p / count; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t end(std::int64_t p) const { return n * (p + 1) / count; }
};

/// sums[p] = the sum of part p.
struct SumPart {
  Parts parts;
  const std::int64_t* counts;
  std::int64_t* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    std::int64_t sum = 0;
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) sum += counts[i];
    sums[p] = sum;
  }
};
/// Exclusive scan of a few sums by one work-item.
struct ScanSums {
  std::int64_t count;
  std::int64_t* sums;
  std::int64_t* total;
  ECHELON_ANYWHERE void operator()(std::int64_t /*item*/) const {
    std::int64_t sum = 0;
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t own = sums[p];
      sums[p] = sum;
      sum += own;
    }
    *total = sum;
  }
};
/// counts and offsets may be the same array.
struct ScanPart {
  Parts parts;
  const std::int64_t* counts;
  const std::int64_t* sums;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    std::int64_t sum = sums[p];
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) {
      const std::int64_t own = counts[i];
      offsets[i] = sum;
      sum += own;
    }
  }
};

struct CountFlags {
  Parts parts;
  const std::uint8_t* flags;
  std::int64_t* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    std::int64_t sum = 0;
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) sum += flags[i] != 0 ? 1 : 0;
    sums[p] = sum;
  }
};
template <class T>
struct TakeFlagged {
  Parts parts;
  const std::uint8_t* flags;
  const std::int64_t* sums;
  const T* source;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    std::int64_t place = sums[p];
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) {
      if (flags[i] != 0) target[place++] = source[i];
    }
  }
};

/// Bits of a key that a pass of a radix sort orders by.
template <class K>
struct SortDigit {
  int shift;
  K mask;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t operator()(K key) const {
    return static_cast<std::int64_t>((key >> shift) & mask);
  }
};
/// counts[d * parts.count + p] = the number of keys of part p with digit d.
template <class K>
struct CountDigits {
  Parts parts;
  SortDigit<K> digit;
  const K* keys;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    for (std::int64_t d = 0; d <= static_cast<std::int64_t>(digit.mask); ++d) counts[d * parts.count + p] = 0;
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) ++counts[digit(keys[i]) * parts.count + p];
  }
};
/// Moves the elements of a part to their places, in their order.
template <class K, class V>
struct MoveByDigit {
  Parts parts;
  SortDigit<K> digit;
  const K* keys;
  const V* values;
  std::int64_t* places;
  K* sorted_keys;
  V* sorted_values;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    for (std::int64_t i = parts.begin(p); i < parts.end(p); ++i) {
      const std::int64_t place = places[digit(keys[i]) * parts.count + p]++;
      sorted_keys[place] = keys[i];
      sorted_values[place] = values[i];
    }
  }
};

}  // namespace echelon::opencl_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// Stable parallel radix sort.
#pragma once

#include "backend/host/equal_parts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::host_detail {

/// Bits per pass: the 256 write positions of a thread stay in its L1 cache.
inline constexpr int digit_bits = 8;

template <class K>
struct Digit {
  int shift;
  K mask;
  std::size_t operator()(K key) const { return static_cast<std::size_t>((key >> shift) & mask); }
};

/// Keys and the values that belong to them.
template <class K, class V>
struct KeyedValues {
  K* keys;
  V* values;
};

/// Bits [first, last) of a key, by which keys are sorted.
struct BitRange {
  int first;
  int last;
};

/// One pass: the digits of each part are counted, then its elements moved after those with smaller digits and
/// those of earlier parts with the same digit.
template <class B, class K, class V>
void sort_by_digit(B& backend, const EqualParts& parts, Digit<K> digit, KeyedValues<const K, const V> from,
                   KeyedValues<K, V> to) {
  using Places = std::array<std::int64_t, std::size_t{1} << digit_bits>;
  std::vector<Places> places(static_cast<std::size_t>(parts.count), Places{});
  backend.for_each_part(parts, [&](int p) {
    Places counts{};
    for (std::int64_t k = parts.begin(p); k < parts.end(p); ++k) ++counts[digit(from.keys[k])];
    places[static_cast<std::size_t>(p)] = counts;
  });
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < places.front().size(); ++d) {
    for (Places& counts : places) sum += std::exchange(counts[d], sum);
  }
  backend.for_each_part(parts, [&](int p) {
    Places next = places[static_cast<std::size_t>(p)];
    for (std::int64_t k = parts.begin(p); k < parts.end(p); ++k) {
      const std::int64_t place = next[digit(from.keys[k])]++;
      to.keys[place] = from.keys[k];
      to.values[place] = from.values[k];
    }
  });
}

/// Sorts `from` by the least significant digit first. Passes alternate between `sorted` and `scratch`; the
/// last one writes to `sorted`. All arrays have as many elements as `parts` divides.
template <class B, class K, class V>
void radix_sort(B& backend, const EqualParts& parts, BitRange bits, KeyedValues<const K, const V> from,
                KeyedValues<K, V> sorted, KeyedValues<K, V> scratch) {
  const int passes = (bits.last - bits.first + digit_bits - 1) / digit_bits;
  if (passes == 0) {
    std::copy_n(from.keys, parts.n, sorted.keys);
    std::copy_n(from.values, parts.n, sorted.values);
  }
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = bits.first + pass * digit_bits;
    const int width = std::min(digit_bits, bits.last - shift);
    const KeyedValues<K, V> to = (passes - pass) % 2 == 1 ? sorted : scratch;
    sort_by_digit<B, K, V>(backend, parts, Digit<K>{shift, static_cast<K>((K{1} << width) - 1)}, from, to);
    from = {to.keys, to.values};
  }
}

}  // namespace echelon::host_detail

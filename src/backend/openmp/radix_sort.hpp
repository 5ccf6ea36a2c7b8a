// SPDX-License-Identifier: BSD-3-Clause
/// Stable parallel radix sort.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::openmp_detail {

/// Bits per pass: the 256 write positions of a thread stay in its L1 cache.
inline constexpr int digit_bits = 8;

template <class K>
struct Digit {
  int shift;
  K mask;
  std::size_t operator()(K key) const { return static_cast<std::size_t>((key >> shift) & mask); }
};

/// One pass: each thread counts the digits of its part, then moves its elements after those with smaller
/// digits and those of earlier parts with the same digit.
template <class K, class V>
void sort_by_digit(int threads, std::int64_t n, Digit<K> digit, const K* keys, K* to_keys, const V* values,
                   V* to_values) {
  using Places = std::array<std::int64_t, std::size_t{1} << digit_bits>;
  std::vector<Places> places(static_cast<std::size_t>(threads), Places{});
  const std::int64_t part_size = (n + threads - 1) / threads;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      Places counts{};
      for (std::int64_t k = std::min(t * part_size, n); k < std::min((t + 1) * part_size, n); ++k) {
        ++counts[digit(keys[k])];
      }
      places[static_cast<std::size_t>(t)] = counts;
    }
#pragma omp single
    {
      std::int64_t sum = 0;
      for (std::size_t d = 0; d < places.front().size(); ++d) {
        for (Places& counts : places) sum += std::exchange(counts[d], sum);
      }
    }
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      Places next = places[static_cast<std::size_t>(t)];
      for (std::int64_t k = std::min(t * part_size, n); k < std::min((t + 1) * part_size, n); ++k) {
        const std::int64_t place = next[digit(keys[k])]++;
        to_keys[place] = keys[k];
        to_values[place] = values[k];
      }
    }
  }
}

/// Sorts by the least significant digit first. Passes alternate between target and scratch arrays; the last
/// one writes to the target.
template <class K, class V>
void radix_sort(int threads, std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                const V* values, V* sorted_values, K* scratch_keys, V* scratch_values) {
  const int passes = (last_bit - first_bit + digit_bits - 1) / digit_bits;
  if (passes == 0) {
    std::copy_n(keys, n, sorted_keys);
    std::copy_n(values, n, sorted_values);
  }
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = first_bit + pass * digit_bits;
    const int bits = std::min(digit_bits, last_bit - shift);
    const bool to_target = (passes - pass) % 2 == 1;
    K* to_keys = to_target ? sorted_keys : scratch_keys;
    V* to_values = to_target ? sorted_values : scratch_values;
    sort_by_digit(threads, n, Digit<K>{shift, static_cast<K>((K{1} << bits) - 1)}, keys, to_keys, values,
                  to_values);
    keys = to_keys;
    values = to_values;
  }
}

}  // namespace echelon::openmp_detail

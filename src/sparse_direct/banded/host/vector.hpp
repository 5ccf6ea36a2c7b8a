// SPDX-License-Identifier: BSD-3-Clause
/// Vectors of the size of the processor's registers, which the compiler maps to its instructions, and calls
/// of code compiled for the processor's widest vectors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::banded {

/// Types of vectors of `bytes` bytes. Larger vectors than the processor has would live in memory, and the
/// compiler would select and exchange their elements one by one.
template <class T, std::int64_t bytes>
struct VectorOf {
  using BitsOfOne = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using Type [[gnu::vector_size(bytes)]] = T;
  using Bits [[gnu::vector_size(bytes)]] = BitsOfOne;
  static constexpr std::int64_t lanes = bytes / static_cast<std::int64_t>(sizeof(T));
};

/// Bytes of the largest vectors.
inline constexpr std::int64_t most_vector_bytes = 64;

/// Rounds n up to whole vectors of `lanes` elements.
[[nodiscard]] constexpr std::int64_t round_up_to_vector(std::int64_t n, std::int64_t lanes) {
  return (n + lanes - 1) / lanes * lanes;
}

/// Zeros at an address that suits vectors.
template <class T>
class VectorArray {
 public:
  explicit VectorArray(std::int64_t size)
      : blocks_(static_cast<std::size_t>(round_up_to_vector(size, block_size) / block_size)) {}
  [[nodiscard]] T* data() { return reinterpret_cast<T*>(blocks_.data()); }

 private:
  static constexpr std::int64_t block_size = most_vector_bytes / static_cast<std::int64_t>(sizeof(T));
  struct alignas(most_vector_bytes) Block {
    T elements[block_size] = {};
  };
  std::vector<Block> blocks_;
};

template <class V, class T>
[[gnu::always_inline]] inline void load(V& v, const T* from) {
  std::memcpy(&v, from, sizeof(v));
}
template <class V, class T>
[[gnu::always_inline]] inline void store(const V& v, T* to) {
  std::memcpy(to, &v, sizeof(v));
}
/// Bits of the magnitudes of a vector's elements, at an address. Those of magnitudes have the order of the
/// magnitudes, with NaN last.
template <class Bits>
[[gnu::always_inline]] inline void load_magnitudes(Bits& v, const void* from) {
  using One = std::remove_cvref_t<decltype(v[0])>;
  std::memcpy(&v, from, sizeof(v));
  v &= std::numeric_limits<One>::max();
}
/// 0, 1, 2, ...
template <class Bits>
[[gnu::always_inline]] inline void count_lanes(Bits& v) {
  for (std::size_t i = 0; i < sizeof(v) / sizeof(v[0]); ++i) v[i] = static_cast<decltype(v[0] + 0)>(i);
}
template <class Bits>
[[gnu::always_inline]] inline void take_larger(Bits& a, const Bits& b) {
  a = a > b ? a : b;
}

/// Element i of `result` is element i ^ distance of v.
template <std::size_t distance, class V, std::size_t... i>
[[gnu::always_inline]] inline void exchange_lanes(const V& v, V& result,
                                                  std::index_sequence<i...> /*lanes*/) {
  result = __builtin_shufflevector(v, v, (i ^ distance)...);
}
/// Replaces every element by the largest.
template <std::size_t distance, class Bits>
[[gnu::always_inline]] inline void spread_largest(Bits& v) {
  if constexpr (distance > 0) {
    Bits exchanged;
    exchange_lanes<distance>(v, exchanged, std::make_index_sequence<sizeof(v) / sizeof(v[0])>());
    take_larger(v, exchanged);
    spread_largest<distance / 2>(v);
  }
}
template <class Bits>
[[gnu::always_inline]] inline void spread_largest(Bits& v) {
  spread_largest<sizeof(v) / sizeof(v[0]) / 2>(v);
}
/// The largest element.
template <class Bits>
[[nodiscard]] [[gnu::always_inline]] inline auto largest_lane(const Bits& v) {
  Bits largest = v;
  spread_largest(largest);
  return largest[0];
}
/// Sets every element of `result` to element p[0] of the concatenation of first and second.
template <class V, class Bits>
[[gnu::always_inline]] inline void broadcast_element(const V& first, const V& second, const Bits& p,
                                                     V& result) {
#ifdef __clang__
  constexpr auto lanes = static_cast<std::int64_t>(sizeof(V) / sizeof(first[0]));
  result = V{} + (p[0] < lanes ? first[p[0]] : second[p[0] - lanes]);
#else
  result = __builtin_shuffle(first, second, p);
#endif
}
/// Bits of the magnitude of one element.
template <class T>
[[nodiscard]] auto magnitude_bits(T value) {
  using Bits = typename VectorOf<T, most_vector_bytes>::BitsOfOne;
  return std::bit_cast<Bits>(value) & std::numeric_limits<Bits>::max();
}
/// Copies n elements without a call of the standard library, in vectors V.
template <class V, class T>
[[gnu::always_inline]] inline void copy_elements(const T* from, std::int64_t n, T* to) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(T);
  if (n < lanes) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  V v;
  for (std::int64_t i = 0; i + lanes <= n; i += lanes) {
    load(v, from + i);
    store(v, to + i);
  }
  load(v, from + n - lanes);
  store(v, to + n - lanes);
}
/// Sets n elements, whole vectors V, to zero.
template <class V, class T>
[[gnu::always_inline]] inline void set_zero(T* to, std::int64_t n) {
  const V zero{};
  for (std::int64_t i = 0; i < n; i += sizeof(V) / sizeof(T)) store(zero, to + i);
}

/// Exchanges the off-diagonal quarters of the blocks of 2 distance rows and columns that rows a and b, which
/// are `distance` apart, belong to.
template <std::size_t distance, class V, std::size_t... i>
[[gnu::always_inline]] inline void exchange_quarters(V& a, V& b, std::index_sequence<i...> /*lanes*/) {
  constexpr std::size_t n = sizeof...(i);
  const V first = __builtin_shufflevector(a, b, ((i & distance) == 0 ? i : i + n - distance)...);
  b = __builtin_shufflevector(a, b, ((i & distance) == 0 ? i + distance : i + n)...);
  a = first;
}
/// Transposes a block of n rows of n elements: exchanges its off-diagonal quarters, then those of each
/// quarter.
template <std::size_t distance, class V, std::size_t n>
[[gnu::always_inline]] inline void transpose_block(V (&rows)[n]) {
  for (std::size_t i = 0; i < n; ++i) {
    if ((i & distance) == 0)
      exchange_quarters<distance>(rows[i], rows[i + distance], std::make_index_sequence<n>());
  }
  if constexpr (distance > 1) transpose_block<distance / 2>(rows);
}
/// Copies the first 8 elements of rows to columns; from and to have whole blocks of 8 rows. `bytes`: those of
/// a vector.
template <std::int64_t bytes, class T>
[[gnu::always_inline]] inline void copy_transposed(std::int64_t rows, const T* from, std::int64_t from_pitch,
                                                   T* to, std::int64_t to_pitch) {
  constexpr std::int64_t n = std::min<std::int64_t>(8, VectorOf<T, bytes>::lanes);
  for (std::int64_t s = 0; s < rows; s += n) {
    for (std::int64_t c = 0; c < 8; c += n) {
      typename VectorOf<T, n* static_cast<std::int64_t>(sizeof(T))>::Type block[n];
      for (int i = 0; i < n; ++i) load(block[i], from + (s + i) * from_pitch + c);
      transpose_block<n / 2>(block);
      for (int i = 0; i < n; ++i) store(block[i], to + (c + i) * to_pitch + s);
    }
  }
}

/// The bytes of a vector as a type.
template <std::int64_t bytes>
using VectorBytes = std::integral_constant<std::int64_t, bytes>;

// Disabled with the address sanitizer: gcc takes minutes to compile code with everything inlined.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
template <class F>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"), gnu::flatten]] void call_with_avx512(
    const F& f) {
  f(VectorBytes<64>());
}
template <class F>
[[gnu::target("avx2,fma"), gnu::flatten]] void call_with_avx2(const F& f) {
  f(VectorBytes<32>());
}
#endif

/// Calls f(VectorBytes), compiled with everything that it calls for the widest vectors of the processor.
template <class F>
void with_vector_instructions(const F& f) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0) {
    call_with_avx512(f);
    return;
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    call_with_avx2(f);
    return;
  }
#endif
  f(VectorBytes<16>());
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
/// Vectors of 64 bytes, which the compiler maps to the processor's instructions, and calls of code compiled
/// for the processor's widest vectors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace echelon::banded {

template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  using Type [[gnu::vector_size(64)]] = double;
  using Bits [[gnu::vector_size(64)]] = std::int64_t;
  using BitsOfOne = std::int64_t;
};
template <>
struct VectorOf<float> {
  using Type [[gnu::vector_size(64)]] = float;
  using Bits [[gnu::vector_size(64)]] = std::int32_t;
  using BitsOfOne = std::int32_t;
};
template <class T>
using Vector = typename VectorOf<T>::Type;
/// The bits of a Vector as integers. Those of magnitudes have the order of the magnitudes, with NaN last.
template <class T>
using VectorBits = typename VectorOf<T>::Bits;

/// Elements of a vector.
template <class T>
inline constexpr std::int64_t vector_size = 64 / static_cast<std::int64_t>(sizeof(T));

template <class T>
[[nodiscard]] constexpr std::int64_t round_up_to_vector(std::int64_t n) {
  return (n + vector_size<T> - 1) / vector_size<T> * vector_size<T>;
}

/// Zeros at an address that suits vectors.
template <class T>
class VectorArray {
 public:
  explicit VectorArray(std::int64_t size)
      : blocks_(static_cast<std::size_t>(round_up_to_vector<T>(size) / vector_size<T>)) {}
  [[nodiscard]] T* data() { return reinterpret_cast<T*>(blocks_.data()); }

 private:
  struct alignas(64) Block {
    T elements[64 / sizeof(T)] = {};
  };
  std::vector<Block> blocks_;
};

template <class T>
[[gnu::always_inline]] inline void load(Vector<T>& v, const T* from) {
  std::memcpy(&v, from, sizeof(v));
}
template <class T>
[[gnu::always_inline]] inline void store(const Vector<T>& v, T* to) {
  std::memcpy(to, &v, sizeof(v));
}
/// Bits of the magnitudes of 64 bytes.
template <class T>
[[gnu::always_inline]] inline void load_magnitudes(VectorBits<T>& v, const void* from) {
  constexpr auto mask =
      static_cast<typename VectorOf<T>::BitsOfOne>(~(std::uint64_t{1} << (8 * sizeof(T) - 1)));
  std::memcpy(&v, from, sizeof(v));
  v &= mask;
}
/// 0, 1, 2, ...
template <class T>
[[gnu::always_inline]] inline void count_lanes(VectorBits<T>& v) {
  for (int i = 0; i < vector_size<T>; ++i) v[i] = i;
}
template <class T>
[[gnu::always_inline]] inline void take_larger(VectorBits<T>& a, const VectorBits<T>& b) {
  a = a > b ? a : b;
}

/// Element i of `result` is element i ^ distance of v.
template <std::size_t distance, class V, std::size_t... i>
[[gnu::always_inline]] inline void exchange_lanes(const V& v, V& result,
                                                  std::index_sequence<i...> /*lanes*/) {
  result = __builtin_shufflevector(v, v, (i ^ distance)...);
}
/// Replaces every element by the largest.
template <class T, std::size_t distance = vector_size<T> / 2>
[[gnu::always_inline]] inline void spread_largest(VectorBits<T>& v) {
  if constexpr (distance > 0) {
    VectorBits<T> exchanged;
    exchange_lanes<distance>(v, exchanged, std::make_index_sequence<vector_size<T>>());
    take_larger<T>(v, exchanged);
    spread_largest<T, distance / 2>(v);
  }
}
/// The largest element.
template <class T>
[[nodiscard]] [[gnu::always_inline]] inline typename VectorOf<T>::BitsOfOne largest_lane(
    const VectorBits<T>& v) {
  VectorBits<T> largest = v;
  spread_largest<T>(largest);
  return largest[0];
}
/// Sets every element of `result` to element p[0] of the concatenation of first and second.
template <class T>
[[gnu::always_inline]] inline void broadcast_element(const Vector<T>& first, const Vector<T>& second,
                                                     const VectorBits<T>& p, Vector<T>& result) {
#ifdef __clang__
  result = Vector<T>{} + (p[0] < vector_size<T> ? first[p[0]] : second[p[0] - vector_size<T>]);
#else
  result = __builtin_shuffle(first, second, p);
#endif
}
/// Bits of the magnitude of one element.
template <class T>
[[nodiscard]] typename VectorOf<T>::BitsOfOne magnitude_bits(T value) {
  using Bits = typename VectorOf<T>::BitsOfOne;
  return std::bit_cast<Bits>(value) & std::numeric_limits<Bits>::max();
}
/// Copies n elements without a call of the standard library.
template <class T>
[[gnu::always_inline]] inline void copy_elements(const T* from, std::int64_t n, T* to) {
  constexpr std::int64_t lanes = vector_size<T>;
  if (n < lanes) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  Vector<T> v;
  for (std::int64_t i = 0; i + lanes <= n; i += lanes) {
    load<T>(v, from + i);
    store<T>(v, to + i);
  }
  load<T>(v, from + n - lanes);
  store<T>(v, to + n - lanes);
}
/// Sets n elements, whole vectors, to zero.
template <class T>
[[gnu::always_inline]] inline void set_zero(T* to, std::int64_t n) {
  const Vector<T> zero{};
  for (std::int64_t i = 0; i < n; i += vector_size<T>) store<T>(zero, to + i);
}

/// Vector of eight elements.
template <class T>
struct EightOf {
  using Type [[gnu::vector_size(8 * sizeof(T))]] = T;
};
/// Exchanges the off-diagonal quarters of the blocks of 2 distance rows and columns that rows a and b, which
/// are `distance` apart, belong to.
template <std::size_t distance, class V, std::size_t... i>
[[gnu::always_inline]] inline void exchange_quarters(V& a, V& b, std::index_sequence<i...> /*lanes*/) {
  const V first = __builtin_shufflevector(a, b, ((i & distance) == 0 ? i : i + 8 - distance)...);
  b = __builtin_shufflevector(a, b, ((i & distance) == 0 ? i + distance : i + 8)...);
  a = first;
}
/// Transposes an 8-by-8 block: exchanges its off-diagonal quarters, then those of each quarter.
template <std::size_t distance = 4, class V>
[[gnu::always_inline]] inline void transpose_eight(V (&rows)[8]) {
  for (std::size_t i = 0; i < 8; ++i) {
    if ((i & distance) == 0) {
      exchange_quarters<distance>(rows[i], rows[i + distance], std::make_index_sequence<8>());
    }
  }
  if constexpr (distance > 1) transpose_eight<distance / 2>(rows);
}
/// Copies the first 8 elements of rows to columns; from and to have whole blocks of 8 rows.
template <class T>
[[gnu::always_inline]] inline void copy_transposed(std::int64_t rows, const T* from, std::int64_t from_pitch,
                                                   T* to, std::int64_t to_pitch) {
  for (std::int64_t s = 0; s < rows; s += 8) {
    typename EightOf<T>::Type block[8];
    for (int i = 0; i < 8; ++i) std::memcpy(&block[i], from + (s + i) * from_pitch, sizeof(block[i]));
    transpose_eight(block);
    for (int i = 0; i < 8; ++i) std::memcpy(to + i * to_pitch + s, &block[i], sizeof(block[i]));
  }
}

// Disabled with the address sanitizer: gcc takes minutes to compile code with everything inlined.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
template <class F>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"), gnu::flatten]] void call_with_avx512(
    const F& f) {
  f();
}
template <class F>
[[gnu::target("avx2,fma"), gnu::flatten]] void call_with_avx2(const F& f) {
  f();
}
#endif

/// Calls f, compiled with everything that it calls for the widest vectors of the processor.
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
  f();
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
/// Vectors of 64 bytes, which the compiler maps to what the processor has, and calls of code compiled for the
/// processor's vector instructions.
#pragma once

#include <cstdint>
#include <cstring>
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
[[gnu::always_inline]] inline void load_magnitudes(VectorBits<T>& v, const T* from) {
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

// Not with the address sanitizer: with everything inlined gcc takes minutes to compile.
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

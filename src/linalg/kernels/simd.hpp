// SPDX-License-Identifier: BSD-3-Clause
/// Vector registers of the instruction sets that the dense kernels are compiled for.
///
/// `Simd<Isa, T>` has the type `Vec` of `width` elements, the type `Factor` of a number by which all of them
/// are multiplied, and the few operations that the kernels need. Partial loads and stores touch the first
/// `count` elements only, 0 < count <= width; the others are zero. A file that is compiled for an instruction
/// set includes avx2_begin.hpp or avx512_begin.hpp, which define ECHELON_SIMD_..., then this header and those
/// of the kernels, and then end.hpp. What it includes before is compiled for every processor. What does not
/// depend on `Isa` in the kernels is inlined always: a function shared between the files could end up with
/// instructions that a processor lacks. Loops over arrays of registers are unrolled by a pragma: only indices
/// that are constants leave an array in registers.
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

#if defined(ECHELON_SIMD_AVX2) || defined(ECHELON_SIMD_AVX512)
#include <immintrin.h>
#endif

namespace echelon::kernels {

struct Portable;
struct Avx2;
struct Avx512;

/// c - a b.
template <class T>
inline __attribute__((always_inline)) T minus_product(T c, T a, T b) {
  if constexpr (is_complex<T>) {
    return {c.real() - a.real() * b.real() + a.imag() * b.imag(),
            c.imag() - a.real() * b.imag() - a.imag() * b.real()};
  } else {
    return c - a * b;
  }
}

/// a b.
template <class T>
inline __attribute__((always_inline)) T product(T a, T b) {
  if constexpr (is_complex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

/// Size by which pivots are compared: |x|, and |Re x| + |Im x| of complex numbers, as in LAPACK.
template <class T>
inline __attribute__((always_inline)) Real<T> pivot_size(T x) {
  if constexpr (is_complex<T>) {
    return std::abs(x.real()) + std::abs(x.imag());
  } else {
    return std::abs(x);
  }
}

/// 1 / x; of complex numbers by the quotient of the smaller part and the larger one (R. L. Smith, Commun. ACM
/// 5, 1962).
template <class T>
inline __attribute__((always_inline)) T reciprocal(T x) {
  if constexpr (is_complex<T>) {
    if (std::abs(x.real()) >= std::abs(x.imag())) {
      const Real<T> ratio = x.imag() / x.real();
      const Real<T> divisor = x.real() + x.imag() * ratio;
      return {1 / divisor, -ratio / divisor};
    }
    const Real<T> ratio = x.real() / x.imag();
    const Real<T> divisor = x.real() * ratio + x.imag();
    return {ratio / divisor, -1 / divisor};
  } else {
    return 1 / x;
  }
}

/// a / b.
template <class T>
inline __attribute__((always_inline)) T quotient(T a, T b) {
  if constexpr (is_complex<T>) {
    return product(a, reciprocal(b));
  } else {
    return a / b;
  }
}

/// A number of this size in place of a small x: with the sign of x, or real.
template <class T>
inline __attribute__((always_inline)) T of_size(Real<T> size, T x) {
  if constexpr (is_complex<T>) {
    return T{size};
  } else {
    return std::copysign(size, x);
  }
}

template <class Isa, class T>
struct Simd;

template <class T>
struct Simd<Portable, T> {
  static constexpr int width = 16 / sizeof(T);
  struct Vec {
    T at[width];
  };
  using Factor = Vec;
  static Vec zero() { return {}; }
  static Vec broadcast(T x) {
    Vec v;
    std::fill_n(v.at, width, x);
    return v;
  }
  static Vec load(const T* p) {
    Vec v;
    std::memcpy(v.at, p, sizeof(v.at));
    return v;
  }
  static Vec load(const T* p, int count) {
    Vec v{};
    std::memcpy(v.at, p, static_cast<std::size_t>(count) * sizeof(T));
    return v;
  }
  static void store(T* p, Vec v) { std::memcpy(p, v.at, sizeof(v.at)); }
  static void store(T* p, Vec v, int count) {
    std::memcpy(p, v.at, static_cast<std::size_t>(count) * sizeof(T));
  }
  /// a b + c
  static Vec multiply_add(Vec a, Vec b, Vec c) {
    for (int i = 0; i < width; ++i) c.at[i] += a.at[i] * b.at[i];
    return c;
  }
  /// c - a b
  static Vec multiply_subtract(Vec a, Vec b, Vec c) {
    for (int i = 0; i < width; ++i) c.at[i] -= a.at[i] * b.at[i];
    return c;
  }
  static Vec multiply(Vec a, Vec b) {
    for (int i = 0; i < width; ++i) a.at[i] *= b.at[i];
    return a;
  }
  static Vec add(Vec a, Vec b) {
    for (int i = 0; i < width; ++i) a.at[i] += b.at[i];
    return a;
  }
  static Vec subtract(Vec a, Vec b) {
    for (int i = 0; i < width; ++i) a.at[i] -= b.at[i];
    return a;
  }
  /// max(a, |b|) by element
  static Vec max_magnitude(Vec a, Vec b) {
    for (int i = 0; i < width; ++i) a.at[i] = std::max(a.at[i], std::abs(b.at[i]));
    return a;
  }
  static T largest(Vec a) { return *std::max_element(a.at, a.at + width); }
  static T sum(Vec a) {
    T total = 0;
    for (int i = 0; i < width; ++i) total += a.at[i];
    return total;
  }
  /// Bit i is set where |a_i| >= bound.
  static unsigned at_least(Vec a, T bound) {
    unsigned bits = 0;
    for (int i = 0; i < width; ++i) bits |= (std::abs(a.at[i]) >= bound ? 1U : 0U) << i;
    return bits;
  }
};

/// A single complex number.
template <class R>
struct Simd<Portable, std::complex<R>> {
  using T = std::complex<R>;
  static constexpr int width = 1;
  struct Vec {
    T at;
  };
  using Factor = Vec;
  static Vec zero() { return {T{0}}; }
  static Vec broadcast(T x) { return {x}; }
  static Vec load(const T* p) { return {*p}; }
  static Vec load(const T* p, int /*count*/) { return {*p}; }
  static void store(T* p, Vec v) { *p = v.at; }
  static void store(T* p, Vec v, int /*count*/) { *p = v.at; }
  static Vec multiply_add(Vec a, Vec b, Vec c) {
    return {minus_product(c.at, T{-a.at.real(), -a.at.imag()}, b.at)};
  }
  static Vec multiply_subtract(Vec a, Vec b, Vec c) { return {minus_product(c.at, a.at, b.at)}; }
  static Vec multiply(Vec a, Vec b) { return multiply_add(a, b, zero()); }
  static Vec max_magnitude(Vec a, Vec b) { return {T{std::max(a.at.real(), pivot_size(b.at))}}; }
  static R largest(Vec a) { return a.at.real(); }
  static T sum(Vec a) { return a.at; }
  static unsigned at_least(Vec a, R bound) { return pivot_size(a.at) >= bound ? 1U : 0U; }
};

#ifdef ECHELON_SIMD_AVX2
template <>
struct Simd<Avx2, double> {
  static constexpr int width = 4;
  using Vec = __m256d;
  using Factor = Vec;
  static __m256i mask(int count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec broadcast(double x) { return _mm256_set1_pd(x); }
  static Vec load(const double* p) { return _mm256_loadu_pd(p); }
  static Vec load(const double* p, int count) { return _mm256_maskload_pd(p, mask(count)); }
  static void store(double* p, Vec v) { _mm256_storeu_pd(p, v); }
  static void store(double* p, Vec v, int count) { _mm256_maskstore_pd(p, mask(count), v); }
  static Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a, b, c); }
  static Vec multiply_subtract(Vec a, Vec b, Vec c) { return _mm256_fnmadd_pd(a, b, c); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
  static Vec add(Vec a, Vec b) { return _mm256_add_pd(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm256_sub_pd(a, b); }
  static Vec max_magnitude(Vec a, Vec b) {
    return _mm256_max_pd(a, _mm256_andnot_pd(_mm256_set1_pd(-0.0), b));
  }
  static double largest(Vec a) {
    const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_pd(two, _mm_unpackhi_pd(two, two)));
  }
  static double sum(Vec a) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static unsigned at_least(Vec a, double bound) {
    const Vec magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(magnitude, broadcast(bound), _CMP_GE_OQ)));
  }
};

/// Two complex numbers: real parts in the even places, imaginary parts after them.
template <>
struct Simd<Avx2, std::complex<double>> {
  using T = std::complex<double>;
  using Parts = Simd<Avx2, double>;
  static constexpr int width = 2;
  using Vec = __m256d;
  /// The real part of a number, and its imaginary part with alternating signs.
  struct Factor {
    Vec real, imaginary;
  };
  static const double* parts(const T* p) { return reinterpret_cast<const double*>(p); }
  static double* parts(T* p) { return reinterpret_cast<double*>(p); }
  static Vec swapped(Vec a) { return _mm256_permute_pd(a, 0b0101); }
  static Vec zero() { return Parts::zero(); }
  static Factor broadcast(T x) {
    return {_mm256_set1_pd(x.real()), _mm256_setr_pd(x.imag(), -x.imag(), x.imag(), -x.imag())};
  }
  static Vec load(const T* p) { return Parts::load(parts(p)); }
  static Vec load(const T* p, int count) { return Parts::load(parts(p), 2 * count); }
  static void store(T* p, Vec v) { Parts::store(parts(p), v); }
  static void store(T* p, Vec v, int count) { Parts::store(parts(p), v, 2 * count); }
  static Vec multiply_add(Vec a, Vec b, Vec c) {
    const Vec of_real = _mm256_fmadd_pd(a, _mm256_movedup_pd(b), c);
    return _mm256_addsub_pd(of_real, _mm256_mul_pd(swapped(a), _mm256_permute_pd(b, 0b1111)));
  }
  static Vec multiply_subtract(Vec a, Factor b, Vec c) {
    return _mm256_fmadd_pd(swapped(a), b.imaginary, _mm256_fnmadd_pd(a, b.real, c));
  }
  static Vec multiply(Vec a, Factor b) {
    return _mm256_fnmadd_pd(swapped(a), b.imaginary, _mm256_mul_pd(a, b.real));
  }
  static Vec sizes(Vec a) {
    const Vec magnitudes = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
    return _mm256_add_pd(magnitudes, swapped(magnitudes));
  }
  static Vec max_magnitude(Vec a, Vec b) { return _mm256_max_pd(a, sizes(b)); }
  static double largest(Vec a) { return Parts::largest(a); }
  static T sum(Vec a) {
    const __m128d both = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return {_mm_cvtsd_f64(both), _mm_cvtsd_f64(_mm_unpackhi_pd(both, both))};
  }
  static unsigned at_least(Vec a, double bound) {
    const auto bits =
        static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(sizes(a), _mm256_set1_pd(bound), _CMP_GE_OQ)));
    return (bits & 1U) | (bits >> 1 & 2U);
  }
};

template <>
struct Simd<Avx2, float> {
  static constexpr int width = 8;
  using Vec = __m256;
  using Factor = Vec;
  static __m256i mask(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec broadcast(float x) { return _mm256_set1_ps(x); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static Vec load(const float* p, int count) { return _mm256_maskload_ps(p, mask(count)); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static void store(float* p, Vec v, int count) { _mm256_maskstore_ps(p, mask(count), v); }
  static Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec multiply_subtract(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
  static Vec max_magnitude(Vec a, Vec b) {
    return _mm256_max_ps(a, _mm256_andnot_ps(_mm256_set1_ps(-0.0F), b));
  }
  static float largest(Vec a) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
  }
  static float sum(Vec a) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
  }
  static unsigned at_least(Vec a, float bound) {
    const Vec magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(magnitude, broadcast(bound), _CMP_GE_OQ)));
  }
};
#endif

#ifdef ECHELON_SIMD_AVX512
template <>
struct Simd<Avx512, double> {
  static constexpr int width = 8;
  using Vec = __m512d;
  using Factor = Vec;
  static __mmask8 mask(int count) { return static_cast<__mmask8>((1U << count) - 1); }
  static Vec zero() { return _mm512_setzero_pd(); }
  static Vec broadcast(double x) { return _mm512_set1_pd(x); }
  static Vec load(const double* p) { return _mm512_loadu_pd(p); }
  static Vec load(const double* p, int count) { return _mm512_maskz_loadu_pd(mask(count), p); }
  static void store(double* p, Vec v) { _mm512_storeu_pd(p, v); }
  static void store(double* p, Vec v, int count) { _mm512_mask_storeu_pd(p, mask(count), v); }
  static Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_pd(a, b, c); }
  static Vec multiply_subtract(Vec a, Vec b, Vec c) { return _mm512_fnmadd_pd(a, b, c); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
  static Vec add(Vec a, Vec b) { return _mm512_add_pd(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_pd(a, b); }
  static Vec max_magnitude(Vec a, Vec b) { return _mm512_max_pd(a, _mm512_abs_pd(b)); }
  static double largest(Vec a) { return _mm512_reduce_max_pd(a); }
  static double sum(Vec a) { return _mm512_reduce_add_pd(a); }
  static unsigned at_least(Vec a, double bound) {
    return _mm512_cmp_pd_mask(_mm512_abs_pd(a), broadcast(bound), _CMP_GE_OQ);
  }
};

/// Four complex numbers: real parts in the even places, imaginary parts after them.
template <>
struct Simd<Avx512, std::complex<double>> {
  using T = std::complex<double>;
  using Parts = Simd<Avx512, double>;
  static constexpr int width = 4;
  using Vec = __m512d;
  struct Factor {
    Vec real, imaginary;
  };
  static const double* parts(const T* p) { return reinterpret_cast<const double*>(p); }
  static double* parts(T* p) { return reinterpret_cast<double*>(p); }
  static Vec swapped(Vec a) { return _mm512_permute_pd(a, 0b01010101); }
  /// -i a, which a kernel computes once for all numbers that a is multiplied by.
  static Vec turned(Vec a) {
    return _mm512_xor_pd(swapped(a), _mm512_setr_pd(0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0));
  }
  static Vec zero() { return Parts::zero(); }
  static Factor broadcast(T x) { return {_mm512_set1_pd(x.real()), _mm512_set1_pd(x.imag())}; }
  static Vec load(const T* p) { return Parts::load(parts(p)); }
  static Vec load(const T* p, int count) { return Parts::load(parts(p), 2 * count); }
  static void store(T* p, Vec v) { Parts::store(parts(p), v); }
  static void store(T* p, Vec v, int count) { Parts::store(parts(p), v, 2 * count); }
  static Vec multiply_add(Vec a, Vec b, Vec c) {
    const Vec of_real = _mm512_fmadd_pd(a, _mm512_movedup_pd(b), c);
    return _mm512_fnmadd_pd(turned(a), _mm512_permute_pd(b, 0b11111111), of_real);
  }
  static Vec multiply_subtract(Vec a, Factor b, Vec c) {
    return _mm512_fmadd_pd(turned(a), b.imaginary, _mm512_fnmadd_pd(a, b.real, c));
  }
  static Vec multiply(Vec a, Factor b) {
    return _mm512_fnmadd_pd(turned(a), b.imaginary, _mm512_mul_pd(a, b.real));
  }
  static Vec sizes(Vec a) {
    const Vec magnitudes = _mm512_abs_pd(a);
    return _mm512_add_pd(magnitudes, swapped(magnitudes));
  }
  static Vec max_magnitude(Vec a, Vec b) { return _mm512_max_pd(a, sizes(b)); }
  static double largest(Vec a) { return Parts::largest(a); }
  static T sum(Vec a) {
    const __m256d pair = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d both = _mm_add_pd(_mm256_castpd256_pd128(pair), _mm256_extractf128_pd(pair, 1));
    return {_mm_cvtsd_f64(both), _mm_cvtsd_f64(_mm_unpackhi_pd(both, both))};
  }
  static unsigned at_least(Vec a, double bound) {
    const unsigned bits = _mm512_cmp_pd_mask(sizes(a), Parts::broadcast(bound), _CMP_GE_OQ);
    return (bits & 1U) | (bits >> 1 & 2U) | (bits >> 2 & 4U) | (bits >> 3 & 8U);
  }
};

template <>
struct Simd<Avx512, float> {
  static constexpr int width = 16;
  using Vec = __m512;
  using Factor = Vec;
  static __mmask16 mask(int count) { return static_cast<__mmask16>((1U << count) - 1); }
  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec broadcast(float x) { return _mm512_set1_ps(x); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static Vec load(const float* p, int count) { return _mm512_maskz_loadu_ps(mask(count), p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, Vec v, int count) { _mm512_mask_storeu_ps(p, mask(count), v); }
  static Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec multiply_subtract(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  static Vec max_magnitude(Vec a, Vec b) { return _mm512_max_ps(a, _mm512_abs_ps(b)); }
  static float largest(Vec a) { return _mm512_reduce_max_ps(a); }
  static float sum(Vec a) { return _mm512_reduce_add_ps(a); }
  static unsigned at_least(Vec a, float bound) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(a), broadcast(bound), _CMP_GE_OQ);
  }
};
#endif

/// p, which the compiler does not know to be p. Addresses that are computed from it after a loop are
/// therefore computed there, where they would else be kept during the loop, in registers that it needs.
template <class T>
inline __attribute__((always_inline)) T* recomputed(T* p) {
  asm("" : "+r"(p));
  return p;
}

}  // namespace echelon::kernels

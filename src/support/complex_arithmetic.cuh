// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic of complex numbers in device code.
///
/// libstdc++ computes with the compiler's __complex__ types, for which nvcc emits no instructions and gives
/// no warning: `a + b` is a. Of std::complex, device code may therefore use constructors, real(), imag(), ==,
/// unary minus, std::conj and std::norm, and the operators below, which overload resolution prefers to the
/// templates of the standard library. The build includes this file at the head of each file that nvcc
/// compiles for the library, so that templates find the operators. On the host they are those of the standard
/// library, with the same bits; on a device a product with an infinite part may be NaN where the host has
/// Inf.
#pragma once

#include <complex>

namespace echelon {

using Complex = std::complex<double>;

__host__ __device__ inline Complex operator+(const Complex& a, const Complex& b) {
#ifdef __CUDA_ARCH__
  return {a.real() + b.real(), a.imag() + b.imag()};
#else
  return std::operator+(a, b);
#endif
}
__host__ __device__ inline Complex operator-(const Complex& a, const Complex& b) {
#ifdef __CUDA_ARCH__
  return {a.real() - b.real(), a.imag() - b.imag()};
#else
  return std::operator-(a, b);
#endif
}
/// Each product of parts is rounded by itself, not fused with the sum: a conj(a) is real, and conj(a) b is
/// the conjugate of conj(b) a, as on the host.
__host__ __device__ inline Complex operator*(const Complex& a, const Complex& b) {
#ifdef __CUDA_ARCH__
  return {__dmul_rn(a.real(), b.real()) - __dmul_rn(a.imag(), b.imag()),
          __dmul_rn(a.real(), b.imag()) + __dmul_rn(a.imag(), b.real())};
#else
  return std::operator*(a, b);
#endif
}
__host__ __device__ inline Complex operator*(const Complex& a, double b) {
#ifdef __CUDA_ARCH__
  return {a.real() * b, a.imag() * b};
#else
  return std::operator*(a, b);
#endif
}
__host__ __device__ inline Complex operator*(double a, const Complex& b) {
#ifdef __CUDA_ARCH__
  return {a * b.real(), a * b.imag()};
#else
  return std::operator*(a, b);
#endif
}
__host__ __device__ inline Complex operator/(const Complex& a, double b) {
#ifdef __CUDA_ARCH__
  return {a.real() / b, a.imag() / b};
#else
  return std::operator/(a, b);
#endif
}
/// Division by the larger part of b (R. L. Smith, Comm. ACM 5, 1962), so that |b|^2 cannot overflow.
__host__ __device__ inline Complex operator/(const Complex& a, const Complex& b) {
#ifdef __CUDA_ARCH__
  if (fabs(b.real()) >= fabs(b.imag())) {
    const double ratio = b.imag() / b.real();
    const double divisor = b.real() + b.imag() * ratio;
    if (ratio != ratio) return a / b.real() + Complex{0, b.imag() - b.imag()};  // b is zero, infinite or NaN
    return {(a.real() + a.imag() * ratio) / divisor, (a.imag() - a.real() * ratio) / divisor};
  }
  const double ratio = b.real() / b.imag();
  const double divisor = b.real() * ratio + b.imag();
  return {(a.real() * ratio + a.imag()) / divisor, (a.imag() * ratio - a.real()) / divisor};
#else
  return std::operator/(a, b);
#endif
}
__host__ __device__ inline Complex operator/(double a, const Complex& b) {
#ifdef __CUDA_ARCH__
  return Complex{a} / b;
#else
  return std::operator/(a, b);
#endif
}

__host__ __device__ inline Complex& operator+=(Complex& a, const Complex& b) {
  return a = a + b;
}
__host__ __device__ inline Complex& operator-=(Complex& a, const Complex& b) {
  return a = a - b;
}
__host__ __device__ inline Complex& operator*=(Complex& a, const Complex& b) {
  return a = a * b;
}
__host__ __device__ inline Complex& operator/=(Complex& a, const Complex& b) {
  return a = a / b;
}

__host__ __device__ inline double abs(const Complex& a) {
#ifdef __CUDA_ARCH__
  return hypot(a.real(), a.imag());
#else
  return std::abs(a);
#endif
}

// Sums with real numbers, and members of std::complex, which no other function can replace: their use is an
// error in files for nvcc. Assignment of a real number, a = x, cannot be caught: write a = T{x}.
Complex operator+(const Complex& a, double b) = delete;
Complex operator+(double a, const Complex& b) = delete;
Complex operator-(const Complex& a, double b) = delete;
Complex operator-(double a, const Complex& b) = delete;
Complex& operator+=(Complex& a, double b) = delete;
Complex& operator-=(Complex& a, double b) = delete;
Complex& operator*=(Complex& a, double b) = delete;
Complex& operator/=(Complex& a, double b) = delete;

}  // namespace echelon

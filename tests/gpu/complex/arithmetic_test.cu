// SPDX-License-Identifier: BSD-3-Clause
// Operators of complex numbers in device code, each compared with the standard library on the host.
#include "backend/cuda/cuda.cuh"
#include "gpu/gpu_fixture.hpp"
#include "support/complex_arithmetic.cuh"
#include "support/scalar.hpp"

#include <echelon/array.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <vector>

namespace echelon::test {
namespace {

using T = std::complex<double>;

class GpuComplexArithmetic : public GpuTest {};

/// Whether a part of a result agrees with that of the host: to rounding errors of a result of this size, or
/// as the same infinity, or as NaN.
bool agrees(double found, double expected, double size) {
  if (std::isnan(expected)) return std::isnan(found);
  return found == expected || std::abs(found - expected) <= 2e-15 * size;
}

/// Results of all operators for operands a and b.
struct Evaluate {
  static constexpr int count = 18;
  const T* a;
  const T* b;
  T* results;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const T x = a[i];
    const T y = b[i];
    T* const to = results + i * count;
    to[0] = x + y;
    to[1] = x - y;
    to[2] = x * y;
    to[3] = x / y;
    to[4] = x * y.real();
    to[5] = x.real() * y;
    to[6] = x / y.real();
    to[7] = x.real() / y;
    to[8] = -x;
    to[9] = conj(x);
    T sum = x;
    sum += y;
    to[10] = sum;
    sum -= x;
    to[11] = sum;
    sum *= x;
    to[12] = sum;
    sum /= y;
    to[13] = sum;
    to[14] = T{magnitude(x)};
    to[15] = T{squared_magnitude(x)};
    to[16] = T{x == x ? 1.0 : 0.0};
    to[17] = scaled_by_power(x, 3);
  }
};

TEST_F(GpuComplexArithmetic, Operators_EachOperand_AsOnTheHost) {
  const std::vector<T> a = {{1, 2}, {-3, 0.5}, {0, 4}, {5, 0}, {1e200, -2e200}, {1e-200, 3e-200}};
  const std::vector<T> b = {{3, -1}, {0.25, 8}, {0, -2}, {7, 0}, {2e100, 1e100}, {4e-100, -1e-100}};
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<T> expected(a.size() * Evaluate::count);
  for (std::int64_t i = 0; i < n; ++i) Evaluate{a.data(), b.data(), expected.data()}(i);
  Cuda backend(gpu);
  const Array<T> left(gpu, std::span<const T>(a));
  const Array<T> right(gpu, std::span<const T>(b));
  Array<T> results(gpu, n * Evaluate::count);
  backend.for_each(n, Evaluate{left.data(), right.data(), results.data()});
  const std::vector<T> found = results.to_vector();
  for (std::size_t k = 0; k < found.size(); ++k) {
    const double size = std::isfinite(std::abs(expected[k])) ? std::abs(expected[k]) : 0;
    EXPECT_TRUE(agrees(found[k].real(), expected[k].real(), size) &&
                agrees(found[k].imag(), expected[k].imag(), size))
        << "operator " << k % Evaluate::count << " of operands " << k / Evaluate::count << ": " << found[k]
        << ", not " << expected[k];
  }
}

TEST_F(GpuComplexArithmetic, Division_ByZeroOrNaN_IsNotFinite) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<T> a = {{1, 2}, {1, 2}, {nan, 0}};
  const std::vector<T> b = {{0, 0}, {0, nan}, {1, 1}};
  Cuda backend(gpu);
  const Array<T> left(gpu, std::span<const T>(a));
  const Array<T> right(gpu, std::span<const T>(b));
  Array<T> results(gpu, 3 * Evaluate::count);
  backend.for_each(3, Evaluate{left.data(), right.data(), results.data()});
  const std::vector<T> found = results.to_vector();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(is_finite(found[i * Evaluate::count + 3])) << i;
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
// Vector operations on the GPU against extended precision on the host.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::GpuTest;
using test::random_dense;

constexpr std::int64_t sizes[] = {0, 1, 2, 31, 32, 33, 255, 257, 1023, 1025, 100003, 3000017};

class Vectors : public GpuTest {};

template <class T>
void check_dot(const Device& gpu) {
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const Dense<T> x = random_dense<T>(n, 1, 1);
    const Dense<T> y = random_dense<T>(n, 1, 2);
    long double expected = 0;
    long double size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double term = static_cast<long double>(x[i]) * y[i];
      expected += term;
      size += std::abs(term);
    }
    const Dense<T> x_gpu = x.to(gpu);
    const Dense<T> y_gpu = y.to(gpu);
    const double result = dot<T>(x_gpu, y_gpu);
    EXPECT_NEAR(result, static_cast<double>(expected), static_cast<double>(1e-14L * size));
    EXPECT_EQ(result, dot<T>(x_gpu, y_gpu)) << "other bits on repetition";
  }
}

TEST_F(Vectors, Dot_Double) {
  check_dot<double>(gpu);
}
TEST_F(Vectors, Dot_Float_SumsInDouble) {
  check_dot<float>(gpu);
}

TEST_F(Vectors, Norms) {
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const Dense<double> x = random_dense<double>(n, 1, 3);
    long double squares = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      squares += static_cast<long double>(x[i]) * x[i];
      largest = std::max(largest, std::abs(x[i]));
    }
    const auto expected = static_cast<double>(std::sqrt(squares));
    const Dense<double> x_gpu = x.to(gpu);
    EXPECT_NEAR(norm2<double>(x_gpu), expected, 1e-14 * expected);
    EXPECT_EQ(norm_inf<double>(x_gpu.view()), largest);
  }
}

TEST_F(Vectors, Norms_NaN_Propagates) {
  Dense<double> x = random_dense<double>(5000, 1, 4);
  x[4321] = std::numeric_limits<double>::quiet_NaN();
  const Dense<double> x_gpu = x.to(gpu);
  EXPECT_TRUE(std::isnan(norm_inf<double>(x_gpu.view())));
  EXPECT_TRUE(std::isnan(norm2<double>(x_gpu)));
}

TEST_F(Vectors, Axpy) {
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const Dense<double> x = random_dense<double>(n, 1, 5);
    const Dense<double> y = random_dense<double>(n, 1, 6);
    Dense<double> result = y.to(gpu);
    axpy<double>(0.7, x.to(gpu), result);
    const std::vector<double> got = result.to_vector();
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_NEAR(got[static_cast<std::size_t>(i)], std::fma(0.7, x[i], y[i]), 1e-15) << "element " << i;
    }
  }
}

TEST_F(Vectors, MatrixNorm) {
  const Csr<double> A = test::random_dominant(1025, 6, false, 7).csr<double>();
  EXPECT_NEAR(norm_inf<double>(A.to(gpu)), norm_inf<double>(A), 1e-12 * norm_inf<double>(A));
}

}  // namespace
}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// The kernels of LU on the host, for every instruction set of this processor, and the factorisation made of
// them.
#include "backend/host/host.hpp"
#include "dense/lu/factorization.hpp"
#include "dense/lu/host/kernels.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace echelon {
namespace {

using test::random_dense;

/// |P A - L U| / (max(m, n) |A| eps), where row k was exchanged with pivots[k].
template <class T, class Integer>
double factorization_error(Dense<T> a, const Dense<T>& lu, const std::vector<Integer>& pivots) {
  const std::int64_t m = a.rows();
  const std::int64_t n = a.columns();
  long double norm = 0;
  long double error = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < pivots.size(); ++k)
      std::swap(a(static_cast<std::int64_t>(k), j), a(pivots[k], j));
    for (std::int64_t i = 0; i < m; ++i) {
      long double sum = a(i, j);
      for (std::int64_t k = 0; k < std::min(i, j + 1); ++k)
        sum -= static_cast<long double>(lu(i, k)) * lu(k, j);
      if (i <= j) sum -= lu(i, j);
      error = std::max(error, std::abs(sum));
      norm = std::max(norm, std::abs(static_cast<long double>(a(i, j))));
    }
  }
  const long double scale =
      norm * static_cast<long double>(std::max(m, n)) * std::numeric_limits<T>::epsilon();
  return scale == 0 ? static_cast<double>(error) : static_cast<double>(error / scale);
}

template <class T>
class LuKernels : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LuKernels, Reals);

TYPED_TEST(LuKernels, EveryInstructionSet_PanelsAccurate) {
  using T = TypeParam;
  std::vector<const lu::HostKernels<T>*> all = {lu::portable_kernels<T>()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(lu::avx2_kernels<T>());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    all.push_back(lu::avx512_kernels<T>());
  }
#endif
  lu::PackBuffers<T> buffers;
  buffers.allocate();
  for (const lu::HostKernels<T>* kernels : all) {
    for (const auto& [m, n] :
         std::vector<std::pair<int, int>>{{1, 1}, {7, 3}, {8, 8}, {33, 9}, {129, 64}, {70, 70}}) {
      const Dense<T> a = random_dense<T>(m, n, 5);
      Dense<T> factors = a;
      std::vector<std::int32_t> pivots(static_cast<std::size_t>(n));
      EXPECT_EQ(kernels->factor_panel(buffers, m, n, factors.data(), m, pivots.data()), -1);
      EXPECT_LT(factorization_error<T>(a, factors, pivots), 10) << m << " by " << n;
    }
  }
}

template <class B, class T>
lu::LuResult factor(const Device& device, Dense<T>& a, std::vector<std::int64_t>& pivots) {
  B backend(device);
  lu::FactorWorkspace<B, T> workspace(device);
  pivots.assign(static_cast<std::size_t>(std::min(a.rows(), a.columns())), -1);
  return lu::factor<T>(backend, workspace, a.view(), pivots.data(), {});
}

TYPED_TEST(LuKernels, EveryShape_IsFactored) {
  using T = TypeParam;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3},
                                                                               {3, 0},
                                                                               {1, 1},
                                                                               {1, 5},
                                                                               {5, 1},
                                                                               {31, 33},
                                                                               {63, 64},
                                                                               {64, 65},
                                                                               {65, 64},
                                                                               {130, 129},
                                                                               {200, 70},
                                                                               {70, 200},
                                                                               {257, 257}}) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n));
    const Dense<T> a = random_dense<T>(m, n, 7);
    Dense<T> expected = a;
    std::vector<std::int64_t> expected_pivots;
    const lu::LuResult serial = factor<Host, T>(Device::serial(), expected, expected_pivots);
    EXPECT_EQ(serial.zero_pivot, -1);
    EXPECT_LT(factorization_error<T>(a, expected, expected_pivots), 10);
    double largest = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        const double magnitude = std::abs(static_cast<double>(expected(i, j)));
        if (i <= j) largest = std::max(largest, magnitude);
        EXPECT_TRUE(i <= j || magnitude <= 1) << i << ", " << j;
      }
    }
    EXPECT_EQ(serial.largest, largest);
    for (const int threads : {2, 3, 5}) {
      Dense<T> factors = a;
      std::vector<std::int64_t> pivots;
      factor<Host, T>(Device::openmp(threads), factors, pivots);
      EXPECT_EQ(pivots, expected_pivots);
      EXPECT_EQ(factors.to_vector(), expected.to_vector()) << threads << " threads";
    }
  }
}

TYPED_TEST(LuKernels, ZeroColumns_AreSkipped) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(150, 150, 7);
  for (std::int64_t i = 0; i < 150; ++i) a(i, 70) = a(i, 140) = 0;
  Dense<T> factors = a;
  std::vector<std::int64_t> pivots;
  const lu::LuResult result = factor<Host, T>(Device::serial(), factors, pivots);
  EXPECT_EQ(result.zero_pivot, 70);
  EXPECT_LT(factorization_error<T>(a, factors, pivots), 10);
}

TYPED_TEST(LuKernels, Overflow_IsReportedAsNotFinite) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(100, 100, 7);
  const T huge = std::numeric_limits<T>::max();
  for (std::int64_t k = 0; k < 100 * 100; ++k) a[k] = std::copysign(huge, a[k]);
  std::vector<std::int64_t> pivots;
  const double largest = factor<Host, T>(Device::serial(), a, pivots).largest;
  EXPECT_FALSE(std::isfinite(largest)) << largest;
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    EXPECT_GE(pivots[k], static_cast<std::int64_t>(k));
    EXPECT_LT(pivots[k], 100);
  }
}

}  // namespace
}  // namespace echelon

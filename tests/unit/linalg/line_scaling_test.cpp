// SPDX-License-Identifier: BSD-3-Clause
/// Scales of rows and columns that differ by many orders of magnitude.
#include "linalg/line_scaling.hpp"

#include "backend/host/host.hpp"
#include "linalg/balancing_scale.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace echelon {
namespace {

struct FoundScales {
  std::vector<double> rows, columns;
};

FoundScales scales_of(const Dense<double>& A) {
  Host backend(Device::serial());
  FoundScales found{std::vector<double>(static_cast<std::size_t>(A.rows())),
                    std::vector<double>(static_cast<std::size_t>(A.columns()))};
  find_line_scales<Host, double>(backend, A.view(), found.rows.data(), found.columns.data());
  return found;
}

Dense<double> scaled(const Dense<double>& A, const FoundScales& scales) {
  Dense<double> S(Device::serial(), A.rows(), A.columns());
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i)
      S(i, j) = scale_element(A(i, j), scales.rows[static_cast<std::size_t>(i)],
                              scales.columns[static_cast<std::size_t>(j)]);
  }
  return S;
}

Dense<double> zeros(std::int64_t m, std::int64_t n) {
  const std::vector<double> elements(static_cast<std::size_t>(m * n), 0.0);
  return {m, n, Array<double>(Device::serial(), elements)};
}

/// A few nonzeros in each row and column, of about equal size.
Dense<double> few_nonzeros(std::mt19937& random, std::int64_t m, std::int64_t n) {
  Dense<double> A = zeros(m, n);
  const auto number = [&random] { return 1 + static_cast<double>(random() % 8); };
  for (std::int64_t i = 0; i < m; ++i) {
    A(i, i % n) = number();
    A(i, (i + 1) % n) = -number();
  }
  for (std::int64_t j = 0; j < n; ++j) A(j % m, j) = number();
  return A;
}

TEST(LineScaling, ScaledMatrix_DoesNotDependOnScaleOfLines) {
  std::mt19937 random(1);
  for (const std::int64_t m : {1, 7, 12}) {
    for (const std::int64_t n : {std::int64_t{1}, m, m + 5}) {
      const Dense<double> M = few_nonzeros(random, m, n);
      Dense<double> A(Device::serial(), m, n);
      std::vector<int> columns(static_cast<std::size_t>(n));
      for (int& exponent : columns) exponent = random() % 2 == 0 ? 400 : -400;
      for (std::int64_t i = 0; i < m; ++i) {
        const int row = random() % 2 == 0 ? 400 : -400;
        for (std::int64_t j = 0; j < n; ++j)
          A(i, j) = std::ldexp(M(i, j), row + columns[static_cast<std::size_t>(j)]);
      }
      const Dense<double> of_M = scaled(M, scales_of(M));
      const Dense<double> of_A = scaled(A, scales_of(A));
      for (std::int64_t j = 0; j < n; ++j) {
        double largest = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          EXPECT_EQ(of_A(i, j) == 0, M(i, j) == 0);
          const double ratio = M(i, j) == 0 ? 1 : of_A(i, j) / of_M(i, j);
          EXPECT_LE(std::abs(std::log2(ratio)), 3) << m << " by " << n;
          largest = std::max(largest, std::abs(of_A(i, j)));
        }
        EXPECT_GE(largest, 1) << m << " by " << n;
        EXPECT_LT(largest, 2) << m << " by " << n;
      }
    }
  }
}

TEST(LineScaling, LinesOfZeros_KeepScaleOne) {
  Dense<double> A = zeros(3, 3);
  A(0, 0) = 0x1p-300;
  A(2, 0) = 0x1p300;
  const FoundScales found = scales_of(A);
  EXPECT_EQ(found.rows[1], 1);
  EXPECT_EQ(found.columns[1], 1);
  EXPECT_EQ(found.columns[2], 1);
  EXPECT_EQ(found.rows[0] * found.columns[0], 0x1p300);
}

TEST(LineScaling, ScaledElement_HasNoIntermediateOverflow) {
  EXPECT_EQ(scale_element(0x1p-1000, 0x1p600, 0x1p500), 0x1p100);
  EXPECT_EQ(scale_element(0x1p1000, 0x1p-600, 0x1p-500), 0x1p-100);
  EXPECT_EQ(scale_element(3.0, 0x1p700, 0x1p-701), 1.5);
  EXPECT_EQ(scale_element(3.0f, 0x1p-100f, 0x1p99f), 1.5f);
}

}  // namespace
}  // namespace echelon

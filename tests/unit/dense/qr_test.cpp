// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/dense/qr.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class QrOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(QrOf, Reals);

/// 1 on the diagonal and in the last column, -1 below: partial pivoting doubles the last column in each step.
template <class T>
Dense<T> growing(std::int64_t n) {
  Dense<T> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = i == j || j == n - 1 ? T{1} : i > j ? T{-1} : T{0};
  }
  return A;
}

TYPED_TEST(QrOf, MatrixOfLargeGrowth_BackwardStable) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 33, 120}) {
    const Dense<T> A = growing<T>(n);
    std::vector<T> b(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = static_cast<T>(1.0 / (1 + i));
    Qr<T> qr(Device(), {.refine = 0});
    ASSERT_TRUE(qr.setup(A).ready());
    std::vector<T> x(b.size());
    for (const Operation operation : {Operation::none, Operation::transpose}) {
      const Report report = qr.solve(b, x, {.operation = operation});
      EXPECT_TRUE(report.solved()) << report;
      EXPECT_LE(report.backward_error, 20 * std::numeric_limits<T>::epsilon());
    }
  }
}

TYPED_TEST(QrOf, SingularMatrices_AreNamed) {
  using T = TypeParam;
  Dense<T> A(Device(), 3, 3);
  for (std::int64_t j = 0; j < 3; ++j) {
    for (std::int64_t i = 0; i < 3; ++i) A(i, j) = static_cast<T>(1 + i + 3 * j);
  }
  const std::vector<T> b = {1, 0, 0};
  SolveOptions options;
  options.method = "qr";
  EXPECT_FALSE(solve(A, b, options).report.solved());
  for (std::int64_t j = 0; j < 3; ++j) A(1, j) = 0;
  const Report report = solve(A, b, options).report;
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.row, 1);
}

}  // namespace
}  // namespace echelon::test
